//! A holder that stops at each of its requests, and the next holder.

use std::cell::RefCell;
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};
use azure_table_patterns::lease::{Guard, Lease};
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use azure_table_tests::sized;
use tokio::time::{Instant, sleep};

use super::{KEY, LEASES, TTL};

/// The state that the programs reached before they stopped.
#[derive(Default)]
struct Stage {
    token: i64,
    /// No other program may hold the lease before this time.
    valid_until: Option<Instant>,
    /// The rows of the commits that succeeded.
    committed: Vec<String>,
    is_deleted: bool,
}

impl Stage {
    fn holds(&mut self, guard: &Guard) {
        assert!(guard.token() > self.token);
        if let Some(until) = self.valid_until {
            assert!(Instant::now() >= until, "{until:?}");
        }
        self.token = guard.token();
        self.is_valid(guard);
    }

    fn is_valid(&mut self, guard: &Guard) {
        self.valid_until = Some(Instant::now() + guard.remaining());
    }
}

async fn prepare(mock: &MockTableService) -> RefCell<Stage> {
    mock.client().table_named::<DynamicEntity>(LEASES).create().await.unwrap();
    RefCell::default()
}

/// Acquires the lease, commits a row with the name of the token, and releases the lease.
async fn work(stage: &RefCell<Stage>, client: TableServiceClient) {
    let table = client.table_named::<DynamicEntity>(LEASES);
    let guard = Lease::new(&table, KEY, TTL).unwrap().acquire(TTL * 4).await.unwrap().unwrap();
    stage.borrow_mut().holds(&guard);
    let name = format!("{:03}", guard.token());
    let row = DynamicEntity::new(KEY.0, &*name).with("By", guard.token());
    guard.commit(|tx| tx.insert(&row)).await.unwrap();
    stage.borrow_mut().committed.push(name);
    stage.borrow_mut().is_valid(&guard);
    guard.update(&DynamicEntity::new(KEY.0, KEY.1).with("Last", guard.token())).await.unwrap();
    stage.borrow_mut().is_valid(&guard);
    guard.renew().await.unwrap();
    stage.borrow_mut().is_valid(&guard);
    stage.borrow_mut().valid_until = None;
    guard.release().await.unwrap();
}

/// The rows after another program has worked and late requests have arrived.
async fn check(stage: &RefCell<Stage>, mock: &MockTableService) {
    work(stage, mock.client()).await;
    let token = stage.borrow().token;
    // Every late write of an old holder is refused.
    let rows = mock.rows(LEASES).unwrap();
    sleep(LATENESS * 2).await;
    assert_eq!(mock.rows(LEASES).unwrap(), rows);
    let row = mock.row(LEASES, KEY.0, KEY.1).unwrap();
    assert_eq!(row.get::<i64>("Token"), Some(Ok(token)));
    assert_eq!(row.get::<i64>("Last"), Some(Ok(token)));
    assert_eq!(row.get::<bool>("Released"), Some(Ok(true)));
    for name in &stage.borrow().committed {
        assert!(mock.row(LEASES, KEY.0, name).is_some(), "{name}");
    }
    let is_immediate = Instant::now();
    work(stage, mock.client()).await;
    assert_eq!(is_immediate.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_holder_stops_at_each_request() {
    let recover = async |stage: &RefCell<Stage>, mock: &MockTableService, _| {
        check(stage, mock).await;
    };
    let points =
        at_every_request(prepare, async |stage, client| work(stage, client).await, recover);
    let points = points.await;
    println!("crashes: lease: {points}");
    assert_eq!((points.requests, points.runs), (6, sized(13, 18)));
}

#[tokio::test(start_paused = true)]
async fn the_next_holder_stops_too() {
    let points = at_every_pair_of_requests(
        prepare,
        async |stage, client| work(stage, client).await,
        async |stage, client| work(stage, client).await,
        async |stage, mock, _| check(stage, mock).await,
    );
    let points = points.await;
    println!("crashes: lease, two in a row: {points}");
    assert!(points.runs > sized(50, 18 * 18), "{points}");
}

/// A job that is deleted with its result.
async fn finish(stage: &RefCell<Stage>, client: TableServiceClient) {
    let table = client.table_named::<DynamicEntity>(LEASES);
    let mut job = Lease::new(&table, ("p", "job"), TTL).unwrap().existing();
    let guard = match job.acquire(TTL * 4).await {
        Ok(guard) => guard.unwrap(),
        // The program before this one has finished it.
        Err(error) => {
            let is_gone = matches!(&error, azure_table_patterns::Error::Client { error: it } if it.is_not_found());
            assert!(is_gone && stage.borrow().token > 0, "{error}");
            return;
        }
    };
    stage.borrow_mut().holds(&guard);
    guard.update(&DynamicEntity::new("p", "job").with("Step", 1)).await.unwrap();
    stage.borrow_mut().is_valid(&guard);
    let result = DynamicEntity::new("p", "result").with("By", guard.token());
    guard.delete(|tx| tx.insert(&result)).await.unwrap();
    stage.borrow_mut().is_deleted = true;
}

#[tokio::test(start_paused = true)]
async fn a_job_is_finished_once() {
    let prepare = async |mock: &MockTableService| {
        let stage = prepare(mock).await;
        let table = mock.client().table_named::<DynamicEntity>(LEASES);
        table.insert(&DynamicEntity::new("p", "job").with("Text", "import")).await.unwrap();
        stage
    };
    let points = at_every_pair_of_requests(
        prepare,
        async |stage, client| finish(stage, client).await,
        async |stage, client| finish(stage, client).await,
        async |stage, mock, _| {
            finish(stage, mock.client()).await;
            sleep(LATENESS * 2).await;
            assert!(mock.row(LEASES, "p", "job").is_none());
            let result = mock.row(LEASES, "p", "result").unwrap();
            let by: i64 = result.get("By").unwrap().unwrap();
            assert!(by <= stage.borrow().token);
        },
    );
    let points = points.await;
    println!("crashes: lease of a job, two in a row: {points}");
    assert_eq!(points.requests, 4);
}
