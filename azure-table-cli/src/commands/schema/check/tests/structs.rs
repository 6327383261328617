//! Entities that the compiler and `--check` read.

#![allow(dead_code, reason = "the rows are compared, not the fields")]

use std::time::Duration;

use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{DecodeError, Descending, PropertyGroup};
use azure_table_client::{DynamicEntity, ETag, TableEntity, TableEnum, TableValue};
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use uuid::Uuid;

/// All types.
#[derive(TableEntity)]
#[table(name = "Types", rename_all = "PascalCase", crate = "azure_table_client", no_constructors)]
pub(super) struct Types {
    #[table(partition_key)]
    pub(super) p: String,
    #[table(row_key)]
    pub(super) r: Box<str>,
    #[table(timestamp)]
    pub(super) changed: Option<DateTime<Utc>>,
    #[table(etag)]
    pub(super) version: Option<ETag>,
    pub(super) text: String,
    pub(super) shared: std::sync::Arc<str>,
    pub(super) is_ready: bool,
    pub(super) a: i8,
    pub(super) b: i16,
    pub(super) c: i32,
    pub(super) d: u8,
    pub(super) e: u16,
    pub(super) f: u32,
    pub(super) g: i64,
    pub(super) h: f32,
    pub(super) i: f64,
    pub(super) j: EdmDateTime,
    pub(super) k: DateTime<Utc>,
    pub(super) l: NaiveDateTime,
    pub(super) m: NaiveDate,
    pub(super) n: Uuid,
    pub(super) o: Vec<u8>,
    pub(super) q: [u8; 4],
    pub(super) s: Duration,
    pub(super) t: TimeDelta,
    pub(super) color: Color,
    pub(super) level: Level,
    pub(super) open: Open,
    #[table(skip)]
    pub(super) skipped: u8,
}

#[derive(Default, TableEnum)]
#[table(rename_all = "lowercase")]
pub(super) enum Color {
    #[default]
    Red,
    #[table(rename = "Blue", alias = "blau")]
    Sky,
}

#[derive(TableEnum)]
#[table(as_i32)]
pub(super) enum Level {
    Low = 4,
    High,
}

#[derive(TableEnum)]
pub(super) enum Open {
    A,
    #[table(other)]
    Other(String),
}

/// Attributes on properties.
#[derive(TableEntity)]
#[table(deny_unknown, rename_all = "camelCase", row_key = "only", on_mistyped = "default")]
pub(super) struct Attributes {
    #[table(partition_key, also_property, rename = "Id")]
    pub(super) id: u32,
    #[table(rename = "Text", alias = "Body", alias = "body", on_mistyped = "error")]
    pub(super) text: String,
    #[table(default, on_mistyped = "error")]
    pub(super) with_default: i32,
    #[table(on_missing = "default")]
    pub(super) tolerant: Color,
    #[table(skip_if = "Option::is_none", on_mistyped = "error")]
    pub(super) maybe: Option<u8>,
    #[table(on_missing = "error", on_mistyped = "error")]
    pub(super) demanded: Option<bool>,
    #[table(accept = "widened", on_mistyped = "error")]
    pub(super) wide: i64,
    #[table(accept = "lenient", on_mistyped = "error")]
    pub(super) loose: Option<Uuid>,
    #[table(as_string, on_mistyped = "error")]
    pub(super) large: u64,
    #[table(as_i64, on_mistyped = "error")]
    pub(super) size: Option<u64>,
    #[table(as_i32, on_mistyped = "error")]
    pub(super) small: u128,
    #[table(as_json, on_mistyped = "error")]
    pub(super) list: Vec<i32>,
    #[table(as_padded, on_mistyped = "error")]
    pub(super) padded: u64,
}

/// Errors that are collected, and other columns that are kept.
#[derive(TableEntity)]
#[table(accept = "lenient", on_missing = "collect", on_mistyped = "collect")]
pub(super) struct Collected {
    #[table(partition_key)]
    pub(super) p: Descending<u16>,
    #[table(row_key)]
    pub(super) r: NaiveDate,
    pub(super) n: i32,
    #[table(accept = "exact", on_mistyped = "error")]
    pub(super) exact: Option<i64>,
    #[table(extra)]
    pub(super) others: Vec<(String, azure_table_client::edm::EdmValue)>,
    #[table(errors)]
    pub(super) errors: Vec<DecodeError>,
}

/// Keys of other types.
#[derive(TableEntity)]
pub(super) struct Keys {
    #[table(partition_key)]
    pub(super) p: Color,
    #[table(row_key)]
    pub(super) r: Descending<DateTime<Utc>>,
}

#[derive(TableEntity)]
pub(super) struct MoreKeys {
    #[table(partition_key)]
    pub(super) p: NaiveDateTime,
    #[table(row_key)]
    pub(super) r: bool,
}

#[derive(TableEntity)]
pub(super) struct Post {
    #[table(partition_key)]
    pub(super) p: i8,
    #[table(row_key)]
    pub(super) r: Uuid,
    pub(super) text: String,
}

#[derive(TableEntity)]
#[table(deny_unknown)]
pub(super) struct Photo {
    #[table(partition_key)]
    pub(super) p: String,
    #[table(row_key)]
    pub(super) r: String,
    pub(super) size: i64,
}

#[derive(TableEntity)]
#[table(name = "Items", discriminator = "Kind", rename_all = "snake_case")]
pub(super) enum Item {
    Post(Post),
    #[table(rename = "Pic")]
    Photo(Photo),
}

#[derive(TableEntity)]
#[table(discriminator = "Kind")]
pub(super) enum Any {
    Photo(Photo),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(TableValue)]
pub(super) struct Name(pub(super) String);

#[derive(TableValue)]
pub(super) struct Ratio(pub(super) f64);

#[derive(PropertyGroup)]
pub(super) struct Place {
    pub(super) x: Ratio,
}

#[derive(PropertyGroup)]
#[table(rename_all = "PascalCase")]
pub(super) struct Address {
    #[table(alias = "town")]
    pub(super) city: String,
    pub(super) code: Option<i32>,
    #[table(flatten = "At_")]
    pub(super) place: Place,
}

/// Fields of several properties.
#[derive(TableEntity)]
pub(super) struct Several {
    #[table(partition_key)]
    pub(super) p: Name,
    #[table(row_key)]
    pub(super) r: u64,
    #[table(flatten = "Home_")]
    pub(super) home: Address,
    #[table(flatten = "Work_")]
    pub(super) work: Option<Address>,
    #[table(flatten)]
    pub(super) other: Option<Place>,
    #[table(series)]
    pub(super) cpu: [f64; 3],
    #[table(series = "Load{}", default)]
    pub(super) load: Vec<i32>,
    #[table(series = "Gap{:03}", accept = "lenient")]
    pub(super) gaps: Vec<Option<i64>>,
    #[table(split)]
    pub(super) text: String,
    #[table(split, rename = "Data", default)]
    pub(super) data: Vec<u8>,
    #[table(with = "day")]
    pub(super) day: u8,
}

#[allow(
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    reason = "the functions of a codec"
)]
mod day {
    use azure_table_client::edm::ConvertError;

    pub(super) fn encode(day: &u8) -> Result<String, ConvertError> {
        Ok(day.to_string())
    }

    pub(super) fn decode(text: String) -> Result<u8, ConvertError> {
        text.parse().map_err(|_| ConvertError::Other(format!("{text:?} is not a day")))
    }
}

/// Keys of several parts.
#[derive(TableEntity)]
#[table(partition_key = "{channel}_{year:04}", row_key(id))]
pub(super) struct Parts {
    pub(super) channel: String,
    #[table(also_property)]
    pub(super) year: u16,
    pub(super) id: u32,
    pub(super) text: String,
}
