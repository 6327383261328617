//! Retention by tables of a period and by rows that expire: examples, limits, requests, crashes and chaos.

mod chaos;
mod crashes;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::client::ScanPolicy;
use azure_table_client::clock::TokioClock;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, EntityKey, ErrorKind, Operation, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::retention::{Expiring, Maintained, Period, PeriodTables};
use azure_table_tests::chaos::mock;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt as _;

use crate::hostile::{on_secondary, with_secondary};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The number of requests since the last call.
fn requests(mock: &MockTableService) -> usize {
    let count = mock.requests().total();
    mock.requests().clear();
    count
}

fn days(mock: &MockTableService) -> PeriodTables<DynamicEntity> {
    PeriodTables::new(&mock.client(), "Logs", Period::Day, 7 * DAY).unwrap()
}

fn invalid(error: &Error) -> bool {
    error.is_invalid_input()
}

#[tokio::test(start_paused = true)]
async fn tables_are_created_ahead_and_dropped_after_their_time() {
    let mock = mock();
    let (logs, now) = (days(&mock), DateTime::<Utc>::from(mock.now()));
    let name = |day: i64| logs.table(now + TimeDelta::days(day)).unwrap().name().to_owned();
    requests(&mock);
    let changes = logs.maintain().await.unwrap();
    assert_eq!(changes.created, (-1..=2).map(name).collect::<Vec<_>>());
    assert_eq!(requests(&mock), 1 + 4);
    assert_eq!(logs.maintain().await.unwrap(), Maintained::default());
    assert_eq!(requests(&mock), 1);
    for day in 0..12 {
        tokio::time::sleep(DAY).await;
        let changes = logs.maintain().await.unwrap();
        assert_eq!(changes.created, [name(day + 3)]);
        // The day before yesterday ended two days ago; it is kept for seven days, and a margin of one.
        let dropped = (day + 1 - 9 >= -1).then(|| name(day + 1 - 9));
        assert_eq!(changes.dropped, Vec::from_iter(dropped), "day {day}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_serves_every_clock_within_the_margin_until_the_next_call() {
    let mock = mock();
    for period in [Period::Day, Period::Week, Period::Month] {
        let logs =
            PeriodTables::<DynamicEntity>::new(&mock.client(), "X", period, 7 * DAY).unwrap();
        logs.maintain().await.unwrap();
        let now = DateTime::<Utc>::from(mock.now());
        for ahead in [-24, 0, 24] {
            let table = logs.table(now + TimeDelta::hours(ahead)).unwrap();
            assert!(table.table_exists().await.unwrap(), "{period:?} {ahead} h");
        }
        let length = if period == Period::Day { 1 } else { 7 };
        let next = logs.table(now + TimeDelta::days(length) + TimeDelta::hours(24)).unwrap();
        assert!(next.table_exists().await.unwrap(), "{period:?}");
    }
}

/// Each call creates what every clock needs until the next one, which comes at most a period later.
#[tokio::test(start_paused = true)]
async fn calls_at_most_a_period_apart_create_each_table_in_time() {
    for (period, days) in [(Period::Day, 1), (Period::Week, 7), (Period::Month, 28)] {
        for hours in [2, 24, 60] {
            let mock = mock();
            let margin = HOUR * hours;
            let logs = PeriodTables::<DynamicEntity>::new(&mock.client(), "X", period, DAY);
            let logs = logs.unwrap().margin(margin).unwrap();
            for _ in 0..15 {
                logs.maintain().await.unwrap();
                tokio::time::sleep(HOUR * (24 * days - 1)).await;
                let now = DateTime::<Utc>::from(mock.now());
                for time in [now - margin, now, now + margin] {
                    let table = logs.table(time).unwrap();
                    assert!(table.table_exists().await.unwrap(), "{period:?} {hours} {now} {time}");
                }
                // The start of a call moves through the day.
                tokio::time::sleep(HOUR).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tables_of_others_are_not_touched() {
    let mock = mock();
    let client = mock.client();
    let others = [
        "Logs",
        "Logs2001",
        "Logs200113",
        "Logs20011301",
        "Logs200101011",
        "Logs2001W54",
        "LogsX20010101",
        "Log20010101",
        "Logt20010101",
        "Logs200101",
        "Logs2001W10",
    ];
    for name in others.into_iter().chain(["Logs20010101"]) {
        client.create_table(name).await.unwrap();
    }
    let changes = days(&mock).maintain().await.unwrap();
    assert_eq!(changes.dropped, ["Logs20010101"]);
    let months = PeriodTables::<DynamicEntity>::new(&client, "Logs", Period::Month, DAY).unwrap();
    assert_eq!(months.maintain().await.unwrap().dropped, ["Logs200101"]);
    let weeks = PeriodTables::<DynamicEntity>::new(&client, "Logs", Period::Week, DAY).unwrap();
    assert_eq!(weeks.maintain().await.unwrap().dropped, ["Logs2001W10"]);
    for name in &others[..9] {
        assert!(client.table_exists(name).await.unwrap(), "{name}");
    }
}

#[tokio::test]
async fn bad_settings_are_refused_before_anything_is_sent() {
    let mock = MockTableService::new();
    let client = mock.client();
    assert!(invalid(
        &Expiring::new(&client.table_named::<Session>("a-b"), "ExpiresAt").unwrap_err()
    ));
    for prefix in ["", "Logs1", "1Logs", "Lo-gs", "Löggs", &"x".repeat(56)] {
        let tables = PeriodTables::<DynamicEntity>::new(&client, prefix, Period::Day, DAY);
        assert!(invalid(&tables.unwrap_err()), "{prefix}");
    }
    PeriodTables::<DynamicEntity>::new(&client, "x".repeat(55), Period::Day, DAY).unwrap();
    let logs = days(&mock);
    assert!(invalid(&logs.table(DateTime::<Utc>::MAX_UTC).unwrap_err()));
    assert!(invalid(&logs.margin(Duration::MAX).unwrap_err()));
    let table = client.table_named::<Session>("Sessions");
    for column in ["", "no column", "Expires"] {
        assert!(invalid(&Expiring::new(&table, column).unwrap_err()), "{column}");
    }
    let any = client.table_named::<DynamicEntity>("Sessions");
    assert!(invalid(&Expiring::new(&any, "not").unwrap_err()));
    assert_eq!(requests(&mock), 0);
}

#[tokio::test(start_paused = true)]
async fn a_query_covers_the_tables_of_its_times() {
    let mock = mock();
    let (logs, now) = (days(&mock), DateTime::<Utc>::from(mock.now()));
    logs.maintain().await.unwrap();
    for hours in [-30, -3, 0, 20, 30] {
        let time = now + TimeDelta::hours(hours);
        let row = DynamicEntity::new("p", format!("{:03}", hours + 100)).with("Hours", hours);
        let table = logs.table(time).unwrap();
        if table.table_exists().await.unwrap() {
            table.insert(&row).await.unwrap();
        }
    }
    let all = now - TimeDelta::days(5)..now + TimeDelta::days(5);
    let rows: Vec<_> =
        logs.query(all.clone(), |rows| rows.partition("p")).try_collect().await.unwrap();
    let hours = rows.iter().map(|row| row.get::<i64>("Hours").unwrap().unwrap());
    assert_eq!(hours.collect::<Vec<_>>(), [-30, -3, 0, 20, 30]);
    let day = now + TimeDelta::hours(20)..now + TimeDelta::hours(21);
    assert_eq!(logs.tables(day).await.unwrap().len(), 1);
    // A table that is dropped while the query runs has no rows.
    let query = logs.query(all, |rows| rows.partition("p"));
    mock.faults().add(Fault::error(404, "TableNotFound").on(Operation::Query).times(1));
    assert_eq!(query.try_collect::<Vec<_>>().await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_being_deleted_counts_as_dropped() {
    let mock = mock();
    mock.client().create_table("Logs20010101").await.unwrap();
    mock.faults().add(Fault::error(409, "TableBeingDeleted").on(Operation::DeleteTable).times(1));
    assert_eq!(days(&mock).maintain().await.unwrap().dropped, [] as [String; 0]);
    assert_eq!(days(&mock).maintain().await.unwrap().dropped, ["Logs20010101"]);
}

#[derive(Debug, TableEntity)]
#[table(name = "Sessions", rename_all = "PascalCase")]
struct Session {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    expires_at: Option<EdmDateTime>,
}

/// An entity that is invalid without its expiry.
#[derive(Debug, TableEntity)]
#[table(name = "Sessions", rename_all = "PascalCase")]
struct StrictSession {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    expires_at: EdmDateTime,
    level: Option<i32>,
}

fn session(id: u32, expires_at: Option<DateTime<Utc>>) -> Session {
    let expires_at = expires_at.map(|time| EdmDateTime::from_chrono(time).unwrap());
    Session { user: "ann".into(), id, expires_at }
}

#[tokio::test(start_paused = true)]
async fn expired_rows_are_not_returned_and_removed_later() {
    let mock = mock();
    let table = mock.client().table::<Session>();
    table.create().await.unwrap();
    let sessions = Expiring::new(&table, "ExpiresAt").unwrap().margin(HOUR);
    let now = DateTime::<Utc>::from(mock.now());
    for (id, minutes) in [(0, -61), (1, -60), (2, -59), (3, 0), (4, 1), (5, 61)] {
        table.insert(&session(id, Some(now + TimeDelta::minutes(minutes)))).await.unwrap();
    }
    table.insert(&session(6, None)).await.unwrap();
    requests(&mock);
    let mut returned = Vec::new();
    for id in 0..8 {
        returned.extend(sessions.get(Session::key("ann", id)).await.unwrap().map(|row| row.id));
    }
    assert_eq!((returned, requests(&mock)), (vec![4, 5], 8));
    let query = sessions.query().unwrap().filter(|row| row.user.eq("ann"));
    let rows = query.await.unwrap();
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [4, 5]);
    requests(&mock);
    assert_eq!(sessions.clone().partitions(["bob"]).sweep().await.unwrap().removed, 0);
    assert_eq!(requests(&mock), 1);
    assert_eq!(sessions.clone().partitions(["ann"]).sweep().await.unwrap().removed, 2);
    assert_eq!((requests(&mock), table.query().count().await.unwrap()), (1 + 1, 5));
    let refused = Expiring::new(&table, "ExpiresAt").unwrap().margin(Duration::MAX);
    assert_eq!(refused.sweep().await.unwrap().removed, 0);
}

#[tokio::test(start_paused = true)]
async fn a_row_without_a_valid_expiry_is_not_returned() {
    let mock = mock();
    let table = mock.client().table::<StrictSession>();
    table.create().await.unwrap();
    let rows = table.with_entity::<DynamicEntity>();
    let later = DateTime::<Utc>::from(mock.now()) + TimeDelta::days(1);
    let row = |id| {
        let EntityKey { partition_key, row_key } = StrictSession::key("ann", id).unwrap();
        DynamicEntity::new(partition_key, row_key)
    };
    for row in [
        row(0),
        row(1).with("ExpiresAt", "tomorrow"),
        row(2).with("ExpiresAt", later),
        row(3).with("ExpiresAt", later).with("Level", "high"),
    ] {
        rows.insert(&row).await.unwrap();
    }
    let strict = Expiring::new(&table, "ExpiresAt").unwrap();
    let get = |id| strict.get(StrictSession::key("ann", id));
    assert!(get(0).await.unwrap().is_none() && get(1).await.unwrap().is_none());
    let stored = get(2).await.unwrap().unwrap();
    assert_eq!((&*stored.user, stored.id, stored.level), ("ann", 2, None));
    assert_eq!(stored.expires_at.to_chrono(), later);
    table.replace(&stored, &stored.etag).await.unwrap();
    assert_eq!(get(3).await.unwrap_err().kind(), Some(ErrorKind::Decode));
}

#[tokio::test(start_paused = true)]
async fn a_sweep_covers_the_table_or_the_partitions_that_were_set() {
    let mock = mock();
    let table = mock.client().table::<Session>();
    table.create().await.unwrap();
    let expired = Some(DateTime::<Utc>::from(mock.now()) - TimeDelta::days(3));
    for (user, id) in [("ann", 1), ("bob", 1), ("bob", 2), ("cid", 1)] {
        let session = Session { user: user.into(), ..session(id, expired) };
        table.insert(&session).await.unwrap();
    }
    let sessions = Expiring::new(&table, "ExpiresAt").unwrap();
    let removed = async |swept: Expiring<Session>| {
        let swept = swept.sweep().await.unwrap();
        (swept.scanned, swept.unfinished, swept.removed)
    };
    let none = <[&str; 0]>::default();
    assert_eq!(removed(sessions.clone().partitions(none)).await, (0, 0, 0));
    assert_eq!(removed(sessions.clone().partitions(["bob", "dan", "bob"])).await, (2, 0, 2));
    // A client that refuses scans sweeps too.
    let client = mock.client_builder().scans(ScanPolicy::Refuse).build().unwrap();
    let sessions = Expiring::new(&client.table::<Session>(), "ExpiresAt").unwrap();
    assert_eq!(removed(sessions).await, (2, 0, 2));
    assert_eq!(mock.row_count("Sessions"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn an_extended_row_stays() {
    let mock = mock();
    let table = mock.client().table::<Session>();
    table.create().await.unwrap();
    let sessions = Expiring::new(&table, "ExpiresAt").unwrap().margin(HOUR);
    let now = DateTime::<Utc>::from(mock.now());
    for id in 0..3 {
        table.insert(&session(id, Some(now - TimeDelta::hours(2)))).await.unwrap();
    }
    // The sweep finds three rows; one is extended before the deletion arrives.
    mock.faults().add(Fault::delay_request(Duration::from_secs(1)).on(Operation::Transaction));
    let extend = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let row = table.get(Session::key("ann", 1)).await.unwrap();
        let longer = session(1, Some(now + TimeDelta::hours(1)));
        table.replace(&longer, &row.etag).await.unwrap();
    };
    let (swept, ()) = tokio::join!(sessions.sweep(), extend);
    assert_eq!(swept.unwrap().removed, 2);
    assert!(sessions.get(Session::key("ann", 1)).await.unwrap().is_some());
}

/// A secondary that lags behind lacks rows that have expired, and still has the earlier expiry of others.
#[tokio::test(start_paused = true)]
async fn rows_are_read_and_found_at_the_primary() {
    let clock = TokioClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30));
    let mock = MockTableService::builder().clock(Arc::new(clock)).replication_lag(HOUR).build();
    let table = mock.client().table::<Session>();
    table.create().await.unwrap();
    let now = DateTime::<Utc>::from(mock.now());
    table.insert(&session(1, Some(now + TimeDelta::days(1)))).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let ended = session(1, Some(now));
    table.replace(&ended, azure_table_client::IfMatch::Any).await.unwrap();
    let other = with_secondary(&mock).table::<Session>();
    let sessions = Expiring::new(&other, "ExpiresAt").unwrap().margin(HOUR);
    assert!(sessions.get(Session::key("ann", 1)).await.unwrap().is_none());
    let query = sessions.query().unwrap().filter(|row| row.user.eq("ann"));
    assert_eq!(query.await.unwrap().len(), 0);
    assert_eq!(sessions.clone().partitions(["ann"]).sweep().await.unwrap().removed, 1);
    assert_eq!(on_secondary(&mock), 0);
}

/// One request for a table; for single rows, a page of keys for 1,000 rows and a transaction for 100.
#[tokio::test(start_paused = true)]
async fn requests_to_remove_many_rows() {
    const ROWS: u32 = 5_500;
    let mock = mock();
    let client = mock.client();
    let table = client.table::<Session>();
    let expired = DateTime::<Utc>::from(mock.now()) - TimeDelta::days(3);
    let rows: Vec<_> = (0..ROWS).map(|id| session(id, Some(expired))).collect();
    mock.seed("Sessions", &rows).unwrap();
    requests(&mock);
    let swept = Expiring::new(&table, "ExpiresAt").unwrap();
    assert_eq!(swept.sweep().await.unwrap().removed, u64::from(ROWS));
    let of_sweep = requests(&mock);
    mock.seed("Logs20010101", &rows).unwrap();
    let logs = days(&mock);
    logs.maintain().await.unwrap();
    let of_drop = mock.requests().count(Operation::DeleteTable);
    println!("retention: {ROWS} rows: {of_sweep} requests by a sweep, {of_drop} by a drop");
    println!(
        "retention: 550,000 rows, extrapolated: {} requests by a sweep, 1 by a drop",
        of_sweep * 100
    );
    assert_eq!((of_sweep, of_drop), (6 + 55, 1));
}
