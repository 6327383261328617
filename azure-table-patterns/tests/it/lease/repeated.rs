//! Proxies that deliver a request twice, at once or late, and programs that are copies of each other.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, ErrorKind, Operation, Outcome, TableClient};
use azure_table_patterns::Error;
use azure_table_patterns::lease::merge_fenced;
use tokio::time::sleep;

use super::{DEVICES, KEY, LEASES, acquired, lease, stored, table};
use crate::hostile;

const LATE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_is_delivered_twice_is_held() {
    let (mock, table) = table().await;
    mock.faults().add(Fault::deliver_twice().on_writes());
    for token in 1..=3 {
        let guard = acquired(&mut lease(&table)).await;
        assert_eq!((guard.token(), stored::<i64>(&mock, "Token")), (token, token));
        guard.release().await.unwrap();
    }
}

/// The table of a program behind a proxy. A busy service refuses the first delivery of the writes with this text, and the
/// second one arrives later.
fn repeating(
    mock: &MockTableService,
    text: &'static str,
    table: &str,
) -> TableClient<DynamicEntity> {
    hostile::repeating(mock, text, Fault::busy(), LATE).table_named(table)
}

fn assert_unknown(error: &Error) {
    assert!(error.is_throttled() && error.outcome() == Outcome::Unknown, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_late_acquisition_is_recognized() {
    let (mock, _) = table().await;
    let mut mine = lease(&repeating(&mock, "\"Token\":\"1\"", LEASES));
    assert_unknown(&mine.acquire_now().await.unwrap_err());
    sleep(LATE * 2).await;
    assert_eq!(stored::<i64>(&mock, "Token"), 1);
    assert_eq!(acquired(&mut mine).await.token(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_commit_may_be_applied_after_the_refusal_of_a_busy_service() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&repeating(&mock, "work", LEASES))).await;
    let work = DynamicEntity::new(KEY.0, "work").with("Text", "work");
    assert_unknown(&guard.commit(|tx| tx.insert(&work)).await.unwrap_err());
    sleep(LATE * 2).await;
    assert!(mock.row(LEASES, KEY.0, "work").is_some());
    guard.renew().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_may_be_applied_after_the_refusal_of_a_busy_service() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&repeating(&mock, "\"Released\":true", LEASES))).await;
    assert_unknown(&guard.release().await.unwrap_err());
    sleep(LATE * 2).await;
    assert!(stored::<bool>(&mock, "Released"));
}

#[tokio::test(start_paused = true)]
async fn a_fenced_merge_may_be_applied_after_the_refusal_of_a_busy_service() {
    let (mock, _) = table().await;
    mock.client().table_named::<DynamicEntity>(DEVICES).create().await.unwrap();
    let devices = repeating(&mock, "LeaseToken", DEVICES);
    let state = DynamicEntity::new("p", "device").with("State", "on");
    assert_unknown(&merge_fenced(&devices, &state, 2).await.unwrap_err());
    sleep(LATE * 2).await;
    assert!(mock.row(DEVICES, "p", "device").is_some());
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_does_not_reach_the_service_is_not_a_lost_race() {
    let (mock, table) = table().await;
    mock.faults().add(Fault::refuse_connection().on_writes());
    let error = lease(&table).acquire_now().await.unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::Connect));
    mock.faults().clear();
    assert_eq!(acquired(&mut lease(&table)).await.token(), 1);
}

/// A fork and two virtual machines from one snapshot have equal states of every generator in the program.
#[tokio::test(start_paused = true)]
async fn two_copies_of_a_program_do_not_both_hold_the_lease() {
    let (mock, _) = table().await;
    let copy = async |pause: Duration| {
        let client = mock.client_builder().try_timeout(LATE).build().unwrap();
        sleep(pause).await;
        fastrand::seed(7);
        lease(&client.table_named::<DynamicEntity>(LEASES)).acquire_now().await
    };
    // The first attempt of one copy is lost. The other one inserts the row before the second attempt.
    mock.faults().add(Fault::hang().on(Operation::Insert).times(1));
    let (first, second) = tokio::join!(copy(Duration::ZERO), copy(LATE / 2));
    let held = [first, second].map(|acquired| acquired.is_ok_and(|guard| guard.is_some()));
    assert_eq!(held, [false, true]);
}
