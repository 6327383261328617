//! The fault plans of the accounts.

use http::Method;
use serde_json::{Value, json};

use super::{Query, Refusal};
use crate::shared::Shared;

/// Adds faults, or removes all of them. Returns the plan of each account.
pub(super) fn respond(
    shared: &Shared,
    method: &Method,
    query: &Query,
    body: &str,
) -> Result<Value, Refusal> {
    query.allow(&["account"])?;
    let accounts = query.accounts(shared)?;
    for account in &accounts {
        let faults = account.service.faults();
        if method == Method::POST {
            faults.add_json(body).map_err(|error| Refusal::bad(error.to_string()))?;
        } else if method == Method::DELETE {
            faults.remove_all();
        }
    }
    let plans = accounts.iter().map(|account| {
        let mut plan: Value = serde_json::from_str(&account.service.faults().to_json())
            .map_err(|error| Refusal::bad(error.to_string()))?;
        plan["account"] = account.name.as_str().into();
        Ok(plan)
    });
    Ok(json!({ "accounts": plans.collect::<Result<Vec<_>, Refusal>>()? }))
}
