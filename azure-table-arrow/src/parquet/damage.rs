//! Protection against damaged files, for which the `parquet` crate may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// Checks that every column chunk is within a file of `length` bytes, and that the row groups have all rows of the file.
pub(super) fn check(metadata: &ParquetMetaData, length: u64) -> Result<()> {
    let mut rows = 0_i64;
    for group in metadata.row_groups() {
        let counts = group.columns().iter().map(ColumnChunkMetaData::num_values);
        let mut is_valid = counts.chain([group.num_rows()]).all(|count| count >= 0);
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let end = end.and_then(|end| u64::try_from(end).ok());
            is_valid &= start >= 0
                && column.data_page_offset() >= start
                && column.compressed_size() >= 0
                && end.is_some_and(|end| end <= length);
        }
        if !is_valid {
            return Err(damaged("a row group is outside the file"));
        }
        rows = rows.saturating_add(group.num_rows());
    }
    let stated = metadata.file_metadata().num_rows();
    if rows != stated {
        return Err(damaged(&format!("its row groups have {rows} rows instead of {stated}")));
    }
    Ok(())
}

/// Calls the `parquet` crate. A panic is an error; the values that the call used must not be used again.
pub(super) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| damaged("its values contradict each other"))
}

pub(super) fn damaged(reason: &str) -> ParquetError {
    ParquetError::General(format!("the file is damaged: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| 1).unwrap(), 1);
        let error = guarded(|| panic!("expected by the test")).unwrap_err().to_string();
        assert!(error.contains("the file is damaged"), "{error}");
    }
}
