//! CSV: a header with the name and type of each column, then a record for each row.
//!
//! An empty field is a missing property. A field that begins with a backslash is escaped: the value is the text after
//! it, so that `\` alone is the empty string. A quoted empty field is the empty string too.

mod columns;
mod reader;
mod record;
mod writer;

pub(crate) use columns::Columns;
pub(super) use reader::Reader;
pub(crate) use writer::Writer;
