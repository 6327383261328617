//! Calls that read and write until no concurrent update intervenes: races, limits, lost replies.

mod lost_rounds;
mod removals;
mod versions;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, Error, ErrorCode, ErrorKind, IfMatch, Operation, Outcome, RetryPolicy,
    TableClient, TableEntity,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_write, on};
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Counter {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    day: String,
    hits: i32,
    note: Option<String>,
}

const KEY: (&str, &str) = ("home", "1");

fn counter(hits: i32) -> Counter {
    Counter { name: "home".into(), day: "1".into(), hits, note: None }
}

/// The fault of a write.
#[derive(Debug, Clone, Copy)]
enum Foul {
    /// Another program adds 100 before it.
    Race,
    /// Another program deletes the row before it.
    Delete,
    /// Another program inserts the row before it.
    Insert,
    /// Another program inserts the row before it, and deletes it after it.
    InsertAndDelete,
    /// The write is applied, and its reply is lost.
    LostReply,
}

impl Foul {
    fn step(self, other: &TableClient<Counter>) -> Step {
        let [adding, inserting, deleting] = [(); 3].map(|()| other.clone());
        let add = async move {
            let mut row = adding.get(KEY).await.unwrap().entity;
            row.hits += 100;
            adding.merge(&row, IfMatch::Any).await.unwrap();
        };
        let insert = async move { drop(inserting.insert(&counter(100)).await.unwrap()) };
        let delete = async move { drop(deleting.delete(KEY, IfMatch::Any).await.unwrap()) };
        match self {
            Self::Race => Step::pass().after(add),
            Self::Delete => Step::pass().after(delete),
            Self::Insert => Step::pass().after(insert),
            Self::InsertAndDelete => Step::pass().after(insert).then(delete),
            Self::LostReply => Step::lose_reply(),
        }
    }
}

/// A table whose first `times` writes meet this fault, and the same table without it.
async fn tables(
    foul: Foul,
    times: usize,
) -> (MockTableService, TableClient<Counter>, TableClient<Counter>) {
    let mock = MockTableService::new();
    let plain = mock.client().table_named::<Counter>("Counters");
    plain.create().await.unwrap();
    let other = plain.clone();
    let steps = (0..times).map(move |_| foul.step(&other));
    let table = mock
        .client_builder()
        .transport(Scripted::new(mock.transport(), on(is_write, in_turn(steps))))
        .retry(RetryPolicy::fixed(1, Duration::from_secs(1)))
        .build()
        .unwrap()
        .table_named("Counters");
    (mock, table, plain)
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_is_retried() {
    for races in 0..10 {
        let (_, table, plain) = tables(Foul::Race, races).await;
        plain.insert(&counter(0)).await.unwrap();
        let updated = table.update_with(KEY, |counter| counter.hits += 1).await.unwrap();
        let expected = i32::try_from(races).unwrap() * 100 + 1;
        assert_eq!((updated.hits, updated.response().status), (expected, 204));
        assert_eq!(updated.rounds() as usize, races + 1);
        let stored = plain.get(KEY).await.unwrap();
        assert_eq!((stored.hits, &stored.etag), (expected, &updated.etag));
    }
}

#[tokio::test(start_paused = true)]
async fn the_rounds_are_bounded_in_number_and_in_time() {
    let (mock, table, plain) = tables(Foul::Race, usize::MAX).await;
    plain.insert(&counter(0)).await.unwrap();
    let start = Instant::now();
    let mut calls = 0;
    let error = table.update_with(KEY, |_| calls += 1).await.unwrap_err();
    assert!(error.is_precondition_failed());
    assert_eq!((error.rounds(), error.outcome(), calls), (10, Outcome::NotApplied, 10));
    assert!(error.to_string().contains("10 rounds"), "{error}");
    assert!(start.elapsed() > Duration::ZERO, "with waits");
    for (rounds, expected) in [(0, 1), (1, 1), (3, 3)] {
        let error = table.update_with(KEY, |_| {}).rounds(rounds).await.unwrap_err();
        assert_eq!(error.rounds(), expected);
    }
    let start = Instant::now();
    let update = table.update_with(KEY, |_| {}).rounds(u32::MAX).deadline(Duration::from_secs(20));
    let error = update.await.unwrap_err();
    assert!(error.is_precondition_failed() && error.rounds() > 20, "{error}");
    assert!((18..20).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    // A limit of zero allows one attempt.
    let update = table.update_with(KEY, |_| {}).rounds(2).deadline(Duration::MAX);
    assert_eq!(update.await.unwrap_err().rounds(), 2);
    mock.requests().clear();
    let update = table.update_with(KEY, |_| {}).deadline(Duration::ZERO).await;
    assert_eq!(update.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_increment_is_applied_once() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<Counter>("Counters");
    table.create().await.unwrap();
    table.insert(&counter(0)).await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let table = table.clone();
            tokio::spawn(async move {
                let mut rounds = 0;
                for _ in 0..50 {
                    let update = table.update_with(KEY, |counter| counter.hits += 1).rounds(1000);
                    rounds += update.await.unwrap().rounds();
                }
                rounds
            })
        })
        .collect();
    let mut rounds = 0;
    for task in tasks {
        rounds += task.await.unwrap();
    }
    assert_eq!(table.get(KEY).await.unwrap().hits, 1000);
    assert!(rounds > 1000, "they met");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_row_stays_deleted() {
    let (mock, table, plain) = tables(Foul::Delete, 1).await;
    let error = table.update_with(KEY, |counter| counter.hits += 1).await.unwrap_err();
    assert!(error.is_not_found() && error.rounds() == 1, "{error}");
    plain.insert(&counter(0)).await.unwrap();
    let error = table.update_with(KEY, |counter| counter.hits += 1).await.unwrap_err();
    assert!(error.is_not_found() && error.rounds() == 1, "{error}");
    assert_eq!(mock.row_count("Counters"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn refused_and_moving_changes_are_not_written() {
    #[derive(Debug)]
    enum Refusal {
        TooMany,
        Table(Error),
    }
    impl From<Error> for Refusal {
        fn from(error: Error) -> Self {
            Self::Table(error)
        }
    }
    let (mock, table, plain) = tables(Foul::Race, 1).await;
    plain.insert(&counter(0)).await.unwrap();
    // After a lost race, the closure is called again.
    let add = |counter: &mut Counter| match counter.hits {
        100.. => Err(Refusal::TooMany),
        _ => {
            counter.hits += 1;
            Ok(())
        }
    };
    assert!(matches!(table.try_update_with(KEY, add).await, Err(Refusal::TooMany)));
    assert_eq!(plain.get(KEY).await.unwrap().hits, 100);
    let error = table.try_update_with(("home", "2"), add).await.unwrap_err();
    assert!(matches!(error, Refusal::Table(error) if error.is_not_found()));

    mock.requests().clear();
    let error = table.update_with(KEY, |counter| counter.day = "2".into()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::InvalidInput, Outcome::NotApplied));
    assert!(error.to_string().contains(r#"("home", "1") would be written as ("home", "2")"#));
    assert_eq!((mock.requests().total(), mock.requests().count(Operation::Get)), (1, 1));
    let error = table.get_or_insert_with(("home", "3"), || counter(0)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(mock.row_count("Counters"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_change_with_a_lost_reply_is_applied_once() {
    let (_, table, plain) = tables(Foul::LostReply, 1).await;
    plain.insert(&counter(0)).await.unwrap();
    let error = table.update_with(KEY, |counter| counter.hits += 1).await.unwrap_err();
    assert!(error.is_precondition_failed());
    assert_eq!((error.outcome(), error.rounds(), error.attempts()), (Outcome::Unknown, 1, 2));
    assert_eq!(plain.get(KEY).await.unwrap().hits, 1);

    let (_, table, plain) = tables(Foul::LostReply, 1).await;
    plain.insert(&counter(0)).await.unwrap();
    let set = table.update_with(KEY, |counter| counter.hits = 7).idempotent().await.unwrap();
    assert_eq!((set.hits, set.rounds()), (7, 1));
}

#[tokio::test(start_paused = true)]
async fn a_merge_keeps_properties_that_a_replace_removes() {
    let (_, table, plain) = tables(Foul::Race, 0).await;
    let mut row = DynamicEntity::from_entity(&counter(1)).unwrap();
    row.set("Note", "mine").set("Other", "of another program");
    let rows = plain.with_entity::<DynamicEntity>();
    rows.insert(&row).await.unwrap();
    table.update_with(KEY, |counter| counter.hits = 2).await.unwrap();
    let stored = rows.get(KEY).await.unwrap();
    assert!(stored.value("Note").is_some() && stored.value("Other").is_some());
    table.update_with(KEY, |counter| counter.note = None).replace().await.unwrap();
    let stored = rows.get(KEY).await.unwrap();
    assert!(stored.value("Note").is_none() && stored.value("Other").is_none());
    // A dynamic entity has them all.
    let change = |row: &mut DynamicEntity| {
        row.set("Other", 1);
        row.remove("Hits");
    };
    rows.update_with(KEY, change).replace().await.unwrap();
    let stored = rows.get(KEY).await.unwrap();
    assert!(stored.value("Hits").is_none() && stored.value("Other").is_some());
}

#[tokio::test(start_paused = true)]
async fn one_of_many_inserts() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<Counter>("Counters");
    table.create().await.unwrap();
    let made = Arc::new(Mutex::new(0));
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let (table, made) = (table.clone(), Arc::clone(&made));
            tokio::spawn(async move {
                let make = || {
                    *made.lock().unwrap() += 1;
                    counter(n)
                };
                table.get_or_insert_with(KEY, make).await.unwrap()
            })
        })
        .collect();
    let mut inserted = 0;
    let mut hits = Vec::new();
    for task in tasks {
        let (obtained, outcome) = task.await.unwrap();
        inserted += usize::from(outcome == Outcome::Applied);
        hits.push(obtained.hits);
    }
    let stored = table.get(KEY).await.unwrap().hits;
    assert_eq!((inserted, hits), (1, vec![stored; 20]));
    assert_eq!(*made.lock().unwrap(), 20, "each found nothing at first");
    let (found, inserted) = table.get_or_insert(&counter(99)).await.unwrap();
    assert_eq!((inserted, found.hits), (Outcome::NotApplied, stored));
    assert_eq!((found.response().status, found.rounds()), (200, 1));
}

#[tokio::test(start_paused = true)]
async fn an_insert_of_unknown_origin_is_reported_as_such() {
    let (_, table, plain) = tables(Foul::Insert, 1).await;
    let (obtained, inserted) = table.get_or_insert(&counter(1)).await.unwrap();
    assert_eq!((inserted, obtained.hits), (Outcome::NotApplied, 100));
    plain.delete(KEY, IfMatch::Any).await.unwrap();
    let (obtained, inserted) = table.get_or_insert(&counter(1)).await.unwrap();
    assert_eq!((inserted, obtained.hits), (Outcome::Applied, 1));
    assert_eq!(plain.get(KEY).await.unwrap().etag, obtained.etag);

    let (_, table, _) = tables(Foul::LostReply, 1).await;
    let (obtained, inserted) = table.get_or_insert(&counter(1)).await.unwrap();
    assert_eq!((inserted, obtained.hits), (Outcome::Unknown, 1));

    let (_, table, _) = tables(Foul::InsertAndDelete, 3).await;
    let (obtained, inserted) = table.get_or_insert(&counter(1)).await.unwrap();
    assert_eq!((inserted, obtained.rounds()), (Outcome::Applied, 4));
    let (_, table, plain) = tables(Foul::InsertAndDelete, usize::MAX).await;
    let error = table.get_or_insert(&counter(1)).await.unwrap_err();
    assert_eq!((error.code(), error.rounds()), (Some(&ErrorCode::EntityAlreadyExists), 10));
    let error = table.get_or_insert(&counter(1)).rounds(2).await.unwrap_err();
    assert_eq!((error.rounds(), error.outcome()), (2, Outcome::NotApplied));

    // A missing table differs from a missing entity.
    plain.delete_table().await.unwrap();
    let error = table.get_or_insert(&counter(1)).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::TableNotFound));
}
