//! The recorded requests.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::RecordedRequest;
use azure_table_client::{ErrorCode, Operation};
use http::Method;
use serde_json::{Map, Value, json};

use super::{Query, Refusal};
use crate::shared::Shared;

/// Returns the counts and the last requests that match the query, the oldest first, or removes all requests.
pub(super) fn respond(shared: &Shared, method: &Method, query: &Query) -> Result<Value, Refusal> {
    query.allow(&["account", "table", "operation", "method", "status", "limit"])?;
    let accounts = query.accounts(shared)?;
    if method == Method::DELETE {
        query.allow(&["account"])?;
        for account in &accounts {
            account.service.requests().clear();
        }
    }
    let operation = query.get("operation").map(operation).transpose()?;
    let status: Option<u16> = query.number("status")?;
    let limit: Option<usize> = query.number("limit")?;
    let is_selected = |request: &RecordedRequest| {
        let is_of_table = |name: &str| {
            request.table.as_ref().is_some_and(|table| table.eq_ignore_ascii_case(name))
        };
        query.get("table").is_none_or(is_of_table)
            && operation.is_none_or(|operation| request.operation == operation)
            && status.is_none_or(|status| request.status == status)
            && query.get("method").is_none_or(|method| request.method.as_str() == method)
    };
    let mut counts = Map::new();
    let (mut total, mut table_scans, mut scanned_rows) = (0, 0, 0);
    let mut selected: Vec<(String, RecordedRequest)> = Vec::new();
    for account in accounts {
        let requests = account.service.requests();
        total += requests.total();
        table_scans += requests.table_scans();
        scanned_rows += requests.scanned_rows();
        for operation in Operation::ALL {
            let count = requests.count(*operation);
            if count > 0 {
                let known = counts.get(operation.as_str()).and_then(Value::as_u64).unwrap_or(0);
                counts.insert(operation.as_str().into(), (known + count as u64).into());
            }
        }
        let all = requests.all().into_iter().filter(is_selected);
        selected.extend(all.map(|request| (account.name.clone(), request)));
    }
    // The stable sort keeps the order of responses within an account.
    selected.sort_by_key(|(_, request)| request.arrived);
    let skipped = limit.map_or(0, |limit| selected.len().saturating_sub(limit));
    let requests: Vec<_> = selected[skipped..].iter().map(document).collect();
    Ok(json!({
        "total": total,
        "counts": counts,
        "table_scans": table_scans,
        "scanned_rows": scanned_rows,
        "requests": requests,
    }))
}

fn operation(name: &str) -> Result<Operation, Refusal> {
    let found = Operation::ALL.iter().find(|operation| operation.as_str() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.as_str()).collect();
        Refusal::bad(format!("unknown operation {name:?}: it is one of {}", names.join(", ")))
    })
}

fn document((account, request): &(String, RecordedRequest)) -> Value {
    let arrived = EdmDateTime::from_system_time(request.arrived).unwrap_or(EdmDateTime::MIN);
    json!({
        "account": account,
        "arrived": arrived.to_string(),
        "method": request.method.as_str(),
        "url": request.url,
        "operation": request.operation.as_str(),
        "operations": request.operations,
        "table": request.table,
        "filter": request.filter(),
        "status": request.status,
        "error_status": request.error_status,
        "error_code": request.error_code.as_ref().map(ErrorCode::as_str),
        "failed_operation": request.failed_operation,
        "plan": request.plan.map(|plan| plan.to_string()),
        "scanned_rows": request.scanned_rows,
        "attempt": request.attempt,
        "body_bytes": request.payload_len,
        "took_us": u64::try_from(request.took.as_micros()).unwrap_or(u64::MAX),
    })
}
