//! The writes in a request, as the network sees them.

use std::collections::BTreeMap;

use azure_table_client::Operation;
use azure_table_client::transport::{HttpRequest, HttpResponse};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The hook adds this to a value.
pub(super) const HOOK: i32 = 1_000_000;

/// A write of one entity in a request.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) row: usize,
    pub(super) operation: Operation,
    /// The ETag or `*`.
    pub(super) condition: Option<String>,
    /// The columns of the body that have numbers.
    pub(super) columns: BTreeMap<String, i32>,
    /// Equal for equal writes, also if one is in a transaction.
    pub(super) content: String,
}

impl Write {
    fn new(method: &str, path: &str, condition: Option<&str>, body: &str) -> Option<Self> {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let has_condition = condition.is_some();
        let operation = match method {
            "POST" => Operation::Insert,
            "MERGE" | "PATCH" if has_condition => Operation::Merge,
            "MERGE" | "PATCH" => Operation::InsertOrMerge,
            "PUT" if has_condition => Operation::Replace,
            "PUT" => Operation::InsertOrReplace,
            "DELETE" => Operation::Delete,
            _ => return None,
        };
        let row_key = match body.get("RowKey").and_then(Value::as_str) {
            Some(key) => key.to_owned(),
            None => {
                let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
                let (_, rest) = path.split_once("RowKey='")?;
                rest.split_once('\'')?.0.to_owned()
            }
        };
        let row = row_key.parse().ok()?;
        let members = body.as_object().into_iter().flatten();
        let columns = members
            .filter_map(|(name, value)| Some((name.clone(), i32::try_from(value.as_i64()?).ok()?)));
        let content = format!("{operation:?} {row} {condition:?} {body}");
        let condition = condition.map(str::to_owned);
        Some(Self { row, operation, condition, columns: columns.collect(), content })
    }

    /// The writes of a request; none if it reads.
    pub(super) fn all(request: &HttpRequest) -> Vec<Self> {
        let body = String::from_utf8_lossy(&request.body);
        if !request.uri.path().ends_with("/$batch") {
            let condition = request.headers.get("if-match").and_then(|tag| tag.to_str().ok());
            let write = Self::new(request.method.as_str(), request.uri.path(), condition, &body);
            return write.into_iter().collect();
        }
        let mut writes = vec![];
        let (mut head, mut condition, mut json) = (None, None, "");
        for line in body.lines().chain(["--"]) {
            if let Some((method, path)) =
                line.strip_suffix(" HTTP/1.1").and_then(|line| line.split_once(' '))
            {
                head = Some((method, path));
            } else if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("if-match")
            {
                condition = Some(value);
            } else if line.starts_with('{') {
                json = line;
            } else if line.starts_with("--")
                && let Some((method, path)) = head.take()
            {
                writes.extend(Self::new(method, path, condition.take(), std::mem::take(&mut json)));
            }
        }
        writes
    }

    /// Whether the service applied the request with this response.
    pub(super) fn is_applied(response: &HttpResponse) -> bool {
        let body = String::from_utf8_lossy(&response.body);
        response.status.is_success() && !body.contains("HTTP/1.1 4") && !body.contains("HTTP/1.1 5")
    }

    /// Whether a row has the state that the write leaves. The hook's change of a value does not count.
    pub(super) fn leaves(&self, row: Option<&BTreeMap<String, i32>>) -> bool {
        let Some(row) = row else { return self.operation == Operation::Delete };
        let has = |(name, value): (&String, &i32)| {
            row.get(name).is_some_and(|stored| plain(*stored) == plain(*value))
        };
        match self.operation {
            Operation::Delete => false,
            Operation::Merge | Operation::InsertOrMerge => self.columns.iter().all(has),
            _ => self.columns.iter().all(has) && self.columns.len() == row.len(),
        }
    }

    /// Whether the service applies it at most to one version of the row.
    pub(super) fn is_under_an_etag(&self) -> bool {
        self.condition.as_ref().is_some_and(|condition| condition != "*")
    }
}

/// A value without the hook's change.
pub(super) const fn plain(value: i32) -> i32 {
    value % HOOK
}
