//! Leases: examples of use, errors, requests, crashes and chaos.

mod chaos;
mod crashes;
mod fence;
mod guard;
mod history;
mod input;
mod renewal;
mod repeated;
mod requests;
mod unproved;

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::clock::Clock;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, IfMatch, Operation, Outcome, RetryPolicy, TableClient};
use azure_table_patterns::lease::{Guard, Lease};
use azure_table_tests::chaos::MachineClock;
use tokio::time::{Instant, advance, sleep};

const LEASES: &str = "Leases";
const DEVICES: &str = "Devices";
const KEY: (&str, &str) = ("p", "lease0");
const TTL: Duration = Duration::from_secs(30);

/// The table of a program on its own machine.
fn machine(mock: &MockTableService, rate: f64) -> TableClient<DynamicEntity> {
    let clock: Arc<dyn Clock> = Arc::new(MachineClock::new(mock.clock(), rate));
    mock.client_builder().clock(clock).build().unwrap().table_named(LEASES)
}

async fn table() -> (MockTableService, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>(LEASES);
    table.create().await.unwrap();
    (mock, table)
}

fn lease(table: &TableClient<DynamicEntity>) -> Lease {
    Lease::new(table, KEY, TTL).unwrap()
}

async fn acquired(lease: &mut Lease) -> Guard {
    lease.acquire_now().await.unwrap().expect("the lease is free")
}

fn stored<T: azure_table_client::edm::FromEdm>(mock: &MockTableService, column: &str) -> T {
    mock.row(LEASES, KEY.0, KEY.1).unwrap().get(column).unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_release_keeps_the_row_and_its_token() {
    let (mock, table) = table().await;
    let (mut first, mut second) = (lease(&table).holder("web-1"), lease(&table));
    let guard = acquired(&mut first).await;
    assert_eq!((guard.token(), guard.is_valid()), (1, true));
    assert_eq!(guard.remaining(), Duration::from_secs(27));
    assert_eq!(stored::<String>(&mock, "Holder"), "web-1");
    assert_eq!(stored::<i64>(&mock, "TtlMs"), 30_000);
    assert!(second.acquire_now().await.unwrap().is_none());

    guard.release().await.unwrap();
    assert!(stored::<bool>(&mock, "Released"));
    let guard = acquired(&mut second).await;
    assert_eq!((guard.token(), stored::<i64>(&mock, "Token")), (2, 2));
    assert!(!stored::<bool>(&mock, "Released"));
}

#[tokio::test(start_paused = true)]
async fn a_contender_waits_for_the_time_to_live_of_the_holder() {
    let (_mock, table) = table().await;
    let held = acquired(&mut Lease::new(&table, KEY, Duration::from_secs(60)).unwrap()).await;
    let mut contender = Lease::new(&table, KEY, Duration::from_secs(5)).unwrap();
    // The time before the first look does not count.
    sleep(Duration::from_secs(300)).await;
    assert!(!held.is_valid());
    for wait in [0, 6, 53] {
        sleep(Duration::from_secs(wait)).await;
        assert!(contender.acquire_now().await.unwrap().is_none());
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(acquired(&mut contender).await.token(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_restarts_the_wait() {
    let (_mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let mut contender = lease(&table);
    for _ in 0..10 {
        assert!(contender.acquire_now().await.unwrap().is_none());
        sleep(Duration::from_secs(20)).await;
        guard.renew().await.unwrap();
        assert!(guard.is_valid());
    }
    assert!(contender.acquire_now().await.unwrap().is_none());
    sleep(TTL).await;
    assert_eq!(acquired(&mut contender).await.token(), 2);
    assert!(!guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn clocks_that_run_fast_and_slow_do_not_meet() {
    let (mock, _) = table().await;
    // The holder's clock is slow, so that its guard is valid for longer than the contender measures.
    for (holder, contender) in [(0.99, 1.01), (1.01, 0.99), (1.0, 1.0)] {
        let guard = acquired(&mut lease(&machine(&mock, holder))).await;
        let (start, mut contender) = (Instant::now(), lease(&machine(&mock, contender)));
        while guard.is_valid() {
            assert!(contender.acquire_now().await.unwrap().is_none());
            advance(Duration::from_millis(100)).await;
        }
        let valid = start.elapsed();
        let next = contender.acquire(TTL * 2).await.unwrap().unwrap();
        println!("{holder}: valid for {valid:?}, taken over after {:?}", start.elapsed());
        assert_eq!(guard.renew().await.unwrap_err().outcome(), Outcome::NotApplied);
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn acquire_waits_until_the_release() {
    let (_mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let mut contender = lease(&table);
    let start = Instant::now();
    assert!(contender.acquire(Duration::from_secs(5)).await.unwrap().is_none());
    assert_eq!(start.elapsed(), Duration::from_secs(5));

    let waiting = tokio::spawn(async move { contender.acquire(TTL * 10).await });
    sleep(Duration::from_secs(2)).await;
    guard.release().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().token(), 2);
    // A third of the time to live between two looks.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_is_not_released() {
    let (_mock, table) = table().await;
    drop(acquired(&mut lease(&table)).await);
    let start = Instant::now();
    let next = lease(&table).acquire(TTL * 2).await.unwrap().unwrap();
    assert!(next.token() == 2 && start.elapsed() >= TTL);
}

#[tokio::test(start_paused = true)]
async fn a_row_with_other_columns_keeps_them() {
    let (mock, table) = table().await;
    table.insert(&DynamicEntity::new(KEY.0, KEY.1).with("Text", "import")).await.unwrap();
    let guard = acquired(&mut lease(&table)).await;
    assert_eq!(guard.token(), 1);
    guard.renew().await.unwrap();
    let progress = DynamicEntity::new(KEY.0, KEY.1).with("Done", 7);
    guard.update(&progress).await.unwrap();
    guard.release().await.unwrap();
    let next = acquired(&mut lease(&table)).await;
    assert_eq!(next.token(), 2);
    assert_eq!(
        (stored::<String>(&mock, "Text"), stored::<i32>(&mock, "Done")),
        ("import".to_owned(), 7)
    );
}

#[tokio::test(start_paused = true)]
async fn an_existing_row_is_never_inserted() {
    let (mock, table) = table().await;
    let mut work = lease(&table).existing();
    let error = work.acquire(TTL).await.unwrap_err();
    assert!(
        matches!(&error, azure_table_patterns::Error::Client { error: client } if client.is_not_found())
    );
    assert_eq!((error.outcome(), mock.row_count(LEASES)), (Outcome::NotApplied, Some(0)));

    table.insert(&DynamicEntity::new(KEY.0, KEY.1)).await.unwrap();
    // The row is deleted between the read and the write.
    mock.faults().add(Fault::delay_request(Duration::from_secs(2)).on(Operation::Merge).times(1));
    let taking = tokio::spawn(async move { work.acquire_now().await });
    sleep(Duration::from_secs(1)).await;
    table.delete(KEY, IfMatch::Any).await.unwrap();
    let error = taking.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, azure_table_patterns::Error::Client { error: client } if client.is_not_found())
    );
    assert_eq!(mock.row_count(LEASES), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_is_not_an_error() {
    let (mock, table) = table().await;
    for operation in [Operation::Insert, Operation::Merge] {
        let (mut slow, mut fast) = (lease(&table), lease(&table));
        mock.faults().add(Fault::delay_request(Duration::from_secs(2)).on(operation).times(1));
        let slow = tokio::spawn(async move { slow.acquire_now().await });
        sleep(Duration::from_secs(1)).await;
        let guard = acquired(&mut fast).await;
        assert!(slow.await.unwrap().unwrap().is_none());
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_whose_response_is_lost_is_proved_by_its_id() {
    let (mock, table) = table().await;
    for operation in [Operation::Insert, Operation::Merge] {
        mock.faults().add(Fault::lose_reply().on(operation).times(1));
        let guard = acquired(&mut lease(&table)).await;
        assert!(guard.is_valid());
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_of_unknown_outcome_is_not_held_and_resolved_without_a_wait() {
    let (mock, table) = table().await;
    let impatient = mock.client_builder().retry(RetryPolicy::none());
    let impatient = impatient.build().unwrap().table_named::<DynamicEntity>(LEASES);
    for (operation, tokens) in [(Operation::Insert, (1, 2)), (Operation::Merge, (3, 4))] {
        mock.faults().add(Fault::lose_reply().on(operation).times(1));
        // The client cannot read the row back.
        mock.faults().add(Fault::busy().on(Operation::Get).skip(1).times(1));
        let mut mine = lease(&impatient);
        let error = mine.acquire_now().await.unwrap_err();
        assert_eq!((error.outcome(), stored::<i64>(&mock, "Token")), (Outcome::Unknown, tokens.0));
        // Others have to wait, and this program does not.
        assert!(lease(&table).acquire_now().await.unwrap().is_none());
        let guard = acquired(&mut mine).await;
        assert_eq!(guard.token(), tokens.1);
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn acquire_continues_after_failures_that_may_pass() {
    let (mock, table) = table().await;
    let client = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
    let table = table_of(&client, &table);
    mock.faults().add(Fault::busy().times(2));
    mock.faults().add(Fault::lose_reply().times(2));
    mock.faults().add(Fault::proxy_page(502).times(1));
    assert!(lease(&table).acquire(TTL).await.unwrap().is_some());

    mock.faults().add(Fault::busy());
    let error = lease(&table).acquire(TTL).await.unwrap_err();
    assert!(
        matches!(&error, azure_table_patterns::Error::Client { error: client } if client.is_throttled())
    );
    mock.faults().clear();
    mock.faults().add(Fault::error(403, "AccountIsDisabled"));
    let start = Instant::now();
    assert!(lease(&table).acquire(TTL).await.is_err());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

fn table_of(
    client: &azure_table_client::TableServiceClient,
    table: &TableClient<DynamicEntity>,
) -> TableClient<DynamicEntity> {
    client.table_named(table.name())
}
