//! What the commands for all tables of an account share: names of tables, selections, and the files of a backup.

pub(crate) mod backup;
pub(crate) mod manifest;
pub(crate) mod names;
pub(crate) mod pattern;
mod selection;

use std::collections::HashSet;

use azure_table_client::{Dialect, DynamicEntity, TableServiceClient};
use futures_util::TryStreamExt as _;

use crate::args::Globals;
use crate::failure::{Failure, Result};
use crate::output::one_line;
use crate::table_name;

/// The moment of an interrupt, in messages.
pub(crate) const BETWEEN_TABLES: &str = "between two tables";

/// Returns the names of all tables in a fixed order. A run reads them once.
pub(crate) async fn table_names(service: &TableServiceClient) -> Result<Vec<String>> {
    let mut names: Vec<String> = service.list_tables().stream().try_collect().await?;
    names.sort();
    Ok(names)
}

/// Checks a filter before the first request. Without this check, the first table would find that it is invalid.
pub(crate) fn check_filter(service: &TableServiceClient, filter: Option<&str>) -> Result<()> {
    if let Some(text) = filter {
        service.table_named::<DynamicEntity>("Any").query().filter_text(text).plan()?;
    }
    Ok(())
}

/// Checks that the two sides of a command are different accounts, as far as their addresses show it.
pub(crate) fn check_different_accounts(
    a: &TableServiceClient,
    b: &TableServiceClient,
) -> Result<()> {
    if a.endpoint().eq_ignore_ascii_case(b.endpoint()) {
        return Err(Failure::usage("both sides are the same account: state --from and --to"));
    }
    Ok(())
}

/// Checks that the target of an import or a copy can have all these tables.
pub(crate) fn check_target_names<'t>(
    target: &TableServiceClient,
    tables: impl Iterator<Item = &'t str>,
) -> Result<()> {
    let mut names = Names::of(target, []);
    for table in tables {
        table_name::check(target, table)?;
        if !names.insert(table) {
            return Err(one_table(table));
        }
    }
    Ok(())
}

/// The failure of tables whose names differ only in case, as in Cosmos DB.
pub(crate) fn one_table(table: &str) -> Failure {
    let table = one_line(table);
    let message =
        format!("two tables {table} would be one table in the other account: exclude one of them");
    Failure::usage(message)
}

/// The failure of a table, which ends the run.
pub(crate) fn stopped(table: &str, failure: &Failure, complete: usize, all: usize) -> Failure {
    // Some failures list rows in further lines.
    let (first, rows) =
        failure.message().split_at(failure.message().find('\n').unwrap_or(failure.message().len()));
    let table = one_line(table);
    let message = format!(
        "table {table}: {first}; {complete} of {all} tables are complete: add --resume to continue{rows}"
    );
    Failure::new(failure.exit(), message)
}

/// The options for one table of a run whose confirmations come before its first table.
pub(crate) fn without_questions(globals: &Globals) -> Globals {
    Globals { yes: true, ..globals.clone() }
}

/// Names of tables, which are case-insensitive unless the service is Cosmos DB.
pub(crate) struct Names {
    names: HashSet<String>,
    is_case_sensitive: bool,
}

impl Names {
    pub(crate) fn new(service: &TableServiceClient) -> Self {
        let is_case_sensitive = service.dialect() == Dialect::CosmosDb;
        Self { names: HashSet::new(), is_case_sensitive }
    }

    /// The names of the tables of a service.
    pub(crate) fn of(
        service: &TableServiceClient,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut known = Self::new(service);
        for name in names {
            known.insert(&name);
        }
        known
    }

    /// Adds a name. Returns whether it is a new one.
    pub(crate) fn insert(&mut self, name: &str) -> bool {
        self.names.insert(self.form(name))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(&self.form(name))
    }

    pub(crate) fn form(&self, name: &str) -> String {
        if self.is_case_sensitive { name.to_owned() } else { name.to_ascii_lowercase() }
    }
}

/// Adds the name of a table to its failure.
pub(crate) fn of_table(table: &str) -> impl FnOnce(Failure) -> Failure {
    move |failure| failure.of(&format!("table {}", one_line(table)))
}
