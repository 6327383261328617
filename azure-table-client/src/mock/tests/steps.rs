//! Requests that yield between their steps.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::mock::LOCAL;

/// The number of times that a request yields, while `meanwhile` runs after each of its steps.
fn polls(
    service: &MockTableService,
    target: &str,
    mut meanwhile: impl FnMut(usize),
) -> (usize, HttpResponse) {
    let request = HttpRequest::new(
        Method::GET,
        format!("http://127.0.0.1:1/devstoreaccount1{target}").parse().unwrap(),
    );
    let mut response = pin!(service.receive_from(request, LOCAL));
    for polls in 0.. {
        match response.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => return (polls, response.unwrap()),
            Poll::Pending => meanwhile(polls),
        }
    }
    unreachable!()
}

fn filled() -> MockTableService {
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
