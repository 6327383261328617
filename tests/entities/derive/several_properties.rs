//! Fields that are stored as several properties: groups, series and split values.

use azure_table_client::entity::PropertyGroup;
use azure_table_client::{DynamicEntity, IfMatch, TableEntity};
use bytes::Bytes;

use super::fields::{names, table};
use super::{KEYS, read, refusal};

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
