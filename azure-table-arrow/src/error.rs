//! The error of every conversion.

use std::fmt;

use arrow_schema::ArrowError;
use azure_table_client::EntityKey;
use azure_table_client::edm::{EdmDateTime, EdmType};

/// The reason why a conversion failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A request of the query failed.
    Client(azure_table_client::Error),
    /// The schema cannot be used.
    Schema(String),
    /// A property has values of several types, and the options allow only one; see [`Mixed`](crate::Mixed).
    MixedTypes {
        /// The name of the property.
        property: String,
        /// Its types, each with the first row that has it.
        found: Vec<(EdmType, EntityKey)>,
    },
    /// A row does not fit the schema. It was not added to the batch.
    Row {
        /// The key of the row.
        key: EntityKey,
        /// The property or the column, if the row has only this problem.
        column: String,
        /// The contradiction.
        reason: String,
    },
    /// A date-time is outside the years of [`Timestamps::Nanos`](crate::Timestamps::Nanos). The row was not added to the batch.
    TimeOutOfRange {
        /// The key of the row.
        key: EntityKey,
        /// The property or the column.
        column: String,
        /// The value.
        time: EdmDateTime,
    },
    /// A record batch has no rows of a table: a value, a column or its type is wrong.
    Batch {
        /// The column.
        column: String,
        /// The number of the row in the batch, from 0; `None` if the whole column is wrong.
        row: Option<usize>,
        /// The contradiction.
        reason: String,
    },
    /// Arrow refused to build a batch.
    Arrow(ArrowError),
    /// A Parquet file could not be written, or is damaged.
    #[cfg(feature = "parquet")]
    Parquet(parquet::errors::ParquetError),
}

impl Error {
    pub(crate) fn row(key: &EntityKey, column: &str, reason: impl Into<String>) -> Self {
        Self::Row { key: key.clone(), column: column.to_owned(), reason: reason.into() }
    }

    pub(crate) fn batch(column: &str, row: Option<usize>, reason: impl Into<String>) -> Self {
        Self::Batch { column: column.to_owned(), row, reason: reason.into() }
    }
}

/// Escapes the control characters of a message that may quote a file.
fn printable(message: &str) -> String {
    message.chars().fold(String::with_capacity(message.len()), |mut text, character| {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
        text
    })
}

/// Names of columns are escaped, since a file may have any.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Schema(reason) => write!(f, "invalid schema: {reason}"),
            Self::MixedTypes { property, found } => {
                write!(f, "mixed column: the property {property:?} has several types (")?;
                for (at, (edm_type, key)) in found.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{edm_type} in row {key}")?;
                }
                f.write_str("); declare its type, or choose a rest column")
            }
            Self::Row { key, column, reason } => {
                write!(f, "row {key} does not fit the schema: {column:?} {reason}")
            }
            Self::TimeOutOfRange { key, column, time } => write!(
                f,
                "row {key} does not fit the schema: {column:?} is outside the range of nanoseconds, 1677-09-21 to \
                 2262-04-11 ({time}); choose microseconds or ticks"
            ),
            Self::Batch { column, row: Some(row), reason } => {
                write!(f, "invalid batch: column {column:?}, row {row}: {reason}")
            }
            Self::Batch { column, row: None, reason } => {
                write!(f, "invalid batch: column {column:?} {reason}")
            }
            Self::Arrow(error) => {
                write!(f, "batch not built: {}", printable(&error.to_string()))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(error) => {
                // Each error that wraps another one repeats these words.
                let reason = error.to_string().replace("Parquet error: ", "");
                write!(f, "parquet: {}", printable(&reason))
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            Self::Arrow(error) => Some(error),
            #[cfg(feature = "parquet")]
            Self::Parquet(error) => Some(error),
            Self::Schema(_)
            | Self::MixedTypes { .. }
            | Self::Row { .. }
            | Self::TimeOutOfRange { .. }
            | Self::Batch { .. } => None,
        }
    }
}

impl From<azure_table_client::Error> for Error {
    fn from(error: azure_table_client::Error) -> Self {
        Self::Client(error)
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

#[cfg(feature = "parquet")]
impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Parquet(error)
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use parquet::errors::ParquetError;

    use super::*;

    #[test]
    fn the_name_of_the_format_is_stated_once() {
        let inner = ParquetError::General("the footer is damaged".to_owned());
        let outer = ParquetError::General(inner.to_string());
        assert_eq!(Error::Parquet(outer).to_string(), "parquet: the footer is damaged");
    }
}
