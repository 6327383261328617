//! The writes of a holder: lost, late and repeated requests, and a next holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use azure_table_client::mock::Fault;
use azure_table_client::{
    DynamicEntity, ErrorKind, IfMatch, Operation, Outcome, RetryPolicy, TableClient,
};
use azure_table_patterns::Error;
use tokio::time::{Instant, sleep};

use super::{KEY, LEASES, TTL, acquired, lease, stored, table};
use crate::hostile::touching;

fn work(row: &str) -> DynamicEntity {
    DynamicEntity::new(KEY.0, row)
}

/// A client that does not retry.
fn impatient(mock: &azure_table_client::mock::MockTableService) -> TableClient<DynamicEntity> {
    let builder = mock.client_builder().retry(RetryPolicy::none());
    builder.build().unwrap().table_named(LEASES)
}

#[tokio::test(start_paused = true)]
async fn a_renewal_of_unknown_outcome_leaves_the_validity_and_the_next_one_continues() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&impatient(&mock))).await;
    mock.faults().add(Fault::delay_request(Duration::from_secs(12)).on(Operation::Merge).times(1));
    let start = Instant::now();
    let error = guard.renew().await.unwrap_err();
    assert_eq!((error.outcome(), start.elapsed()), (Outcome::Unknown, TTL / 3));
    assert_eq!(guard.remaining(), Duration::from_secs(17));
    // The request arrives now.
    sleep(Duration::from_secs(5)).await;
    guard.renew().await.unwrap();
    assert_eq!((guard.remaining(), guard.token()), (Duration::from_secs(27), 1));
    assert_eq!(stored::<i64>(&mock, "Token"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_renewal_does_not_take_the_lease_back() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&impatient(&mock))).await;
    mock.faults().add(Fault::delay_request(Duration::from_secs(100)).on(Operation::Merge).times(1));
    assert!(guard.renew().await.is_err());
    let next = lease(&table).acquire(TTL * 3).await.unwrap().unwrap();
    sleep(Duration::from_secs(100)).await;
    assert_eq!((next.token(), stored::<i64>(&mock, "Token")), (2, 2));
    assert!(matches!(guard.renew().await, Err(Error::Lost { token: 1, .. })));
    assert!(matches!(guard.release().await, Err(Error::Lost { token: 1, .. })));
    assert!(!stored::<bool>(&mock, "Released"));
}

#[tokio::test(start_paused = true)]
async fn a_guard_can_be_renewed_until_another_program_acquires() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&impatient(&mock))).await;
    sleep(TTL * 10).await;
    assert!(!guard.is_valid());
    guard.renew().await.unwrap();
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_stalled_holder_is_refused() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let next = lease(&table).acquire(TTL * 3).await.unwrap().unwrap();
    let error = guard.commit(|tx| tx.insert(&work("old"))).await.unwrap_err();
    assert!(matches!(error, Error::Lost { token: 1, outcome: Outcome::NotApplied }), "{error}");
    assert!(error.to_string().starts_with("lease lost"), "{error}");
    let columns = DynamicEntity::new(KEY.0, KEY.1).with("Done", 1);
    assert!(guard.update(&columns).await.is_err());
    assert!(guard.delete(|tx| tx).await.is_err());
    assert_eq!(mock.row_count(LEASES), Some(1));
    next.commit(|tx| tx.insert(&work("new"))).await.unwrap();
    assert_eq!(mock.row_count(LEASES), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_commit_is_resolved_by_the_number_in_the_row() {
    let seconds = Duration::from_secs;
    for (name, fault) in [
        ("reply lost", Fault::lose_reply()),
        ("request lost", Fault::lose_request()),
        ("delivered twice", Fault::deliver_twice()),
        ("late", Fault::delay_request(seconds(45))),
        ("slow", Fault::delay_reply(seconds(45))),
        ("hang", Fault::hang()),
        ("proxy's 503 after commit", Fault::proxy_page(503).after_commit()),
        ("proxy's 200 after commit", Fault::proxy_page(200).after_commit()),
        ("captive portal", Fault::captive_portal(200)),
    ] {
        for is_patient in [true, false] {
            let (mock, table) = table().await;
            let builder = mock.client_builder().try_timeout(seconds(3)).deadline(seconds(20));
            let patient = builder.build().unwrap().table_named(LEASES);
            let table_used = if is_patient { patient } else { impatient(&mock) };
            let guard = acquired(&mut lease(&table_used)).await;
            mock.faults().add(fault.clone().on(Operation::Transaction).times(1));
            if !is_patient {
                // The client cannot read the rows back.
                mock.faults().add(Fault::busy().on(Operation::Query));
            }
            let committed = guard.commit(|tx| tx.insert(&work("once"))).await;
            assert!(committed.is_ok(), "{name}: {committed:?}");
            sleep(seconds(60)).await;
            guard.renew().await.unwrap();
            assert_eq!(mock.row_count(table.name()), Some(2), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_cannot_be_resolved_is_unknown() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&impatient(&mock))).await;
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    mock.faults().add(Fault::busy().on(Operation::Query));
    let unreadable = mock.faults().add(Fault::busy().on(Operation::Get));
    let error = guard.commit(|tx| tx.insert(&work("once"))).await.unwrap_err();
    assert_eq!((error.outcome(), unreadable.struck()), (Outcome::Unknown, 1));
    mock.faults().clear();

    // The response of a second delivery is a refusal, which does not prove that the first one was refused.
    mock.faults().add(Fault::deliver_twice().on(Operation::Transaction).times(1));
    mock.faults().add(Fault::busy().on(Operation::Get));
    guard.renew().await.unwrap_err();
    mock.faults().clear();
    guard.renew().await.unwrap();
    mock.faults().add(Fault::deliver_twice().on(Operation::Transaction).times(1));
    mock.faults().add(Fault::busy().on(Operation::Get));
    let error = guard.commit(|tx| tx.insert(&work("twice"))).await.unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error:?}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(error.to_string().starts_with("it is unknown"), "{error}");
    assert_eq!(mock.row_count(LEASES), Some(3));
}

/// The id stays in the row when a client without ids merges its own columns.
#[tokio::test(start_paused = true)]
async fn a_write_id_that_the_next_holder_keeps_does_not_take_the_lease_back() {
    let (mock, table) = table().await;
    let builder = mock.client_builder().write_id_column("WriteId").deadline(TTL * 10);
    let with_ids = builder.try_timeout(TTL * 3).build().unwrap().table_named(LEASES);
    for operation in [Operation::Transaction, Operation::Merge] {
        let guard = acquired(&mut lease(&with_ids)).await;
        // The write is applied, and the client reads the row long after that.
        mock.faults().add(Fault::delay_reply(TTL * 4).on(operation).times(1));
        let writing = tokio::spawn(async move {
            let columns = DynamicEntity::new(KEY.0, KEY.1).with("Done", 1);
            let written = match operation {
                Operation::Merge => guard.update(&columns).await,
                _ => guard.commit(|tx| tx.insert(&work("once"))).await,
            };
            (guard, written)
        });
        sleep(Duration::from_secs(1)).await;
        let next = lease(&table).acquire(TTL * 2).await.unwrap().unwrap();
        let (guard, written) = writing.await.unwrap();
        written.unwrap();
        assert!(!guard.is_valid());
        let error = guard.commit(|tx| tx.insert(&work("late"))).await.unwrap_err();
        assert!(matches!(error, Error::Lost { .. }), "{error}");
        assert_eq!(stored::<i64>(&mock, "Token"), next.token());
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_work_leaves_the_guard_valid() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    table.insert(&work("taken")).await.unwrap();
    let error = guard.commit(|tx| tx.insert(&work("a")).insert(&work("taken"))).await.unwrap_err();
    let Error::Client { error: client } = &error else { panic!("{error}") };
    assert!(client.is_conflict() && client.batch_index() == Some(2), "{error}");
    assert_eq!((error.outcome(), mock.row_count(LEASES)), (Outcome::NotApplied, Some(2)));
    guard.commit(|tx| tx.insert(&work("a"))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn other_writes_of_the_row_do_not_end_the_lease() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    table.insert_or_merge(&DynamicEntity::new(KEY.0, KEY.1).with("Note", "x")).await.unwrap();
    guard.commit(|tx| tx.insert(&work("once"))).await.unwrap();
    table.insert_or_merge(&DynamicEntity::new(KEY.0, KEY.1).with("Note", "y")).await.unwrap();
    guard.release().await.unwrap();
    assert_eq!((mock.row_count(LEASES), stored::<bool>(&mock, "Released")), (Some(2), true));
}

#[tokio::test(start_paused = true)]
async fn the_row_is_deleted_with_the_last_work() {
    let (mock, table) = table().await;
    for fault in
        [None, Some(Fault::lose_reply()), Some(Fault::deliver_twice()), Some(Fault::hang())]
    {
        let guard = acquired(&mut lease(&table)).await;
        if let Some(fault) = fault {
            mock.faults().add(fault.on(Operation::Transaction).times(1));
        }
        let patient = guard.delete(|tx| tx.deadline(Duration::from_secs(5)).insert(&work("done")));
        patient.await.unwrap();
        assert!(mock.row(LEASES, KEY.0, KEY.1).is_none());
        table.delete((KEY.0, "done"), IfMatch::Any).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_that_is_gone_proves_nothing_once_the_guard_is_not_valid() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&impatient(&mock))).await;
    mock.faults().add(Fault::delay_reply(TTL * 2).on(Operation::Transaction).times(1));
    let deleted = guard.delete(|tx| tx.deadline(TTL).insert(&work("done"))).await;
    assert!(matches!(deleted, Err(Error::Lost { outcome: Outcome::Unknown, .. })), "{deleted:?}");
}

#[tokio::test(start_paused = true)]
async fn work_runs_while_the_lease_is_renewed() {
    let (_mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let token = guard.token();
    let worked = guard.hold(async move {
        sleep(TTL * 20).await;
        token + 41
    });
    assert_eq!(worked.await.unwrap(), 42);
    assert!(guard.is_valid());
}

/// Records whether it was dropped, and when it ran last.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn work_is_dropped_before_another_program_can_acquire() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let (is_dropped, steps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (running, counted) = (Running(Arc::clone(&is_dropped)), Arc::clone(&steps));
    let mut contender = lease(&table);
    assert!(contender.acquire_now().await.unwrap().is_none());
    mock.faults().add(Fault::hang().on(Operation::Merge));
    let start = Instant::now();
    let held = guard.hold(async move {
        let _running = running;
        loop {
            sleep(Duration::from_secs(1)).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let held: Result<(), Error> = held.await;
    assert!(matches!(held, Err(Error::Lost { token: 1, outcome: Outcome::Unknown })));
    assert!(is_dropped.load(Ordering::Relaxed));
    // The time to live is 30 s, and the margin 3 s.
    let ended = start.elapsed();
    assert!(
        (26..=27).contains(&ended.as_secs()) && steps.load(Ordering::Relaxed) <= 27,
        "{ended:?}"
    );
    mock.faults().clear();
    assert_eq!(contender.acquire(TTL).await.unwrap().unwrap().token(), 2);
    assert!(guard.hold(async {}).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn work_survives_failures_that_pass() {
    let (mock, _) = table().await;
    let guard = acquired(&mut lease(&impatient(&mock))).await;
    mock.faults().seed(7);
    for fault in [Fault::lose_reply(), Fault::lose_request(), Fault::busy(), Fault::deliver_twice()]
    {
        mock.faults().add(fault.probability(0.15));
    }
    guard.hold(sleep(TTL * 50)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_renewal_gives_up_if_another_program_always_writes_first() {
    let (mock, _) = table().await;
    let (row, before) = (KEY, ("MERGE", KEY.1));
    let touching = touching(&mock, LEASES, row, before);
    let guard = acquired(&mut lease(&touching.table_named(LEASES))).await;
    let error = guard.renew().await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 3, .. }), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_waits_for_a_commit_no_longer_than_for_its_own_response() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    mock.faults().add(Fault::delay_reply(TTL / 2).on(Operation::Transaction).times(1));
    let start = Instant::now();
    let renewal = async { (guard.renew().await, start.elapsed()) };
    let row = work("row");
    let (committed, (renewed, elapsed)) = tokio::join!(guard.commit(|tx| tx.insert(&row)), renewal);
    let error = renewed.unwrap_err();
    assert_eq!((elapsed, error.kind()), (TTL / 3, Some(ErrorKind::Timeout)));
    assert_eq!(error.outcome(), Outcome::NotApplied);
    committed.unwrap();
    guard.renew().await.unwrap();
}
