//! Rows as the JSON of the service, for files and other programs.

use std::fmt;

use crate::dialect::Dialect;
use crate::entity::{DecodeError, DynamicEntity, EncodeError, Entities, Form};
use crate::wire::{ReadError, json_read, json_write};

impl DynamicEntity {
    /// The entity as JSON in the form of the service: its keys, and its properties with the types that
    /// JSON does not show. The ETag and the Timestamp are not in it.
    ///
    /// Reading it back returns the same values to the last bit, including NaN, the infinities, 100 ns and `Int64`.
    ///
    /// ```
    /// use azure_table_client::DynamicEntity;
    ///
    /// let mut row = DynamicEntity::new("Channel9", "1");
    /// row.set("Views", 5_i64).set("Rating", 3);
    /// let line = row.to_json()?;
    /// assert_eq!(
    ///     line,
    ///     concat!(
    ///         r#"{"PartitionKey":"Channel9","RowKey":"1","#,
    ///         r#""Views@odata.type":"Edm.Int64","Views":"5","Rating":3}"#
    ///     )
    /// );
    /// assert_eq!(DynamicEntity::from_json(&line)?, row);
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    ///
    /// # Errors
    /// The entity cannot be stored: a name, a value or a size is outside what the service holds.
    ///
    /// Source: [Payload format for Table service operations](https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations)
    pub fn to_json(&self) -> Result<String, EncodeError> {
        let mut body = Vec::with_capacity(512);
        let key = self.key();
        let (partition_key, row_key) = (&key.partition_key, &key.row_key);
        json_write::entity(&mut body, self, partition_key, row_key, None, Dialect::default())?;
        String::from_utf8(body).map_err(|error| EncodeError::Other(error.to_string()))
    }

    /// Reads JSON in the form of the service at any metadata level with types: the result of
    /// [`to_json`](Self::to_json), or a row of a response, including its ETag and Timestamp.
    ///
    /// # Errors
    /// The text is not a JSON object, has no keys, or has a value that is not of its type.
    pub fn from_json(json: &str) -> Result<Self, EntityJsonError> {
        json_read::read_one(json.as_bytes(), Form::WHOLE, &Entities).map_err(EntityJsonError)
    }
}

/// The reason why a text is not the JSON of an entity.
#[derive(Debug)]
pub struct EntityJsonError(ReadError);

impl EntityJsonError {
    /// Returns the error of a value or of a missing key; `Err` if the text is not a JSON object.
    #[doc(hidden)]
    pub fn into_decode_error(self) -> Result<DecodeError, Self> {
        match self.0 {
            ReadError::Decode(error) => Ok(error),
            _ => Err(self),
        }
    }
}

impl fmt::Display for EntityJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ReadError::Decode(error) => error.fmt(f),
            _ => f.write_str("this is not the JSON of an entity"),
        }
    }
}

impl std::error::Error for EntityJsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            ReadError::Json(error) => Some(error),
            ReadError::Atom(error) => Some(error),
            ReadError::Decode(error) => error.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_entity() {
        for (json, part) in [
            ("", "not the JSON"),
            ("[]", "not the JSON"),
            (r#"{"PartitionKey":"p"}"#, "RowKey"),
            (r#"{"PartitionKey":"p","RowKey":"r"} x"#, "not the JSON"),
            (r#"{"PartitionKey":"p","RowKey":"r","A@odata.type":"Edm.Int64","A":"x"}"#, "\"A\""),
        ] {
            let error = DynamicEntity::from_json(json).unwrap_err();
            assert!(error.to_string().contains(part), "{json}: {error}");
        }
    }

    #[test]
    fn a_row_of_a_reply_keeps_its_version() {
        let row = DynamicEntity::from_json(
            r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-01T00:00:00Z","A":null}"#,
        )
        .unwrap();
        assert_eq!(row.etag().unwrap().as_str(), "W/\"1\"");
        assert!(row.timestamp().is_some() && row.properties().count() == 0);
    }
}
