//! Attributes that change the stored form of fields.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use azure_table_client::edm::{ConvertError, EdmType, EdmValue};
use azure_table_client::entity::EncodeError;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, TableClient, TableEntity};
use chrono::{DateTime, Utc};

use super::{KEYS, read, refusal};

pub(super) async fn table<T: TableEntity>() -> TableClient<T> {
    let table = MockTableService::new().client().table_named("Things");
    table.create().await.unwrap();
    table
}

pub(super) fn names(entity: &impl TableEntity) -> Vec<String> {
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
