//! The commands for all tables of an account: loops over the commands for one table.

pub(crate) mod copy;
pub(crate) mod count;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod import;
mod manifest;
mod names;
mod new_folders;
mod pattern;
mod selection;
mod stages;
pub(crate) mod verify;

use std::collections::HashSet;

use azure_table_client::{Dialect, DynamicEntity, TableServiceClient};
use futures_util::TryStreamExt as _;

use crate::args::Globals;
use crate::failure::{Failure, Result};
use crate::output::one_line;
use crate::table_name;

pub(crate) use pattern::Pattern;

/// The moment of an interrupt, in messages.
const BETWEEN_TABLES: &str = "between two tables";

/// Returns the names of all tables in a fixed order. A run reads them once.
async fn table_names(service: &TableServiceClient) -> Result<Vec<String>> {
    let mut names: Vec<String> = service.list_tables().stream().try_collect().await?;
    names.sort();
    Ok(names)
}

/// Checks a filter before the first request. Without this check, the first table would find that it is invalid.
fn check_filter(service: &TableServiceClient, filter: Option<&str>) -> Result<()> {
    if let Some(text) = filter {
        service.table_named::<DynamicEntity>("Any").query().filter_text(text).plan()?;
    }
    Ok(())
}

/// Checks that the two sides of a command are different accounts, as far as their addresses show it.
fn check_different_accounts(a: &TableServiceClient, b: &TableServiceClient) -> Result<()> {
    if a.endpoint().eq_ignore_ascii_case(b.endpoint()) {
        return Err(Failure::usage("both sides are the same account: state --from and --to"));
    }
    Ok(())
}

/// Checks that the target of an import or a copy can have all these tables.
fn check_target_names<'t>(
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
fn one_table(table: &str) -> Failure {
    let table = one_line(table);
    let message =
        format!("two tables {table} would be one table in the other account: exclude one of them");
    Failure::usage(message)
}

/// The failure of a table, which ends the run.
fn stopped(table: &str, failure: &Failure, complete: usize, all: usize) -> Failure {
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
fn without_questions(globals: &Globals) -> Globals {
    Globals { yes: true, ..globals.clone() }
}

/// Names of tables, which are case-insensitive unless the service is Cosmos DB.
struct Names {
    names: HashSet<String>,
    is_case_sensitive: bool,
}

impl Names {
    fn new(service: &TableServiceClient) -> Self {
        let is_case_sensitive = service.dialect() == Dialect::CosmosDb;
        Self { names: HashSet::new(), is_case_sensitive }
    }

    /// The names of the tables of a service.
    fn of(service: &TableServiceClient, names: impl IntoIterator<Item = String>) -> Self {
        let mut known = Self::new(service);
        for name in names {
            known.insert(&name);
        }
        known
    }

    /// Adds a name. Returns whether it is a new one.
    fn insert(&mut self, name: &str) -> bool {
        self.names.insert(self.form(name))
    }

    fn contains(&self, name: &str) -> bool {
        self.names.contains(&self.form(name))
    }

    fn form(&self, name: &str) -> String {
        if self.is_case_sensitive { name.to_owned() } else { name.to_ascii_lowercase() }
    }
}
