//! Bodies in the format of a client or a call. The format is checked once for a body, instead of once for each
//! row.

use http::HeaderValue;

use serde::de::Error as _;

use super::{ReadError, atom, headers, json_read, json_write};
use crate::dialect::Dialect;
use crate::entity::{EncodeError, Form, ReadRow, Row, RowConsumer, TableEntity};
use crate::format::{Metadata, PayloadFormat};

#[doc(hidden)]
impl PayloadFormat {
    /// The format that a `Content-Type` names, if it is one.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let kind = media_type.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/atom+xml") {
            return Some(Self::Atom);
        }
        Metadata::of_media_type(media_type).map(Self::Json)
    }

    /// Returns the `Accept` header of the format.
    pub fn accept(self) -> HeaderValue {
        HeaderValue::from_static(self.accepted())
    }

    /// Returns the media types in the `Accept` header of the format.
    #[inline]
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Json(level) => level.media_type(),
            Self::Atom => "application/atom+xml,application/xml",
        }
    }

    /// Returns the media type of request bodies.
    pub fn content_type(self) -> &'static HeaderValue {
        match self {
            Self::Json(_) => &headers::JSON,
            Self::Atom => &headers::ATOM,
        }
    }

    /// Whether the types of properties are in it.
    pub fn is_typed(self) -> bool {
        self != Self::Json(Metadata::None)
    }

    /// Whether both are JSON, or both are Atom.
    pub fn is_like(self, other: Self) -> bool {
        (self == Self::Atom) == (other == Self::Atom)
    }

    /// The name in errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json(_) => "JSON",
            Self::Atom => "Atom",
        }
    }

    /// Writes an entity as the body of an insert, update or merge, and returns the offset of the write id in it; see
    /// [`json_write::entity`].
    pub fn write_entity<T: TableEntity>(
        self,
        out: &mut Vec<u8>,
        entity: &T,
        (partition_key, row_key): (&str, &str),
        write_id: Option<(&str, uuid::Uuid)>,
        dialect: Dialect,
    ) -> Result<Option<usize>, EncodeError> {
        match self {
            Self::Json(_) => {
                json_write::entity(out, entity, partition_key, row_key, write_id, dialect)
            }
            // Cosmos DB has no Atom.
            Self::Atom => atom::entity(out, entity, partition_key, row_key, write_id),
        }
    }

    /// The body that creates a table.
    pub fn write_table_name(self, name: &str) -> Vec<u8> {
        match self {
            Self::Json(_) => json_write::table_name(name),
            Self::Atom => atom::table_name(name),
        }
    }

    /// Passes the rows of a query's reply, or the only row of another reply, to `consume`.
    pub fn read_rows(
        self,
        body: &[u8],
        row: Row<'_>,
        is_page: bool,
        consume: &mut RowConsumer<'_>,
    ) -> Result<(), ReadError> {
        match self {
            Self::Json(_) => json_read::read_rows(body, row, is_page, consume),
            Self::Atom => atom::read_rows(body, row, is_page, consume),
        }
    }

    /// Reads the reply of a point query: one row.
    pub fn read_one<T>(
        self,
        body: &[u8],
        form: Form,
        reader: &dyn ReadRow<T>,
    ) -> Result<T, ReadError> {
        let mut value = None;
        let row = Row::with(reader.columns(), reader.keeps_others(), form);
        self.read_rows(body, row, false, &mut |row| {
            value = Some(reader.read_row(row)?);
            Ok(())
        })?;
        value.ok_or_else(|| ReadError::Json(serde_json::Error::custom("no entity")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_media_types() {
        let of = PayloadFormat::of_media_type;
        assert_eq!(of("application/atom+xml;charset=utf-8"), Some(PayloadFormat::Atom));
        assert_eq!(of("Application/Atom+XML; type=feed"), Some(PayloadFormat::Atom));
        let none = "application/json;odata=nometadata;streaming=true;charset=utf-8";
        assert_eq!(of(none), Some(PayloadFormat::Json(Metadata::None)));
        for other in ["", "application/xml", "text/html", "application/atom", "multipart/mixed"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
