//! Requests that yield between their steps.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::service::LOCAL;
use crate::wire::Operation;

/// Starts a request and drops it after this many steps.
fn start(service: &TableService, method: Method, target: &str, steps: usize) {
    let uri = format!("http://127.0.0.1:1/devstoreaccount1{target}").parse().unwrap();
    let mut response = pin!(service.receive_from(HttpRequest::new(method, uri), LOCAL, &|_| true));
    for _ in 0..steps {
        let step = response.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(step.is_pending());
    }
}

/// The number of times that a request yields, while `meanwhile` runs after each of its steps.
fn polls(
    service: &TableService,
    target: &str,
    mut meanwhile: impl FnMut(usize),
) -> (usize, HttpResponse) {
    let request = HttpRequest::new(
        Method::GET,
        format!("http://127.0.0.1:1/devstoreaccount1{target}").parse().unwrap(),
    );
    let mut response = pin!(service.receive_from(request, LOCAL, &|_| true));
    for polls in 0.. {
        match response.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => return (polls, response.unwrap()),
            Poll::Pending => meanwhile(polls),
        }
    }
    unreachable!()
}

fn filled() -> TableService {
    let service = loose();
    let rows: Vec<String> = (0..2000)
        .map(|row| {
            format!(
                "{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{row:04}\",\"A\":\"{}\"}}",
                row / 1000,
                "\\n".repeat(100)
            )
        })
        .collect();
    service.seed_json(&format!("{{\"Blogs\":[{}]}}", rows.join(","))).unwrap();
    service
}

#[test]
fn a_long_query_yields_and_sees_each_partition_at_one_moment() {
    let service = filled();
    let terms: Vec<_> = (0..300).map(|term| format!("A%20ne%20'{term}'")).collect();
    let target = format!("/Blogs()?$filter={}", terms.join("%20and%20"));
    let (polls, response) = polls(&service, &target, |step| {
        // Other requests are served in the meantime: a write to the scanned partition, and a new partition.
        for partition in ["p0", &format!("q{step}")] {
            let row = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"0998new{step}\"}}");
            assert_eq!(send(&service, "POST", "/Blogs", &[], &row).status, 201);
        }
    });
    assert!(polls > 10, "{polls} steps");
    assert_eq!(response.status, 200);
    let body = String::from_utf8(response.body.to_vec()).unwrap();
    assert!(!body.contains("0998new"), "rows that are added later are not in the snapshot");
}

#[tokio::test]
async fn a_page_ends_early_if_the_host_has_no_room() {
    let service = filled();
    let page = async |target: &str, room: usize| {
        let uri = format!("http://127.0.0.1:1/devstoreaccount1/Blogs(){target}").parse().unwrap();
        let largest = AtomicUsize::new(0);
        let has_room = |bytes| {
            largest.fetch_max(bytes, Ordering::Relaxed);
            bytes <= room
        };
        let request = HttpRequest::new(Method::GET, uri);
        let response = service.receive_from(request, LOCAL, &has_room).await.unwrap();
        let rows = text(&response).matches("\"RowKey\"").count();
        let next = response.headers.get("x-ms-continuation-nextrowkey").is_some();
        (rows, next, response.body.len(), largest.into_inner())
    };
    let (rows, next, bytes, asked) = page("", usize::MAX).await;
    assert_eq!((rows, next), (1000, true));
    assert!(asked >= bytes, "{asked} of {bytes} bytes");
    let (rows, next, bytes, _) = page("", 100_000).await;
    assert!((50..500).contains(&rows) && next && bytes < 100_000, "{rows} rows, {bytes} bytes");
    assert_eq!(page("", 0).await.0, 1, "every page has a row");
    // A filter that each row must be compared with reserves nothing in advance.
    let (rows, next, bytes, _) = page("?$filter=A%20ne%20'x'", 100_000).await;
    assert!((50..500).contains(&rows) && next && bytes < 100_000, "{rows} rows, {bytes} bytes");
}

#[test]
fn a_query_whose_table_is_deleted_meanwhile_fails() {
    let service = filled();
    let terms: Vec<_> = (0..300).map(|term| format!("A%20ne%20'{term}'")).collect();
    let target = format!("/Blogs()?$filter={}", terms.join("%20and%20"));
    let (_, response) = polls(&service, &target, |step| {
        if step == 2 {
            assert_eq!(send(&service, "DELETE", "/Tables('Blogs')", &[], "").status, 204);
        }
    });
    assert_eq!(response.status, 404);
}

/// A service with a table of this many rows in one partition.
fn with_rows(rows: usize) -> TableService {
    let service = loose();
    let rows: Vec<String> = (0..rows)
        .map(|row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:06}\"}}"))
        .collect();
    service.seed_json(&format!("{{\"Blogs\":[{}]}}", rows.join(","))).unwrap();
    service
}

#[test]
fn a_request_that_the_client_drops_is_recorded_without_a_response() {
    let service = with_rows(20_000);
    service.requests().clear();
    start(&service, Method::DELETE, "/Tables('Blogs')", 2);
    let recorded = service.requests().all();
    let fields: Vec<_> = recorded.iter().map(|one| (one.operation, one.status)).collect();
    assert_eq!(fields, [(Operation::DeleteTable, 0)]);
    assert_eq!((recorded[0].number, recorded[0].error_code.as_ref()), (1, None));
}

#[test]
fn later_requests_drop_the_rows_that_a_dropped_delete_left() {
    let service = with_rows(20_000);
    start(&service, Method::DELETE, "/Tables('Blogs')", 2);
    let rest = || service.core().store.journal.deleted.pop();
    let first = rest();
    assert!(first.is_some_and(|chunk| chunk.rows().len() > 100));
    for _ in 0..20 {
        assert_eq!(send(&service, "GET", "/Tables", &[], "").status, 200);
    }
    assert!(rest().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_due_request_is_delivered_in_steps_by_several_tasks() {
    let service = with_rows(20_000);
    let delay = Duration::from_secs(5);
    service.faults().add(Fault::delay_request(delay).on(Operation::DeleteTable).times(1));
    service.requests().clear();
    start(&service, Method::DELETE, "/Tables('Blogs')", 1);
    tokio::time::advance(delay / 2).await;
    assert_eq!(service.table_names(), ["Blogs"], "it is not due");
    tokio::time::advance(delay / 2).await;
    // A task delivers the first steps, and another one the rest.
    start(&service, Method::GET, "/Tables", 2);
    assert_eq!(service.requests().total(), 0, "the deletion has further steps");
    let (polls, response) = polls(&service, "/Tables", |_| {});
    assert!(polls > 1, "{polls} steps");
    assert!(!text(&response).contains("Blogs"), "{}", text(&response));
    let recorded = service.requests().all();
    let fields: Vec<_> = recorded.iter().map(|one| (one.operation, one.status)).collect();
    assert_eq!(fields, [(Operation::DeleteTable, 204), (Operation::ListTables, 200)]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_read_ends_with_its_client() {
    let service = with_rows(20);
    let delay = Duration::from_secs(5);
    service.faults().add(Fault::delay_request(delay).on(Operation::Query));
    service.requests().clear();
    start(&service, Method::GET, "/Blogs()", 1);
    tokio::time::advance(2 * delay).await;
    assert_eq!(send(&service, "GET", "/Tables", &[], "").status, 200);
    assert_eq!(service.requests().total(), 1, "the query is not run");
    let uri = "http://127.0.0.1:1/devstoreaccount1/Blogs()".parse().unwrap();
    let started = tokio::time::Instant::now();
    let response = service.receive(HttpRequest::new(Method::GET, uri)).await.unwrap();
    assert_eq!((response.status.as_u16(), started.elapsed()), (200, delay));
}

#[tokio::test(start_paused = true)]
async fn direct_access_delivers_all_steps_of_a_due_request() {
    let service = with_rows(20_000);
    let delay = Duration::from_secs(5);
    service.faults().add(Fault::delay_request(delay).times(1));
    start(&service, Method::DELETE, "/Tables('Blogs')", 1);
    tokio::time::advance(delay).await;
    start(&service, Method::GET, "/Tables", 1);
    assert!(service.table_names().is_empty());
    assert_eq!(service.requests().count(Operation::DeleteTable), 1);
}
