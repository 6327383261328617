//! Input that is refused before anything is sent, rows that are not those of a lease, and limits.

use std::time::Duration;

use azure_table_client::client::Transaction;
use azure_table_client::{DynamicEntity, ErrorKind, Outcome};
use azure_table_patterns::Error;
use azure_table_patterns::lease::Lease;

use super::{KEY, TTL, acquired, lease, stored, table};

fn is_refused(error: &Error) -> bool {
    error.is_invalid_input() && error.outcome() == Outcome::NotApplied
}

#[tokio::test(start_paused = true)]
async fn settings_and_keys_out_of_range_are_refused() {
    let (mock, table) = table().await;
    let before = mock.requests().total();
    let seconds = Duration::from_secs;
    let own = || Lease::new(&table, KEY, seconds(5));
    let unnamed = mock.client().table_named::<DynamicEntity>("no name");
    for (name, lease) in [
        ("no time", Lease::new(&table, KEY, Duration::ZERO)),
        ("short", Lease::new(&table, KEY, Duration::from_millis(999))),
        ("long", Lease::new(&table, KEY, seconds(24 * 3600 + 1))),
        ("longest", Lease::new(&table, KEY, Duration::MAX)),
        ("margin", own().unwrap().margin(seconds(5))),
        ("slash", Lease::new(&table, ("a/b", "c"), TTL)),
        ("backslash", Lease::new(&table, ("a", "b\\c"), TTL)),
        ("hash", Lease::new(&table, ("a#b", "c"), TTL)),
        ("question mark", Lease::new(&table, ("a", "b?"), TTL)),
        ("control", Lease::new(&table, ("a", "b\u{7}"), TTL)),
        ("table", Lease::new(&unnamed, KEY, TTL)),
    ] {
        let error = lease.err().unwrap();
        assert!(is_refused(&error), "{name}: {error}");
        println!("{error}");
    }
    assert!(own().unwrap().margin(Duration::from_millis(4999)).is_ok());
    assert_eq!(mock.requests().total(), before);
}

#[tokio::test(start_paused = true)]
async fn every_key_that_the_service_accepts() {
    let (mock, table) = table().await;
    for (key, ttl) in [
        (("", ""), Duration::from_secs(1)),
        (("it's", "100 % + \u{1f512}"), Duration::from_secs(24 * 3600)),
        (("a:b", "c&d=e"), TTL),
    ] {
        let guard = acquired(&mut Lease::new(&table, key, ttl).unwrap()).await;
        guard.commit(|tx| tx).await.unwrap();
        guard.release().await.unwrap();
        assert!(mock.row(table.name(), key.0, key.1).is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn writes_of_a_holder_out_of_range_are_refused() {
    let (mock, table) = table().await;
    let guard = acquired(&mut lease(&table)).await;
    let before = mock.requests().total();
    let own = || DynamicEntity::new(KEY.0, KEY.1);
    for columns in [
        own().with("Token", 9_i64),
        own().with("TtlMs", 1_i64),
        own().with("Released", true),
        DynamicEntity::new(KEY.0, "other").with("Done", 1),
        own().with("Text", "x".repeat(32 * 1024 + 1)),
    ] {
        let error = guard.update(&columns).await.unwrap_err();
        assert!(is_refused(&error), "{error}");
    }
    let rows: Vec<_> = (0..100).map(|at| DynamicEntity::new(KEY.0, format!("{at}"))).collect();
    let error = guard.commit(|tx| rows.iter().fold(tx, Transaction::insert)).await;
    assert!(is_refused(&error.unwrap_err()));
    let big = |at: usize| {
        let row = DynamicEntity::new(KEY.0, format!("{at}"));
        (0..15).fold(row, |row, column| row.with(format!("C{column}"), vec![0_u8; 64 * 1024]))
    };
    let error = guard.commit(|tx| (0..5).fold(tx, |tx, at| tx.insert(&big(at)))).await;
    assert!(is_refused(&error.unwrap_err()));
    let other = DynamicEntity::new("other partition", "row");
    let error = guard.commit(|tx| tx.insert(&other)).await.unwrap_err();
    assert!(is_refused(&error), "{error}");
    assert_eq!(mock.requests().total(), before);

    let columns = own().with("Text", "x".repeat(32 * 1024)).with("Data", vec![0_u8; 64 * 1024]);
    guard.update(&columns).await.unwrap();
    guard.commit(|tx| rows[1..].iter().fold(tx, Transaction::insert)).await.unwrap();
    assert_eq!(mock.row_count(table.name()), Some(100));
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_not_those_of_a_lease_are_errors() {
    let (mock, table) = table().await;
    let row = || DynamicEntity::new(KEY.0, KEY.1);
    for (name, stored) in [
        ("no time to live", row().with("Token", 1_i64)),
        ("negative", row().with("Token", 1_i64).with("TtlMs", -1_i64)),
        ("long", row().with("Token", 1_i64).with("TtlMs", i64::MAX)),
        ("no successor", row().with("Token", i64::MAX).with("Released", true)),
        ("negative token", row().with("Token", -7_i64).with("Released", true)),
        ("text", row().with("Token", "seven")),
    ] {
        table.insert_or_replace(&stored).await.unwrap();
        let error = lease(&table).acquire(TTL).await.unwrap_err();
        let is_decoded =
            matches!(&error, Error::Client { error: it } if it.kind() == ErrorKind::Decode);
        assert!(is_decoded || matches!(error, Error::InvalidRow { .. }), "{name}: {error}");
        println!("{error}");
    }
    table
        .insert_or_replace(&row().with("Token", i64::MAX - 1).with("Released", true))
        .await
        .unwrap();
    assert_eq!(acquired(&mut lease(&table)).await.token(), i64::MAX);
    assert_eq!(stored::<i64>(&mock, "Token"), i64::MAX);
}
