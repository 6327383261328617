use std::cell::RefCell;
use std::future::{Ready, pending, ready};

use futures_util::FutureExt as _;

use super::*;
use crate::entity::EntityKey;
use crate::filter::QueryFilter;
use crate::operation::Location;
use crate::operation::cursor::PageToken;
use crate::operation::query::RowValues;
use crate::operation::query::Rows;

/// A reader of four scans.
fn reader(mode: ReadMode, start: Option<Continuation>) -> Reader {
    let filter = |number| QueryFilter::parse(&format!("PartitionKey eq '{number}'")).unwrap();
    let sources: Vec<_> = (0..4).map(|number| Source::Scan(Some(filter(number)))).collect();
    let texts = sources.iter().flat_map(Source::filters).map(QueryFilter::text);
    let id = QueryId::of(Dialect::AzureStorage, "T", texts, &[]);
    Reader::new(id, Dialect::AzureStorage, &sources, mode, start).unwrap()
}

/// The page of a request: as many rows as `$top`, or two, whose value is the index of their part.
fn page(read: &PageRead, has_next: bool) -> Fetched {
    let values = vec![read.slot.part; read.top.unwrap_or(2) as usize];
    let values: Box<dyn RowValues> = Box::new(values.into_iter());
    let token = PageToken { partition_key: "next".to_owned(), row_key: None };
    let (next, request_id) = (has_next.then_some(token), None);
    let (keys, location) = (Vec::new(), Location::Primary);
    let rows = Rows { values, keys, next, request_id, attempts: 1, location, date: None };
    (read.slot, Ok(FetchedPage { rows, top: read.top }))
}

const ALL: PageLimits = PageLimits { top: None, usable: usize::MAX };

/// Reads a page, and returns its rows, its continuation and the parts that were requested for it.
async fn next(
    reader: &mut Reader,
    limits: PageLimits,
    answer: impl Fn(&PageRead) -> Fetched,
) -> (Option<Result<Vec<usize>, Error>>, Option<Continuation>, Vec<usize>) {
    let sent = RefCell::new(Vec::new());
    let fetch = |read: PageRead| -> Ready<Fetched> {
        sent.borrow_mut().push(read.slot.part);
        ready(answer(&read))
    };
    let mut rows = Vec::<usize>::new();
    let page = reader.next(&mut FetchWindow::new(), limits, &mut rows, fetch).await;
    let sent = sent.into_inner();
    match page {
        Some(Ok(page)) => (Some(Ok(rows)), page.continuation, sent),
        other => (other.map(|page| page.map(|_| rows)), None, sent),
    }
}

#[tokio::test]
async fn later_parts_are_read_with_the_first_one() {
    let mut reader = reader(ReadMode::ahead(3), None);
    let answer = |read: &PageRead| page(read, read.slot.part == 0 && read.cursor.token().is_none());
    let mut requested = Vec::new();
    for expected in [0, 0, 1, 2, 3] {
        let (rows, _, sent) = next(&mut reader, ALL, answer).await;
        assert_eq!(rows.unwrap().unwrap(), [expected; 2]);
        requested.push(sent);
    }
    // The fourth part is read once it is among the first three that have rows left.
    assert_eq!(requested, [vec![0, 1, 2], vec![0], vec![], vec![], vec![3]]);
    assert!(next(&mut reader, ALL, answer).await.0.is_none() && reader.is_over());
}

#[tokio::test]
async fn a_dropped_request_is_sent_again() {
    let mut reader = reader(ReadMode::ahead(2), None);
    let mut window = FetchWindow::new();
    {
        let mut rows = Vec::<usize>::new();
        let dropped = reader.next(&mut window, ALL, &mut rows, |_| pending::<Fetched>());
        assert!(dropped.now_or_never().is_none());
    }
    let (rows, _, sent) = next(&mut reader, ALL, |read| page(read, false)).await;
    assert_eq!((rows.unwrap().unwrap(), sent), (vec![0; 2], vec![0, 1]));
}

#[tokio::test]
async fn a_request_that_fails_ahead_is_sent_again_at_its_turn() {
    let mut reader = reader(ReadMode::ahead(2), None);
    let fails = |read: &PageRead| match read.slot.part {
        0 => page(read, false),
        _ => (read.slot, Err(Error::invalid_input("failed"))),
    };
    let (rows, _, sent) = next(&mut reader, ALL, fails).await;
    assert_eq!((rows.unwrap().unwrap(), sent), (vec![0; 2], vec![0, 1]));
    let (rows, _, sent) = next(&mut reader, ALL, |read| page(read, false)).await;
    assert_eq!((rows.unwrap().unwrap(), sent), (vec![1; 2], vec![1, 2]));
    let mut again = self::reader(ReadMode::ahead(2), None);
    next(&mut again, ALL, fails).await;
    assert!(next(&mut again, ALL, fails).await.0.unwrap().is_err(), "it is its turn");
}

#[tokio::test]
async fn a_merge_that_fails_ahead_is_an_error_after_the_rows_before_it() {
    let filter = |number| QueryFilter::parse(&format!("PartitionKey eq '{number}'")).unwrap();
    let sources = [Source::Scan(Some(filter(0))), Source::Merge(vec![filter(1), filter(2)])];
    let texts = sources.iter().flat_map(Source::filters).map(QueryFilter::text);
    let id = QueryId::of(Dialect::AzureStorage, "T", texts, &[]);
    let mode = ReadMode::ahead(3);
    let mut reader = Reader::new(id, Dialect::AzureStorage, &sources, mode, None).unwrap();
    // Both rows of a merged page have the same key, which is out of order.
    let answer = |read: &PageRead| {
        let (slot, page) = page(read, false);
        let keys = if read.has_keys { vec![EntityKey::new("p", "r"); 2] } else { Vec::new() };
        let page = page.map(|page| FetchedPage { rows: Rows { keys, ..page.rows }, ..page });
        (slot, page)
    };
    let (rows, _, sent) = next(&mut reader, ALL, answer).await;
    assert_eq!((rows.unwrap().unwrap(), sent), (vec![0; 2], vec![0, 1, 1]));
    let (rows, _, _) = next(&mut reader, ALL, answer).await;
    assert!(rows.unwrap().unwrap_err().to_string().contains("out of key order"));
}

#[tokio::test]
async fn no_more_is_requested_than_rows_can_be_used() {
    let mut reader = reader(ReadMode::ahead(4), None);
    let limits = |rows: u32| PageLimits { top: Some(rows), usable: rows as usize };
    let (rows, at, sent) = next(&mut reader, limits(3), |read| page(read, false)).await;
    assert_eq!((rows.unwrap().unwrap(), sent), (vec![0; 3], vec![0, 1, 2]));
    // Of the page that was read ahead, only one row can be used: the continuation must not skip the others.
    let (rows, then, sent) = next(&mut reader, limits(1), |read| page(read, true)).await;
    assert_eq!((rows.unwrap().unwrap(), sent), (vec![1], vec![1]));
    for start in [at, then] {
        let mut resumed = self::reader(ReadMode::ONE, start);
        let (rows, _, sent) = next(&mut resumed, ALL, |read| page(read, false)).await;
        assert_eq!((rows.unwrap().unwrap(), sent), (vec![1; 2], vec![1]));
    }
}

#[tokio::test]
async fn requests_stay_in_flight_and_pages_are_returned_in_the_order_of_arrival() {
    let mode = ReadMode { parts: 4, requests: 4, pages: 1, in_order: false, keeps_reading: true };
    let (mut reader, mut window) = (reader(mode, None), FetchWindow::new());
    // The first parts wait longest.
    let fetch = |read: PageRead| {
        Box::pin(async move {
            for _ in read.slot.part..4 {
                tokio::task::yield_now().await;
            }
            page(&read, false)
        })
    };
    let mut order = Vec::<usize>::new();
    while let Some(page) = reader.next(&mut window, ALL, &mut order, fetch).await {
        page.unwrap();
    }
    assert_eq!(order, [3, 3, 2, 2, 1, 1, 0, 0]);
}
