//! Rows as the JSON of the service, for files and other programs.

use crate::dialect::Dialect;
use crate::entity::{DynamicEntity, Entities, Form};
use crate::error::Error;
use crate::wire::{Metadata, PayloadFormat, ReadError, json_write};

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
    pub fn to_json(&self) -> Result<String, Error> {
        let mut body = Vec::with_capacity(512);
        let key = self.key();
        let (partition_key, row_key) = (&key.partition_key, &key.row_key);
        json_write::entity(&mut body, self, partition_key, row_key, None, Dialect::default())?;
        String::from_utf8(body).map_err(|error| {
            Error::invalid_input("the entity is not valid UTF-8").with_source(error)
        })
    }

    /// Reads JSON in the form of the service at any metadata level with types: the result of
    /// [`to_json`](Self::to_json), or a row of a response, including its ETag and Timestamp.
    ///
    /// # Errors
    /// The text is not a JSON object, has no keys, or has a value that is not of its type.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let format = PayloadFormat::Json(Metadata::Minimal);
        format.read_one(json.as_bytes(), Form::WHOLE, &Entities).map_err(|error| match error {
            ReadError::Json(error) => {
                Error::invalid_input("this is not the JSON of an entity").with_source(error)
            }
            ReadError::Atom(error) => Error::invalid_input(error.to_string()),
            ReadError::Decode(error) => Error::from(error),
        })
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
