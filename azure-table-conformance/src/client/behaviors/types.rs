//! Every Edm type survives a round trip.

use std::time::Duration;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, IfMatch, TableClient, TableEntity, TableValue};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use uuid::Uuid;

use crate::client::target::Target;

async fn round_trip(table: &TableClient<DynamicEntity>, values: Vec<(String, EdmValue)>) {
    let row = format!("{:08x}", fastrand::u32(..));
    let mut entity = DynamicEntity::new("p", &row);
    for (name, value) in values {
        entity.set(name, value);
    }
    table.insert(&entity).await.unwrap();
    let read = table.get(("p", &row)).await.unwrap();
    for (name, value) in entity.properties() {
        assert_eq!(read.value(name), Some(value), "{name} by get");
    }
    assert_eq!(read.properties().len(), entity.properties().len());
    let queried = table.query().filter_text(&format!("RowKey eq '{row}'")).await.unwrap();
    for (name, value) in entity.properties() {
        assert_eq!(queried[0].value(name), Some(value), "{name} by query");
    }
}

fn named<T: Into<EdmValue>>(values: impl IntoIterator<Item = T>) -> Vec<(String, EdmValue)> {
    values.into_iter().enumerate().map(|(n, value)| (format!("P{n}"), value.into())).collect()
}

/// Both ends of each type's range.
pub(crate) async fn extremes_of_every_type(target: &Target) {
    let table = target.table().await;
    round_trip(&table, named([true, false])).await;
    round_trip(&table, named([i32::MIN, -1, 0, i32::MAX])).await;
    round_trip(
        &table,
        named([i64::MIN, -1, 0, 5, i64::from(i32::MAX) + 1, (1 << 53) + 1, i64::MAX]),
    )
    .await;
    let doubles = [f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.1, 1.0 / 3.0, 1e21, -1.5e-7];
    round_trip(&table, named(doubles)).await;
    round_trip(&table, named([Uuid::nil(), Uuid::max(), Uuid::from_u128(0x0123_4567_89ab_cdef)]))
        .await;
    let every_byte: Vec<u8> = (0..=255).collect();
    round_trip(&table, named([every_byte, vec![0]])).await;
    table.delete_table().await.unwrap();
}

/// 5.0 is a Double, not the Int32 5 (peer pitfall 3).
pub(crate) async fn whole_doubles_stay_doubles(target: &Target) {
    let table = target.table().await;
    round_trip(&table, named([5.0, 0.0, -7.0, 1e15, 1e300])).await;
    table.delete_table().await.unwrap();
}

/// NaN and the infinities.
pub(crate) async fn doubles_without_a_number(target: &Target) {
    let table = target.table().await;
    round_trip(&table, named([f64::NAN, f64::INFINITY, f64::NEG_INFINITY])).await;
    table.delete_table().await.unwrap();
}

/// Ticks of 100 ns, from the first year to the last.
pub(crate) async fn date_times_keep_their_ticks(target: &Target) {
    let table = target.table().await;
    let parse = |text: &str| text.parse::<EdmDateTime>().unwrap();
    let times = [
        EdmDateTime::MIN,
        parse("1969-12-31T23:59:59.9999999Z"),
        parse("2017-11-10T02:43:55.7662669Z"),
        parse("2024-02-29T12:00:00.0500000Z"),
        EdmDateTime::MAX,
    ];
    round_trip(&table, named(times)).await;
    table.delete_table().await.unwrap();
}

/// Text with every character that needs an escape somewhere.
pub(crate) async fn text_of_all_sorts(target: &Target) {
    let table = target.table().await;
    let texts = [
        "it's \"quoted\" \\ / & < > % + # ?",
        "é ß 日本語 \u{1f600} \u{10ffff} \u{e000} \u{ffff}",
        "line\r\nline\ttab \u{1} \u{7f} \u{85} \u{2028}",
        " leading and trailing ",
        "odata.type@odata.type",
        "2017-11-10T02:43:55Z",
        "12345678901234567890",
        "NaN",
        "null",
    ];
    round_trip(&table, named(texts)).await;
    table.delete_table().await.unwrap();
}

/// 64 KiB of text and of bytes.
pub(crate) async fn largest_values(target: &Target) {
    let table = target.table().await;
    round_trip(&table, named(["x".repeat(32_768)])).await;
    round_trip(&table, named([vec![0xff_u8; 65_536]])).await;
    if !target.skips_on_azurite("it decodes a body piece by piece and breaks characters in between")
    {
        round_trip(&table, named(["é".repeat(32_768), "\u{1f600}".repeat(16_384)])).await;
    }
    table.delete_table().await.unwrap();
}

/// Empty is not null.
pub(crate) async fn empty_values(target: &Target) {
    let table = target.table().await;
    round_trip(&table, named([""])).await;
    round_trip(&table, named([Vec::<u8>::new()])).await;
    table.delete_table().await.unwrap();
}

/// The service does not guarantee the sign of zero; the value must stay zero.
pub(crate) async fn negative_zero(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut entity = DynamicEntity::new("p", "r");
    entity.set("Zero", -0.0);
    table.insert(&entity).await.unwrap();
    let read = table.get(("p", "r")).await.unwrap().get::<f64>("Zero").unwrap().unwrap();
    assert!(read == 0.0);
    table.delete_table().await.unwrap();
}

/// An update sends types like an insert does.
pub(crate) async fn properties_keep_their_types_over_updates(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut entity = DynamicEntity::new("p", "r");
    entity.set("Big", 5_i64).set("Whole", 5.0).set("Small", 5).set("Text", "5");
    table.insert(&entity).await.unwrap();
    for replace in [false, true] {
        if replace {
            table.replace(&entity, IfMatch::Any).await.unwrap();
        } else {
            table.merge(&entity, IfMatch::Any).await.unwrap();
        }
        let read = table.get(("p", "r")).await.unwrap();
        for (name, value) in entity.properties() {
            assert_eq!(read.value(name), Some(value), "{name}");
        }
    }
    table.delete_table().await.unwrap();
}

/// An id that is its own type.
#[derive(Debug, Clone, PartialEq, TableValue)]
pub(crate) struct Serial(String);

/// Fields whose types have no Edm type of their own.
#[derive(Debug, Clone, PartialEq, TableEntity)]
pub(crate) struct Device {
    #[table(partition_key, also_property)]
    serial: Serial,
    #[table(row_key)]
    since: NaiveDateTime,
    digest: [u8; 32],
    image: Box<[u8]>,
    built: NaiveDate,
    checked: Option<NaiveDateTime>,
    timeout: Duration,
    drift: TimeDelta,
    #[table(as_json)]
    ports: Vec<(String, u16)>,
}

/// Types that are stored as another type are read back, and found by filters.
pub(crate) async fn types_without_an_edm_type(target: &Target) {
    let table = target.table::<Device>().await;
    let built = NaiveDate::from_ymd_opt(2009, 4, 14).unwrap();
    let device = Device {
        serial: Serial("S-1'\u{e9}".into()),
        since: built.and_hms_nano_opt(1, 2, 3, 456_789_100).unwrap(),
        digest: std::array::from_fn(|at| u8::try_from(at * 8).unwrap()),
        image: vec![0, 255].into(),
        built,
        checked: built.and_hms_nano_opt(23, 59, 59, 999_999_900),
        timeout: Duration::new(93_784, 500_000_000),
        drift: TimeDelta::nanoseconds(-1),
        ports: vec![("http \"x\"".into(), 80)],
    };
    table.insert(&device).await.unwrap();
    let key = Device::key(&device.serial, device.since).unwrap();
    assert_eq!(table.get(&key).await.unwrap().entity, device);
    let later = built.succ_opt().unwrap();
    let found = table.query().filter(|d| {
        d.serial_property.eq(&device.serial)
            & d.digest.eq(device.digest)
            & d.built.between(built, later)
            & d.checked.lt(later.and_hms_opt(0, 0, 0).unwrap())
            & d.timeout.eq(device.timeout)
            & d.drift.ne(device.drift * 2)
    });
    assert_eq!(found.await.unwrap(), [device]);
    table.delete_table().await.unwrap();
}
