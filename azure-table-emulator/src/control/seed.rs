//! Seeds: bodies of `/-/seed`, and files at the start of the program.

use std::fs;
use std::path::{Path, PathBuf};

use azure_table_mock::{Seed, SeedError};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Query, Refusal, named};
use crate::accounts::Accounts;
use crate::options::Options;
use crate::shared::Shared;

/// The extensions of the files that a folder provides.
const EXTENSIONS: [&str; 3] = ["json", "jsonl", "ndjson"];
/// The database of Azurite for tables. The other files of Azurite begin like it.
const AZURITE_TABLES: &str = "__azurite_db_table__.json";
const AZURITE: &str = "__azurite";

impl From<SeedError> for Refusal {
    fn from(error: SeedError) -> Self {
        let line = Some(error.line());
        Self { status: StatusCode::BAD_REQUEST, error: error.message().to_owned(), line }
    }
}

/// Stores the rows of a body.
pub(super) fn post(shared: &Shared, query: &Query, body: &str) -> Result<Value, Refusal> {
    query.allow(&["account", "table"])?;
    let account = query.get("account").map(|name| named(shared, name)).transpose()?;
    let seed = Seed::read(body, query.get("table"))?;
    let rows = seed.rows();
    let account = account.as_ref().map(|account| &*account.name);
    store(&shared.accounts, seed, account)
        .map_err(|(status, error)| Refusal::new(status, error))?;
    Ok(json!({ "rows": rows }))
}

/// Stores a seed in the accounts that it names. `account` replaces those names, and the first account is the
/// default.
fn store(
    accounts: &Accounts,
    seed: Seed,
    account: Option<&str>,
) -> Result<(), (StatusCode, String)> {
    let first = accounts.iter().next();
    let first = first.as_ref().map(|account| &*account.name);
    let mut parts = Vec::new();
    for (named, part) in seed.by_account() {
        let name = account.or(named.as_deref()).or(first).unwrap_or_default();
        let found = accounts.named(name).ok_or_else(|| {
            let text = format!(
                "the account {name} does not exist: add it with --account, or choose another one"
            );
            (StatusCode::BAD_REQUEST, text)
        });
        parts.push((found?, part));
    }
    parts.into_iter().try_for_each(|(account, part)| {
        account.service.restore(part).map_err(|error| (StatusCode::CONFLICT, error.to_string()))
    })
}

/// Empties all accounts, an account or a table.
pub(super) fn reset(shared: &Shared, query: &Query) -> Result<Value, Refusal> {
    query.allow(&["account", "table", "faults", "requests"])?;
    let is_set = |name: &str| match query.get(name) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(_) => Err(Refusal::bad(format!("{name} must be 1, true, 0 or false"))),
    };
    let (faults, requests) = (is_set("faults")?, is_set("requests")?);
    let accounts = query.accounts(shared)?;
    let mut removed = 0;
    for account in &accounts {
        match query.get("table") {
            Some(table) => {
                shared.page.forget(&account.name, table);
                removed += usize::from(account.service.remove_table(table));
            }
            None => {
                let tables = account.service.table_names();
                for table in &tables {
                    shared.page.forget(&account.name, table);
                }
                removed += tables.len();
                account.service.reset();
            }
        }
        if faults {
            account.service.faults().clear();
        }
        if requests {
            account.service.requests().clear();
        }
    }
    Ok(json!({ "tables": removed }))
}

/// Stores the files of `--seed` and the fault plan of `--faults`.
pub(crate) fn load(options: &Options, accounts: &Accounts) -> Result<(), String> {
    for path in &options.seed {
        for file in files(path)? {
            let in_file = |error: String| format!("{}: {error}", file.display());
            let text = fs::read_to_string(&file).map_err(|error| in_file(error.to_string()))?;
            let table = file.file_stem().and_then(|name| name.to_str());
            let seed = Seed::read(&text, table).map_err(|error| in_file(error.to_string()))?;
            store(accounts, seed, None).map_err(|(_, error)| in_file(error))?;
        }
    }
    if let Some(file) = &options.faults {
        let plan = fs::read_to_string(file).map_err(|error| error.to_string());
        for account in accounts.iter() {
            let faults = account.service.faults();
            let added = plan
                .as_ref()
                .map_err(String::clone)
                .and_then(|plan| faults.add_json(plan).map_err(|error| error.to_string()));
            added.map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    Ok(())
}

/// Returns the file, or the files of a folder in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let entries = fs::read_dir(path).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files = paths.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    files.retain(|file| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let extension = file.extension().and_then(|extension| extension.to_str());
        let is_of_azurite = name.starts_with(AZURITE) && name != AZURITE_TABLES;
        !is_of_azurite && extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
    });
    files.sort();
    Ok(files)
}
