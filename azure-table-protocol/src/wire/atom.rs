//! Entities as Atom, the format of service versions before 2015-12-11 (OData 1.0 to 3.0).
//!
//! An entity is an `entry` whose `content` holds its properties; a page is a `feed` of entries. Elements are
//! recognized by the URI of their namespace, regardless of the prefix; others are ignored.
//!
//! Source: [Payload format for Table service operations][format].
//!
//! [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations

pub mod read;
pub mod write;

use std::fmt::{self, Write as _};

use super::escape::Escaping;

pub(super) use read::read_rows;
pub use read::{read_one, read_page};
pub use write::{entity, table_name};

/// The namespace of feeds, entries and their parts.
pub const ATOM: &str = "http://www.w3.org/2005/Atom";
/// The namespace of properties, by tradition with the prefix `d`.
pub const DATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices";
/// The namespace of types and null markers, by tradition with the prefix `m`.
pub const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";

/// The error of a body that is not Atom.
#[derive(Debug)]
pub enum AtomError {
    /// The body is not XML.
    Xml(quick_xml::Error),
    /// The XML has another form than expected.
    Form(&'static str),
}

impl fmt::Display for AtomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Its text contains names of the document.
            Self::Xml(error) => write!(Escaping(f), "{error}"),
            Self::Form(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for AtomError {}

impl From<quick_xml::Error> for AtomError {
    fn from(error: quick_xml::Error) -> Self {
        Self::Xml(error)
    }
}

#[cfg(test)]
mod tests;
