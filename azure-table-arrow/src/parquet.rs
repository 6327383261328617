//! Parquet files.

mod damage;
mod read;
mod write;

pub use read::{ParquetRows, parquet_rows};
pub use write::ParquetWriter;
