//! Runs on the mock, in virtual time.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{EntityKey, Operation};

use super::*;

fn bounds(phase: Phase, max_rate: u64) -> Bounds {
    Bounds { max_rate, time: Duration::from_secs(60), rows: phase.rows() }
}

async fn load(mock: &MockTableService) -> Load {
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    let partition = Partition::new(table.clock().random_id().unwrap());
    Load::new(table, partition, Interrupt::install().unwrap())
}

/// Asserts that a phase finds this limit within 10 %, and that no request is repeated.
async fn assert_limit(phase: Phase, limit: u32) {
    let mock = MockTableService::new();
    mock.faults().add(Fault::throttle(limit));
    let mut load = load(&mock).await;
    let (before, mut sent) = (mock.requests().total(), usize::from(phase == Phase::Reads));
    let run = run_phase(phase, bounds(phase, 5_000), &mut load, |step| {
        sent += usize::try_from(step.sent).unwrap();
        Ok(())
    });
    let end = run.await.unwrap();
    assert_eq!(mock.requests().total() - before, sent, "{phase:?}");
    let End::Throttled(found) = end else { panic!("{end:?}") };
    assert!(found.abs_diff(limit.into()) * 10 <= limit.into(), "{phase:?}: {found} of {limit}");
}

#[tokio::test(start_paused = true)]
async fn transactions_find_each_limit() {
    for limit in [500, 2_000] {
        assert_limit(Phase::Transactions, limit).await;
    }
}

#[tokio::test(start_paused = true)]
async fn inserts_and_reads_find_the_limit() {
    for phase in [Phase::Inserts, Phase::Reads] {
        assert_limit(phase, 200).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_phase_without_throttling_ends_at_its_highest_rate() {
    let mock = MockTableService::new();
    let mut load = load(&mock).await;
    let mut steps = Vec::new();
    let end = run_phase(Phase::Inserts, bounds(Phase::Inserts, 600), &mut load, |step| {
        steps.push((step.rate, step.rows_per_second(), step.throttled));
        Ok(())
    });
    assert_eq!(end.await.unwrap(), End::MaxRate);
    assert_eq!(steps, [(250, 250, 0), (500, 500, 0), (600, 600, 0)]);
}

#[tokio::test(start_paused = true)]
async fn only_the_rows_of_the_run_are_removed() {
    let mock = MockTableService::new();
    let mut load = load(&mock).await;
    let mut others = Vec::new();
    for (partition, row) in [("Channel9", "0000000000"), (&*load.partition.name, "other")] {
        load.table.insert(&DynamicEntity::new(partition, row)).await.unwrap();
        others.push(EntityKey::new(partition, row));
    }
    // The client finds that the transaction was applied, and not whether the insert still will be.
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).skip(1).times(1));
    mock.faults().add(Fault::lose_request().on(Operation::Insert).skip(50).times(1));
    let mut failures = 0;
    for phase in Phase::ALL {
        let run = run_phase(phase, bounds(phase, 300), &mut load, |_| Ok(()));
        failures += u32::from(run.await.is_err());
    }
    assert_eq!(failures, 1);
    let written = load.table.query().allow_scan().await.unwrap().len();
    assert!(written > 100, "{written}");
    cleanup::remove(&load, &Progress::new(true, "cleanup", None)).await.unwrap();
    let left = load.table.query().allow_scan().await.unwrap();
    let left: Vec<_> = left.iter().map(|row| row.key().clone()).collect();
    assert_eq!(left, others);
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_left_are_in_the_partition_of_the_message() {
    let mock = MockTableService::new();
    let mut load = load(&mock).await;
    let bounds = Bounds { time: Duration::from_secs(1), ..bounds(Phase::Inserts, 10) };
    run_phase(Phase::Inserts, bounds, &mut load, |_| Ok(())).await.unwrap();
    mock.faults().add(Fault::error(403, "AuthorizationFailure").on(Operation::Transaction));
    let removed = cleanup::remove(&load, &Progress::new(true, "cleanup", None)).await;
    let left = removed.unwrap_err();
    let expected = format!("rows may be left in the partition {} of Blogs: ", load.partition.name);
    assert!(left.message().starts_with(&expected), "{left}");
    assert_eq!(load.table.query().allow_scan().await.unwrap().len(), 10);

    let interrupted = || Err(Failure::new(Exit::Interrupted, "interrupted"));
    let both = conclude(interrupted(), Err(left.clone()), Some(Exit::Interrupted)).unwrap_err();
    assert_eq!(both.message(), format!("interrupted; {left}"));
    assert_eq!(both.exit(), Exit::Interrupted);
    // The reader of the results closed standard output.
    let closed = conclude(Err(Failure::silent(Exit::Done)), Err(left.clone()), None);
    assert_eq!(closed, Err(left));
    assert_eq!(conclude(Ok(()), Ok(()), Some(Exit::Interrupted)), interrupted());
}

#[test]
fn addresses_of_this_machine_and_the_development_account_are_emulators() {
    for (endpoint, expected) in [
        ("http://127.0.0.1:10002/devstoreaccount1", true),
        ("http://localhost:8902", true),
        ("https://[::1]:10002/account", true),
        ("http://azurite:10002/devstoreaccount1", true),
        ("https://account.table.core.windows.net", false),
        ("https://devstoreaccount1.table.core.windows.net", false),
        ("https://localhost.example.com/account", false),
        ("https://10.0.0.7/account", false),
    ] {
        assert_eq!(is_emulator(endpoint), expected, "{endpoint}");
    }
}
