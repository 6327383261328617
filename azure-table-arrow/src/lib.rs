//! Rows of Azure Table Storage and Azure Cosmos DB for Table as Arrow record batches and Parquet files, and back, without
//! loss.
//!
//! | type | purpose |
//! |---|---|
//! | [`TableSchema`] | the columns: declared, of a struct, inferred from rows, or read from Arrow |
//! | [`BatchBuilder`], [`stream`] | rows to record batches |
//! | [`RowReader`] | record batches to rows |
//! | [`ParquetWriter`], [`parquet_rows`] | rows to a Parquet file, and back |
//!
//! ```
//! use azure_table_arrow::{Mixed, RowReader, SchemaOptions, TableSchema, stream};
//! use azure_table_client::{DynamicEntity, mock::MockTableService};
//! use futures_util::TryStreamExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), azure_table_arrow::Error> {
//! let logs = MockTableService::new().client().table_named::<DynamicEntity>("Logs");
//! logs.create().await?;
//! logs.insert(&DynamicEntity::new("p", "1").with("Text", "started").with("Code", 0)).await?;
//! logs.insert(&DynamicEntity::new("p", "2").with("Text", "failed").with("Code", "E42")).await?;
//!
//! // `Code` has two types, so it goes to a JSON column.
//! let options = SchemaOptions::new().mixed(Mixed::rest());
//! let schema = TableSchema::infer(&logs.query().take(1000).await?[..], &options)?;
//! let names: Vec<_> = schema.columns().iter().map(|column| column.name()).collect();
//! assert_eq!(names, ["PartitionKey", "RowKey", "Text", "rest"]);
//!
//! let mut batches = stream(logs.query().stream(), &schema, 8192);
//! while let Some(batch) = batches.try_next().await? {
//!     let rows = RowReader::new(&batch)?.collect::<Result<Vec<_>, _>>()?;
//!     assert_eq!(rows[0].get::<i32>("Code"), Some(Ok(0)));
//!     assert_eq!(rows[1].get::<String>("Code"), Some(Ok("E42".to_owned())));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The service stores no nulls: a null is a property that the row does not have. Texts are valid Unicode, since the client
//! refuses a property with a lone surrogate. [`ColumnType`] lists the types.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod build;
mod column;
mod error;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
mod rest;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod time;

pub use build::BatchBuilder;
pub use column::{Column, ColumnKind, ColumnType, Timestamps};
pub use error::Error;
pub use options::{Mixed, SchemaOptions};
#[cfg(feature = "parquet")]
pub use parquet::{ParquetRows, ParquetWriter, parquet_rows};
pub use read::RowReader;
pub use schema::{SchemaInference, TableSchema};
pub use stream::{BatchStream, stream};

// The example of the README is a test.
#[cfg(all(doctest, feature = "parquet"))]
#[doc = include_str!("../README.md")]
struct Readme;
