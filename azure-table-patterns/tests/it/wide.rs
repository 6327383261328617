//! Wide entities: examples, limits, the requests of each call, crashes and chaos.

mod chaos;
mod crashes;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::client::ScanPolicy;
use azure_table_client::clock::TokioClock;
use azure_table_client::edm::EdmValue;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Dialect, DynamicEntity, ErrorKind, IfMatch, Operation, Outcome, TableClient,
};
use azure_table_patterns::Error;
use azure_table_patterns::wide::WideTable;
use uuid::Uuid;

use crate::hostile::{on_secondary, repeating, with_secondary};

const KEY: (&str, &str) = ("p", "report");

async fn table(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let table = mock.client().table_named::<DynamicEntity>("Documents");
    table.create().await.unwrap();
    table
}

fn document(bytes: usize, fill: u8) -> DynamicEntity {
    DynamicEntity::new(KEY.0, KEY.1)
        .with("Fill", i32::from(fill))
        .with("Document", vec![fill; bytes])
}

/// Whether both have the same properties.
fn equal(one: &DynamicEntity, other: &DynamicEntity) -> bool {
    one.properties().len() == other.properties().len()
        && one.properties().all(|(name, value)| other.value(name) == Some(value))
}

fn count(mock: &MockTableService) -> usize {
    mock.row_count("Documents").unwrap()
}

/// The number of requests since the last call.
fn requests(mock: &MockTableService) -> usize {
    let count = mock.requests().total();
    mock.requests().clear();
    count
}

#[tokio::test(start_paused = true)]
async fn each_call_sends_the_documented_requests() {
    let mock = MockTableService::new();
    let wide = WideTable::new(&table(&mock).await).unwrap();
    requests(&mock);
    let mb = 1_000_000;
    // The header, and one transaction.
    let one = wide.insert(&document(2 * mb, 1)).await.unwrap();
    assert_eq!((requests(&mock), count(&mock)), (2, 1 + 3));
    assert!(wide.get(KEY).await.unwrap().is_some());
    assert_eq!(requests(&mock), 1);
    let two = wide.replace(&document(mb, 2), one).await.unwrap();
    assert_eq!((requests(&mock), count(&mock)), (2, 1 + 2));
    // The header, the intent, a transaction for every 3 MB, and the swap.
    let three = wide.replace(&document(9 * mb, 3), two).await.unwrap();
    assert_eq!((requests(&mock), count(&mock)), (2 + 3 + 1, 1 + 10));
    let (read, generation) = wide.get(KEY).await.unwrap().unwrap();
    assert!(equal(&read, &document(9 * mb, 3)) && generation == three);
    // The first page, and the pages of the parts.
    assert_eq!(requests(&mock), 1 + 3);
    wide.delete(KEY, three).await.unwrap();
    assert_eq!((requests(&mock), count(&mock)), (2, 1));
    assert_eq!(wide.get(KEY).await.unwrap(), None);
    requests(&mock);
    assert_eq!(wide.sweep().await.unwrap().removed, 1);
    assert_eq!((requests(&mock), count(&mock)), (3, 0));
    assert_eq!(wide.sweep().await.unwrap().removed, 0);
    assert_eq!(requests(&mock), 1);
    // A version that is not current is refused after one read.
    let current = wide.insert(&document(10, 4)).await.unwrap();
    requests(&mock);
    for refused in [
        wide.insert(&document(10, 5)).await.unwrap_err(),
        wide.replace(&document(9 * mb, 5), one).await.unwrap_err(),
        wide.delete(KEY, one).await.unwrap_err(),
    ] {
        assert!(matches!(refused, Error::Conflict { .. }));
        assert_eq!(refused.outcome(), Outcome::NotApplied);
    }
    assert_eq!((requests(&mock), count(&mock)), (3, 2));
    wide.delete(KEY, current).await.unwrap();
    requests(&mock);
    wide.insert(&document(10, 6)).await.unwrap();
    assert_eq!(requests(&mock), 2);
}

/// Base64 makes a Binary a third larger in the request, of at most 4 MiB.
#[tokio::test]
async fn one_transaction_holds_the_documented_bytes() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let wide = WideTable::new(&table).unwrap();
    let binary = |bytes| EdmValue::from(vec![1_u8; bytes]);
    let text = |bytes: usize| EdmValue::from("ü".repeat(bytes / 2));
    for (name, value, expected) in [
        ("binary", binary(3_100_000), 2),
        ("more binary", binary(3_150_000), 5),
        ("text", text(4_100_000), 2),
        ("more text", text(4_200_000), 5),
    ] {
        requests(&mock);
        wide.insert(&DynamicEntity::new("p", name).with("Document", value)).await.unwrap();
        assert_eq!(requests(&mock), expected, "{name}");
    }
}

#[tokio::test]
async fn of_two_writers_one_wins_and_the_other_one_leaves_no_rows() {
    for bytes in [10, 9_000_000] {
        let mock = MockTableService::new();
        let wide = WideTable::new(&table(&mock).await).unwrap();
        let base = wide.insert(&document(10, 1)).await.unwrap();
        requests(&mock);
        let [second, third] = [2, 3].map(|fill| document(bytes, fill));
        let results = tokio::join!(wide.replace(&second, base), wide.replace(&third, base));
        let (winner, Err(loser)) = results else { panic!("{results:?}") };
        assert!(matches!(loser, Error::Conflict { .. }), "{loser}");
        let (read, generation) = wide.get(KEY).await.unwrap().unwrap();
        assert_eq!(generation, winner.unwrap());
        assert!(equal(&read, &second));
        assert_eq!(count(&mock), if bytes == 10 { 2 } else { 11 });
        // The loser reads the header a second time; a large one also removes its intent and its parts.
        let of_loser = if bytes == 10 { 2 + 1 } else { 6 + 1 + 1 + 1 };
        let pages = if bytes == 10 { 1 } else { 4 };
        assert_eq!(requests(&mock), of_loser + pages + if bytes == 10 { 2 } else { 6 });
    }
}

#[tokio::test]
async fn an_entity_has_thousands_of_properties_and_long_texts() {
    let mock = MockTableService::new();
    let wide = WideTable::new(&table(&mock).await).unwrap();
    let mut entity = DynamicEntity::new("p", "wide");
    for n in 0..1_000 {
        entity.set(format!("N{n}"), n);
    }
    entity.set("Text", "\u{1}ü😀'".repeat(50_000)).set("Empty", "").set("None", Vec::new());
    entity.set("Id", Uuid::from_u128(1)).set("When", azure_table_client::edm::EdmDateTime::now());
    wide.insert(&entity).await.unwrap();
    let (read, _) = wide.get(("p", "wide")).await.unwrap().unwrap();
    assert!(equal(&read, &entity));
    assert!(read.get::<String>("Text").unwrap().unwrap().ends_with("😀'"));
}

#[tokio::test]
async fn a_service_with_smaller_transactions_gets_more_of_them() {
    for (dialect, max_bytes, transactions) in
        [(Dialect::AzureStorage, 4 << 20, 1), (Dialect::CosmosDb, 2 << 20, 3)]
    {
        let mock = MockTableService::builder().dialect(dialect).build();
        let table = table(&mock).await;
        assert_eq!(table.transaction().max_bytes(), max_bytes);
        let wide = WideTable::new(&table).unwrap();
        wide.insert(&document(2_000_000, 1)).await.unwrap();
        assert_eq!(mock.requests().count(Operation::Transaction), transactions, "{dialect:?}");
        assert!(equal(&wide.get(KEY).await.unwrap().unwrap().0, &document(2_000_000, 1)));
    }
}

#[tokio::test]
async fn keys_do_not_collide() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let wide = WideTable::new(&table).unwrap();
    table.insert(&DynamicEntity::new("p", "a").with("Plain", true)).await.unwrap();
    let names = ["", "a", "a!", "a~", "a~1", "a!0000", "it's", "é"];
    for (n, name) in (0_u8..).zip(names) {
        wide.insert(&DynamicEntity::new("p", name).with("Document", vec![n; 200_000]))
            .await
            .unwrap();
    }
    let (_, version) = wide.get(("p", "a")).await.unwrap().unwrap();
    wide.delete(("p", "a"), version).await.unwrap();
    assert_eq!(wide.clone().grace(Duration::ZERO).sweep().await.unwrap().removed, 1);
    for (n, name) in (0_u8..).zip(names).filter(|(_, name)| *name != "a") {
        let (read, _) = wide.get(("p", name)).await.unwrap().unwrap();
        assert_eq!(read.value("Document"), Some(&EdmValue::from(vec![n; 200_000])), "{name}");
    }
    assert!(table.contains(("p", "a")).await.unwrap());
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_sent() {
    let mock = MockTableService::new();
    let wide = WideTable::new(&table(&mock).await).unwrap();
    requests(&mock);
    let long = "x".repeat(1024);
    let bad = [
        DynamicEntity::new("p", "a/b"),
        DynamicEntity::new("p\\", "a"),
        DynamicEntity::new("p#", "a"),
        DynamicEntity::new("p", "a?"),
        DynamicEntity::new("p", "a\n"),
        DynamicEntity::new("p", &*long),
        DynamicEntity::new("p", "a").with("Text__2", 1),
        DynamicEntity::new("p", "a").with("not a name", 1),
        DynamicEntity::new("p", "a").with("x".repeat(256), 1),
        DynamicEntity::new("p", "a").with("x".repeat(254), vec![1; 70_000]),
        DynamicEntity::new("p", "a").with("Timestamp", 1),
        DynamicEntity::new("p", "a").with("When", chrono::DateTime::<chrono::Utc>::MIN_UTC),
    ];
    for entity in bad {
        let error = wide.insert(&entity).await.unwrap_err();
        let Error::Client { error: client } = &error else { panic!("{error}") };
        assert_eq!(
            (client.kind(), error.outcome()),
            (ErrorKind::InvalidInput, Outcome::NotApplied),
            "{error}"
        );
    }
    assert!(wide.get(("p", "a/b")).await.is_err());
    assert_eq!(requests(&mock), 0);
    // The longest row key of a part has 1,024 characters.
    let most = 1024 - "!0123456789abcdef0123456789abcdef!000001".len();
    assert!(wide.insert(&DynamicEntity::new("p", &long[..=most])).await.is_err());
    assert_eq!(requests(&mock), 0);
    wide.insert(&DynamicEntity::new("p", &long[..most])).await.unwrap();
    wide.insert(&DynamicEntity::new("", "")).await.unwrap();
    assert!(wide.get(("", "")).await.unwrap().is_some());
}

#[tokio::test]
async fn missing_rows_are_an_error_and_not_a_value() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let wide = WideTable::new(&table).unwrap();
    wide.insert(&document(3_000_000, 1)).await.unwrap();
    let part = mock.rows("Documents").unwrap().remove(2);
    table.delete(part.key(), IfMatch::Any).await.unwrap();
    assert!(matches!(wide.get(KEY).await, Err(Error::InvalidRow { .. })));
    // Without its header, the entity does not exist, and a sweep removes the other rows.
    table.delete((KEY.0, "report!"), IfMatch::Any).await.unwrap();
    assert_eq!(wide.clone().grace(Duration::ZERO).sweep().await.unwrap().removed, 3);
    assert_eq!(count(&mock), 0);
    wide.insert(&document(10, 2)).await.unwrap();
}

#[tokio::test]
async fn a_read_between_two_pages_of_a_swap_reads_again() {
    let mock = MockTableService::new();
    let wide = WideTable::new(&table(&mock).await).unwrap();
    let one = wide.insert(&document(6_000_000, 1)).await.unwrap();
    let mut writes = Vec::new();
    // A page of 4 MiB does not hold the entity, so that the parts come from a second query.
    let read = async {
        let (read, _) = wide.get(KEY).await.unwrap().unwrap();
        read.get::<i32>("Fill").unwrap().unwrap()
    };
    let write = async { writes.push(wide.replace(&document(6_000_000, 2), one).await.unwrap()) };
    let (fill, ()) = tokio::join!(read, write);
    assert!([1, 2].contains(&fill));
    assert_eq!(wide.get(KEY).await.unwrap().unwrap().1, writes[0]);
}

#[tokio::test(start_paused = true)]
async fn a_sweep_covers_the_table_or_the_partitions_that_were_set() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let wide = WideTable::new(&table).unwrap().grace(Duration::from_secs(60));
    // In each partition: a version, parts of no version behind it, and the header of a deleted entity.
    for partition in ["p", "q", "r"] {
        wide.insert(&DynamicEntity::new(partition, "a").with("Fill", 1)).await.unwrap();
        let deleted = DynamicEntity::new(partition, "b");
        let generation = wide.insert(&deleted).await.unwrap();
        wide.delete((partition, "b"), generation).await.unwrap();
        let part = format!("a!{}!000001", Uuid::from_u128(7).simple());
        table.insert(&DynamicEntity::new(partition, part)).await.unwrap();
    }
    let swept = async |wide: &WideTable| {
        let swept = wide.sweep().await.unwrap();
        (swept.scanned, swept.unfinished, swept.removed)
    };
    requests(&mock);
    assert_eq!(swept(&wide.clone().partitions(["q", "s", "q"])).await, (4, 0, 2));
    // Two reads, one of the partition again, two headers, the parts and the deleted header.
    assert_eq!((requests(&mock), count(&mock)), (2 + 1 + 1 + 1 + 1, 10));
    // A client that refuses scans sweeps too.
    let client = mock.client_builder().scans(ScanPolicy::Refuse).build().unwrap();
    let wide = WideTable::new(&client.table_named::<DynamicEntity>("Documents")).unwrap();
    assert_eq!(swept(&wide).await, (10, 0, 4));
    assert_eq!(swept(&wide).await, (6, 0, 0));
    for partition in ["p", "q", "r"] {
        assert!(wide.get((partition, "a")).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn settings_out_of_range_are_refused() {
    let mock = MockTableService::new();
    let client = mock.client();
    let unnamed = client.table_named::<DynamicEntity>("no name");
    assert!(WideTable::new(&unnamed).unwrap_err().is_invalid_input());
    let wide = WideTable::new(&client.table_named::<DynamicEntity>("Documents")).unwrap();
    for bytes in [0, 4095, 4 * 1024 * 1024 + 1] {
        assert!(wide.clone().request_bytes(bytes).unwrap_err().is_invalid_input(), "{bytes}");
    }
    // A smaller size does not lower the limit.
    wide.request_bytes(4096).unwrap().request_bytes(4 * 1024 * 1024).unwrap();
    assert_eq!(requests(&mock), 0);
}

#[tokio::test(start_paused = true)]
async fn a_sweep_spares_writers_that_make_progress_in_time() {
    let mock = MockTableService::new();
    let table = table(&mock).await;
    let wide = WideTable::new(&table).unwrap().request_bytes(4096).unwrap();
    let one = wide.insert(&document(100, 1)).await.unwrap();
    // The sweep's second look comes while the parts are being written.
    mock.faults().add(Fault::delay_request(Duration::from_secs(10)).on(Operation::Transaction));
    let [second, third] = [2, 3].map(|fill| document(5_000, fill));
    let write = wide.replace(&second, one);
    let (written, swept) = tokio::join!(write, wide.sweep());
    assert_eq!(swept.unwrap().removed, 0);
    let two = written.unwrap();
    // A sweep that waits for less cancels the writer.
    let sweeping = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        wide.clone().grace(Duration::from_secs(15)).sweep().await
    };
    let (written, swept) = tokio::join!(wide.replace(&third, two), sweeping);
    let swept = swept.unwrap();
    assert!(swept.unfinished == 1 && swept.removed > 1, "{swept:?}");
    assert_eq!(written.unwrap_err().outcome(), Outcome::NotApplied);
    assert_eq!(wide.get(KEY).await.unwrap().unwrap().1, two);
    mock.faults().clear();
    wide.clone().grace(Duration::from_secs(60)).sweep().await.unwrap();
    assert_eq!(count(&mock), 1 + 6);
}

/// Writes a document through a proxy: the service is too busy for the first delivery of the swap, and the second one
/// arrives later. Returns the reported outcome, and the document that is stored in the end.
async fn late_swap(bytes: usize, cancels: bool) -> (Outcome, DynamicEntity) {
    let mock = MockTableService::new();
    let wide = WideTable::new(&table(&mock).await).unwrap().request_bytes(4096).unwrap();
    let one = wide.insert(&document(100, 1)).await.unwrap();
    let (text, seconds) = ("\"Generation\"", Duration::from_secs);
    let first = Fault::busy().on(Operation::Transaction);
    let proxy = repeating(&mock, text, first, seconds(40));
    let proxied = WideTable::new(&proxy.table_named::<DynamicEntity>("Documents"))
        .unwrap()
        .request_bytes(4096)
        .unwrap();
    if !cancels {
        mock.faults().add(Fault::lose_request().on(Operation::Delete));
    }
    let error = proxied.replace(&document(bytes, 2), one).await.unwrap_err();
    tokio::time::sleep(seconds(60)).await;
    mock.faults().clear();
    wide.clone().grace(seconds(60)).sweep().await.unwrap();
    let (stored, _) = wide.get(KEY).await.unwrap().unwrap();
    (error.outcome(), stored)
}

#[tokio::test(start_paused = true)]
async fn a_swap_that_arrives_after_a_503_finds_its_parts() {
    // The writer cannot delete its intent.
    let (outcome, stored) = late_swap(5_000, false).await;
    assert_eq!(outcome, Outcome::Unknown);
    assert!(equal(&stored, &document(5_000, 2)));
    // It deletes its intent, so that the swap is refused.
    let (outcome, stored) = late_swap(5_000, true).await;
    assert_eq!(outcome, Outcome::NotApplied);
    assert!(equal(&stored, &document(100, 1)));
}

/// A write of one transaction has no intent.
#[tokio::test(start_paused = true)]
async fn a_503_does_not_prove_that_a_small_write_was_not_applied() {
    let (outcome, stored) = late_swap(200, true).await;
    assert_eq!(outcome, Outcome::Unknown);
    assert!(equal(&stored, &document(200, 2)));
}

/// 1. A writer of generation B inserts its intent and its first parts.
/// 2. It inserts the other parts, and swaps the header.
/// 3. A sweeper, whose secondary is still at 1, finds the intent twice, and deletes it: it is gone.
/// 4. It reads the header: the secondary still has generation A, but B is current.
#[tokio::test(start_paused = true)]
async fn a_sweep_does_not_trust_a_secondary_that_lags_behind() {
    let clock = TokioClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30));
    let lag = Duration::from_secs(60);
    let mock = MockTableService::builder().clock(Arc::new(clock)).replication_lag(lag).build();
    let wide = WideTable::new(&table(&mock).await).unwrap().request_bytes(4096).unwrap();
    let one = wide.insert(&document(100, 1)).await.unwrap();
    tokio::time::sleep(lag).await;
    mock.faults().add(Fault::delay_request(Duration::from_secs(10)).on(Operation::Transaction));
    let two = wide.replace(&document(9_000, 2), one).await.unwrap();
    mock.faults().clear();
    let other = with_secondary(&mock).table_named::<DynamicEntity>("Documents");
    let other = WideTable::new(&other).unwrap().request_bytes(4096).unwrap();
    tokio::time::sleep(Duration::from_secs(25)).await;
    other.clone().grace(Duration::from_secs(5)).sweep().await.unwrap();
    assert!(equal(&wide.get(KEY).await.unwrap().unwrap().0, &document(9_000, 2)));
    // Reads and writes through the secondary would also find an earlier version, or none.
    let (read, generation) = other.get(KEY).await.unwrap().unwrap();
    assert!(generation == two && equal(&read, &document(9_000, 2)));
    other.delete(KEY, two).await.unwrap();
    assert_eq!(on_secondary(&mock), 0);
}

/// The column of write ids is among the properties that a read returns.
#[tokio::test]
async fn what_was_read_can_be_written_with_write_ids() {
    let mock = MockTableService::new();
    table(&mock).await;
    let client = mock.client_builder().write_id_column("WriteId").build().unwrap();
    let wide = WideTable::new(&client.table_named::<DynamicEntity>("Documents")).unwrap();
    wide.insert(&document(200_000, 1)).await.unwrap();
    let (mut read, one) = wide.get(KEY).await.unwrap().unwrap();
    read.set("Fill", 2);
    let two = wide.replace(&read, one).await.unwrap();
    let (read, generation) = wide.get(KEY).await.unwrap().unwrap();
    assert_eq!((generation, read.get::<i32>("Fill").unwrap().unwrap()), (two, 2));
}
