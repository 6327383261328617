//! Bodies in the format of a client or a call. The format is checked once for a body, instead of once for each
//! row.

use http::HeaderValue;

use super::{Metadata, ReadError, atom, headers, json_read, json_write};
use crate::dialect::Dialect;
use crate::entity::{EncodeError, Form, ReadRow, TableEntity};

/// The format of requests and responses.
///
/// The [version](super::ServiceVersion) determines the choice:
///
/// | version | formats |
/// |---|---|
/// | before 2013-08-15 | Atom |
/// | from 2013-08-15, before 2015-12-11 | JSON, Atom |
/// | from 2015-12-11 | JSON |
///
/// Source: [Payload format for Table service operations][format].
///
/// [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadFormat {
    /// JSON with this level of metadata.
    Json(Metadata),
    /// Atom (XML), with types and ETags.
    Atom,
}

impl Default for PayloadFormat {
    fn default() -> Self {
        Self::Json(Metadata::default())
    }
}

impl From<Metadata> for PayloadFormat {
    fn from(level: Metadata) -> Self {
        Self::Json(level)
    }
}

impl PayloadFormat {
    /// The format that a `Content-Type` names, if it is one.
    #[doc(hidden)]
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let kind = media_type.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/atom+xml") {
            return Some(Self::Atom);
        }
        Metadata::of_media_type(media_type).map(Self::Json)
    }

    /// Returns the `Accept` header of the format.
    #[doc(hidden)]
    pub fn accept(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json(level) => level.media_type(),
            Self::Atom => "application/atom+xml,application/xml",
        })
    }

    /// Returns the media type of request bodies.
    #[doc(hidden)]
    pub fn content_type(self) -> &'static HeaderValue {
        match self {
            Self::Json(_) => &headers::JSON,
            Self::Atom => &headers::ATOM,
        }
    }

    /// Whether the types of properties are in it.
    #[doc(hidden)]
    pub fn is_typed(self) -> bool {
        self != Self::Json(Metadata::None)
    }

    /// Whether both are JSON, or both are Atom.
    #[doc(hidden)]
    pub fn is_like(self, other: Self) -> bool {
        (self == Self::Atom) == (other == Self::Atom)
    }

    /// The name in errors.
    #[doc(hidden)]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json(_) => "JSON",
            Self::Atom => "Atom",
        }
    }

    /// Writes an entity as the body of an insert, update or merge; see [`json_write::entity`].
    #[doc(hidden)]
    pub fn write_entity<T: TableEntity>(
        self,
        out: &mut Vec<u8>,
        entity: &T,
        (partition_key, row_key): (&str, &str),
        write_id: Option<(&str, uuid::Uuid)>,
        dialect: Dialect,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Json(_) => {
                json_write::entity(out, entity, partition_key, row_key, write_id, dialect)
            }
            // Cosmos DB has no Atom.
            Self::Atom => atom::entity(out, entity, partition_key, row_key, write_id),
        }
    }

    /// The body that creates a table.
    #[doc(hidden)]
    pub fn write_table_name(self, name: &str) -> Vec<u8> {
        match self {
            Self::Json(_) => json_write::table_name(name),
            Self::Atom => atom::table_name(name),
        }
    }

    /// Reads the rows of a query's reply.
    #[doc(hidden)]
    pub fn read_page<T>(
        self,
        body: &[u8],
        form: Form,
        reader: &dyn ReadRow<T>,
    ) -> Result<Vec<T>, ReadError> {
        match self {
            Self::Json(_) => json_read::read_page(body, form, reader),
            Self::Atom => atom::read_page(body, form, reader),
        }
    }

    /// Reads the reply of a point query: one row.
    #[doc(hidden)]
    pub fn read_one<T>(
        self,
        body: &[u8],
        form: Form,
        reader: &dyn ReadRow<T>,
    ) -> Result<T, ReadError> {
        match self {
            Self::Json(_) => json_read::read_one(body, form, reader),
            Self::Atom => atom::read_one(body, form, reader),
        }
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
