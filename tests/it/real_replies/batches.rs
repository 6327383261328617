//! The replies to batches, parsed independently of the library.

use azure_table_client::{DynamicEntity, ETag, ErrorKind, TableServiceClient};
use serde_json::Value;

use super::message;
use super::reply::Reply;

/// The reply to one operation: its status, its ETag, and its body if that is JSON.
struct Part<'t> {
    status: u16,
    etag: Option<&'t str>,
    body: Value,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let parts = text.split("HTTP/1.1 ").skip(1).map(|part| {
        let mut lines = part.lines();
        let status = lines.next().unwrap().split(' ').next().unwrap().parse().unwrap();
        let etag = part.lines().find_map(|line| line.strip_prefix("ETag: "));
        let body = part.lines().find(|line| line.starts_with('{'));
        let body = body.map(|body| serde_json::from_str(body).unwrap()).unwrap_or_default();
        Part { status, etag, body }
    });
    parts.collect()
}

/// Checks the status and the version of all results, and the operation, the code and the message of
/// a refusal. Returns the number of results.
pub(super) async fn check(service: &TableServiceClient, reply: &Reply) -> usize {
    let parts = parts(&reply.text);
    let refused = parts.iter().find(|part| part.status >= 400);
    // A refusal is the only part, regardless of the number of operations.
    let count = if refused.is_some() { 3 } else { parts.len() };
    let table = service.table_named::<DynamicEntity>("Blogs");
    let rows = (0..count).map(|n| DynamicEntity::new("p", n.to_string()));
    let sent = rows.fold(table.transaction(), |sent, row| sent.insert(&row)).await;
    let Some(refused) = refused else {
        let committed = sent.unwrap();
        assert_eq!(committed.status, reply.status);
        assert_eq!(committed.request_id.as_deref(), reply.header("x-ms-request-id"));
        for (result, part) in committed.operations.iter().zip(&parts) {
            assert_eq!(result.status, part.status);
            assert_eq!(result.etag.as_ref().map(ETag::as_str), part.etag);
        }
        assert_eq!(committed.operations.len(), parts.len());
        return parts.len();
    };
    let error = sent.unwrap_err();
    let (code, text) = message(&refused.body);
    let (index, text) = text.split_once(':').unwrap();
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.status(), Some(refused.status));
    assert_eq!(error.code().unwrap().as_str(), code);
    assert_eq!(error.batch_index(), Some(index.parse().unwrap()));
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(error.request_id(), reply.header("x-ms-request-id"));
    parts.len()
}
