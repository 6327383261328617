//! The deletion: crashes at each request, workers that stall for longer than their lease, and concurrent writes of other
//! programs.
//!
//! The tests of `azure-table-patterns` include this file: the examples do not depend on `azure-table-tests`, so that they
//! build fast.

mod deletion;
#[path = "tests/secondary.rs"]
mod secondary;
#[path = "tests/stalls.rs"]
mod stalls;

use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::TableSet as _;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};
use azure_table_patterns::outbox::{Pass, Worker};
use azure_table_tests::chaos::mock;
use azure_table_tests::crashes::{Crash, LATENESS, When, at_every_request, crashes};
use azure_table_tests::sized;

use deletion::{Channel, Database, Deletion, delete, request_deletion};

const TTL: Duration = Duration::from_secs(60);
/// A channel exists, it has this number of blogs, and work is pending.
const DONE: (bool, u64, bool) = (false, 0, false);

/// Writes two channels with their blogs.
async fn fill(mock: &MockTableService, blogs: usize) -> Database {
    let database = Database::open(&mock.client());
    database.create_if_not_exists().await.unwrap();
    for name in ["Doomed", "Kept"] {
        let channel = Channel {
            name: name.to_owned(),
            created: mock.now().into(),
            owner: "joe".to_owned(),
            deleted: false,
        };
        database.channels.insert_or_replace(&channel).await.unwrap();
        let blogs = (0..blogs).map(|n| BulkOperation::InsertOrReplace(blog(name, n)));
        database.blogs.bulk().run(blogs).await.unwrap();
    }
    database
}

fn blog(channel: &str, n: usize) -> DynamicEntity {
    DynamicEntity::new(channel, format!("{n:03}")).with("Text", "Hello")
}

/// Returns whether a channel exists, the number of its blogs, and whether its deletion is pending.
async fn contents(database: &Database, name: &str) -> (bool, u64, bool) {
    let channel = database.channels.get_if_exists((name, "channel")).await.unwrap();
    let blogs = database.blogs.query().partition(name).count();
    let rows = database.channels.query().partition(name).count().await.unwrap();
    (channel.is_some(), blogs.await.unwrap(), rows > u64::from(channel.is_some()))
}

fn worker(service: &TableServiceClient, name: &str) -> Worker<Deletion> {
    let outbox = Database::open(service).outbox().unwrap();
    outbox.worker(name).ttl(TTL).unwrap().waits(Duration::ZERO, Duration::ZERO)
}

/// Deletes the channels of all items that can be acquired.
async fn poll(worker: &mut Worker<Deletion>, service: &TableServiceClient) -> Pass {
    let database = Database::open(service);
    while let Some(mut item) = worker.next().await.unwrap() {
        let ended = delete(&database, &mut item).await;
        worker.end(item, ended).await;
    }
    worker.pass().clone()
}

/// Polls until no item is left.
async fn work(service: &TableServiceClient, name: &str) -> usize {
    let mut worker = worker(service, name);
    let mut done = 0;
    for _ in 0..100 {
        let polled = poll(&mut worker, service).await;
        done += polled.done;
        if polled.is_drained() {
            return done;
        }
        tokio::time::sleep(TTL).await;
    }
    panic!("{name} has not finished");
}

/// The program of the web site and of a worker.
async fn program(_: &usize, service: TableServiceClient) {
    request_deletion(&Database::open(&service), "Doomed").await.unwrap();
    work(&service, "first").await;
}

/// Checks that blogs have their channel, that a deleted channel has its work, and that other channels are unchanged.
async fn check(database: &Database, blogs: usize) {
    let (channel, left, has_work) = contents(database, "Doomed").await;
    assert!(channel || left == 0, "no blog is without its channel");
    let stored = database.channels.get_if_exists(("Doomed", "channel")).await.unwrap();
    let is_deleted = stored.is_some_and(|channel| channel.deleted);
    assert_eq!(is_deleted, has_work, "a deleted channel has its work, and no other has");
    assert!(is_deleted || !channel || left == blogs as u64, "an untouched channel has its blogs");
    assert_eq!(contents(database, "Kept").await, (true, blogs as u64, false));
}

/// Completes the deletion, creates a channel of the same name, and waits for late requests.
async fn recover(mock: &MockTableService, blogs: usize) {
    let database = Database::open(&mock.client());
    check(&database, blogs).await;
    let (.., is_pending) = contents(&database, "Doomed").await;
    program(&blogs, mock.client()).await;
    assert_eq!(contents(&database, "Doomed").await, DONE);
    check(&database, blogs).await;
    let database = fill(mock, blogs).await;
    tokio::time::sleep(LATENESS * 2).await;
    let new = (true, blogs as u64, false);
    assert_eq!(contents(&database, "Doomed").await, new, "pending at the crash: {is_pending}");
}

#[tokio::test(start_paused = true)]
async fn the_deletion_survives_a_crash_at_each_request() {
    let prepare = async |mock: &MockTableService| {
        fill(mock, 105).await;
        105
    };
    let points =
        at_every_request(prepare, program, async |blogs, mock, _| recover(mock, *blogs).await);
    println!("crashes: delete_channel: {}", points.await);
}

/// The second program stops too. A crash before a request is the same as one after the previous request. Without
/// `AZURE_TABLE_TESTS_FULL`, it stops at every second request.
#[tokio::test(start_paused = true)]
async fn the_deletion_survives_a_second_crash() {
    let crash = |request| Crash { request, when: When::After };
    let mut points = 0;
    for first in 0.. {
        for second in (first % sized(2, 1)..).step_by(sized(2, 1)) {
            let mock = mock();
            fill(&mock, 3).await;
            if !crashes(&mock, crash(first), async |client| program(&3, client).await).await {
                println!("crashes: delete_channel, two in a row: {points}");
                assert!(points > sized(40, 80), "{points}");
                return;
            }
            let stops = crashes(&mock, crash(second), async |client| program(&3, client).await);
            let has_stopped = stops.await;
            recover(&mock, 3).await;
            points += 1;
            if !has_stopped {
                break;
            }
        }
    }
}
