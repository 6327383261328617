//! Types that implement serde's traits, as entities without the derive.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use azure_table_client::edm::{ConvertError, EdmDateTime, EdmType, EdmValue};
use azure_table_client::entity::{DecodeError, DecodeReason, EncodeError, KeyError};
use azure_table_client::mock::MockTableService;
use azure_table_client::serde::{Serde, SerdeEntity};
use azure_table_client::{DynamicEntity, Error, ErrorKind, IfMatch, TableClient, TableEntity};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The keys and properties of a type whose fields `partition` and `row` are its keys.
macro_rules! entity {
    ($type:ty { $($name:literal: $ty:ident),* }) => {
        impl SerdeEntity for $type {
            const PROPERTIES: &'static [(&'static str, EdmType)] =
                &[$(($name, EdmType::$ty)),*];

            fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(&self.partition))
            }

            fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(&self.row))
            }
        }
    };
}

mod shapes;

async fn table<T: TableEntity>() -> TableClient<T> {
    let table = MockTableService::new().client().table_named("Bridge");
    table.create().await.unwrap();
    table
}

/// Inserts `entity`, and returns it as read back and as stored.
async fn round_trip<T>(entity: T) -> (T, DynamicEntity)
where
    T: SerdeEntity + Clone + Send + Sync + Debug + 'static,
{
    let table = table::<Serde<T>>().await;
    let entity = Serde(entity);
    table.insert(&entity).await.unwrap();
    let key = entity.entity_key().unwrap();
    let stored = table.with_entity::<DynamicEntity>().get(&key).await.unwrap();
    (table.get(key).await.unwrap().entity.0, stored.entity)
}

/// The error of sending an entity.
fn unsent<T: SerdeEntity>(entity: T) -> EncodeError {
    DynamicEntity::from_entity(&Serde(entity)).unwrap_err()
}

/// Inserts `stored` and reads it as `T`.
async fn read<T>(stored: &DynamicEntity) -> Result<T, Error>
where
    T: SerdeEntity + Send + 'static,
{
    let table = table::<DynamicEntity>().await;
    table.insert(stored).await.unwrap();
    let read = table.with_entity::<Serde<T>>().get(stored.key()).await?;
    Ok(read.entity.0)
}

/// The error of reading `stored` as `T`.
async fn unread<T>(stored: &DynamicEntity) -> DecodeError
where
    T: SerdeEntity + Send + Debug + 'static,
{
    let error = read::<T>(stored).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
    let source = std::error::Error::source(&error).expect("a source");
    source.downcast_ref::<DecodeError>().expect("a decode error").clone()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Everything {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    text: String,
    no: bool,
    small: i32,
    big: i64,
    unsigned: u64,
    whole: f64,
    float: f64,
    time: EdmDateTime,
    #[serde(with = "as_text")]
    guid: Uuid,
    binary: Vec<u8>,
    nothing: Option<i64>,
}

entity!(Everything {
    "Text": String, "No": Boolean, "Small": Int32, "Big": Int64, "Unsigned": Int64,
    "Whole": Double, "Float": Double, "Time": DateTime, "Guid": Guid, "Binary": Binary,
    "Nothing": Int64
});

/// A type stored as its text, for serde's `with`.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

fn everything() -> Everything {
    Everything {
        partition: "p".into(),
        row: "r".into(),
        text: "\u{1f600} \"quoted\"\r\n".into(),
        no: false,
        small: i32::MIN,
        big: i64::MIN,
        unsigned: u64::try_from(i64::MAX).unwrap(),
        whole: 5.0,
        float: f64::MAX,
        time: "2009-04-14T01:02:03.4567891Z".parse().unwrap(),
        guid: Uuid::max(),
        binary: vec![0, 255],
        nothing: None,
    }
}

fn stored() -> DynamicEntity {
    let entity = everything();
    let mut stored = DynamicEntity::new(entity.partition, entity.row);
    stored
        .set("Text", entity.text)
        .set("No", entity.no)
        .set("Small", entity.small)
        .set("Big", entity.big)
        .set("Unsigned", i64::MAX)
        .set("Whole", entity.whole)
        .set("Float", entity.float)
        .set("Time", entity.time)
        .set("Guid", entity.guid)
        .set("Binary", entity.binary);
    stored
}

fn properties(entity: &DynamicEntity) -> BTreeMap<&str, &EdmValue> {
    entity.properties().collect()
}

#[tokio::test]
async fn every_type_is_stored_as_declared_and_read_again() {
    let (read_back, found) = round_trip(everything()).await;
    assert_eq!(read_back, everything());
    assert_eq!(properties(&found), properties(&stored()));
    assert_eq!(read::<Everything>(&stored()).await.unwrap(), everything());
}

#[tokio::test]
async fn extremes_survive() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE, 5e-324] {
        let entity = Everything { float, whole: float, ..everything() };
        let (read, found) = round_trip(entity).await;
        assert_eq!(EdmValue::Double(read.float), EdmValue::Double(float));
        assert_eq!(found.value("Whole"), Some(&EdmValue::Double(float)));
    }
    for entity in [
        Everything { big: i64::MAX, small: i32::MAX, unsigned: 0, ..everything() },
        Everything { time: EdmDateTime::MIN, guid: Uuid::nil(), ..everything() },
        Everything { time: EdmDateTime::MAX, binary: Vec::new(), ..everything() },
        Everything { text: String::new(), nothing: Some(i64::MIN), ..everything() },
        Everything { binary: vec![7; 65_536], text: "é".repeat(32_768), ..everything() },
    ] {
        assert_eq!(round_trip(entity.clone()).await.0, entity);
    }
}

#[tokio::test]
async fn updates_and_queries_take_the_same_types() {
    let table = table::<Serde<Everything>>().await;
    table.insert(&Serde(everything())).await.unwrap();
    let changed = Serde(Everything { nothing: Some(1), ..everything() });
    table.merge(&changed, IfMatch::Any).await.unwrap();
    // A merge keeps properties that are not written.
    table.merge(&Serde(everything()), IfMatch::Any).await.unwrap();
    assert_eq!(table.query().await.unwrap(), [changed]);
    table.replace(&Serde(everything()), IfMatch::Any).await.unwrap();
    let stored = table.get(("p", "r")).await.unwrap();
    assert_eq!((stored.nothing, &*stored.text), (None, &*everything().text));
}

#[tokio::test]
async fn a_mistyped_property_is_named() {
    for (value, found) in
        [(EdmValue::Int32(5), EdmType::Int32), (EdmValue::from("5"), EdmType::String)]
    {
        let mut stored = stored();
        stored.set("Big", value);
        let error = unread::<Everything>(&stored).await;
        let expected = EdmType::Int64;
        let reason = DecodeReason::Convert(ConvertError::WrongType { expected, found });
        assert_eq!((error.property(), error.reason()), ("Big", &reason));
        assert_eq!(error.key(), Some(stored.key()));
    }
}

#[tokio::test]
async fn a_value_that_serde_refuses_is_named() {
    let mut stored = stored();
    stored.set("Unsigned", -1_i64);
    let error = unread::<Everything>(&stored).await;
    assert_eq!(
        error.to_string(),
        "property \"Unsigned\" of entity (\"p\", \"r\"): invalid value: integer `-1`, expected u64"
    );
    stored.remove("Unsigned");
    let error = unread::<Everything>(&stored).await;
    assert_eq!((error.property(), error.reason()), ("Unsigned", &DecodeReason::Missing));
}

#[test]
fn a_value_beyond_the_declared_type_is_not_sent() {
    let error = unsent(Everything { unsigned: u64::MAX, ..everything() });
    assert_eq!(
        error.to_string(),
        "property \"Unsigned\": 18446744073709551615 does not fit Edm.Int64 without loss"
    );
    let error = unsent(Everything { binary: vec![0; 65_537], ..everything() });
    assert!(matches!(error, EncodeError::Limit(_)), "{error}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Holder<T> {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    known: i32,
    held: T,
}

impl<T: Serialize + DeserializeOwned + Send> SerdeEntity for Holder<T> {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[("known", EdmType::Int32)];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(self.partition.to_uppercase().into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        if self.row.is_empty() { Err(KeyError::new("no key")) } else { Ok((&*self.row).into()) }
    }
}

fn holder<T>(partition: &str, row: &str, held: T) -> Holder<T> {
    Holder { partition: partition.into(), row: row.into(), known: 1, held }
}

#[test]
fn undeclared_properties_are_not_sent() {
    let error = unsent(holder("P", "r", Some(5))).to_string();
    assert!(error.starts_with("property \"held\": PROPERTIES does not list it"), "{error}");
    let error = unsent(holder("P", "r", None::<i32>));
    assert!(matches!(error, EncodeError::Convert { property, .. } if property == "held"));
}

#[tokio::test]
async fn keys_that_differ_from_their_members_are_refused() {
    let error = unsent(holder("p", "r", 5));
    assert!(matches!(error, EncodeError::Key(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "the member PartitionKey is \"p\", but the entity's key is \"P\""
    );
    assert_eq!(unsent(holder("P", "", 5)).to_string(), "no key");

    // Written again, such an entity would be another row.
    let mut stored = DynamicEntity::new("p", "r");
    stored.set("known", 1);
    let error = unread::<Holder<Option<i32>>>(&stored).await;
    assert_eq!(error.property(), "PartitionKey");
    assert!(matches!(error.reason(), DecodeReason::Key(_)), "{error}");
}
