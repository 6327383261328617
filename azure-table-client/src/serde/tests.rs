//! Values in both directions, through the JSON of the wire.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use bytes::Bytes;
use proptest::prelude::*;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use super::*;
use crate::Dialect;
use crate::edm::{EdmDateTime, EdmValue, ToEdm};
use crate::entity::{DynamicEntity, Entities, Form};
use crate::wire::{ReadError, json_read, json_write};

fn read_entity<T: TableEntity>(body: &[u8], typed: bool) -> Result<T, ReadError> {
    json_read::read_one(body, Form { typed, selected: false }, &Entities)
}

/// An entity with one property, declared with the Edm type of `D`.
#[derive(Debug, Serialize, Deserialize)]
struct Single<V, D> {
    #[serde(rename = "Value")]
    value: V,
    #[serde(skip)]
    declared: PhantomData<fn() -> D>,
}

impl<V: Serialize + DeserializeOwned + Send, D: ToEdm> SerdeEntity for Single<V, D> {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[("Value", D::EDM_TYPE)];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("p".into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("r".into())
    }
}

fn write<D: ToEdm>(
    value: impl Serialize + DeserializeOwned + Send,
) -> Result<Option<EdmValue>, EncodeError> {
    let entity = Serde(Single::<_, D> { value, declared: PhantomData });
    DynamicEntity::from_entity(&entity).map(|mut dynamic| dynamic.remove("Value"))
}

fn refusal<D: ToEdm>(value: impl Serialize + DeserializeOwned + Send) -> String {
    match write::<D>(value).unwrap_err() {
        EncodeError::Convert { property, reason } if property == "Value" => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

fn read<V: Serialize + DeserializeOwned + Send, D: ToEdm>(
    value: impl Into<EdmValue>,
) -> Result<V, DecodeError> {
    let mut dynamic = DynamicEntity::new("p", "r");
    dynamic.set("Value", value);
    let mut body = Vec::new();
    json_write::entity(&mut body, &dynamic, "p", "r", None, Dialect::default()).unwrap();
    match read_entity::<Serde<Single<V, D>>>(&body, true) {
        Ok(entity) => Ok(entity.0.value),
        Err(ReadError::Decode(error)) => Err(error),
        Err(error) => panic!("{error:?}"),
    }
}

/// `value` is stored as `stored`, and read from it.
fn both<V, D: ToEdm>(value: V, stored: impl Into<EdmValue>)
where
    V: Serialize + DeserializeOwned + Clone + PartialEq + Debug + Send,
{
    let stored = stored.into();
    assert_eq!(write::<D>(value.clone()), Ok(Some(stored.clone())));
    assert_eq!(read::<V, D>(stored), Ok(value));
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Color {
    #[serde(rename = "dark red")]
    Red,
    Blue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Meters(f64);

/// Bytes as `serde_bytes` hands them over.
#[derive(Debug, Clone, PartialEq)]
struct Octets(Vec<u8>);

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl serde::de::Visitor<'_> for Take {
            type Value = Octets;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Octets, E> {
                Ok(Octets(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Take)
    }
}

#[test]
fn each_form_of_a_value_in_both_directions() {
    both::<_, String>("\u{1f600} \"'".to_owned(), "\u{1f600} \"'");
    both::<_, String>('é', "é");
    both::<_, String>(Color::Red, "dark red");
    both::<_, bool>(true, true);
    both::<_, i32>(i8::MIN, -128);
    both::<_, i32>(i32::MAX, i32::MAX);
    both::<_, i32>(5_u64, 5);
    both::<_, i64>(5_u8, 5_i64);
    both::<_, i64>(i64::MIN, i64::MIN);
    both::<_, i64>(i128::from(i64::MAX), i64::MAX);
    both::<_, i64>(u128::from(u32::MAX), i64::from(u32::MAX));
    both::<_, f64>(5.0, 5.0);
    both::<_, f64>(f32::MIN_POSITIVE, f64::from(f32::MIN_POSITIVE));
    both::<_, f64>(f32::NEG_INFINITY, f64::NEG_INFINITY);
    both::<_, f64>(Meters(1.5), 1.5);
    both::<_, EdmDateTime>(EdmDateTime::MIN, EdmDateTime::MIN);
    both::<_, EdmDateTime>(EdmDateTime::MAX, EdmDateTime::MAX);
    both::<_, Uuid>(Uuid::max().to_string(), Uuid::max());
    both::<_, Vec<u8>>(vec![0_u8, 255], vec![0, 255]);
    both::<_, Vec<u8>>([7_u8; 16], vec![7; 16]);
    both::<_, Vec<u8>>(Octets(vec![0, 255]), vec![0, 255]);
    both::<_, Vec<u8>>(Vec::<u8>::new(), Bytes::new());
    both::<_, i64>(Some(3), 3_i64);
    both::<_, Vec<u8>>(Some(vec![1_u8]), vec![1]);
    both::<_, String>(Some(Color::Blue), "Blue");
}

#[test]
fn what_is_nothing_is_not_stored() {
    assert_eq!(write::<i32>(None::<i32>), Ok(None));
    assert_eq!(write::<i32>(()), Ok(None));
}

#[test]
fn texts_of_date_times_and_guids_need_not_be_those_of_the_wire() {
    let time: EdmDateTime = "2009-04-14T01:02:03.4567891Z".parse().unwrap();
    for text in [
        "2009-04-14T01:02:03.4567891Z",
        "2009-04-14T01:02:03.456789199Z",
        "2009-04-14T02:02:03.4567891+01:00",
    ] {
        assert_eq!(write::<EdmDateTime>(text.to_owned()), Ok(Some(time.into())), "{text}");
    }
    assert_eq!(read::<String, EdmDateTime>(time).unwrap(), "2009-04-14T01:02:03.4567891Z");
    let whole: EdmDateTime = "2009-04-14T01:02:03Z".parse().unwrap();
    assert_eq!(read::<String, EdmDateTime>(whole).unwrap(), "2009-04-14T01:02:03.0000000Z");

    let id = Uuid::from_u128(0xc9da_6455_213d_42c9_9a79_3e91_49a5_7833);
    let text = "C9DA6455213D42C99A793E9149A57833".to_owned();
    assert_eq!(write::<Uuid>(text), Ok(Some(id.into())));
    assert_eq!(read::<String, Uuid>(id).unwrap(), "c9da6455-213d-42c9-9a79-3e9149a57833");
}

#[test]
fn a_value_that_does_not_fit_its_declaration_is_refused() {
    assert_eq!(refusal::<i32>(i64::MAX), "9223372036854775807 does not fit Edm.Int32 without loss");
    assert_eq!(
        refusal::<i64>(u64::MAX),
        "18446744073709551615 does not fit Edm.Int64 without loss"
    );
    assert!(write::<i64>(i128::MIN).is_err() && write::<i64>(u128::MAX).is_err());
    assert_eq!(refusal::<f64>(5), "declared as Edm.Double, but the value is an integer");
    assert_eq!(refusal::<i32>(5.0), "declared as Edm.Int32, but the value is a float");
    assert_eq!(refusal::<i64>("5".to_owned()), "declared as Edm.Int64, but the value is text");
    assert_eq!(refusal::<String>(true), "declared as Edm.String, but the value is a boolean");
    assert_eq!(
        refusal::<String>(Octets(vec![1])),
        "declared as Edm.String, but the value is bytes"
    );
    assert!(refusal::<EdmDateTime>("now".to_owned()).starts_with("not a date-time"));
    assert!(refusal::<EdmDateTime>("1600-12-31T23:59:59Z".to_owned()).contains("range"));
    assert!(refusal::<Uuid>("1".to_owned()).starts_with("\"1\" is not a UUID"));
    let list = "declared as Edm.Binary, but an element of the list is not a u8";
    assert_eq!(refusal::<Vec<u8>>(vec![1, 256]), list);
    assert_eq!(refusal::<Vec<u8>>(vec![Some(1), None]), list);
    assert_eq!(refusal::<Vec<u8>>(vec!["1".to_owned()]), list);
}

#[test]
fn what_is_no_single_value_is_refused_with_a_way_out() {
    #[derive(Serialize, Deserialize)]
    enum Shape {
        Circle(u8),
        Segment(u8, u8),
        Square { side: u8 },
    }
    #[derive(Serialize, Deserialize)]
    struct Pair(u8, u8);

    let rest = "and a property is a single value \
                (use #[serde(flatten)], or #[serde(with = \"…\")] to make text or bytes of it)";
    for (refusal, what) in [
        (refusal::<String>(Shape::Square { side: 1 }), "a variant with data"),
        (refusal::<String>(Shape::Circle(1)), "a variant with data"),
        (refusal::<String>(Shape::Segment(1, 2)), "a variant with data"),
        (refusal::<String>(Pair(1, 2)), "a tuple struct"),
        (refusal::<String>(vec![1_u8]), "a list"),
        (refusal::<String>((1, 2)), "a list"),
        (refusal::<String>(BTreeMap::from([(1, 2)])), "a map"),
        (refusal::<String>(Blog::default()), "a struct"),
    ] {
        assert_eq!(refusal, format!("declared as Edm.String, but the value is {what}, {rest}"));
    }
}

fn misread<V: Serialize + DeserializeOwned + Debug + Send, D: ToEdm>(
    value: impl Into<EdmValue>,
) -> String {
    let error = read::<V, D>(value).unwrap_err();
    assert_eq!(error.property(), "Value", "{error}");
    assert_eq!(error.key(), Some(&("p", "r").into()), "{error}");
    error.reason().to_string()
}

#[test]
fn a_value_that_serde_does_not_take_is_an_error_that_names_the_property() {
    assert_eq!(misread::<i64, i64>(5), "expected Edm.Int64, found Edm.Int32");
    assert_eq!(misread::<f64, f64>(5), "expected Edm.Double, found Edm.Int32");
    assert_eq!(misread::<u8, i32>(256), "invalid value: integer `256`, expected u8");
    assert_eq!(misread::<u64, i64>(-1_i64), "invalid value: integer `-1`, expected u64");
    assert_eq!(misread::<f64, i64>(i64::MAX), "expected Edm.Double, found Edm.Int64");
    assert_eq!(misread::<f32, f64>(0.1), "0.1 does not fit f32 without loss");
    assert_eq!(misread::<String, i32>(5), "invalid type: integer `5`, expected a string");
    assert!(misread::<Color, String>("Green").starts_with("unknown variant `Green`"));
    assert!(misread::<[u8; 2], Vec<u8>>(vec![1]).starts_with("invalid length 1"));
    assert!(misread::<[u8; 2], Vec<u8>>(vec![1, 2, 3]).starts_with("invalid length 3"));
    assert!(misread::<EdmDateTime, String>("now").contains("not a date-time"));
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Blog {
    #[serde(rename = "PartitionKey")]
    channel: String,
    #[serde(rename = "RowKey")]
    id: String,
    #[serde(rename = "Timestamp", default)]
    changed: Option<EdmDateTime>,
    rating: i32,
}

impl SerdeEntity for Blog {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[("rating", EdmType::Int32)];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.channel))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.id))
    }
}

fn read_blog(json: &str, typed: bool) -> Result<Blog, DecodeError> {
    match read_entity::<Serde<Blog>>(json.as_bytes(), typed) {
        Ok(Serde(blog)) => Ok(blog),
        Err(ReadError::Decode(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn keys_and_timestamp_are_members_that_are_not_properties() {
    let json = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2009-04-14T01:02:03Z","rating":3}"#;
    let changed = Some("2009-04-14T01:02:03Z".parse().unwrap());
    let blog = Blog { channel: "p".into(), id: "r".into(), changed, rating: 3 };
    assert_eq!(read_blog(json, true), Ok(Blog { changed, ..blog }));
    // Types are declared, so that a reply without metadata does as well.
    assert!(read_blog(json, false).is_ok());

    let blog = Blog { channel: "p".into(), id: "r".into(), changed, rating: 3 };
    let dynamic = DynamicEntity::from_entity(&Serde(blog)).unwrap();
    let mut expected = DynamicEntity::new("p", "r");
    assert_eq!(&dynamic, expected.set("rating", 3));
}

#[test]
fn what_is_not_declared_need_not_be_readable() {
    for member in [r#""A":"\ud800""#, r#""A":{"a":[1]}"#, r#""A@odata.type":"Edm.Odd","A":"1""#] {
        let json = format!(r#"{{"PartitionKey":"p","RowKey":"r","rating":3,{member}}}"#);
        assert!(read_blog(&json, true).is_ok(), "{member}");
    }
}

#[test]
fn a_missing_or_null_member_is_named() {
    for json in [
        r#"{"PartitionKey":"p","RowKey":"r"}"#,
        r#"{"PartitionKey":"p","RowKey":"r","rating":null}"#,
    ] {
        let error = read_blog(json, true).unwrap_err();
        assert_eq!((error.property(), error.reason()), ("rating", &DecodeReason::Missing));
        assert_eq!(error.key(), Some(&("p", "r").into()));
    }
    let error = read_blog(r#"{"PartitionKey":"p","rating":3}"#, true).unwrap_err();
    assert_eq!((error.property(), error.reason()), ("RowKey", &DecodeReason::Missing));
}

/// Has no constant members: serde hands it over as a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Loose<K: Ord>(BTreeMap<K, Option<i64>>);

impl<K: Ord + Serialize + DeserializeOwned + Send> SerdeEntity for Loose<K> {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[("A", EdmType::Int64)];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("".into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("".into())
    }
}

#[test]
fn errors_of_the_entity_as_a_whole_name_no_property() {
    const NAME: &str = "the name of a member must be text";
    let refusal = |error: Result<DynamicEntity, EncodeError>| match error.unwrap_err() {
        EncodeError::Other(text) => text,
        other => panic!("{other:?}"),
    };
    let map = Loose(BTreeMap::from([("A".to_owned(), Some(1)), ("B".to_owned(), None)]));
    let error = DynamicEntity::from_entity(&Serde(map)).unwrap_err().to_string();
    assert!(error.starts_with("property \"B\": PROPERTIES does not list it"), "{error}");
    let number = refusal(DynamicEntity::from_entity(&Serde(Loose([(1, Some(1))].into()))));
    let nothing = refusal(DynamicEntity::from_entity(&Serde(Loose([(None::<u8>, None)].into()))));
    assert_eq!((number, nothing), (NAME.to_owned(), NAME.to_owned()));

    let Err(ReadError::Decode(error)) =
        read_entity::<Serde<Loose<String>>>(br#"{"PartitionKey":"p","RowKey":"r"}"#, true)
    else {
        panic!("the key is not a number")
    };
    assert_eq!(error.property(), "PartitionKey");
}

#[test]
fn there_are_252_names_at_most() {
    assert_eq!(names(&[("A", EdmType::Int32); 252])[251], "A");
    assert_eq!(names(&[("A", EdmType::Int32)])[1], "");
}

#[test]
#[should_panic(expected = "PROPERTIES lists more than 252")]
fn one_name_more_fails_the_build() {
    names(&[("A", EdmType::Int32); 253]);
}

#[test]
#[should_panic(expected = "PROPERTIES must not list PartitionKey, RowKey or Timestamp")]
fn a_key_among_the_properties_fails_the_build() {
    names(&[("A", EdmType::Int32), ("RowKey", EdmType::String)]);
}

/// Every Edm type, each as an `Option` too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct All {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    text: String,
    yes: bool,
    small: i32,
    big: i64,
    float: f64,
    time: EdmDateTime,
    guid: Guid,
    binary: Vec<u8>,
    #[serde(flatten)]
    options: Options,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Options {
    title: Option<String>,
    flag: Option<bool>,
    port: Option<u16>,
    length: Option<u32>,
    ratio: Option<f32>,
    end: Option<EdmDateTime>,
    parent: Option<Guid>,
    hash: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Guid(Uuid);

impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Guid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl SerdeEntity for All {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &[
        ("text", EdmType::String),
        ("yes", EdmType::Boolean),
        ("small", EdmType::Int32),
        ("big", EdmType::Int64),
        ("float", EdmType::Double),
        ("time", EdmType::DateTime),
        ("guid", EdmType::Guid),
        ("binary", EdmType::Binary),
        ("title", EdmType::String),
        ("flag", EdmType::Boolean),
        ("port", EdmType::Int32),
        ("length", EdmType::Int64),
        ("ratio", EdmType::Double),
        ("end", EdmType::DateTime),
        ("parent", EdmType::Guid),
        ("hash", EdmType::Binary),
    ];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.partition))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.row))
    }
}

fn any_time() -> impl Strategy<Value = EdmDateTime> {
    (EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks())
        .prop_map(|ticks| EdmDateTime::from_ticks(ticks).unwrap())
}

fn any_guid() -> impl Strategy<Value = Guid> {
    any::<u128>().prop_map(|bits| Guid(Uuid::from_u128(bits)))
}

prop_compose! {
    fn any_options()(
        title in any::<Option<String>>(),
        flag in any::<Option<bool>>(),
        port in any::<Option<u16>>(),
        length in any::<Option<u32>>(),
        ratio in proptest::option::of(proptest::num::f32::ANY),
        end in proptest::option::of(any_time()),
        parent in proptest::option::of(any_guid()),
        hash in any::<Option<Vec<u8>>>(),
    ) -> Options {
        Options {
            title, flag, port, length, ratio, end, parent, hash,
        }
    }
}

prop_compose! {
    fn any_entity()(
        (partition, row) in any::<(String, String)>(),
        text in any::<String>(),
        (yes, small, big) in any::<(bool, i32, i64)>(),
        float in proptest::num::f64::ANY,
        time in any_time(),
        guid in any_guid(),
        binary in any::<Vec<u8>>(),
        options in any_options(),
    ) -> All {
        All { partition, row, text, yes, small, big, float, time, guid, binary, options }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(mut entity in any_entity()) {
        let mut body = Vec::new();
        let (partition, row) = (&entity.partition, &entity.row);
        json_write::entity(&mut body, &Serde(entity.clone()), partition, row, None, Dialect::default())
            .unwrap();
        let Serde(mut read) = read_entity::<Serde<All>>(&body, true).unwrap();
        prop_assert_eq!(
            DynamicEntity::from_entity(&Serde(read.clone())).unwrap(),
            read_entity::<DynamicEntity>(&body, true).unwrap()
        );
        // A NaN stays one, but equals nothing; and -0.0 equals 0.0.
        for (float, read) in [
            (entity.float, read.float),
            (
                entity.options.ratio.unwrap_or_default().into(),
                read.options.ratio.unwrap_or_default().into(),
            ),
        ] {
            prop_assert_eq!(EdmValue::Double(float), EdmValue::Double(read));
        }
        prop_assert_eq!(entity.options.ratio.is_some(), read.options.ratio.is_some());
        (entity.float, entity.options.ratio) = (0.0, None);
        (read.float, read.options.ratio) = (0.0, None);
        prop_assert_eq!(read, entity);
    }
}
