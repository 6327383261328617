//! A program that stops at each of its requests: its numbers are never returned again.

use std::cell::RefCell;
use std::collections::HashSet;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};
use azure_table_patterns::sequence::Sequence;
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use azure_table_tests::sized;

use super::{KEY, TABLE};

type Numbers = RefCell<HashSet<i64>>;

async fn prepare(mock: &MockTableService) -> Numbers {
    mock.client().table_named::<DynamicEntity>(TABLE).create().await.unwrap();
    Numbers::default()
}

async fn reserve(numbers: &Numbers, client: TableServiceClient) {
    let table = client.table_named::<DynamicEntity>(TABLE);
    let mut sequence = Sequence::new(&table, KEY).unwrap().block_size(2).unwrap();
    for _ in 0..5 {
        let number = sequence.next().await.unwrap();
        assert!(numbers.borrow_mut().insert(number), "{number}");
    }
}

async fn check(numbers: &Numbers, mock: &MockTableService) {
    reserve(numbers, mock.client()).await;
    tokio::time::sleep(LATENESS * 2).await;
    reserve(numbers, mock.client()).await;
    let next: i64 = mock.row(TABLE, KEY.0, KEY.1).unwrap().get("Next").unwrap().unwrap();
    assert!(numbers.borrow().iter().all(|number| (1..next).contains(number)));
}

#[tokio::test(start_paused = true)]
async fn a_program_stops_at_each_request() {
    let points = at_every_request(
        prepare,
        async |numbers, client| reserve(numbers, client).await,
        async |numbers, mock, _| check(numbers, mock).await,
    );
    let points = points.await;
    println!("crashes: sequence: {points}");
    assert_eq!((points.requests, points.runs), (6, sized(13, 18)));
}

#[tokio::test(start_paused = true)]
async fn two_programs_stop() {
    let points = at_every_pair_of_requests(
        prepare,
        async |numbers, client| reserve(numbers, client).await,
        async |numbers, client| reserve(numbers, client).await,
        async |numbers, mock, _| check(numbers, mock).await,
    );
    let points = points.await;
    println!("crashes: sequence, two in a row: {points}");
    assert!(points.runs >= sized(42, 19 * 18), "{points}");
}
