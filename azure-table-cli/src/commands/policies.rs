//! `policies`: the stored access policies of a table.

use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::{DynamicEntity, TableClient};
use serde_json::json;

use crate::args::{Globals, Lines, Policies, PolicyAction, SetPolicy};
use crate::engine::permissions::{end, table_permissions};
use crate::failure::{Exit, Failure, Result};
use crate::output::{Out, note, one_line, padded, width, without_controls};

/// The columns of the list.
const NAMES: [&str; 4] = ["Id", "Permissions", "Start", "Expiry"];

pub(crate) async fn run(args: Policies, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    let table = |name: String| service.table_named::<DynamicEntity>(name);
    match args.action {
        PolicyAction::Get { table: name, output } => {
            print(&table(name).access_policies().await?, output)
        }
        PolicyAction::Set(args) => set(&table(args.table.clone()), args, globals).await,
        PolicyAction::Remove { table: name, id } => {
            let table = table(name);
            let mut policies = table.access_policies().await?;
            let before = policies.len();
            policies.retain(|policy| policy.id != id);
            if policies.len() == before {
                let message = format!("table {} has no policy {id:?}", table.name());
                return Err(Failure::new(Exit::NotFound, message));
            }
            table.set_access_policies(&policies).await?;
            Ok(())
        }
    }
}

async fn set(table: &TableClient<DynamicEntity>, args: SetPolicy, globals: &Globals) -> Result<()> {
    let policy = StoredAccessPolicy {
        permissions: args.permissions.as_deref().map(table_permissions).transpose()?,
        start: args.starts,
        expiry: args.expires.map(end).transpose()?,
        ..StoredAccessPolicy::new(args.id)
    };
    let missing = missing_terms(&policy).map(|missing| (one_line(&policy.id), missing));
    let mut policies = table.access_policies().await?;
    match policies.iter_mut().find(|known| known.id == policy.id) {
        Some(known) => *known = policy,
        None => policies.push(policy),
    }
    table.set_access_policies(&policies).await?;
    if let Some((id, (terms, options))) = missing {
        let text =
            format!("the policy {id} has {terms}: a signature that names it needs {options}");
        note(globals, &text);
    }
    Ok(())
}

/// Returns the terms that a signature with this policy must have itself, and the options of `sas` for them.
pub(super) fn missing_terms(policy: &StoredAccessPolicy) -> Option<(&'static str, &'static str)> {
    match (policy.permissions, policy.expiry) {
        (Some(_), Some(_)) => None,
        (None, Some(_)) => Some(("no permissions", "--permissions")),
        (Some(_), None) => Some(("no expiry", "--expires")),
        (None, None) => Some(("no permissions and no expiry", "--permissions and --expires")),
    }
}

fn print(policies: &[StoredAccessPolicy], lines: Lines) -> Result<()> {
    let mut out = Out::new();
    match lines {
        Lines::Text => print_text(policies, &mut out)?,
        Lines::Jsonl => {
            for policy in policies {
                let [id, permissions, start, expiry] = fields(policy);
                let line = json!({
                    "Id": id, "Permissions": permissions, "Start": start, "Expiry": expiry,
                });
                out.put(&format!("{}\n", without_controls(&line.to_string())))?;
            }
        }
    }
    out.flush()
}

fn print_text(policies: &[StoredAccessPolicy], out: &mut Out) -> Result<()> {
    let rows = policies
        .iter()
        .map(|policy| fields(policy).map(|field| one_line(field.as_deref().unwrap_or_default())));
    let rows: Vec<_> = [NAMES.map(str::to_owned)].into_iter().chain(rows).collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: Vec<_> = (0..NAMES.len()).map(widest).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, columns)| padded(cell, *columns));
        out.put(&format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end()))?;
    }
    Ok(())
}

/// The values of the columns.
fn fields(policy: &StoredAccessPolicy) -> [Option<String>; 4] {
    let time = |time: Option<EdmDateTime>| time.map(|time| time.to_string());
    let permissions = policy.permissions.map(|permissions| permissions.to_string());
    [Some(policy.id.clone()), permissions, time(policy.start), time(policy.expiry)]
}
