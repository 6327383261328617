//! Entities as Atom.

use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use uuid::fmt::Hyphenated;

use super::{ATOM, DATA, METADATA};
use crate::edm::{EdmCow, EdmType};
use crate::entity::{EncodeError, PropertyName, PropertySink, PropertyWriter, TableEntity};
use crate::wire::xml;

/// Writes an entity as the body of an insert, update or merge, with the keys under which it is
/// addressed, and the id of the write in its column. Returns the offset of that id in the body. After an error `out`
/// ends with a part of the body.
pub fn entity<T: TableEntity>(
    out: &mut Vec<u8>,
    entity: &T,
    partition_key: &str,
    row_key: &str,
    write_id: Option<(&str, uuid::Uuid)>,
) -> Result<Option<usize>, EncodeError> {
    let start = out.len();
    begin(out);
    property(out, "PartitionKey", &EdmCow::String(partition_key.into()));
    property(out, "RowKey", &EdmCow::String(row_key.into()));
    let mut body = AtomBody(out);
    let mut writer = PropertyWriter::new(&mut body, partition_key, row_key).write_id(write_id);
    entity.write_properties(&mut writer)?;
    writer.finish()?;
    // The id is the last property.
    let end_of_id = |column: &str| out.len() - start - format!("</d:{column}>").len();
    let offset = write_id.map(|(column, _)| end_of_id(column) - Hyphenated::LENGTH);
    end(out);
    Ok(offset)
}

/// The body that creates a table.
pub fn table_name(name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    begin(&mut out);
    typed(&mut out, "TableName", EdmType::String, name);
    end(&mut out);
    out
}

/// Writes an entry up to its properties. Atom requires a title, an author and an id.
fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(xml::DECLARATION);
    // Writing to a Vec cannot fail.
    let _ = write!(
        out,
        "<entry xmlns:d=\"{DATA}\" xmlns:m=\"{METADATA}\" xmlns=\"{ATOM}\"><title /><author>\
         <name /></author><id /><content type=\"application/xml\"><m:properties>"
    );
}

fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"</m:properties></content></entry>");
}

struct AtomBody<'o>(&'o mut Vec<u8>);

impl PropertySink for AtomBody<'_> {
    fn put(&mut self, name: PropertyName<'_>, value: EdmCow<'_>) {
        property(self.0, name.text, &value);
    }
}

/// Writes a property with its type; a String needs no type.
pub fn property(out: &mut Vec<u8>, name: &str, value: &EdmCow<'_>) {
    // Writing to a Vec cannot fail.
    let _ = match value {
        EdmCow::String(text) => return typed(out, name, EdmType::String, text),
        EdmCow::Boolean(value) => element(out, name, EdmType::Boolean, value),
        EdmCow::Int32(value) => element(out, name, EdmType::Int32, value),
        EdmCow::Int64(value) => element(out, name, EdmType::Int64, value),
        EdmCow::Double(value) if value.is_nan() => element(out, name, EdmType::Double, "NaN"),
        EdmCow::Double(value) if value.is_infinite() => {
            let sign = if *value < 0.0 { "-" } else { "" };
            element(out, name, EdmType::Double, format_args!("{sign}INF"))
        }
        // Unlike Display, Debug keeps the fraction of 1.0 and writes 1e300 with an exponent.
        EdmCow::Double(value) => element(out, name, EdmType::Double, format_args!("{value:?}")),
        EdmCow::DateTime(value) => element(out, name, EdmType::DateTime, value),
        EdmCow::Guid(value) => element(out, name, EdmType::Guid, value),
        EdmCow::Binary(bytes) => {
            element(out, name, EdmType::Binary, Base64Display::new(bytes, &STANDARD))
        }
    };
}

/// A property of this type from its text.
pub fn typed(out: &mut Vec<u8>, name: &str, ty: EdmType, text: &str) {
    open(out, name, ty);
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    if ty == EdmType::String && (text.starts_with(is_blank) || text.ends_with(is_blank)) {
        out.extend_from_slice(b" xml:space=\"preserve\"");
    }
    out.push(b'>');
    xml::push_text(out, text);
    close(out, name);
}

/// A value whose text has nothing to escape.
fn element(
    out: &mut Vec<u8>,
    name: &str,
    ty: EdmType,
    value: impl std::fmt::Display,
) -> std::io::Result<()> {
    open(out, name, ty);
    write!(out, ">{value}")?;
    close(out, name);
    Ok(())
}

fn open(out: &mut Vec<u8>, name: &str, ty: EdmType) {
    let _ = match ty {
        EdmType::String => write!(out, "<d:{name}"),
        _ => write!(out, "<d:{name} m:type=\"{ty}\""),
    };
}

fn close(out: &mut Vec<u8>, name: &str) {
    let _ = write!(out, "</d:{name}>");
}
