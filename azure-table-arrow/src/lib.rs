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
//! The service stores no nulls: a null is a property that the row does not have. Texts are valid Unicode, since the client
//! refuses a property with a lone surrogate. [`ColumnType`] lists the types.

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
