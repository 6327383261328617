//! Event streams: appends, reads, snapshots, and their errors.

mod chaos;
mod crashes;
mod limits;
mod requests;

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    DynamicEntity, ErrorKind, IfMatch, Operation, Outcome, RetryPolicy, TableClient,
};
use azure_table_patterns::Error;
use azure_table_patterns::event_stream::{Event, EventStream, Expected, Loaded, MAX_EVENTS};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::hostile::{on_secondary, repeating, touching, with_secondary};

const TABLE: &str = "Accounts";
const STREAM: &str = "account-1";

/// The events of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Change {
    Opened { owner: String },
    Deposited(i64),
}

use Change::Deposited;

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

async fn table(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let table = mock.client().table_named(TABLE);
    table.create().await.unwrap();
    table
}

async fn stream() -> (MockTableService, EventStream<Change>) {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    (mock, EventStream::new(&table, STREAM).unwrap())
}

async fn read(stream: &EventStream<Change>, after: u64) -> Result<Vec<Event<Change>>, Error> {
    stream.read(after).try_collect().await
}

async fn amounts(stream: &EventStream<Change>) -> Vec<(u64, i64)> {
    let amount = |event: Event<Change>| match event.data {
        Deposited(amount) => (event.version, amount),
        Change::Opened { .. } => (event.version, 0),
    };
    read(stream, 0).await.unwrap().into_iter().map(amount).collect()
}

#[tokio::test]
async fn events_are_read_in_the_order_of_their_appends() {
    let (_, mut stream) = stream().await;
    assert_eq!(stream.version().await.unwrap(), 0);
    assert!(read(&stream, 0).await.unwrap().is_empty());
    let opened = Change::Opened { owner: "Joe".into() };
    let versions =
        stream.append(Expected::Version(0), id(1), &[opened.clone(), Deposited(5)]).await;
    assert_eq!(versions.unwrap(), 1..=2);
    assert_eq!(stream.append(Expected::Version(2), id(2), &[Deposited(6)]).await.unwrap(), 3..=3);
    assert_eq!(stream.append(Expected::AtLeast(1), id(3), &[Deposited(7)]).await.unwrap(), 4..=4);
    let events = read(&stream, 0).await.unwrap();
    assert_eq!(events[0].data, opened);
    let order: Vec<_> = events.iter().map(|event| (event.version, event.append)).collect();
    assert_eq!(order, [(1, id(1)), (2, id(1)), (3, id(2)), (4, id(3))]);
    assert_eq!(read(&stream, 3).await.unwrap(), events[3..]);
    assert!(read(&stream, 4).await.unwrap().is_empty());
    assert!(read(&stream, u64::MAX).await.unwrap().is_empty());
    assert_eq!(stream.version().await.unwrap(), 4);
}

#[tokio::test]
async fn streams_of_one_table_are_separate() {
    let (mock, mut first) = stream().await;
    let mut second =
        EventStream::new(&mock.client().table_named::<DynamicEntity>(TABLE), "account-2").unwrap();
    first.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
    second.append(Expected::Version(0), id(1), &[Deposited(2)]).await.unwrap();
    assert_eq!(amounts(&first).await, [(1, 1)]);
    assert_eq!(amounts(&second).await, [(1, 2)]);
}

#[tokio::test]
async fn another_version_is_a_conflict() {
    let (_, mut stream) = stream().await;
    let mut other = stream.clone();
    stream.append(Expected::Version(0), id(1), &[Deposited(1), Deposited(2)]).await.unwrap();
    for expected in [0, 1, 3] {
        let error =
            other.append(Expected::Version(expected), id(9), &[Deposited(9)]).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotApplied);
        assert!(
            matches!(&error, Error::WrongVersion { stream, expected: e, version: 2 } if stream == STREAM && *e == expected),
            "{error:?}"
        );
        assert!(error.to_string().contains("version 2"), "{error}");
    }
    let error = other.append(Expected::AtLeast(3), id(9), &[Deposited(9)]).await.unwrap_err();
    assert!(matches!(error, Error::WrongVersion { expected: 3, version: 2, .. }), "{error:?}");
    assert_eq!(amounts(&stream).await.len(), 2);
}

#[tokio::test]
async fn a_repeated_append_is_found_also_after_others() {
    let (_, mut first) = stream().await;
    let mut second = first.clone();
    let events = [Deposited(1), Deposited(2)];
    assert_eq!(first.append(Expected::Version(0), id(1), &events).await.unwrap(), 1..=2);
    assert_eq!(second.append(Expected::AtLeast(0), id(2), &events).await.unwrap(), 3..=4);
    assert_eq!(first.append(Expected::AtLeast(4), id(3), &events).await.unwrap(), 5..=6);
    for stream in [&mut first, &mut second] {
        assert_eq!(stream.append(Expected::Version(0), id(1), &events).await.unwrap(), 1..=2);
        assert_eq!(stream.append(Expected::AtLeast(0), id(2), &events).await.unwrap(), 3..=4);
        assert_eq!(stream.append(Expected::AtLeast(2), id(2), &events).await.unwrap(), 3..=4);
        assert_eq!(stream.append(Expected::AtLeast(4), id(3), &events).await.unwrap(), 5..=6);
    }
    assert_eq!(amounts(&first).await.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_lost_or_repeated_transaction_is_found() {
    for fault in
        [Fault::lose_reply(), Fault::deliver_twice(), Fault::internal_error().after_commit()]
    {
        let (mock, stream) = stream().await;
        let direct = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
        let mut direct =
            EventStream::new(&direct.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
        let fault = fault.on(Operation::Transaction);
        for version in 0..3 {
            mock.faults().add(fault.clone().times(1));
            let expected =
                if version == 1 { Expected::AtLeast(0) } else { Expected::Version(version) };
            let appended = direct.append(expected, id(version.into()), &[Deposited(1)]).await;
            assert_eq!(appended.unwrap(), version + 1..=version + 1, "{fault:?}");
        }
        assert_eq!(amounts(&stream).await.len(), 3);
    }
}

/// A proxy delivers the transaction twice, and the service is too busy for one of the two.
#[tokio::test(start_paused = true)]
async fn a_503_does_not_prove_that_an_append_was_not_applied() {
    let (mock, stream) = stream().await;
    let (text, second_after) = ("Deposited\\\":2", Duration::from_secs(40));
    let first = Fault::busy().on(Operation::Transaction);
    let proxy = repeating(&mock, text, first.clone(), second_after);
    let mut proxied = EventStream::new(&proxy.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    // The other delivery came first.
    mock.faults().add(first.after_commit().times(1));
    let appended = proxied.append(Expected::Version(0), id(1), &[Deposited(1)]).await;
    assert_eq!(appended.unwrap(), 1..=1);
    // It arrives later.
    let append = (Expected::Version(1), id(2), [Deposited(2)]);
    let error = proxied.append(append.0, append.1, &append.2).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    tokio::time::sleep(second_after * 2).await;
    assert_eq!(amounts(&stream).await, [(1, 1), (2, 2)]);
    assert_eq!(proxied.append(append.0, append.1, &append.2).await.unwrap(), 2..=2);
}

#[tokio::test(start_paused = true)]
async fn an_append_without_any_response_is_unknown_until_it_is_repeated() {
    for is_applied in [true, false] {
        let (mock, stream) = stream().await;
        let direct = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
        let mut direct =
            EventStream::new(&direct.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
        direct.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
        let lost = if is_applied { Fault::lose_reply() } else { Fault::lose_request() };
        mock.faults().add(lost.on(Operation::Transaction).times(1));
        mock.faults().add(Fault::lose_request().on(Operation::Get));
        mock.faults().add(Fault::lose_request().on(Operation::Query));
        let error = direct.append(Expected::Version(1), id(2), &[Deposited(2)]).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
        assert!(matches!(error, Error::Failed { outcome: Outcome::Unknown, .. }), "{error:?}");
        assert!(error.to_string().starts_with("it is unknown"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
        mock.faults().clear();
        assert_eq!(
            direct.append(Expected::Version(1), id(2), &[Deposited(2)]).await.unwrap(),
            2..=2
        );
        assert_eq!(amounts(&stream).await, [(1, 1), (2, 2)]);
    }
}

/// The first call may have been applied, although the repetition sends no transaction.
#[tokio::test(start_paused = true)]
async fn a_repetition_that_cannot_read_is_unknown() {
    let (mock, stream) = stream().await;
    let direct = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
    let mut direct = EventStream::new(&direct.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    direct.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    mock.faults().add(Fault::lose_request().on_reads());
    let events = [Deposited(2)];
    let error = direct.append(Expected::Version(1), id(2), &events).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    for operation in [Operation::Get, Operation::Query] {
        for fault in [Fault::refuse_connection(), Fault::busy(), Fault::lose_request()] {
            mock.faults().clear();
            mock.faults().add(fault.on(operation));
            let sent = mock.requests().count(Operation::Transaction);
            let error = direct.append(Expected::Version(1), id(2), &events).await.unwrap_err();
            assert!(matches!(error, Error::Failed { error: Some(_), .. }), "{error:?}");
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            assert_eq!(mock.requests().count(Operation::Transaction), sent);
        }
    }
    mock.faults().clear();
    assert_eq!(amounts(&stream).await, [(1, 1), (2, 2)]);
    // The last call finds the events of the first one.
    assert_eq!(direct.append(Expected::Version(1), id(2), &events).await.unwrap(), 2..=2);
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_is_unknown_while_the_end_of_the_stream_is_the_same() {
    let (mock, _) = stream().await;
    let direct = mock.client_builder().retry(RetryPolicy::none()).build().unwrap();
    let mut direct = EventStream::new(&direct.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    for version in 0..2 {
        mock.faults().add(Fault::lose_request().on(Operation::Transaction).times(1));
        let events = [Deposited(2)];
        let expected = Expected::Version(version);
        let error = direct.append(expected, id(version.into()), &events).await.unwrap_err();
        assert!(matches!(error, Error::Client { .. }), "{error:?}");
        assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
        direct.append(expected, id(version.into()), &events).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_gives_up_if_the_end_of_the_stream_changes_each_time() {
    let (mock, mut stream) = stream().await;
    stream.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
    let row = (STREAM, "head");
    let touching = touching(&mock, TABLE, row, ("POST", "/$batch"));
    let mut slow = EventStream::new(&touching.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    let error = slow.append(Expected::AtLeast(1), id(2), &[Deposited(2)]).await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 32, .. }), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.to_string().contains("account-1"), "{error}");
    assert_eq!(amounts(&stream).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_gives_up_if_the_stored_one_changes_each_time() {
    let (mock, mut stream) = stream().await;
    stream.save_snapshot(&stream.load(|_: &mut i64, _| {}).await.unwrap()).await.unwrap();
    stream.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
    let row = (STREAM, "snapshot");
    let touching = touching(&mock, TABLE, row, ("PUT", "snapshot"));
    let slow =
        EventStream::<Change>::new(&touching.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    let loaded = slow.load(|_: &mut i64, _| {}).await.unwrap();
    let error = slow.save_snapshot(&loaded).await.unwrap_err();
    assert!(matches!(error, Error::Contended { rounds: 32, .. }), "{error:?}");
    assert_eq!(mock.row(TABLE, STREAM, "snapshot").unwrap().get("Version"), Some(Ok(0_i64)));
}

#[tokio::test]
async fn a_missing_or_unreadable_event_is_damage() {
    let (mock, mut stream) = stream().await;
    let mut other = stream.clone();
    let events = [Deposited(1), Deposited(2), Deposited(3)];
    stream.append(Expected::Version(0), id(1), &events).await.unwrap();
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    let second = format!("{:019}", 2);
    table.delete((STREAM, &*second), IfMatch::Any).await.unwrap();
    let is_second = |error: Error| {
        assert_eq!(error.outcome(), Outcome::Unknown);
        let Error::InvalidRow { key, reason: problem } = error else { panic!("{error:?}") };
        assert_eq!(key.row_key, second);
        problem
    };
    assert!(is_second(read(&stream, 0).await.unwrap_err()).contains("missing"));
    assert!(is_second(stream.load(|_: &mut i64, _| {}).await.unwrap_err()).contains("missing"));
    // Searches meet the gap too.
    is_second(other.append(Expected::AtLeast(1), id(2), &events).await.unwrap_err());
    is_second(other.append(Expected::Version(1), id(2), &events).await.unwrap_err());
    assert_eq!(read(&stream, 2).await.unwrap().len(), 1);

    let mut row = DynamicEntity::new(STREAM, &*second);
    row.set("Append", id(1)).set("Event", "{}");
    table.insert(&row).await.unwrap();
    is_second(read(&stream, 0).await.unwrap_err());
    assert_eq!(read(&stream, 2).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_snapshot_replaces_the_events_before_it() {
    let (mock, mut stream) = stream().await;
    let add = |sum: &mut i64, event: Event<Change>| {
        if let Deposited(amount) = event.data {
            *sum += amount;
        }
    };
    let empty: Loaded<i64> = stream.load(add).await.unwrap();
    assert_eq!((empty.state, empty.version), (0, 0));
    stream.append(Expected::Version(0), id(1), &[Deposited(1), Deposited(2)]).await.unwrap();
    let early = stream.load(add).await.unwrap();
    assert_eq!((early.state, early.version), (3, 2));
    stream.append(Expected::Version(2), id(2), &[Deposited(3)]).await.unwrap();
    let late = stream.load(add).await.unwrap();
    stream.save_snapshot(&late).await.unwrap();
    // An earlier state does not replace a later one.
    stream.save_snapshot(&early).await.unwrap();
    stream.save_snapshot(&empty).await.unwrap();
    let row = mock.row(TABLE, STREAM, "snapshot").unwrap();
    assert_eq!(row.get("Version"), Some(Ok(3_i64)));
    assert_eq!(row.get("State"), Some(Ok("6".to_owned())));
    stream.append(Expected::Version(3), id(3), &[Deposited(4)]).await.unwrap();
    let mut applied = Vec::new();
    let loaded = stream.load(|sum, event| {
        applied.push(event.version);
        add(sum, event);
    });
    let loaded = loaded.await.unwrap();
    assert_eq!((loaded.state, loaded.version, applied), (10, 4, vec![4]));
    stream.save_snapshot(&loaded).await.unwrap();
    assert_eq!(mock.row(TABLE, STREAM, "snapshot").unwrap().get("Version"), Some(Ok(4_i64)));
}

#[tokio::test]
async fn the_rows_are_as_documented() {
    let (mock, mut stream) = stream().await;
    stream.append(Expected::Version(0), id(7), &[Deposited(5)]).await.unwrap();
    stream.save_snapshot(&stream.load(|_: &mut i64, _| {}).await.unwrap()).await.unwrap();
    let rows = mock.rows(TABLE).unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let columns = row
                .properties()
                .map(|(name, value)| format!("{name} {:?} {value}", value.edm_type()));
            (row.key().row_key.clone(), columns.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let append = "Append Guid 00000000-0000-0000-0000-000000000007";
    assert_eq!(
        rows,
        [
            (
                "0000000000000000001".to_owned(),
                format!("{append}, Event String {{\"Deposited\":5}}")
            ),
            ("head".to_owned(), format!("Version Int64 1, {append}")),
            ("snapshot".to_owned(), "Version Int64 1, State String 0".to_owned()),
        ]
    );
}

/// The secondary may lack the last events, which would make an append a false conflict.
#[tokio::test]
async fn reads_do_not_use_the_secondary() {
    let mock = MockTableService::new();
    table(&mock).await;
    let client = with_secondary(&mock);
    let entities = client.table_named::<DynamicEntity>(TABLE);
    let mut stream = EventStream::new(&entities, STREAM).unwrap();
    for version in 0..3 {
        let expected = Expected::AtLeast(version);
        stream.append(expected, id(version.into()), &[Deposited(1)]).await.unwrap();
        stream = EventStream::new(&entities, STREAM).unwrap();
        stream.append(Expected::AtLeast(0), id(version.into()), &[Deposited(1)]).await.unwrap();
    }
    let loaded = stream.load(|_: &mut i64, _| {}).await.unwrap();
    stream.save_snapshot(&loaded).await.unwrap();
    assert_eq!((stream.version().await.unwrap(), amounts(&stream).await.len()), (3, 3));
    assert_eq!(on_secondary(&mock), 0);
    entities.query().await.unwrap();
    assert_eq!(on_secondary(&mock), 1);
}
