//! Types that serde knows, as entities without the derive.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use azure_table_client::entity::serde::{Serde, SerdeEntity};
use azure_table_client::entity::{DecodeError, DecodeReason, KeyError};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Everything {
    #[serde(rename = "PartitionKey")]
    p: String,
    #[serde(rename = "RowKey")]
    r: String,
    text: String,
    letter: char,
    yes: bool,
    small: i32,
    tiny: u8,
    big: i64,
    unsigned: u64,
    real: f64,
    half: f32,
    at: String,
    id: String,
    data: Vec<u8>,
    color: Color,
    wrapped: Wrapped,
    nothing: Option<i64>,
    something: Option<f64>,
    #[serde(skip)]
    skipped: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapped(i64);

impl SerdeEntity for Everything {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[
        ("Text", EdmType::String),
        ("Letter", EdmType::String),
        ("Yes", EdmType::Boolean),
        ("Small", EdmType::Int32),
        ("Tiny", EdmType::Int32),
        ("Big", EdmType::Int64),
        ("Unsigned", EdmType::Int64),
        ("Real", EdmType::Double),
        ("Half", EdmType::Double),
        ("At", EdmType::DateTime),
        ("Id", EdmType::Guid),
        ("Data", EdmType::Binary),
        ("Color", EdmType::String),
        ("Wrapped", EdmType::Int64),
        ("Nothing", EdmType::Int64),
        ("Something", EdmType::Double),
    ];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.p))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.r))
    }
}

fn everything() -> Everything {
    Everything {
        p: "p".into(),
        r: "it's".into(),
        text: "\u{1f600} \"x\"".into(),
        letter: 'é',
        yes: true,
        small: i32::MIN,
        tiny: u8::MAX,
        big: i64::MIN,
        unsigned: u64::try_from(i64::MAX).unwrap(),
        real: 5.0,
        half: f32::MIN_POSITIVE,
        at: "9999-12-31T23:59:59.9999999Z".into(),
        id: Uuid::max().to_string(),
        data: vec![0, 255],
        color: Color::Green,
        wrapped: Wrapped(i64::MAX),
        nothing: None,
        something: Some(-0.0),
        skipped: 0,
    }
}

async fn table<T: SerdeEntity>() -> TableClient<Serde<T>> {
    let table = MockTableService::new().client().table_named("Things");
    table.create().await.unwrap();
    table
}

#[tokio::test]
async fn every_type_at_its_extremes() {
    let table = table::<Everything>().await;
    let entity = Serde(everything());
    table.insert(&entity).await.unwrap();
    assert_eq!(table.get(("p", "it's")).await.unwrap().entity, entity);

    let stored = table.with_entity::<DynamicEntity>().get(("p", "it's")).await.unwrap();
    for (name, ty) in Everything::PROPERTIES {
        match stored.value(name) {
            Some(value) => assert_eq!(value.edm_type(), *ty, "{name}"),
            None => assert_eq!(*name, "Nothing"),
        }
    }
    assert_eq!(stored.value("At"), Some(&EdmValue::DateTime(EdmDateTime::MAX)));
    assert_eq!(stored.value("Tiny"), Some(&EdmValue::Int32(255)));
    assert_eq!(stored.value("Real"), Some(&EdmValue::Double(5.0)));
    assert_eq!(stored.value("Color"), Some(&EdmValue::String("green".into())));

    for real in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324] {
        let entity = Serde(Everything { real, ..everything() });
        table.insert_or_replace(&entity).await.unwrap();
        let stored = table.get(("p", "it's")).await.unwrap();
        assert_eq!(EdmValue::Double(stored.entity.0.real), EdmValue::Double(real));
    }
}

/// An entity of a map: whatever is declared, and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Map(BTreeMap<String, Value>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Yes(bool),
    Number(i128),
    Real(f64),
    Text(String),
    List(Vec<Value>),
    Object(BTreeMap<String, Value>),
    Nothing,
}

impl SerdeEntity for Map {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[
        ("Yes", EdmType::Boolean),
        ("Small", EdmType::Int32),
        ("Big", EdmType::Int64),
        ("Real", EdmType::Double),
        ("Text", EdmType::String),
        ("At", EdmType::DateTime),
        ("Id", EdmType::Guid),
        ("Data", EdmType::Binary),
    ];
    const KEYS_ARE_MEMBERS: bool = false;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("p".into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("r".into())
    }
}

fn map(name: &str, value: Value) -> Serde<Map> {
    Serde(Map([(name.to_owned(), value)].into()))
}

#[test]
fn what_is_not_of_the_declared_type_is_an_error_that_names_it() {
    let text = |text: &str| Value::Text(text.into());
    for (name, value, reason) in [
        ("Other", Value::Number(1), "no Edm type is declared for it"),
        ("Small", Value::Number(1 << 31), "2147483648 does not fit Edm.Int32"),
        ("Big", Value::Number(1 << 63), "does not fit Edm.Int64"),
        ("Big", Value::Number(i128::MIN), "does not fit Edm.Int64"),
        ("Big", Value::Real(1.0), "expected Edm.Int64, found Edm.Double"),
        ("Real", Value::Number(1), "expected Edm.Double, found an integer"),
        ("Yes", text("true"), "expected Edm.Boolean, found Edm.String"),
        ("Text", Value::Yes(true), "expected Edm.String, found Edm.Boolean"),
        ("At", text("yesterday"), "yesterday"),
        ("At", text("1600-01-01T00:00:00Z"), "outside the service's range"),
        ("Id", text("c9da"), "c9da"),
        ("Text", Value::List(vec![]), "found a list or an object"),
        ("Text", Value::Object(BTreeMap::new()), "a struct, a map or a variant"),
        ("Data", Value::List(vec![Value::Number(256)]), "from 0 to 255"),
        ("PartitionKey", text("other"), "and the key is \"p\""),
    ] {
        let error = DynamicEntity::from_entity(&map(name, value)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(reason), "{name}: {error}");
    }
    for (name, value) in [("RowKey", text("r")), ("Timestamp", text("x")), ("Text", Value::Nothing)]
    {
        let stored = DynamicEntity::from_entity(&map(name, value)).unwrap();
        assert_eq!(stored.properties().len(), 0, "{name}");
    }
    assert!(
        DynamicEntity::from_entity(&map("Text", text(&"x".repeat(32_769))))
            .unwrap_err()
            .to_string()
            .contains("32768")
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NoStruct(Vec<i32>);

impl SerdeEntity for NoStruct {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Err(KeyError::new("no key today"))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("r".into())
    }
}

#[test]
fn keys_that_cannot_be_made_are_errors() {
    let error = DynamicEntity::from_entity(&Serde(NoStruct(vec![]))).unwrap_err();
    assert_eq!(error.to_string(), "no key today");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    tenant: u32,
    #[serde(rename = "Small")]
    small: i32,
}

impl SerdeEntity for Strict {
    const PROPERTIES: &'static [(&'static str, EdmType)] =
        &[("tenant", EdmType::Int64), ("Small", EdmType::Int32)];
    const KEYS_ARE_MEMBERS: bool = false;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(self.tenant.to_string().into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("r".into())
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outer {
    #[serde(flatten)]
    inner: Strict2,
    #[serde(flatten)]
    others: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Strict2 {
    #[serde(rename = "PartitionKey")]
    p: String,
    #[serde(rename = "RowKey")]
    r: String,
    number: i64,
}

impl SerdeEntity for Outer {
    const PROPERTIES: &'static [(&'static str, EdmType)] =
        &[("number", EdmType::Int64), ("a", EdmType::String), ("b", EdmType::String)];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.inner.p))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.inner.r))
    }
}

async fn round_trip<T: SerdeEntity + Debug + PartialEq + Send + Sync + 'static>(entity: T) {
    let table = table::<T>().await;
    let entity = Serde(entity);
    let key = entity.entity_key().unwrap();
    table.insert(&entity).await.unwrap();
    assert_eq!(table.get(&key).await.unwrap().entity, entity);
    assert_eq!(table.query().await.unwrap(), [entity]);
}

#[tokio::test]
async fn serdes_own_attributes_work() {
    round_trip(Strict { tenant: 7, small: -1 }).await;
    let inner = Strict2 { p: "p".into(), r: "r".into(), number: 1 << 40 };
    round_trip(Outer { inner, others: [("a".into(), "x".into())].into() }).await;
    round_trip(Map(
        [("Yes".into(), Value::Yes(true)), ("Text".into(), Value::Text("x".into()))].into()
    ))
    .await;
}

async fn refusal<T: SerdeEntity + Debug + Send + 'static>(stored: &DynamicEntity) -> DecodeError {
    let table = table::<T>().await;
    table.with_entity().insert(stored).await.unwrap();
    let error = table.get(stored.key()).await.unwrap_err();
    let source = std::error::Error::source(&error).expect("a source");
    source.downcast_ref::<DecodeError>().expect("a decode error").clone()
}

#[tokio::test]
async fn a_row_that_does_not_fit_is_an_error_that_names_entity_and_property() {
    let mut fine = DynamicEntity::new("p", "r");
    fine.set("tenant", 1_i64).set("Small", 1).set("Unknown", true);

    let mut wrong = fine.clone();
    wrong.set("Small", 1_i64);
    let error = refusal::<Strict>(&wrong).await;
    assert_eq!(
        error.to_string(),
        r#"property "Small" of entity ("p", "r"): expected Edm.Int32, found Edm.Int64"#
    );

    let mut missing = fine.clone();
    missing.remove("Small");
    let error = refusal::<Strict>(&missing).await;
    assert_eq!((error.property(), error.reason()), ("Small", &DecodeReason::Missing));

    let mut negative = fine.clone();
    negative.set("tenant", -1_i64);
    let error = refusal::<Strict>(&negative).await;
    assert_eq!(error.property(), "tenant");
    assert!(error.to_string().contains("-1"), "{error}");

    let table = table::<Strict>().await;
    table.with_entity().insert(&fine).await.unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap().entity.0, Strict { tenant: 1, small: 1 });
}

#[tokio::test]
async fn a_double_is_not_cut() {
    let mut half = DynamicEntity::from_entity(&Serde(everything())).unwrap();
    half.set("Half", 0.1);
    let error = refusal::<Everything>(&half).await;
    assert_eq!(error.property(), "Half");
    assert!(error.to_string().contains("does not fit f32"), "{error}");
}
