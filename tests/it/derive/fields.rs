//! Attributes that change the stored form of fields.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use azure_table_client::edm::{ConvertError, EdmType, EdmValue};
use azure_table_client::entity::{EncodeError, PropertyGroup};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, TableClient, TableEntity, TableEnum};
use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::{KEYS, read, refusal};

async fn table<T: TableEntity>() -> TableClient<T> {
    let table = MockTableService::new().client().table_named("Things");
    table.create().await.unwrap();
    table
}

fn names(entity: &impl TableEntity) -> Vec<String> {
    let stored = DynamicEntity::from_entity(entity).unwrap();
    stored.properties().map(|(name, _)| name.to_owned()).collect()
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Renamed {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(alias = "Body", alias = "message")]
    text: String,
    #[table(alias = "Stars", default)]
    rating: i32,
}

#[tokio::test]
async fn old_names_are_read_and_the_new_one_is_written() {
    for (properties, text) in [
        (r#""Text":"new""#, "new"),
        (r#""Body":"old""#, "old"),
        (r#""message":"oldest""#, "oldest"),
        (r#""message":"oldest","Body":"old""#, "old"),
        (r#""message":"oldest","Text":"new","Body":"old""#, "new"),
        (r#""Text":null,"Body":"old""#, "old"),
    ] {
        let entity: Renamed = read(&format!("{KEYS},{properties}")).await.unwrap();
        assert_eq!((&*entity.text, entity.rating), (text, 0), "{properties}");
        assert_eq!(names(&entity), ["Text", "Rating"]);
    }
    let error = refusal::<Renamed>(&format!(r#"{KEYS},"Body":5"#)).await;
    assert_eq!(error.property(), "Body", "the name that is in the row");
    let error = refusal::<Renamed>(KEYS).await;
    assert_eq!(error.property(), "Text");
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
struct Codecs {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(as_string)]
    total: u128,
    #[table(as_i64)]
    size: u64,
    #[table(as_padded)]
    order: u64,
    #[table(as_i32)]
    small: i64,
    #[table(as_string)]
    address: Option<IpAddr>,
    #[table(with = "celsius", default)]
    temperature: f64,
    #[table(skip_if = "Vec::is_empty", default)]
    data: Vec<u8>,
}

/// Tenths of a degree.
#[expect(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref, reason = "a codec")]
mod celsius {
    use super::ConvertError;

    #[expect(clippy::cast_possible_truncation, reason = "a temperature")]
    pub(super) fn encode(value: &f64) -> Result<i32, ConvertError> {
        Ok((value * 10.0).round() as i32)
    }

    pub(super) fn decode(stored: i32) -> Result<f64, ConvertError> {
        if stored < -2731 {
            return Err(ConvertError::Other(format!("{stored} is colder than possible")));
        }
        Ok(f64::from(stored) / 10.0)
    }
}

#[tokio::test]
async fn other_ways_to_store_a_value() {
    let table = table::<Codecs>().await;
    let entity = Codecs {
        total: u128::MAX,
        size: 5_000_000_000,
        order: 7,
        small: -3,
        address: Some("::1".parse().unwrap()),
        temperature: 21.5,
        ..Codecs::default()
    };
    table.insert(&entity).await.unwrap();
    let stored = table.with_entity::<DynamicEntity>().get(("", "")).await.unwrap();
    let value = |name| stored.value(name).cloned();
    assert_eq!(value("total"), Some(EdmValue::String(u128::MAX.to_string())));
    assert_eq!(value("size"), Some(EdmValue::Int64(5_000_000_000)));
    assert_eq!(value("order"), Some(EdmValue::String("00000000000000000007".into())));
    assert_eq!(value("small"), Some(EdmValue::Int32(-3)));
    assert_eq!(value("address"), Some(EdmValue::String("::1".into())));
    assert_eq!(value("temperature"), Some(EdmValue::Int32(215)));
    assert_eq!(value("data"), None, "left out, being empty");
    assert_eq!(table.get(("", "")).await.unwrap().entity, entity);
}

#[test]
fn a_number_out_of_range_is_refused_before_sending() {
    for (entity, property, integer) in [
        (Codecs { size: u64::MAX, ..Codecs::default() }, "size", "i64"),
        (Codecs { small: i64::MAX, ..Codecs::default() }, "small", "i32"),
    ] {
        let error = DynamicEntity::from_entity(&entity).unwrap_err();
        assert!(
            matches!(&error, EncodeError::Convert { property: at, .. } if at == property),
            "{error}"
        );
        assert!(error.to_string().contains(&format!("does not fit {integer}")), "{error}");
    }
}

#[tokio::test]
async fn a_decode_error_names_the_property() {
    let fine = r#""total":"1","size@odata.type":"Edm.Int64","size":"1","order":"00000000000000000001","small":1"#;
    let entity: Codecs = read(&format!("{KEYS},{fine}")).await.unwrap();
    assert_eq!((entity.total, entity.address, entity.temperature), (1, None, 0.0));
    for (bad, property, text) in [
        (fine.replace(r#""1","size@"#, r#""-1","size@"#), "total", "invalid digit"),
        (
            fine.replace(r#""total":"1""#, r#""total":1"#),
            "total",
            "expected Edm.String, found Edm.Int32",
        ),
        (fine.replace(r#""size":"1""#, r#""size":"-1""#), "size", "-1"),
        (fine.replace("00000000000000000001", "1"), "order", "20 digits"),
        (format!(r#"{fine},"address":"nowhere""#), "address", "invalid IP address"),
        (format!(r#"{fine},"temperature":-3000"#), "temperature", "colder than possible"),
    ] {
        let error = refusal::<Codecs>(&format!("{KEYS},{bad}")).await;
        assert_eq!(error.property(), property);
        assert!(error.to_string().contains(text), "{error}");
        assert!(error.key().is_some());
    }
}

#[derive(Debug, Clone, PartialEq, TableEnum)]
#[table(rename_all = "snake_case")]
enum Status {
    Draft,
    #[table(rename = "live", alias = "published")]
    InReview,
    #[table(other)]
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
enum Level {
    Low = -1,
    Next,
    High = 5,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Choices {
    #[table(partition_key)]
    status: Status,
    #[table(row_key)]
    level: Level,
    was: Status,
    next: Option<Level>,
}

#[tokio::test]
async fn enums_are_values_and_keys() {
    let table = table::<Choices>().await;
    for (status, level) in [
        (Status::Draft, Level::Low),
        (Status::InReview, Level::Next),
        (Status::Other("x".into()), Level::High),
    ] {
        let entity =
            Choices { status: status.clone(), level, was: status.clone(), next: Some(level) };
        table.insert(&entity).await.unwrap();
        assert_eq!(table.get(Choices::key(&status, level).unwrap()).await.unwrap().entity, entity);
    }
    let numbers: Vec<_> = table.with_entity::<DynamicEntity>().query().await.unwrap().into_vec();
    let numbers: Vec<_> =
        numbers.iter().map(|row| row.get::<i32>("next").unwrap().unwrap()).collect();
    assert_eq!(numbers, [-1, 0, 5]);

    let entity: Choices =
        read(r#""PartitionKey":"draft","RowKey":"00000000005","was":"published""#).await.unwrap();
    assert_eq!((entity.was, entity.next), (Status::InReview, None));
    let error = refusal::<Choices>(
        r#""PartitionKey":"draft","RowKey":"00000000005","was":"live","next":7"#,
    )
    .await;
    assert!(error.to_string().contains("7 is not one of Low, Next, High"), "{error}");
    for (value, expected) in [
        (EdmValue::from(Status::Other("x".into())), EdmValue::String("x".into())),
        (EdmValue::from(Status::InReview), EdmValue::String("live".into())),
        (EdmValue::from(Level::Low), EdmValue::Int32(-1)),
    ] {
        assert_eq!(value, expected, "for filters and dynamic entities");
    }
    // The text of an alias is the key of another row.
    let entity: Choices =
        read(r#""PartitionKey":"published","RowKey":"00000000005","was":"live""#).await.unwrap();
    assert_eq!(entity.status, Status::Other("published".into()));
}

#[derive(Debug, Clone, Default, PartialEq, PropertyGroup)]
#[table(rename_all = "PascalCase")]
struct Address {
    street: String,
    #[table(alias = "Town")]
    city: String,
    #[table(flatten = "Geo_")]
    position: Option<Position>,
}

#[derive(Debug, Clone, Default, PartialEq, PropertyGroup)]
struct Position {
    lat: f64,
    lon: f64,
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Customer {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    name: String,
    #[table(flatten = "Home_")]
    home: Address,
    #[table(flatten = "Work_")]
    work: Option<Address>,
    #[table(flatten)]
    position: Position,
}

#[tokio::test]
async fn groups_are_flattened_with_their_prefixes() {
    let table = table::<Customer>().await;
    let home = Address { street: "Main Street 1".into(), city: "Ulm".into(), position: None };
    let customer = Customer { name: "Ann".into(), home, ..Customer::default() };
    assert_eq!(names(&customer), ["Name", "Home_Street", "Home_City", "lat", "lon"]);
    table.insert(&customer).await.unwrap();
    assert_eq!(table.get(("", "")).await.unwrap().entity, customer);

    let position = Some(Position { lat: 48.4, lon: 10.0 });
    let work = Address { street: "Dom 1".into(), city: "Köln".into(), position };
    let customer = Customer { work: Some(work), ..customer };
    table.replace(&customer, IfMatch::Any).await.unwrap();
    assert!(names(&customer).contains(&"Work_Geo_lat".to_owned()));
    assert_eq!(table.get(("", "")).await.unwrap().entity, customer);

    let error = refusal::<Customer>(&format!(
        r#"{KEYS},"Name":"","Home_Street":"","Home_Town":"Bonn","lat":1.0,"lon":2.0,"Work_Geo_lat":1.0"#
    ))
    .await;
    assert_eq!(error.property(), "Work_Street", "a partial group counts as present");
    let customer: Customer = read(&format!(
        r#"{KEYS},"Name":"","Home_Street":"","Home_Town":"Bonn","lat":1.0,"lon":2.0"#
    ))
    .await
    .unwrap();
    assert_eq!((&*customer.home.city, customer.work), ("Bonn", None));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Collision {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    lat: f64,
    #[table(flatten)]
    position: Position,
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
struct TwoGroups {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(flatten)]
    home: Option<Position>,
    #[table(flatten)]
    work: Option<Position>,
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
struct TwoSeries {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(series)]
    cpu: Vec<f64>,
    #[table(series)]
    cpu1: Vec<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
struct SplitAndPart {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(split)]
    text: String,
    text_1: String,
}

#[derive(Debug, Clone, Default, PartialEq, PropertyGroup)]
struct Reserved {
    #[table(rename = "Key")]
    key: String,
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
struct ReservedByPrefix {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(flatten = "Row")]
    group: Reserved,
}

#[tokio::test]
async fn combined_names_are_checked_before_sending() {
    async fn refused<T: TableEntity + Default + Send + std::fmt::Debug + 'static>(text: &str) {
        let table = table::<T>().await;
        let entity = T::default();
        let local = DynamicEntity::from_entity(&entity).unwrap_err().to_string();
        let errors = [
            table.insert(&entity).await.unwrap_err(),
            table.insert_or_merge(&entity).await.unwrap_err(),
            table.merge(&entity, IfMatch::Any).await.unwrap_err(),
            table.get(("", "")).await.unwrap_err(),
            table.query().await.unwrap_err(),
        ];
        for error in errors.iter().map(ToString::to_string).chain([local]) {
            assert!(error.contains(text), "{error}");
        }
    }
    refused::<TwoGroups>("\"lat\" appears twice").await;
    refused::<TwoSeries>("\"cpu100\" appears twice").await;
    refused::<SplitAndPart>("\"text_1\" appears twice").await;
    refused::<ReservedByPrefix>("\"RowKey\" is reserved").await;
    let entity =
        Collision { p: String::new(), r: String::new(), lat: 1.0, position: Position::default() };
    let error = DynamicEntity::from_entity(&entity).unwrap_err();
    assert_eq!(error.to_string(), r#"property "lat" appears twice"#);
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(accept = "lenient", on_missing = "default")]
struct NewBlocks {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(series)]
    load: [i64; 2],
    #[table(split)]
    text: String,
    #[table(flatten = "Home_", default)]
    home: Address,
    #[table(split, default = "one")]
    data: Vec<u8>,
}

fn one() -> Vec<u8> {
    vec![1]
}

/// 8.4.1 for fields that are several properties.
#[tokio::test]
async fn fields_of_several_properties_can_be_added() {
    let old: NewBlocks = read(KEYS).await.unwrap();
    assert_eq!(
        (old.load, &*old.text, &old.home, &old.data),
        ([0, 0], "", &Address::default(), &vec![1])
    );
    let lenient: NewBlocks = read(&format!(r#"{KEYS},"load00":5.0,"load01":6"#)).await.unwrap();
    assert_eq!(lenient.load, [5, 6]);
    let error = refusal::<NewBlocks>(&format!(r#"{KEYS},"load00":5.0"#)).await;
    assert_eq!(error.property(), "load01", "there in part is there");
    assert_eq!(
        error.to_string(),
        r#"property "load01" of entity ("p", "r"): missing (make the field an Option or give it a default); expected Edm.Int64"#
    );
}

#[tokio::test]
async fn a_part_of_another_program_is_not_joined() {
    let table = table::<Large>().await;
    let entity = Large { text: "x".repeat(70_000), ..Large::default() };
    table.insert(&entity).await.unwrap();
    let mut other = DynamicEntity::new("", "");
    other.set("text", "new");
    table.with_entity().merge(&other, IfMatch::Any).await.unwrap();
    let error = table.get(("", "")).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("part 0 of 3 is not full"), "{source}");
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
#[repr(u8)]
enum Letter {
    A = b'a',
    B,
}

const TEN: i32 = 10;
const BASE: isize = -7;

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
enum Based {
    A = BASE,
    B,
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
#[repr(i32)]
enum Counted {
    First = TEN,
    #[table(other)]
    Other(i32),
    AfterOther,
}

#[test]
fn variants_have_their_rust_discriminants() {
    assert_eq!(EdmValue::from(Letter::A), EdmValue::Int32(97));
    assert_eq!(EdmValue::from(Letter::B), EdmValue::Int32(98));
    assert_eq!(EdmValue::from(Based::A), EdmValue::Int32(-7));
    assert_eq!(EdmValue::from(Based::B), EdmValue::Int32(-6));
    assert_eq!(EdmValue::from(Counted::First), EdmValue::Int32(10));
    assert_eq!(EdmValue::from(Counted::AfterOther), EdmValue::Int32(12));
    assert_eq!(EdmValue::Int32(12).get::<Counted>(), Ok(Counted::AfterOther));
    assert_eq!(EdmValue::Int32(11).get::<Counted>(), Ok(Counted::Other(11)));
}

macro_rules! entity_of {
    ($name:ident, $type:ty) => {
        #[derive(Debug, PartialEq, TableEntity)]
        #[table(on_missing = "error")]
        struct $name {
            #[table(partition_key)]
            p: String,
            #[table(row_key)]
            r: String,
            plain: $type,
            #[table(as_i64)]
            coded: $type,
        }
    };
}

entity_of!(ByMacro, Option<u32>);

#[tokio::test]
async fn an_option_in_a_macro_is_recognized() {
    let entity: ByMacro = read(KEYS).await.unwrap();
    assert_eq!((entity.plain, entity.coded), (None, None));
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(on_mistyped = "default")]
struct Generic<T, S> {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    value: T,
    #[table(as_string)]
    text: S,
}

#[tokio::test]
async fn policies_and_codecs_of_type_parameters() {
    let entity: Generic<i32, u64> =
        read(&format!(r#"{KEYS},"value":"x","text":"7""#)).await.unwrap();
    assert_eq!((entity.value, entity.text), (0, 7));
}

/// The checklist: a day of hours in one entity.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Day {
    #[table(partition_key)]
    machine: String,
    #[table(row_key)]
    date: chrono::NaiveDate,
    #[table(series)]
    cpu: [Option<f64>; 24],
    #[table(series = "Event_{}")]
    events: Vec<String>,
}

#[tokio::test]
async fn a_series_is_one_property_for_each_element() {
    let table = table::<Day>().await;
    let date = chrono::NaiveDate::from_ymd_opt(2014, 5, 1).unwrap();
    let mut day = Day { machine: "m1".into(), date, cpu: [None; 24], events: Vec::new() };
    for hour in [0, 7, 23] {
        // One hour at a time: an upsert by merge keeps the other hours.
        let mut one = Day { cpu: [None; 24], ..day.clone() };
        one.cpu[hour] = Some(f64::from(u8::try_from(hour).unwrap()));
        assert_eq!(names(&one), [format!("Cpu{hour:02}")]);
        table.insert_or_merge(&one).await.unwrap();
        day.cpu[hour] = one.cpu[hour];
    }
    let key = Day::key("m1", date).unwrap();
    assert_eq!(table.get(&key).await.unwrap().entity, day);
    day.events = (0..12).map(|n| n.to_string()).collect();
    table.replace(&day, IfMatch::Any).await.unwrap();
    assert_eq!(names(&day)[3..6], ["Event_0", "Event_1", "Event_2"]);
    assert_eq!(table.get(&key).await.unwrap().entity, day);

    let error =
        refusal::<Day>(r#""PartitionKey":"m","RowKey":"2014-05-01","Event_0":"a","Event_2":"c""#)
            .await;
    assert_eq!(error.property(), "Event_1", "a gap is not closed in silence");
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
struct Large {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(split)]
    text: String,
    #[table(split, rename = "Data")]
    data: Vec<u8>,
    #[table(split)]
    more: Bytes,
}

#[tokio::test]
async fn large_values_are_split_and_joined() {
    let table = table::<Large>().await;
    for (text, data) in [
        (String::new(), Vec::new()),
        ("x".repeat(32_768), vec![1; 65_536]),
        ("x".repeat(32_769), vec![1; 65_537]),
        // A character of two UTF-16 units at the border is not split.
        (format!("{}\u{1f600}y", "x".repeat(32_767)), vec![2; 200_000]),
        ("é".repeat(100_000), vec![3]),
    ] {
        let entity = Large { text, data, more: Bytes::from_static(b"abc"), ..Large::default() };
        // A merge writes the number of parts too, so that old parts do not count.
        for replace in [true, false] {
            if replace {
                table
                    .insert_or_replace(&Large { text: "z".repeat(99_000), ..Large::default() })
                    .await
                    .unwrap();
                table.insert_or_replace(&entity).await.unwrap();
            } else {
                table
                    .insert_or_replace(&Large { text: "z".repeat(99_000), ..Large::default() })
                    .await
                    .unwrap();
                table.merge(&entity, IfMatch::Any).await.unwrap();
            }
            assert!(table.get(("", "")).await.unwrap().entity == entity);
        }
    }
    let two = Large { text: "x".repeat(32_769), ..Large::default() };
    assert_eq!(names(&two)[..3], ["text", "text_1", "text_Parts"]);

    let before: Large = read(&format!(r#"{KEYS},"text":"short","Data@odata.type":"Edm.Binary","Data":"AA==","more@odata.type":"Edm.Binary","more":"""#))
        .await
        .unwrap();
    assert_eq!((&*before.text, before.data), ("short", vec![0]));
    let full = "x".repeat(32_768);
    let error = refusal::<Large>(&format!(r#"{KEYS},"text":"{full}","text_Parts":2"#)).await;
    assert_eq!(error.property(), "text_1");
    for parts in ["0", "17", "-1"] {
        let error = refusal::<Large>(&format!(r#"{KEYS},"text":"a","text_Parts":{parts}"#)).await;
        assert_eq!(error.property(), "text_Parts");
    }
    let too_large = Large { text: "x".repeat(600_000), ..Large::default() };
    assert!(DynamicEntity::from_entity(&too_large).unwrap_err().to_string().contains("1048576"));
}

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Old<E: Default> {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    text: String,
    #[table(extra)]
    others: E,
}

#[tokio::test]
async fn an_old_program_keeps_properties_of_a_newer_one() {
    let table = table::<DynamicEntity>().await;
    let mut newer = DynamicEntity::new("p", "r");
    newer
        .set("Text", "Hello")
        .set("Color", "red")
        .set("Views", 5_i64)
        .set("Seen", azure_table_client::edm::EdmDateTime::MAX);
    table.insert(&newer).await.unwrap();

    let olds = table.with_entity::<Old<BTreeMap<String, EdmValue>>>();
    let mut old = olds.get(("p", "r")).await.unwrap().into_inner();
    assert_eq!(old.others.keys().collect::<Vec<_>>(), ["Color", "Seen", "Views"]);
    old.text = "Hi".into();
    olds.replace(&old, IfMatch::Any).await.unwrap();

    let stored = table.get(("p", "r")).await.unwrap();
    newer.set("Text", "Hi");
    for (name, value) in newer.properties() {
        assert_eq!(stored.value(name), Some(value), "{name}");
    }
    let in_order: Old<Vec<(String, EdmValue)>> =
        read(&format!(r#"{KEYS},"Text":"","B":1,"A":true"#)).await.unwrap();
    assert_eq!(
        in_order.others,
        [("B".into(), EdmValue::Int32(1)), ("A".into(), EdmValue::Boolean(true))]
    );
    let by_hash: Old<HashMap<String, EdmValue>> =
        read(&format!(r#"{KEYS},"Text":"","B":1"#)).await.unwrap();
    assert_eq!(by_hash.others["B"], EdmValue::Int32(1));
}

#[test]
fn extra_properties_cannot_hide_columns_or_break_the_body() {
    for (name, text) in [
        ("Text", "appears twice"),
        ("RowKey", "reserved"),
        ("a\":1,\"b", "'\"' at position 1"),
        ("", "empty"),
    ] {
        let entity = Old { others: vec![(name.to_owned(), EdmValue::Int32(1))], ..Old::default() };
        let error = DynamicEntity::from_entity(&entity).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let twice = vec![("A".to_owned(), EdmValue::Int32(1)), ("A".to_owned(), EdmValue::Int32(2))];
    let error = DynamicEntity::from_entity(&Old { others: twice, ..Old::default() }).unwrap_err();
    assert_eq!(error.to_string(), r#"property "A" appears twice"#);
}

/// The paper's `RatingAsString`, a property without a setter.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Rated {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    rating: i32,
    #[table(computed = "Self::stars")]
    stars: String,
    #[table(read_only, default)]
    score: f64,
    #[table(timestamp)]
    changed: Option<DateTime<Utc>>,
}

impl Rated {
    fn stars(&self) -> String {
        "*".repeat(usize::try_from(self.rating).unwrap_or(0))
    }
}

#[tokio::test]
async fn computed_and_read_only_fields_are_not_written() {
    let entity: Rated = read(&format!(r#"{KEYS},"rating":3,"score":2.5"#)).await.unwrap();
    assert_eq!((&*entity.stars, entity.score), ("***", 2.5));
    assert_eq!(names(&entity), ["rating"]);
    assert_eq!(Rated::COLUMNS, ["rating", "score"]);
    let types: Vec<_> = DynamicEntity::from_entity(&entity)
        .unwrap()
        .properties()
        .map(|(_, value)| value.edm_type())
        .collect();
    assert_eq!(types, [EdmType::Int32]);
}
