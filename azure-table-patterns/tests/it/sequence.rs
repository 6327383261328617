//! Sequences: examples of use, errors, requests, crashes and chaos.

mod chaos;
mod crashes;

use std::collections::HashSet;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Dialect, DynamicEntity, ErrorKind, Operation, Outcome, Proof, RetryPolicy, TableClient,
};
use azure_table_patterns::Error;
use azure_table_patterns::sequence::Sequence;

use crate::hostile::touching;

const TABLE: &str = "Counters";
const KEY: (&str, &str) = ("orders", "sequence");

async fn table() -> (MockTableService, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    table.create().await.unwrap();
    (mock, table)
}

fn stored(mock: &MockTableService) -> i64 {
    mock.row(TABLE, KEY.0, KEY.1).unwrap().get("Next").unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn blocks_begin_at_one_and_do_not_overlap() {
    let (mock, table) = table().await;
    let (first, second) =
        (Sequence::new(&table, KEY).unwrap(), Sequence::new(&table, KEY).unwrap());
    assert_eq!(first.block(100).await.unwrap(), 1..101);
    assert_eq!(second.block(1).await.unwrap(), 101..102);
    assert_eq!(first.block(u32::MAX).await.unwrap(), 102..102 + i64::from(u32::MAX));
    assert_eq!(stored(&mock), 102 + i64::from(u32::MAX));
}

#[tokio::test(start_paused = true)]
async fn next_reserves_a_block_only_when_the_last_one_is_empty() {
    let (mock, table) = table().await;
    let mut first = Sequence::new(&table, KEY).unwrap().block_size(3).unwrap();
    let mut second = Sequence::new(&table, KEY).unwrap();
    let before = mock.requests().total();
    for number in [1, 2, 3, 4] {
        assert_eq!(first.next().await.unwrap(), number);
    }
    assert_eq!(mock.requests().total() - before, 4);
    // Numbers are not ordered by time across programs.
    assert_eq!(second.next().await.unwrap(), 7);
    assert_eq!(first.next().await.unwrap(), 5);
}

/// The table in the guide page.
#[tokio::test(start_paused = true)]
async fn requests() {
    let (mock, table) = table().await;
    let sequence = Sequence::new(&table, KEY).unwrap();
    for _ in 0..2 {
        let before = mock.requests().total();
        sequence.block(10).await.unwrap();
        assert_eq!(mock.requests().total() - before, 2);
    }
    let second = std::time::Duration::from_secs(1);
    mock.faults().add(Fault::delay_request(second).on(Operation::Merge).times(1));
    let before = mock.requests().total();
    let slow = Sequence::new(&table, KEY).unwrap();
    let slow = tokio::spawn(async move { slow.block(10).await.unwrap() });
    tokio::time::sleep(second / 2).await;
    assert_eq!(sequence.block(10).await.unwrap(), 21..31);
    assert_eq!(slow.await.unwrap(), 31..41);
    // Two of one program, four of the other.
    assert_eq!(mock.requests().total() - before, 6);
}

#[tokio::test(start_paused = true)]
async fn numbers_of_a_lost_response_are_never_used() {
    let (mock, table) = table().await;
    let sequence = Sequence::new(&table, KEY).unwrap();
    mock.faults().add(Fault::lose_reply().on(Operation::Insert).times(1));
    assert_eq!(sequence.block(10).await.unwrap(), 11..21);
    mock.faults().add(Fault::deliver_twice().on(Operation::Merge).times(1));
    assert_eq!(sequence.block(10).await.unwrap(), 31..41);

    let impatient = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
    let sequence = Sequence::new(&impatient.table_named::<DynamicEntity>(TABLE), KEY).unwrap();
    mock.faults().add(Fault::lose_reply().on(Operation::Merge).times(1));
    let error = sequence.block(10).await.unwrap_err();
    assert_eq!((error.outcome(), stored(&mock)), (Outcome::Unknown, 51));
    assert_eq!(sequence.block(10).await.unwrap(), 51..61);
}

/// Two programs reserve as many numbers, and the row looks as if either had.
#[tokio::test(start_paused = true)]
async fn a_row_in_the_expected_state_is_not_a_proof() {
    let (mock, table) = table().await;
    for operation in [Operation::Insert, Operation::Merge] {
        let seconds = std::time::Duration::from_secs;
        let builder = mock.client_builder().try_timeout(seconds(3)).proof(Proof::MatchingUpdate);
        let slow =
            Sequence::new(&builder.build().unwrap().table_named::<DynamicEntity>(TABLE), KEY)
                .unwrap();
        // The first attempt is lost, and the second one is refused.
        mock.faults().add(Fault::hang().on(operation).times(1));
        let slow = tokio::spawn(async move { slow.block(10).await.unwrap() });
        tokio::time::sleep(seconds(1)).await;
        let fast = Sequence::new(&table, KEY).unwrap().block(10).await.unwrap();
        let slow = slow.await.unwrap();
        assert!(slow.start >= fast.end, "{slow:?}, {fast:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_refused_before_anything_is_sent() {
    let (mock, table) = table().await;
    let before = mock.requests().total();
    let error = Sequence::new(&table, KEY).unwrap().block(0).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    let error = Sequence::new(&table, KEY).unwrap().block_size(0).unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    for key in [("a/b", "c"), ("a", "b\\c"), ("a#", "c"), ("a", "c?"), ("a\n", "c")] {
        let error = Sequence::new(&table, key).unwrap_err();
        let is_refused =
            matches!(&error, Error::Client { error: it } if it.kind() == ErrorKind::InvalidInput);
        assert!(is_refused && error.outcome() == Outcome::NotApplied, "{key:?}: {error}");
    }
    assert_eq!(mock.requests().total(), before);
    for key in [("", ""), ("it's", "100 % + \u{1f512}")] {
        assert_eq!(Sequence::new(&table, key).unwrap().block(1).await.unwrap(), 1..2);
    }
}

#[tokio::test]
async fn a_key_has_the_limits_of_the_service() {
    let key = ("p".to_owned(), "x".repeat(1024));
    for (dialect, is_valid) in [(Dialect::AzureStorage, true), (Dialect::CosmosDb, false)] {
        let mock = MockTableService::builder().dialect(dialect).build();
        let table = mock.client().table_named::<DynamicEntity>(TABLE);
        assert_eq!(Sequence::new(&table, key.clone()).is_ok(), is_valid, "{dialect:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reservation_gives_up_after_twenty_rounds_with_pauses() {
    let (mock, table) = table().await;
    Sequence::new(&table, KEY).unwrap().block(10).await.unwrap();
    let touching = touching(&mock, TABLE, KEY, ("MERGE", KEY.1));
    let slow = Sequence::new(&touching.table_named::<DynamicEntity>(TABLE), KEY).unwrap();
    let (start, reads) = (tokio::time::Instant::now(), mock.requests().count(Operation::Get));
    let error = slow.block(10).await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 20, .. }), "{error:?}");
    assert_eq!((error.outcome(), stored(&mock)), (Outcome::NotApplied, 11));
    assert_eq!(mock.requests().count(Operation::Get) - reads, 20);
    assert!(!start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn too_few_numbers_are_an_error() {
    let (mock, table) = table().await;
    let row = DynamicEntity::new(KEY.0, KEY.1);
    table.insert(&row.clone().with("Next", i64::MAX - 5).with("Text", "kept")).await.unwrap();
    let mut sequence = Sequence::new(&table, KEY).unwrap().block_size(5).unwrap();
    let error = sequence.block(6).await.unwrap_err();
    assert!(matches!(&error, Error::Exhausted { key } if key.row_key == KEY.1), "{error}");
    assert_eq!((error.outcome(), stored(&mock)), (Outcome::NotApplied, i64::MAX - 5));
    let mut numbers = HashSet::new();
    for _ in 0..5 {
        assert!(numbers.insert(sequence.next().await.unwrap()));
    }
    assert!(matches!(sequence.next().await, Err(Error::Exhausted { .. })));
    let text = mock.row(TABLE, KEY.0, KEY.1).unwrap().get::<String>("Text");
    assert_eq!(text, Some(Ok("kept".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_row_without_its_column_does_not_start_again() {
    let (_mock, table) = table().await;
    for row in
        [DynamicEntity::new(KEY.0, KEY.1), DynamicEntity::new(KEY.0, KEY.1).with("Next", "7")]
    {
        table.insert_or_replace(&row).await.unwrap();
        let error = Sequence::new(&table, KEY).unwrap().block(1).await.unwrap_err();
        assert!(
            matches!(&error, Error::Client { error: it } if it.kind() == ErrorKind::Decode),
            "{error}"
        );
    }
}
