//! Schedules in which a response, or the row, does not prove what it seems to prove.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, Operation, Outcome, RetryPolicy, TableClient};
use azure_table_patterns::Error;
use azure_table_patterns::lease::merge_fenced;
use azure_table_patterns::sequence::Sequence;
use tokio::time::{Instant, sleep, sleep_until};

use super::{DEVICES, KEY, LEASES, TTL, acquired, lease, stored, table};
use crate::hostile::{on_secondary, with_secondary};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The release is delivered twice, and the next holder acquires before the second refusal is resolved.
#[tokio::test(start_paused = true)]
async fn a_refused_release_may_have_been_applied() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    mock.faults().add(Fault::deliver_twice().on(Operation::Merge).times(1));
    mock.faults().add(Fault::delay_request(seconds(2)).on(Operation::Get).times(1));
    let released = tokio::spawn(guard.release());
    sleep(seconds(1)).await;
    assert!(stored::<bool>(&mock, "Released"));
    let next = acquired(&mut lease(&table)).await;
    let error = released.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Lost { token: 1, outcome: Outcome::Unknown }), "{error:?}");
    assert_eq!(next.token(), 2);
}

/// The first attempt of the insert arrives after the row was deleted, before the guard reads it.
#[tokio::test(start_paused = true)]
async fn a_late_insert_does_not_disprove_the_deletion() {
    let (mock, table) = table().await;
    let client = mock.client_builder().try_timeout(seconds(3)).deadline(seconds(20));
    let used = client.build().unwrap().table_named::<DynamicEntity>(LEASES);
    let start = Instant::now();
    mock.faults().add(Fault::delay_request(seconds(9)).on(Operation::Insert).times(1));
    let guard = acquired(&mut lease(&used)).await;
    sleep_until(start + seconds(8)).await;
    mock.faults().add(Fault::delay_reply(seconds(5)).on(Operation::Transaction).times(1));
    let work = DynamicEntity::new(KEY.0, "work");
    let error = guard.delete(|tx| tx.insert(&work)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    // The work was applied, and the row is that of the insert.
    assert_eq!((mock.row_count(table.name()), stored::<i64>(&mock, "Token")), (Some(2), 1));
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_stays_unknown_after_later_failures() {
    let (mock, _) = table().await;
    let builder = mock.client_builder().retry(RetryPolicy::none());
    let impatient = builder.build().unwrap().table_named::<DynamicEntity>(LEASES);
    mock.faults().add(Fault::lose_reply().on(Operation::Insert).times(1));
    mock.faults().add(Fault::busy().on(Operation::Get).skip(1));
    let error = lease(&impatient).acquire(TTL).await.unwrap_err();
    assert_eq!((error.outcome(), stored::<i64>(&mock, "Token")), (Outcome::Unknown, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refused_merge_of_a_fenced_row_may_have_been_applied() {
    let (mock, _) = table().await;
    let client = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
    let devices = client.table_named::<DynamicEntity>(DEVICES);
    devices.create().await.unwrap();
    let state = DynamicEntity::new("p", "device").with("State", "on");
    merge_fenced(&devices, &state, 1).await.unwrap();
    for operation in [Operation::Get, Operation::Merge] {
        mock.faults().add(Fault::deliver_twice().on(Operation::Merge).times(1));
        mock.faults().add(Fault::busy().on(operation).skip(1));
        let error = merge_fenced(&devices, &state, 2).await.unwrap_err();
        let row = mock.row(DEVICES, "p", "device").unwrap();
        assert_eq!((error.outcome(), row.get("LeaseToken")), (Outcome::Unknown, Some(Ok(2_i64))));
        mock.faults().clear();
    }
}

fn stale() -> (MockTableService, TableClient<DynamicEntity>) {
    let mock = MockTableService::builder().replication_lag(TTL).build();
    let table = with_secondary(&mock).table_named(LEASES);
    (mock, table)
}

#[tokio::test(start_paused = true)]
async fn a_secondary_that_lags_behind_is_not_read() {
    let (mock, table) = stale();
    table.create().await.unwrap();
    let (mut first, mut second) = (lease(&table), lease(&table));
    let guard = acquired(&mut first).await;
    assert!(second.acquire_now().await.unwrap().is_none());
    // The secondary has the first version of the row, and the renewals have replaced it.
    sleep(TTL + seconds(1)).await;
    guard.renew().await.unwrap();
    mock.faults().add(Fault::deliver_twice().on(Operation::Merge).times(1));
    guard.renew().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(acquired(&mut second.existing()).await.token(), 2);
    let state = DynamicEntity::new("p", "device").with("State", "on");
    for token in [1, 2] {
        merge_fenced(&table, &state, token).await.unwrap();
    }
    let sequence = Sequence::new(&table, ("p", "sequence")).unwrap();
    for start in [1, 11] {
        assert_eq!(sequence.block(10).await.unwrap(), start..start + 10);
    }
    assert_eq!(on_secondary(&mock), 0);
}
