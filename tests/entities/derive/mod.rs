//! The properties that `#[derive(TableEntity)]` writes and reads; its compiler errors are in
//! `tests/ci/ui/`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails")]

mod columns;
mod enums;
mod evolution;
mod fields;
mod filters;
mod key_fields;
mod key_ranges;
mod keys;
mod kinds;
mod policies;
mod random;
mod several_properties;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use azure_table_client::auth::Credential;
use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use azure_table_client::entity::{
    DecodeError, DecodeReason, Descending, EncodeError, KeyPart, NamedTable,
};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ETag, Error, ErrorKind, TableEntity, TableServiceClient};
use azure_table_tests::scripted::{Scripted, response};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
    rating: i32,
    r#type: Option<String>,
    #[table(rename = "views_total")]
    views: i64,
    #[table(skip)]
    rating_as_string: String,
}

fn blog() -> Blog {
    Blog {
        channel: "Channel9".into(),
        posted: Descending("2008-10-01T10:00:00Z".parse().unwrap()),
        text: "Hello".into(),
        rating: 3,
        r#type: None,
        views: 7,
        rating_as_string: "three".into(),
    }
}

/// Reads an entity from the JSON of its properties.
async fn read<T: TableEntity + Send + 'static>(properties: &str) -> Result<T, Error> {
    let json = [("content-type", "application/json;odata=minimalmetadata")];
    let page = response(200, &json, format!(r#"{{"value":[{{{properties}}}]}}"#));
    let service = TableServiceClient::builder(
        "https://account.table.core.windows.net",
        Credential::Anonymous,
    )
    .transport(Scripted::always(page))
    .build()?;
    let mut entities = service.table_named::<T>("Blogs").query().await?;
    Ok(entities.pop().expect("one entity"))
}

/// The error of an entity that cannot be read.
async fn refusal<T: TableEntity + Send + std::fmt::Debug + 'static>(
    properties: &str,
) -> DecodeError {
    let error = read::<T>(properties).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
    let source = std::error::Error::source(&error).expect("a source");
    source.downcast_ref::<DecodeError>().expect("a decode error").clone()
}

const KEYS: &str = r#""PartitionKey":"p","RowKey":"r""#;

#[test]
fn names_of_table_and_columns() {
    assert_eq!(Blog::TABLE_NAME, "Blogs");
    assert_eq!(Blog::COLUMNS, ["Text", "Rating", "Type", "views_total"]);
    assert_eq!(MockTableService::new().client().table::<Blog>().name(), "Blogs");
}

#[test]
fn writes_only_the_properties() {
    let dynamic = DynamicEntity::from_entity(&blog()).unwrap();
    assert_eq!(dynamic.key(), &("Channel9", "2521794455999999999").into());
    let properties: Vec<_> =
        dynamic.properties().map(|(name, value)| (name, value.clone())).collect();
    assert_eq!(
        properties,
        [
            ("Text", EdmValue::String("Hello".into())),
            ("Rating", EdmValue::Int32(3)),
            ("views_total", EdmValue::Int64(7)),
        ]
    );
}

#[tokio::test]
async fn reads_what_it_wrote() {
    let blogs = MockTableService::new().client().table::<Blog>();
    blogs.create().await.unwrap();
    let blog = Blog { r#type: Some("post".into()), ..blog() };
    blogs.insert(&blog).await.unwrap();
    let stored = blogs.get(blog.entity_key().unwrap()).await.unwrap();
    assert_eq!(stored.entity, Blog { rating_as_string: String::new(), ..blog });
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Everything {
    #[table(partition_key)]
    partition: Uuid,
    #[table(row_key)]
    row: Descending<EdmDateTime>,
    owned_text: String,
    shared_text: Arc<str>,
    boxed_text: Box<str>,
    static_text: Cow<'static, str>,
    a_bool: bool,
    an_i8: i8,
    an_i16: i16,
    an_i32: i32,
    an_i64: i64,
    a_u8: u8,
    a_u16: u16,
    a_u32: u32,
    an_f32: f32,
    an_f64: f64,
    a_date_time: DateTime<Utc>,
    an_edm_date_time: EdmDateTime,
    a_guid: Uuid,
    a_vec: Vec<u8>,
    some_bytes: Bytes,
    an_option: Option<i64>,
    nothing: Option<f64>,
}

#[tokio::test]
async fn every_type_keeps_its_value() {
    let table = MockTableService::new().client().table_named::<Everything>("Everything");
    table.create().await.unwrap();
    let everything = Everything {
        partition: Uuid::max(),
        row: Descending(EdmDateTime::MIN),
        owned_text: "\u{1f600} 'quoted' \"twice\"".into(),
        shared_text: "".into(),
        boxed_text: "\r\n".into(),
        static_text: Cow::Borrowed("static"),
        a_bool: true,
        an_i8: i8::MIN,
        an_i16: i16::MIN,
        an_i32: i32::MIN,
        an_i64: i64::MIN,
        a_u8: u8::MAX,
        a_u16: u16::MAX,
        a_u32: u32::MAX,
        an_f32: f32::MIN_POSITIVE,
        an_f64: f64::INFINITY,
        a_date_time: "2009-04-14T01:02:03.4567891Z".parse().unwrap(),
        an_edm_date_time: EdmDateTime::MAX,
        a_guid: Uuid::nil(),
        a_vec: vec![0, 255],
        some_bytes: Bytes::new(),
        an_option: Some(5),
        nothing: None,
    };
    table.insert(&everything).await.unwrap();
    let stored = table.get(everything.entity_key().unwrap()).await.unwrap();
    assert_eq!(stored.entity, everything);

    let dynamic = DynamicEntity::from_entity(&everything).unwrap();
    let types: Vec<EdmType> = dynamic.properties().map(|(_, value)| value.edm_type()).collect();
    let mut expected = vec![EdmType::String; 4];
    expected.push(EdmType::Boolean);
    expected.extend([EdmType::Int32; 3]);
    expected.push(EdmType::Int64);
    expected.extend([EdmType::Int32; 2]);
    expected.push(EdmType::Int64);
    expected.extend([EdmType::Double; 2]);
    expected.extend([EdmType::DateTime; 2]);
    expected.push(EdmType::Guid);
    expected.extend([EdmType::Binary; 2]);
    expected.push(EdmType::Int64);
    assert_eq!(types, expected, "and nothing for the None");
}

#[tokio::test]
async fn order_and_further_properties_do_not_matter() {
    let blog: Blog = read(
        r#""views_total":"9","views_total@odata.type":"Edm.Int64","Color":"red","Rating":4,
           "RowKey":"2521794455999999999","Text":"Hi","PartitionKey":"p","Deep":{"a":[1]}"#,
    )
    .await
    .unwrap();
    assert_eq!((blog.rating, blog.views, &*blog.text), (4, 9, "Hi"));
    assert_eq!((&*blog.channel, blog.r#type), ("p", None));
}

#[tokio::test]
async fn errors_name_missing_null_and_mistyped_properties() {
    let of = |rating: &str| {
        format!(
            r#""PartitionKey":"p","RowKey":"2521794455999999999","Text":"Hi"{rating},
               "views_total@odata.type":"Edm.Int64","views_total":"9""#
        )
    };
    for (rating, reason) in [
        ("", "missing (make the field an Option or give it a default)"),
        (r#","Rating":null"#, "null (make the field an Option or give it a default)"),
        (r#","Rating":"4""#, "expected Edm.Int32, found Edm.String"),
        (r#","Rating@odata.type":"Edm.Int64","Rating":"4""#, "expected Edm.Int32, found Edm.Int64"),
    ] {
        let error = refusal::<Blog>(&of(rating)).await;
        assert_eq!(error.property(), "Rating");
        assert_eq!(error.reason().to_string(), reason);
        // The keys are read last, so that errors can name them.
        assert_eq!(error.key(), Some(&("p", "2521794455999999999").into()));
    }
    assert!(read::<Blog>(&of(r#","Rating":4"#)).await.is_ok());
}

#[derive(Debug, PartialEq, TableEntity)]
struct Settings {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: String,
    #[table(default)]
    retries: i32,
    #[table(default = "Settings::default_color")]
    color: String,
    #[table(default = "some")]
    limit: Option<i32>,
    #[table(skip, default = "default_marker")]
    marker: Marker,
}

#[derive(Debug, PartialEq)]
struct Marker(u8);

fn default_marker() -> Marker {
    Marker(9)
}

#[expect(clippy::unnecessary_wraps, reason = "a default is of the field's type")]
fn some() -> Option<i32> {
    Some(10)
}

impl Settings {
    fn default_color() -> String {
        "red".to_owned()
    }

    fn new(retries: i32, color: &str, limit: Option<i32>) -> Self {
        Self {
            tenant: "p".into(),
            id: "r".into(),
            retries,
            color: color.into(),
            limit,
            marker: Marker(9),
        }
    }
}

#[tokio::test]
async fn a_default_replaces_missing_and_null() {
    for (properties, expected) in [
        ("", Settings::new(0, "red", Some(10))),
        (r#","retries":null,"color":null,"limit":null"#, Settings::new(0, "red", Some(10))),
        (r#","retries":5,"color":"","limit":1"#, Settings::new(5, "", Some(1))),
    ] {
        assert_eq!(read::<Settings>(&format!("{KEYS}{properties}")).await.unwrap(), expected);
    }
    let error = refusal::<Settings>(&format!(r#"{KEYS},"color":5"#)).await;
    assert_eq!(error.property(), "color", "a default hides no wrong type");
}

#[derive(Debug, PartialEq, TableEntity)]
struct Versioned {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: String,
    #[table(timestamp)]
    changed: Option<DateTime<Utc>>,
    #[table(etag)]
    version: Option<ETag>,
}

#[derive(Debug, PartialEq, TableEntity)]
struct Strict {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: String,
    #[table(timestamp)]
    changed: EdmDateTime,
    #[table(etag)]
    version: ETag,
}

#[derive(Debug, PartialEq, TableEntity)]
struct WithoutETag<T> {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: String,
    #[table(timestamp)]
    changed: T,
}

const TIMESTAMP: &str = r#""Timestamp":"2009-04-14T01:02:03.4567891Z""#;
const ETAG: &str = r#""odata.etag":"W/\"1\"""#;

#[tokio::test]
async fn timestamp_and_etag_are_read() {
    let ticks: EdmDateTime = "2009-04-14T01:02:03.4567891Z".parse().unwrap();
    let tag = ETag::from("W/\"1\"");
    let both = format!("{KEYS},{TIMESTAMP},{ETAG}");

    let versioned: Versioned = read(&both).await.unwrap();
    assert_eq!(versioned.changed, Some(ticks.to_chrono()));
    assert_eq!(versioned.version.as_ref(), Some(&tag));
    let strict: Strict = read(&both).await.unwrap();
    assert_eq!((strict.changed, &strict.version), (ticks, &tag));
    assert_eq!(read::<WithoutETag<Option<EdmDateTime>>>(&both).await.unwrap().changed, Some(ticks));
    assert_eq!(read::<WithoutETag<DateTime<Utc>>>(&both).await.unwrap().changed, ticks.to_chrono());
}

#[tokio::test]
async fn timestamp_and_etag_may_be_optional() {
    let versioned: Versioned = read(KEYS).await.unwrap();
    assert_eq!((versioned.changed, versioned.version), (None, None));
    assert_eq!(read::<WithoutETag<Option<EdmDateTime>>>(KEYS).await.unwrap().changed, None);

    let without_timestamp = refusal::<Strict>(&format!("{KEYS},{ETAG}")).await;
    let without_etag = refusal::<Strict>(&format!("{KEYS},{TIMESTAMP}")).await;
    let without_chrono = refusal::<WithoutETag<DateTime<Utc>>>(KEYS).await;
    for (error, property) in [
        (without_timestamp, "Timestamp"),
        (without_etag, "odata.etag"),
        (without_chrono, "Timestamp"),
    ] {
        assert_eq!(error.property(), property);
        assert_eq!(error.reason(), &DecodeReason::Missing);
        assert_eq!(error.key(), Some(&("p", "r").into()));
    }

    let error = refusal::<Versioned>(&format!(r#"{KEYS},"Timestamp":"yesterday""#)).await;
    assert_eq!(error.property(), "Timestamp");
}

#[test]
fn timestamp_and_etag_are_not_written() {
    let entity = Strict {
        tenant: "p".into(),
        id: "r".into(),
        changed: EdmDateTime::MAX,
        version: ETag::from("*"),
    };
    assert_eq!(DynamicEntity::from_entity(&entity).unwrap(), DynamicEntity::new("p", "r"));
}

#[tokio::test]
async fn an_invalid_key_is_an_error_that_names_the_field() {
    let error = refusal::<Blog>(
        r#""PartitionKey":"p","RowKey":"yesterday","Text":"","Rating":1,"views_total@odata.type":"Edm.Int64","views_total":"1""#,
    )
    .await;
    assert_eq!(error.property(), "RowKey");
    assert!(matches!(error.reason(), DecodeReason::Key(_)), "{error}");

    let error = refusal::<Strict>(&format!(r#""RowKey":"r",{TIMESTAMP},{ETAG}"#)).await;
    assert_eq!((error.property(), error.reason()), ("PartitionKey", &DecodeReason::Missing));
}

#[test]
fn unsupported_values_are_refused_by_their_column_name() {
    #[derive(TableEntity)]
    #[table(rename_all = "camelCase")]
    struct Event {
        #[table(partition_key)]
        at: Descending<DateTime<Utc>>,
        #[table(row_key)]
        id: String,
        ends_at: DateTime<Utc>,
    }

    let far = DateTime::<Utc>::MAX_UTC;
    let event = |at, ends_at| Event { at: Descending(at), id: "1".into(), ends_at };
    let now = Utc::now();
    assert!(DynamicEntity::from_entity(&event(now, now)).is_ok());
    let error = DynamicEntity::from_entity(&event(now, far)).unwrap_err();
    assert!(matches!(error, EncodeError::Convert { property, .. } if property == "endsAt"));
    let error = DynamicEntity::from_entity(&event(far, now)).unwrap_err();
    assert!(matches!(error, EncodeError::Key(_)), "{error}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Sample<K, V> {
    #[table(partition_key)]
    sensor: K,
    #[table(row_key)]
    at: String,
    value: V,
    previous: Option<V>,
    #[table(skip)]
    unit: std::marker::PhantomData<V>,
}

async fn round_trip<K, V>(sensor: K, value: V)
where
    Sample<K, V>: TableEntity + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static,
    K: KeyPart + Clone,
    V: Clone,
{
    let table = MockTableService::new().client().table_named::<Sample<K, V>>("Samples");
    table.create().await.unwrap();
    let sample = Sample {
        sensor,
        at: "12:00".into(),
        value: value.clone(),
        previous: Some(value),
        unit: std::marker::PhantomData,
    };
    table.insert(&sample).await.unwrap();
    let stored = table.get(sample.entity_key().unwrap()).await.unwrap();
    assert_eq!(stored.entity, sample);
}

#[tokio::test]
async fn generic_entities() {
    round_trip("s1".to_owned(), 21.5).await;
    round_trip(Uuid::nil(), Uuid::max()).await;
    round_trip(Descending(EdmDateTime::MIN), vec![1_u8]).await;
}
