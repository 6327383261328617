//! Versioned partitions: reads of one moment, writes under the header row, and errors.

mod chaos;
mod crashes;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{EntityKey, IfMatch, Operation, Outcome, TableClient, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::versioned_partition::{VersionedPartition, View};

use crate::hostile::{on_secondary, touching, with_secondary};

const TABLE: &str = "Members";
const PARTITION: &str = "cluster";
/// Sorts between the members, so that no row is in a special place.
const HEADER: &str = "m";

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Header {
    #[table(partition_key)]
    cluster: String,
    #[table(row_key)]
    row: String,
    #[table(as_i64)]
    version: u64,
    /// The digest of all members.
    digest: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Member {
    #[table(partition_key)]
    cluster: String,
    #[table(row_key)]
    name: String,
    #[table(etag)]
    etag: Option<azure_table_client::ETag>,
    state: i64,
}

type Members = VersionedPartition<Header, Member>;

fn header(version: u64) -> Header {
    Header { cluster: PARTITION.into(), row: HEADER.into(), version, digest: 0 }
}

fn member(name: impl Into<String>, state: i64) -> Member {
    Member { cluster: PARTITION.into(), name: name.into(), etag: None, state }
}

fn members(table: &TableClient<Member>) -> Members {
    VersionedPartition::new(table, EntityKey::new(PARTITION, HEADER)).unwrap()
}

async fn table(mock: &MockTableService) -> TableClient<Member> {
    let table = mock.client().table_named::<Member>(TABLE);
    table.create().await.unwrap();
    table.with_entity().insert(&header(0)).await.unwrap();
    table
}

/// Increments the version of the header row.
fn next(view: &View<Header, Member>) -> azure_table_client::Stored<Header> {
    let mut header = view.header.clone();
    header.version += 1;
    header
}

fn names(view: &View<Header, Member>) -> Vec<&str> {
    view.rows.iter().map(|member| &*member.name).collect()
}

#[tokio::test]
async fn a_write_changes_the_header_row_and_the_others_together() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let partition = members(&table);
    let empty = partition.read().await.unwrap();
    assert_eq!((empty.header.version, empty.rows.len()), (0, 0));
    let write = partition.transaction(&next(&empty)).unwrap();
    write.insert(&member("a", 1)).insert(&member("z", 2)).await.unwrap();
    let view = partition.read().await.unwrap();
    assert_eq!((view.header.version, names(&view)), (1, vec!["a", "z"]));
    assert_eq!(partition.header().await.unwrap().etag, view.header.etag);

    // A write under an older version is refused as a whole.
    let late = partition.transaction(&next(&empty)).unwrap().insert(&member("b", 3)).await;
    let error = late.unwrap_err();
    assert!(error.is_precondition_failed() && error.outcome() == Outcome::NotApplied, "{error}");
    assert_eq!(partition.read().await.unwrap().rows, view.rows);

    let mut a = view.rows[0].clone();
    a.state = 5;
    let write = partition.transaction(&next(&view)).unwrap().replace(&a, a.etag.clone().unwrap());
    write.delete((PARTITION, "z"), view.rows[1].etag.clone().unwrap()).await.unwrap();
    let view = partition.read().await.unwrap();
    assert_eq!((view.header.version, names(&view), view.rows[0].state), (2, vec!["a"], 5));
}

#[tokio::test]
async fn a_write_without_other_rows_changes_the_version() {
    let mock = MockTableService::new();
    let partition = members(&table(&mock).await);
    let before = partition.read().await.unwrap();
    partition.transaction(&before.header).unwrap().await.unwrap();
    assert_ne!(partition.header().await.unwrap().etag, before.header.etag);
}

#[tokio::test]
async fn a_read_of_some_rows_is_of_one_moment_too() {
    let mock = MockTableService::new();
    let partition = members(&table(&mock).await);
    let write = partition.transaction(&partition.header().await.unwrap()).unwrap();
    write.insert(&member("a", 1)).insert(&member("b", 2)).insert(&member("z", 3)).await.unwrap();
    let view = partition.read_with(|query| query.filter(|m| m.name.ge("b"))).await.unwrap();
    assert_eq!(names(&view), ["b", "z"]);
    let view = partition.read_with(|query| query.filter(|m| m.name.eq("b"))).await.unwrap();
    assert_eq!(names(&view), ["b"]);
    // The header row is never one of the rows.
    let view = partition.read_with(|query| query.filter(|m| m.name.eq(HEADER))).await.unwrap();
    assert!(names(&view).is_empty());
}

#[tokio::test]
async fn each_call_sends_the_documented_number_of_requests() {
    let mock = MockTableService::new();
    let partition = members(&table(&mock).await);
    let write = partition.transaction(&partition.header().await.unwrap()).unwrap();
    mock.requests().clear();
    (0..9).fold(write, |write, n| write.insert(&member(n.to_string(), n))).await.unwrap();
    assert_eq!(mock.requests().total(), 1);
    mock.requests().clear();
    partition.read().await.unwrap();
    assert_eq!(
        (mock.requests().count(Operation::Get), mock.requests().count(Operation::Query)),
        (2, 1)
    );
    mock.requests().clear();
    let view = partition.read_with(|query| query.page_size(4)).await.unwrap();
    assert_eq!(view.rows.len(), 9);
    assert_eq!(
        (mock.requests().count(Operation::Get), mock.requests().count(Operation::Query)),
        (2, 3)
    );
    mock.requests().clear();
    partition.header().await.unwrap();
    assert_eq!(mock.requests().total(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_gives_up_if_a_write_intervenes_each_time() {
    let mock = MockTableService::new();
    table(&mock).await;
    let row = (PARTITION, HEADER);
    let before = ("GET", "/Members()");
    let touching = touching(&mock, TABLE, row, before);
    let partition = members(&touching.table_named(TABLE));
    mock.requests().clear();
    let start = tokio::time::Instant::now();
    let error = partition.read().await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 8, .. }), "{error:?}");
    // A pause between the header row and the pages would only make more writes intervene.
    assert_eq!(start.elapsed(), std::time::Duration::ZERO);
    assert!(error.to_string().contains("cluster"), "{error}");
    // The header row once, and in each round the rows and the header row.
    assert_eq!(
        (mock.requests().count(Operation::Get), mock.requests().count(Operation::Query)),
        (9, 8)
    );
}

#[tokio::test]
async fn a_partition_without_a_header_row_is_not_found() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    table.delete((PARTITION, HEADER), IfMatch::Any).await.unwrap();
    for result in [members(&table).read().await.map(drop), members(&table).header().await.map(drop)]
    {
        let Err(Error::Client { error }) = result else { panic!("{result:?}") };
        assert!(error.is_not_found(), "{error}");
    }
}

#[tokio::test]
async fn a_header_row_of_another_partition_is_refused() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let partition = members(&table);
    let view = partition.read().await.unwrap();
    for (cluster, row) in [("other", HEADER), (PARTITION, "other")] {
        let mut header = view.header.clone();
        (header.cluster, header.row) = (cluster.into(), row.into());
        let error = partition.transaction(&header).unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
        assert!(error.to_string().contains("header row"), "{error}");
    }
    for name in ["a/b", "a\\b", "a#b", "a?b", "a\tb"] {
        let sent = mock.requests().total();
        let invalid: Result<Members, _> = VersionedPartition::new(&table, (PARTITION, name));
        assert!(invalid.unwrap_err().is_invalid_input(), "{name:?}");
        assert_eq!(mock.requests().total(), sent);
    }
}

#[tokio::test]
async fn a_write_has_the_limits_of_a_transaction() {
    let mock = MockTableService::new();
    let partition = members(&table(&mock).await);
    for (count, is_valid) in [(100, false), (99, true)] {
        let write = partition.transaction(&partition.header().await.unwrap()).unwrap();
        let write = (0..count).fold(write, |write, n| write.insert(&member(format!("{n:03}"), n)));
        match write.await {
            Ok(_) => assert!(is_valid),
            Err(error) => {
                assert!(!is_valid && error.kind() == azure_table_client::ErrorKind::InvalidInput);
            }
        }
    }
    assert_eq!(partition.read().await.unwrap().rows.len(), 99);
}

#[tokio::test(start_paused = true)]
async fn a_failed_request_is_an_error_and_not_a_view() {
    let mock = MockTableService::new();
    let partition = members(&table(&mock).await);
    for operation in [Operation::Get, Operation::Query] {
        mock.faults().add(Fault::internal_error().on(operation));
        assert!(matches!(partition.read().await, Err(Error::Client { .. })));
        mock.faults().clear();
    }
}

/// The secondary would show an older header row after the rows, which looks like no change.
#[tokio::test]
async fn reads_do_not_use_the_secondary() {
    let mock = MockTableService::new();
    table(&mock).await;
    let partition = members(&with_secondary(&mock).table_named(TABLE));
    partition.read().await.unwrap();
    partition.header().await.unwrap();
    assert_eq!(on_secondary(&mock), 0);
}
