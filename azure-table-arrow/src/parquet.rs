//! Parquet files.

mod damage;
mod read;
mod write;

#[cfg(test)]
pub(crate) use read::rows;
pub use read::{ParquetRows, parquet_rows};
pub use write::ParquetWriter;
