//! Texts from users: filters, connection strings, continuations, checkpoints.

use azure_table_client::bulk::Checkpoint;
use azure_table_client::client::Continuation;
use azure_table_client::filter::Filter;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ErrorKind, RetryPolicy, TableClient, TableServiceClient};
use http::HeaderValue;

use super::canned::{block_on, response, transport};
use super::replies::told;
use super::requests::seeded;

/// The secret in the seeds, which no output may contain.
const SECRET: &str = "SECRET";

/// The parts of a connection string that may be displayed: names and addresses.
const SHOWN: [&str; 4] =
    ["accountname", "defaultendpointsprotocol", "endpointsuffix", "developmentstorageproxyuri"];

/// A filter: it is displayed as a text of the same meaning, and returns the same rows whether the
/// client splits it or not; its negation returns the others.
pub fn filter_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let filter = match Filter::parse(text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(error.position() <= text.chars().count(), "{error}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let shown = filter.to_string();
    assert_eq!(Filter::parse(&shown).as_ref(), Ok(&filter), "{shown}");
    assert!(filter.comparisons() > 0);

    let negated = !filter.clone();
    // One more level may exceed the limit.
    if Filter::parse(&negated.to_string()).is_err() {
        return;
    }
    with_blogs(|mock, blogs| {
        let all = mock.row_count("Blogs").expect("the table");
        let found = rows(blogs, &filter);
        let others = rows(blogs, &negated);
        if let (Some(found), Some(others)) = (found, others) {
            assert_eq!(found + others, all, "{shown}");
        }
    });
}

/// The number of rows that a filter returns; `None` if it is too long to be sent.
fn rows(table: &TableClient<DynamicEntity>, filter: &Filter) -> Option<usize> {
    let query = table.query().matching(filter);
    told(&query.plan());
    match block_on(query.allow_scan()) {
        Ok(rows) => Some(rows.len()),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            None
        }
    }
}

/// A table with rows of all types, for calls that change nothing.
fn with_blogs(run: impl FnOnce(&MockTableService, &TableClient<DynamicEntity>)) {
    thread_local! {
        static BLOGS: (MockTableService, TableClient<DynamicEntity>) = {
            let mock = seeded();
            let blogs = mock.client().table_named("Blogs");
            (mock, blogs)
        };
    }
    BLOGS.with(|(mock, blogs)| run(mock, blogs));
}

/// A connection string: a client or an error, without a secret in its text.
pub fn connection_string(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let is_public = |segment: &str| {
        let key = segment.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        key.ends_with("endpoint") || SHOWN.contains(&&*key)
    };
    let is_secret = !text.split(';').any(|part| is_public(part) && part.contains(SECRET));
    let hides_the_secret = |shown: &str| assert!(!is_secret || !shown.contains(SECRET), "{shown}");
    let empty = response(200, HeaderValue::from_static("application/json"), b"{\"value\":[]}");
    let client = TableServiceClient::builder_from_connection_string(text)
        .map(|builder| builder.transport(transport(empty)).retry(RetryPolicy::none()));
    let built = client.and_then(|builder| {
        hides_the_secret(&format!("{builder:?}"));
        builder.build()
    });
    let service = match built {
        Ok(service) => service,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
            hides_the_secret(&error.to_string());
            return hides_the_secret(&format!("{error:?}"));
        }
    };
    hides_the_secret(&format!("{service:?}"));
    let rows = block_on(service.table_named::<DynamicEntity>("Blogs").query());
    if let Err(error) = rows {
        hides_the_secret(&format!("{error} {error:?}"));
    }
}

/// A continuation is displayed as it was parsed, and refused at worst.
pub fn continuation(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(continuation) = text.parse::<Continuation>() else {
        assert!(serde_json::from_value::<Continuation>(text.into()).is_err());
        return;
    };
    assert_eq!(continuation.to_string().parse::<Continuation>().as_ref().ok(), Some(&continuation));
    let json = serde_json::to_string(&continuation).expect("a text");
    let read: Continuation = serde_json::from_str(&json).expect("a continuation");
    assert_eq!(read, continuation);
    with_blogs(|_, blogs| {
        let next = block_on(blogs.query().page_size(2).start_at(continuation).pages().next());
        if let Some(Err(error)) = next {
            // It belongs to another query, or has a token that the service did not issue.
            let is_refusal = error.kind() == ErrorKind::InvalidInput || error.status() == Some(400);
            assert!(is_refusal, "{error}");
        }
    });
}

/// A checkpoint survives a round trip, and its numbers agree.
pub fn checkpoint(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(checkpoint) = text.parse::<Checkpoint>() else { return };
    assert_eq!(checkpoint.to_string().parse::<Checkpoint>().as_ref().ok(), Some(&checkpoint));
    let json = serde_json::to_string(&checkpoint).expect("a text");
    let read: Checkpoint = serde_json::from_str(&json).expect("a checkpoint");
    assert_eq!(read, checkpoint);
    let next = checkpoint.next();
    assert!(!checkpoint.is_resolved(next));
    assert!(next == 0 || checkpoint.is_resolved(next - 1));
    assert!(next <= checkpoint.resolved() && checkpoint.refused() <= checkpoint.resolved());
    let _ = checkpoint.is_resolved(u64::MAX);
}
