//! Errors of DataFusion.

use datafusion_common::DataFusionError;

/// The error of the client or of a conversion, which callers can downcast.
pub(crate) fn external(error: impl Into<azure_table_arrow::Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}
