//! Structs with most features of the derive.

#![expect(dead_code, reason = "the fields are decoded but never used")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::{
    DecodeError, Descending, EncodeError, KeyError, PropertyWriter, Row,
};
use azure_table_client::filter::Projection;
use azure_table_client::{DynamicEntity, ETag, TableEntity};
use chrono::{DateTime, Utc};
use uuid::Uuid;

/// Every type; anything invalid is an error.
#[derive(Debug, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
pub(super) struct Strict {
    #[table(partition_key)]
    pub(super) partition: String,
    #[table(row_key)]
    pub(super) row: String,
    #[table(timestamp)]
    pub(super) changed: Option<EdmDateTime>,
    #[table(etag)]
    pub(super) version: Option<ETag>,
    #[table(alias = "Body")]
    pub(super) text: String,
    pub(super) yes: Option<bool>,
    pub(super) small: Option<i32>,
    pub(super) big: Option<i64>,
    pub(super) double: Option<f64>,
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) guid: Option<Uuid>,
    pub(super) bytes: Option<Vec<u8>>,
}

/// Reads valid properties, and collects the errors of the others.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase", partition_key = "{channel}_{year:inv4}", row_key(rating, id))]
#[table(on_missing = "default", on_null = "default", on_mistyped = "collect", accept = "widened")]
pub(super) struct Lenient {
    pub(super) channel: String,
    pub(super) year: i32,
    pub(super) rating: Descending<u8>,
    pub(super) id: String,
    pub(super) text: String,
    pub(super) big: i64,
    pub(super) double: f64,
    #[table(as_i64)]
    pub(super) views: u64,
    #[table(series = "Cpu{:02}")]
    pub(super) cpu: Vec<Option<f64>>,
    #[table(split)]
    pub(super) long: String,
    #[table(extra)]
    pub(super) others: BTreeMap<String, EdmValue>,
    #[table(errors)]
    pub(super) errors: Vec<DecodeError>,
}

/// Several kinds in one table.
#[derive(Debug, TableEntity)]
#[table(discriminator = "Kind")]
pub(super) enum Item {
    Strict(Strict),
    Lenient(Lenient),
    #[table(other)]
    Other(DynamicEntity),
}

/// Written without the derive: columns that are system properties, and one that is there twice.
#[derive(Debug)]
pub(super) struct Handwritten {
    timestamp: Option<String>,
    texts: [Option<String>; 2],
    partition: Option<String>,
    changed: Option<EdmDateTime>,
}

impl TableEntity for Handwritten {
    const COLUMNS: &'static [&'static str] = &["Timestamp", "Text", "Text", "PartitionKey"];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(self.partition.as_deref().unwrap_or_default().into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("".into())
    }

    fn write_properties(&self, _: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            timestamp: row.optional(0)?,
            texts: [row.optional(1)?, row.optional(2)?],
            partition: row.optional(3)?,
            changed: row.timestamp()?,
        })
    }
}

/// Some columns of [`Strict`].
#[derive(Debug, Projection)]
#[table(of = "Strict")]
pub(super) struct Summary {
    pub(super) row: String,
    pub(super) text: String,
    pub(super) big: Option<i64>,
}
