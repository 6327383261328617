//! Queries that list keys: requests in flight, limits, telemetry and errors.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use azure_table_client::context::TableContext;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::telemetry::{CallOutcome, Finished, Observer};
use azure_table_client::{
    Dialect, DynamicEntity, Error, ErrorKind, Operation, TableClient, TableEntity,
};
use azure_table_tests::sized;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::time::Instant;

/// 30 partitions of 3 rows.
fn filled(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let rows = (0..90).map(|n| {
        let mut row = DynamicEntity::new(format!("{:02}", n / 3), (n % 3).to_string());
        row.set("N", n);
        row
    });
    mock.seed("Rows", &rows.collect::<Vec<_>>()).unwrap();
    mock.client().table_named("Rows")
}

fn any_of(property: &str, keys: impl Iterator<Item = String>) -> String {
    let each: Vec<_> = keys.map(|key| format!("{property} eq '{key}'")).collect();
    format!("({})", each.join(" or "))
}

fn partitions(count: usize) -> String {
    any_of("PartitionKey", (0..count).map(|n| format!("{n:02}")))
}

fn rows(count: usize) -> String {
    any_of("RowKey", (0..count).map(|n| n.to_string()))
}

#[tokio::test(start_paused = true)]
async fn up_to_eight_requests_are_in_flight() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    mock.faults().add(Fault::delay_reply(Duration::from_secs(1)));
    let points = format!("{} and {}", partitions(10), rows(2));
    for (filter, parallel, seconds) in [
        (partitions(20), None, 3),
        (partitions(20), Some(20), 1),
        (partitions(20), Some(1), 20),
        (points.clone(), None, 3),
        (points.clone(), Some(20), 1),
    ] {
        let start = Instant::now();
        let query = table.query().filter_text(&filter);
        let found = match parallel {
            None => query.await.unwrap(),
            Some(requests) => query.parallel(requests).await.unwrap(),
        };
        assert_eq!((found.cost.requests, start.elapsed().as_secs()), (20, seconds), "{parallel:?}");
    }
}

#[tokio::test]
async fn no_more_requests_are_in_flight_than_rows_are_left_to_take() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    for filter in [partitions(20), format!("{} and {}", partitions(10), rows(2))] {
        let query = || table.query().filter_text(&filter);
        mock.requests().clear();
        assert!(query().any().await.unwrap());
        assert!(query().first().await.unwrap().is_some());
        assert_eq!(query().page_size(2).page().await.unwrap().entities.len(), 2);
        let points = mock.requests().count(Operation::Get);
        assert!(mock.requests().total() <= 4 && points != 3, "{points} point reads");
        for sent in mock.requests().of(Operation::Query) {
            assert!(sent.url.contains("$top=1") || sent.url.contains("$top=2"), "{}", sent.url);
        }
        // `$top` never exceeds the rows that are left.
        assert_eq!(query().take(7).await.unwrap().len(), 7);
    }
}

#[tokio::test]
async fn a_limit_on_rows_is_an_error_for_each_list_of_keys() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    // 10 partitions of which each has 2 of the 3 listed rows; 10 partitions; and 20 rows, of which 6 do not exist.
    let missing = any_of("PartitionKey", (20..40).map(|n| n.to_string()));
    for (filter, count) in [
        (format!("{} and {}", partitions(10), rows(2)), 20),
        (partitions(10), 30),
        (format!("{missing} and RowKey eq '1'"), 10),
        ("PartitionKey eq '01' or PartitionKey eq '03' and N gt 0".to_owned(), 6),
    ] {
        for most in [0, 1, 5, count - 1, count, count + 1] {
            for page_size in [None, Some(1), Some(4), Some(1000)] {
                let mut query = table.query().filter_text(&filter).max_rows(most);
                if let Some(size) = page_size {
                    query = query.page_size(size);
                }
                for found in [query.clone().await, query.parallel(3).await] {
                    let case = format!("{filter}: {most} of {count}, {page_size:?}");
                    match found {
                        Ok(found) => {
                            assert!(found.len() as u64 == count && count <= most, "{case}");
                        }
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::TooManyRows, "{case}");
                            assert!(count > most, "{case}");
                        }
                    }
                }
            }
        }
        let taken = table.query().filter_text(&filter).max_rows(5).take(3).await.unwrap();
        assert_eq!(taken.len(), 3, "{filter}");
    }
}

#[tokio::test]
async fn a_page_has_the_rows_of_many_point_reads() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    let text = format!("{} and {}", partitions(30), rows(4));
    let mut pages = table.query().filter_text(&text).page_size(50).pages();
    let (mut sizes, mut requests) = (Vec::new(), 0);
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        sizes.push(page.entities.len());
        requests += page.cost.requests;
    }
    assert_eq!((sizes, requests), (vec![50, 40], 120));
}

#[tokio::test]
async fn impossible_and_long_keys_are_queried() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    // A path cannot hold these keys.
    let long = "k".repeat(600);
    mock.seed("Rows", [&DynamicEntity::new("00", &*long)]).unwrap();
    let keys = ["2".to_owned(), "a/b".to_owned(), "0".to_owned(), long.clone()];
    let text = format!("PartitionKey eq '00' and {}", any_of("RowKey", keys.into_iter()));
    let query = || table.query().filter_text(&text);
    assert_eq!(query().plan().unwrap().queries, 4);
    let found = query().page_size(1).await.unwrap();
    let found: Vec<_> = found.iter().map(|row| &*row.key().row_key).collect();
    assert_eq!(found, ["0", "2", &*long]);
    let sent = |operation| mock.requests().count(operation);
    assert_eq!((sent(Operation::Get), sent(Operation::Query)), (2, 2));
    // No row can match.
    for nothing in [
        format!("{} and PartitionKey eq 'x'", partitions(3)),
        format!("{} and PartitionKey lt ''", partitions(3)),
        format!("PartitionKey eq '00' and {} and RowKey eq 'x'", rows(2)),
    ] {
        mock.requests().clear();
        assert_eq!(table.query().filter_text(&nothing).await.unwrap().len(), 0, "{nothing}");
        assert_eq!(mock.requests().total(), 0, "{nothing}");
    }
    // A missing table is an error, also of point reads.
    table.delete_table().await.unwrap();
    for text in [text, partitions(20)] {
        let error = table.query().filter_text(&text).await.unwrap_err();
        assert_eq!(error.status(), Some(404), "{error}");
    }
}

/// Every way to read or delete the rows of a query.
async fn read_in_every_way(table: &TableClient<DynamicEntity>, text: &str) {
    let query = || table.query().filter_text(text);
    assert!(query().await.unwrap().is_empty());
    assert_eq!(query().count().await.unwrap(), 0);
    assert!(!query().any().await.unwrap());
    assert!(query().first().await.unwrap().is_none());
    assert!(query().single_or_none().await.unwrap().is_none());
    let page = query().page_size(10).page().await.unwrap();
    assert!(page.entities.is_empty() && page.continuation.is_none());
    assert!(query().pages().next().await.is_none());
    assert!(query().stream().try_next().await.unwrap().is_none());
    assert!(query().results().await.unwrap().is_empty());
    assert!(query().parallel(3).await.unwrap().is_empty());
    assert!(query().parallel(3).unordered().stream().try_next().await.unwrap().is_none());
    assert_eq!(query().parallel(3).count().await.unwrap(), 0);
    assert!(query().parallel(3).range_filters().await.unwrap().is_empty());
    let deleted = table.bulk().delete_found(query()).await.unwrap();
    assert_eq!(deleted.progress.applied, 0);
}

#[tokio::test]
async fn a_filter_that_no_key_can_meet_sends_nothing() {
    let mock = MockTableService::new();
    filled(&mock);
    let calls = Arc::<Calls>::default();
    let table = observed(&mock, &calls);
    let point = |p: &str, r: &str| format!("PartitionKey eq '{p}' and RowKey eq '{r}'");
    let list = |property, keys: [&str; 2]| any_of(property, keys.map(str::to_owned).into_iter());
    for text in [
        "PartitionKey lt ''".to_owned(),
        format!("({} or {}) and RowKey eq '0'", point("00", "1"), point("29", "2")),
        format!(
            "{} and {}",
            list("PartitionKey", ["00", "29"]),
            list("PartitionKey", ["01", "28"])
        ),
        format!("{} and {}", list("RowKey", ["0", "2"]), list("RowKey", ["1", "3"])),
        format!("{} and RowKey eq '1' and N ge 0", list("RowKey", ["0", "2"])),
        format!("PartitionKey eq '05' and {} and RowKey eq '1'", list("RowKey", ["0", "2"])),
        "PartitionKey gt 'b' and PartitionKey lt 'a'".to_owned(),
        "PartitionKey eq '05' and RowKey gt '2' and N ge 0 and RowKey le '1'".to_owned(),
        format!("{} and RowKey gt '2' and RowKey le '1'", partitions(10)),
        "(PartitionKey eq '05' or PartitionKey gt '20') and PartitionKey eq '10'".to_owned(),
        "not (PartitionKey ge '' or N eq 1)".to_owned(),
        "PartitionKey gt '05' and N ge 0 and false".to_owned(),
        "not (N eq 1 or true)".to_owned(),
    ] {
        mock.requests().clear();
        read_in_every_way(&table, &text).await;
        let sent = mock.requests().all();
        assert!(sent.is_empty(), "{text}: {:?}", sent[0].filter());
        let plan = table.query().filter_text(&text).plan().unwrap();
        assert_eq!(plan.queries, 0, "{text}");
        assert_eq!(plan.to_string(), "nothing: no key can meet the filter", "{text}");
        let mut context = TableContext::new(&mock.client());
        let rows = context.service().table_named::<DynamicEntity>("Rows");
        let rows = context.load(rows.query().filter_text(&text)).await.unwrap();
        assert!(rows.is_empty() && mock.requests().total() == 0, "{text}");
    }
    assert_eq!(*calls.0.lock().unwrap(), [], "no call is reported");
    // The other settings of the query are checked.
    let nothing = || table.query().filter_text("PartitionKey lt ''");
    assert!(nothing().page_size(0).await.is_err() && nothing().parallel(0).await.is_err());
    // A branch that no key can meet is left out.
    let text = "PartitionKey eq '05' and RowKey gt '2' and RowKey le '1' or PartitionKey eq '06'";
    assert_eq!(table.query().filter_text(text).await.unwrap().len(), 3);
    assert_eq!(mock.requests().total(), 1);
}

#[tokio::test]
async fn too_many_branches_are_refused() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    let mut cases = vec![
        (format!("{} and {}", partitions(100), rows(100)), true),
        (format!("{} and {}", partitions(101), rows(100)), false),
        (partitions(10_001), false),
    ];
    // A debug build needs seconds for it.
    if sized(false, true) {
        let conditions = format!("{} and {} and N ge 0", partitions(1000), rows(10_000));
        cases.push((conditions, false));
    }
    for (text, is_allowed) in cases {
        let query = || table.query().filter_text(&text);
        assert_eq!(query().plan().is_ok(), is_allowed);
        if is_allowed {
            continue;
        }
        let error = query().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let expected = "the lists in the filter need more than 10000 queries";
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(mock.requests().total(), 0);
}

/// Long lists whose product is longer than the limit on requests.
#[tokio::test]
async fn long_lists_with_other_conditions_are_split_or_refused_at_once() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    let numbers = |count| {
        let each: Vec<_> = (0..count).map(|n| format!("N eq {n}")).collect();
        format!("({})", each.join(" or "))
    };
    let most = sized(500, 5_000);
    let lists = [
        // One query for each 13 rows, where reading each row would need more than 10,000 requests.
        (format!("PartitionKey eq '00' and {} and N ge 0", rows(12_000)), Some(924)),
        // One query for each partition, where its eight rows would need 10,008 requests.
        (format!("{} and {} and N ge 0", partitions(1_251), rows(8)), Some(1_251)),
        (format!("{} and {} and N ge 0", partitions(3_000), rows(3)), Some(9_000)),
        // Each row needs 16 queries, and a split is limited to 1,000 queries.
        (format!("PartitionKey eq '00' and {} and {}", rows(100), numbers(200)), Some(1_600)),
        // A copy of one list for each value of the other would fill the memory.
        (format!("PartitionKey eq '00' and {} and {}", rows(most), numbers(most)), None),
    ];
    // The third one costs the most.
    for (text, expected) in
        lists.into_iter().enumerate().filter(|(n, _)| sized(*n != 2, true)).map(|(_, list)| list)
    {
        let plan = table.query().filter_text(&text).plan();
        assert_eq!(plan.map(|plan| plan.queries).ok(), expected, "{}", &text[..40]);
    }
    let few = format!("PartitionKey eq '00' and {} and N ge 1", rows(300));
    assert_eq!(table.query().filter_text(&few).await.unwrap().len(), 2);
}

/// The order of keys on Cosmos DB is not documented, so that it decides about ranges of keys.
#[tokio::test]
async fn cosmos_db_decides_about_ranges_of_keys() {
    let mock = MockTableService::builder().dialect(Dialect::CosmosDb).build();
    let client = mock.client_builder().dialect(Dialect::CosmosDb).build().unwrap();
    let table = client.table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    let list = "(RowKey eq '\u{ffff}' or RowKey eq '\u{10000}')";
    for (text, sent) in [
        ("PartitionKey eq 'p' and RowKey gt 'b' and RowKey lt 'a'".to_owned(), 1),
        (format!("PartitionKey eq 'p' and {list} and RowKey lt '\u{10000}'"), 2),
        (format!("PartitionKey eq 'p' and {list} and RowKey eq 'a'"), 0),
        ("PartitionKey lt ''".to_owned(), 0),
        ("PartitionKey eq 'p' and RowKey gt 'a' and false".to_owned(), 0),
    ] {
        mock.requests().clear();
        assert!(table.query().filter_text(&text).await.unwrap().is_empty(), "{text}");
        assert_eq!(mock.requests().total(), sent, "{text}");
    }
}

#[tokio::test]
async fn a_query_for_false_alone_is_sent() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    assert!(table.query().filter_text("false").await.unwrap().is_empty());
    assert_eq!(mock.requests().total(), 1, "a health check notices a missing table");
    table.delete_table().await.unwrap();
    let error = table.query().filter_text("false").await.unwrap_err();
    assert_eq!(error.status(), Some(404), "{error}");
}

#[tokio::test]
async fn a_dropped_page_loses_no_row() {
    let mock = MockTableService::new();
    let table = filled(&mock);
    // Partitions, then points, then partitions.
    let text = format!(
        "{} and (PartitionKey lt '05' or PartitionKey gt '09' or {})",
        partitions(20),
        rows(2)
    );
    let plan = table.query().filter_text(&text).plan().unwrap().to_string();
    assert!(plan.starts_with("15 partitions and 10 point reads"), "{plan}");
    let expected = table.query().filter_text(&text).await.unwrap();
    assert_eq!(expected.len(), 15 * 3 + 10);
    for polls in 1..12 {
        let mut pages = table.query().filter_text(&text).page_size(2).pages();
        let mut found = Vec::new();
        loop {
            let mut next = Box::pin(pages.next());
            let mut page = Poll::Pending;
            for _ in 0..polls {
                if page.is_pending() {
                    page = futures_util::poll!(next.as_mut());
                }
            }
            drop(next);
            let page = match page {
                Poll::Ready(page) => page,
                Poll::Pending => pages.next().await,
            };
            let Some(page) = page else { break };
            found.extend(page.unwrap().entities);
        }
        assert_eq!(found, *expected, "after {polls} polls");
    }
}

/// A finished call: operation, attempts, operations, rows, and whether it succeeded.
type FinishedCall = (Operation, u32, usize, u64, bool);

#[derive(Debug, Default)]
struct Calls(Mutex<Vec<FinishedCall>>);

impl Observer for Calls {
    fn call_finished(&self, finished: &Finished<'_>) {
        let has_succeeded = matches!(finished.outcome, CallOutcome::Succeeded);
        let Finished { operation, attempts, operations, rows, .. } = *finished;
        self.0.lock().unwrap().push((operation, attempts, operations, rows, has_succeeded));
    }
}

fn observed(mock: &MockTableService, calls: &Arc<Calls>) -> TableClient<DynamicEntity> {
    mock.client_builder()
        .observer(Arc::clone(calls) as Arc<dyn Observer>)
        .build()
        .unwrap()
        .table_named("Rows")
}

#[tokio::test]
async fn all_requests_of_a_query_are_one_call() {
    let mock = MockTableService::new();
    filled(&mock);
    let calls = Arc::<Calls>::default();
    let table = observed(&mock, &calls);
    // One of the points has no row.
    let points = format!("{} and {}", partitions(1), rows(4));
    assert_eq!(table.query().filter_text(&points).await.unwrap().len(), 3);
    assert_eq!(table.query().filter_text(&partitions(10)).await.unwrap().len(), 30);
    let expected = [(Operation::Query, 4, 1, 3, true), (Operation::Query, 10, 1, 30, true)];
    assert_eq!(*calls.0.lock().unwrap(), expected);
    // So are the reads of `get_many`.
    calls.0.lock().unwrap().clear();
    table.get_many([("00", "0"), ("00", "x"), ("01", "2")]).await.unwrap();
    assert_eq!(*calls.0.lock().unwrap(), [(Operation::Get, 3, 3, 2, true)]);
}

#[derive(Debug, TableEntity)]
struct Typed {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    #[table(rename = "N")]
    n: i32,
}

/// The first row of partition 11 is not a `Typed`.
fn with_a_bad_row(mock: &MockTableService) -> TableClient<Typed> {
    let table = filled(mock);
    let mut bad = DynamicEntity::new("11", "0");
    bad.set("N", "no number");
    mock.seed("Rows", [&bad]).unwrap();
    table.with_entity()
}

#[tokio::test]
async fn an_error_comes_after_the_rows_before_it() {
    let mock = MockTableService::new();
    let table = with_a_bad_row(&mock);
    let mut rows = table.query().filter_text(&partitions(20)).stream();
    let mut good = 0;
    let error: Error = loop {
        match rows.next().await.unwrap() {
            Ok(row) => good += i32::from(row.n == good && row.row.len() == 1),
            Err(error) => break error,
        }
    };
    assert_eq!((good, error.kind()), (33, ErrorKind::Decode));
    assert!(rows.next().await.is_none());
}

/// The keys of bad rows, and the number of good rows.
fn sorted<T>(
    rows: impl IntoIterator<Item = Result<T, azure_table_client::entity::DecodeError>>,
) -> (Vec<String>, usize) {
    let (mut bad, mut good) = (Vec::new(), 0);
    for row in rows {
        match row {
            Ok(_) => good += 1,
            Err(error) => bad.push(error.key().unwrap().to_string()),
        }
    }
    (bad, good)
}

#[tokio::test(start_paused = true)]
async fn a_row_that_cannot_be_decoded_leaves_the_others() {
    let mock = MockTableService::new();
    let table = with_a_bad_row(&mock);
    let bad = || vec![r#"("11", "0")"#.to_owned()];
    let whole = || table.query().page_size(7);
    assert_eq!(whole().await.unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(sorted(whole().results().await.unwrap()), (bad(), 89));
    let found: Vec<_> = whole().results().stream().try_collect().await.unwrap();
    assert_eq!(sorted(found), (bad(), 89));
    assert_eq!(sorted(whole().results().parallel(4).await.unwrap()), (bad(), 89));
    let mut pages = whole().results().pages();
    let mut found = Vec::new();
    while let Some(page) = pages.next().await {
        found.extend(page.unwrap());
    }
    assert_eq!(sorted(found), (bad(), 89));
    assert_eq!(whole().results().count().await.unwrap(), 90);

    // By partition, by key, and merged.
    let listed = || table.query().filter_text(&partitions(20)).results();
    assert_eq!(sorted(listed().await.unwrap()), (bad(), 59));
    let points = format!("{} and {}", partitions(20), rows(2));
    let points = table.query().filter_text(&points).results();
    assert_eq!(sorted(points.await.unwrap()), (bad(), 39));
    let values = (0..40).map(|n| format!("RowKey eq '{}' and N ge {n}", n % 3));
    let values: Vec<_> = values.chain(["RowKey eq '0'".to_owned()]).collect();
    let merged = table.query().filter_text(&values.join(" or ")).results();
    assert!(merged.plan().unwrap().queries > 1);
    assert_eq!(sorted(merged.await.unwrap()), (bad(), 89));

    // The keys are known where only another column is selected.
    let selected = || table.query().select(|row| row.n);
    assert!(selected().await.is_err());
    assert_eq!(sorted(selected().results().await.unwrap()), (bad(), 89));
    let found = selected().results().take(2).await.unwrap();
    assert_eq!(found.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [0, 1]);

    // A body that is not JSON is an error of the query.
    mock.faults().add(Fault::truncate_reply());
    let error = whole().results().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
}
