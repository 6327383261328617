//! A program that enqueues an item and runs it stops at each of its requests, and another one takes over.

use std::time::Duration;

use azure_table_client::TableServiceClient;
use azure_table_client::mock::MockTableService;
use azure_table_tests::chaos::Report;
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use tokio::time::sleep;

use super::world::{BLOGS, NoPause, WORK, channel, check, create, outbox, request, steps};

const TTL: Duration = Duration::from_secs(20);
const NAME: &str = "Doomed";

async fn prepare(mock: &MockTableService) {
    for table in [WORK, BLOGS] {
        mock.client().create_table(table).await.unwrap();
    }
    create(mock, NAME, 1);
}

async fn program((): &(), service: TableServiceClient) {
    request(&service, NAME, 0).await.unwrap();
    let mut worker = outbox(&service).worker("w").ttl(TTL).unwrap();
    for _ in 0..20 {
        while let Some(mut item) = worker.next().await.unwrap() {
            let ended = steps(&service, &mut item, &mut NoPause).await;
            worker.end(item, ended).await;
        }
        if worker.pass().is_drained() {
            return;
        }
        sleep(TTL).await;
    }
    panic!("the item is not done");
}

fn assert_valid(mock: &MockTableService) {
    let mut report = Report::default();
    check(&mut report, mock, NAME);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
}

async fn recover(mock: &MockTableService) {
    assert_valid(mock);
    program(&(), mock.client()).await;
    assert_eq!(channel(mock, NAME), None);
    assert_valid(mock);
    create(mock, NAME, 2);
    sleep(LATENESS * 2).await;
    assert_eq!(channel(mock, NAME), Some((2, false)));
    assert_valid(mock);
}

#[tokio::test(start_paused = true)]
async fn an_item_survives_a_crash_at_each_request() {
    let points = at_every_request(prepare, program, async |(), mock, _| recover(mock).await);
    let points = points.await;
    println!("crashes: outbox: {points}");
    assert_eq!(points.requests, 12);
}

#[tokio::test(start_paused = true)]
async fn an_item_survives_a_second_crash() {
    let check = async |(): &(), mock: &MockTableService, _| recover(mock).await;
    let points = at_every_pair_of_requests(prepare, program, program, check).await;
    println!("crashes: outbox, two in a row: {points}");
    assert_eq!(points.requests, 12);
}
