//! Every type that a field can have.

use std::borrow::Cow;
use std::sync::Arc;

use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{Bucketed, Descending, Escaped, NamedTable};
use azure_table_client::{ETag, TableEntity, TableEnum, TableValue};
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", rename_all = "camelCase")]
struct Everything {
    #[table(partition_key)]
    id: Uuid,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    #[table(timestamp)]
    changed: Option<DateTime<Utc>>,
    #[table(etag)]
    version: Option<ETag>,
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
    some_bytes: bytes::Bytes,
    boxed_bytes: Box<[u8]>,
    an_array: [u8; 32],
    a_date: NaiveDate,
    a_naive_time: NaiveDateTime,
    a_duration: std::time::Duration,
    a_delta: TimeDelta,
    descending: Descending<i32>,
    escaped: Escaped,
    a_newtype: UserId,
    a_choice: Level,
    #[table(as_json)]
    json: Vec<(String, u8)>,
    #[table(on_inexact = "error")]
    exact: DateTime<Utc>,
    an_option: Option<i64>,
    #[table(default)]
    a_default: Option<String>,
    #[table(default = "Vec::new", rename = "Größe")]
    a_function: Vec<u8>,
    #[table(skip)]
    skipped: std::time::Duration,
    #[table(skip, default = "std::time::Instant::now")]
    without_default: std::time::Instant,
}

#[derive(Debug, Clone, PartialEq, TableValue)]
struct UserId(String);

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(as_i32)]
enum Level {
    Low,
    High,
}

#[derive(TableEntity)]
#[table(row_key(span, delta, user, naive, level))]
struct Keys {
    #[table(partition_key)]
    day: Bucketed<NaiveDate, 4>,
    span: std::time::Duration,
    delta: TimeDelta,
    #[table(also_property)]
    user: UserId,
    naive: NaiveDateTime,
    level: Level,
}

#[derive(TableEntity)]
struct KeysOnly {
    #[table(partition_key)]
    partition: Arc<str>,
    #[table(row_key)]
    row: Descending<EdmDateTime>,
    #[table(timestamp)]
    changed: EdmDateTime,
    #[table(etag)]
    version: ETag,
}

#[derive(TableEntity)]
#[table(name = "$MetricsCapacityBlob")]
struct Others {
    #[table(timestamp)]
    changed: DateTime<Utc>,
    #[table(row_key)]
    row: Box<str>,
    #[table(partition_key)]
    partition: Cow<'static, str>,
    #[table(rename = "rowkey")]
    #[table(default)]
    text: String,
}

#[derive(TableEntity)]
struct OptionalTicks {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    #[table(timestamp)]
    changed: Option<EdmDateTime>,
}

fn main() {
    assert_eq!(Everything::TABLE_NAME, "Everything");
    assert_eq!(Everything::COLUMNS.len(), 34);
    assert_eq!(Keys::COLUMNS, ["user"]);
    assert_eq!(Everything::COLUMNS.first(), Some(&"ownedText"));
    assert_eq!(Everything::COLUMNS.last(), Some(&"Größe"));
    assert!(KeysOnly::COLUMNS.is_empty());
    assert_eq!(Others::TABLE_NAME, "$MetricsCapacityBlob");
    assert_eq!(Others::COLUMNS, ["rowkey"]);
    assert!(OptionalTicks::COLUMNS.is_empty());
}
