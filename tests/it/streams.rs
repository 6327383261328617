//! The times of a query's requests, and the number of rows held in memory.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use azure_table_client::entity::{DecodeError, EncodeError, KeyError, PropertyWriter, Row};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch, Operation, TableClient, TableEntity};
use futures_util::{StreamExt as _, TryStreamExt as _};

async fn filled(mock: &MockTableService, rows: usize) -> TableClient<DynamicEntity> {
    let table = mock.client().table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    for row in 0..rows {
        table.insert(&DynamicEntity::new("p", format!("{row:06}"))).await.unwrap();
    }
    mock.requests().clear();
    table
}

#[tokio::test]
async fn the_next_page_is_requested_after_half_of_one() {
    let mock = MockTableService::new();
    let table = filled(&mock, 25).await;
    let mut rows = table.query().page_size(10).stream();
    let sent = || mock.requests().count(Operation::Query);
    assert_eq!(sent(), 0, "nothing before the stream is polled");
    for _ in 0..5 {
        rows.next().await.unwrap().unwrap();
        assert_eq!(sent(), 1, "a stream that stops early requests one page");
    }
    // The response arrives while the program uses the earlier rows.
    for _ in 5..10 {
        rows.next().await.unwrap().unwrap();
    }
    assert_eq!(sent(), 2);
    let rest: Vec<_> = rows.by_ref().try_collect().await.unwrap();
    assert_eq!((rest.len(), sent()), (15, 3));
    assert!(rows.next().await.is_none());
    assert_eq!(rows.cost().to_string(), "25 rows in 3 pages by 3 requests");
}

#[tokio::test]
async fn one_page_at_a_time_by_its_continuation() {
    let mock = MockTableService::new();
    let table = filled(&mock, 5).await;
    let query = || table.query().page_size(2);
    let mut page = query().page().await.unwrap();
    let mut keys = Vec::new();
    loop {
        keys.extend(page.entities.iter().map(|row| row.key().row_key.clone()));
        let Some(next) = page.continuation.take() else { break };
        page = query().start_at(next).page().await.unwrap();
    }
    assert_eq!(keys, ["000000", "000001", "000002", "000003", "000004"]);
    assert_eq!(page.into_iter().count(), 1);
    assert_eq!(mock.requests().count(Operation::Query), 3);

    let nothing = query().take(0).page().await.unwrap();
    assert!(nothing.entities.is_empty() && nothing.continuation.is_none());
    let error = query().page_size(0).page().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(mock.requests().count(Operation::Query), 3, "neither needs a request");
}

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// An entity that counts its instances.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

impl TableEntity for Counted {
    const COLUMNS: &'static [&'static str] = &[];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("p".into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("r".into())
    }

    fn write_properties(&self, _: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn from_row(_: &mut Row<'_>) -> Result<Self, DecodeError> {
        MOST.fetch_max(LIVE.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Ok(Self)
    }
}

#[tokio::test]
async fn a_stream_holds_two_pages_at_most() {
    let mock = MockTableService::new();
    let table = filled(&mock, 1000).await.with_entity::<Counted>();
    let mut rows = table.query().page_size(10).stream();
    let mut count = 0;
    while let Some(row) = rows.next().await {
        drop(row.unwrap());
        count += 1;
    }
    assert_eq!((count, rows.cost().pages), (1000, 100));
    let most = MOST.load(Ordering::SeqCst);
    assert!((11..=20).contains(&most), "{most} rows of pages of 10");
    assert_eq!(LIVE.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_point_is_read_as_one_row() {
    let mock = MockTableService::new();
    let table = filled(&mock, 3).await;
    let query = || table.query().filter_text("PartitionKey eq 'p' and RowKey eq '000001'");
    assert_eq!(query().await.unwrap().cost.requests, 1);
    assert_eq!(query().select_names(["A"]).stream().count().await, 1);
    let requests = mock.requests();
    assert_eq!((requests.count(Operation::Get), requests.count(Operation::Query)), (2, 0));
    assert_eq!(requests.scanned_rows(), 2);
}

/// 40 rows with numbers.
async fn numbered(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let table = filled(mock, 40).await;
    for row in 0..40 {
        let mut entity = DynamicEntity::new("p", format!("{row:06}"));
        table.merge(entity.set("N", row), IfMatch::Any).await.unwrap();
    }
    mock.requests().clear();
    table
}

#[tokio::test]
async fn no_request_goes_beyond_the_documented_comparisons() {
    let mock = MockTableService::builder().max_comparisons(15).build();
    let table = numbered(&mock).await;
    let numbers = (0..40).map(|row| format!("N eq {row}")).collect::<Vec<_>>().join(" or ");
    let text = format!("PartitionKey eq 'p' and ({numbers}) and RowKey ne 'x'");
    assert_eq!(table.query().filter_text(&text).await.unwrap().len(), 40);
    assert_eq!(mock.requests().count(Operation::Query), 4);
    // A service without the limit is queried with all keys at once.
    let mock = MockTableService::new();
    numbered(&mock).await;
    let client = mock.client_builder().max_comparisons(100).build().unwrap();
    let table = client.table_named::<DynamicEntity>("Rows");
    assert_eq!(table.query().filter_text(&text).await.unwrap().len(), 40);
    assert_eq!(mock.requests().count(Operation::Query), 1);
}

#[tokio::test]
async fn a_dropped_merge_loses_no_row() {
    let mock = MockTableService::new();
    let table = filled(&mock, 40).await;
    for row in 0..40 {
        let mut entity = DynamicEntity::new("p", format!("{row:06}"));
        entity.set("N", row * 7 % 40);
        table.insert_or_replace(&entity).await.unwrap();
    }
    let list = (0..40).map(|n| format!("N eq {n}")).collect::<Vec<_>>().join(" or ");
    for polls in 1..12 {
        let mut pages = table.query().filter_text(&list).page_size(6).pages();
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
            found.extend(page.unwrap().entities.iter().map(|row| row.key().row_key.clone()));
        }
        let expected: Vec<_> = (0..40).map(|row| format!("{row:06}")).collect();
        assert_eq!(found, expected, "after {polls} polls");
    }
}

#[tokio::test]
async fn ranges_start_at_existing_keys() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Users");
    table.create().await.unwrap();
    for n in 0..1000 {
        table.insert(&DynamicEntity::new(format!("user-{n:04}"), "r")).await.unwrap();
    }
    mock.requests().clear();
    let all = table.query().parallel(10).await.unwrap();
    assert_eq!((all.len(), all.cost.rows), (1000, 1000));
    assert_eq!(all.cost.requests, mock.requests().total() as u64, "the search is part of the cost");
    let scanned = mock.requests().scanned_rows();
    assert!(scanned < 1100, "{scanned} rows scanned for 1,000");
    let mut ranges: Vec<usize> = mock
        .requests()
        .all()
        .iter()
        .map(|request| request.scanned_rows)
        .filter(|rows| *rows > 1)
        .collect();
    ranges.sort_unstable();
    assert_eq!(ranges, [100; 10]);
    let probes = mock.requests().total() - 10;
    assert!(probes < 60, "{probes} queries to find the ranges");
}

/// A query in several requests that returns only the first rows transfers one row of each.
#[tokio::test]
async fn the_first_row_of_a_merge_requests_one_row_each() {
    let mock = MockTableService::new();
    let table = filled(&mock, 40).await;
    let list = (0..40).map(|n| format!("RowKey eq '{n:06}'")).collect::<Vec<_>>().join(" or ");
    let query = || table.query().filter_text(&list);
    assert_eq!(query().plan().unwrap().queries, 3);
    assert_eq!(query().first().await.unwrap().unwrap().key().row_key, "000000");
    let rows = query().take(1).await.unwrap();
    assert_eq!((rows.cost.requests, rows.cost.rows), (3, 1));
    let error = table.query().filter_text(&too_many_lists()).await.unwrap_err();
    assert!(error.to_string().contains("more than 1000 queries"), "{error}");
}

fn too_many_lists() -> String {
    let list =
        |name: &str| (0..100).map(|n| format!("{name} eq {n}")).collect::<Vec<_>>().join(" or ");
    format!("({}) and ({}) and ({})", list("A"), list("B"), list("C"))
}

/// Bounds of ranges do not make a filter of the maximum size too long.
#[tokio::test]
async fn ranges_keep_to_the_limit_of_comparisons() {
    let mock = MockTableService::builder().max_comparisons(15).build();
    let table = filled(&mock, 40).await;
    let others: Vec<_> = (0..14).map(|n| format!("RowKey ne 'x{n}'")).collect();
    let filter = format!("PartitionKey eq 'p' and {}", others.join(" and "));
    let found = table.query().filter_text(&filter).parallel(4).await.unwrap();
    assert_eq!((found.len(), found.cost.requests), (40, mock.requests().total() as u64));
    assert_eq!(table.query().take(0).parallel(4).await.unwrap().cost.requests, 0);
}

/// An error is reported in order, after the rows ahead of it.
#[tokio::test]
async fn an_error_in_a_later_range_waits_for_its_turn() {
    #[derive(Debug, TableEntity)]
    struct Typed {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        n: i32,
    }
    let mock = MockTableService::new();
    let rows = mock.client().table_named::<DynamicEntity>("Rows");
    rows.create().await.unwrap();
    for n in 0..10 {
        let mut row = DynamicEntity::new(n.to_string(), "r");
        if n < 9 {
            row.set("n", n);
        } else {
            row.set("n", "no number");
        }
        rows.insert(&row).await.unwrap();
    }
    let typed = || rows.with_entity::<Typed>().query().page_size(1).parallel(10);
    let mut stream = typed().stream();
    let mut good = 0;
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(row) => good += usize::from(!row.p.is_empty() && !row.r.is_empty() && row.n >= 0),
            Err(error) => break error,
        }
    };
    assert_eq!((good, error.kind()), (9, ErrorKind::Decode));
    assert!(stream.next().await.is_none());
    let query = rows.with_entity::<Typed>().query().take(3);
    assert_eq!(query.parallel(10).await.unwrap().len(), 3);
}
