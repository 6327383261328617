//! JSON lines: each line is a row in the JSON of the service.

mod members;

use azure_table_client::edm::{EdmType, EdmValue};
use azure_table_client::{DynamicEntity, Error};
use serde::Serialize;

use super::lines::Lines;
use super::list::{Head, Lists};
use super::{Output, RowWriter};
use crate::failure::{Failure, Result};

/// Writes a line for each row.
pub(crate) struct Writer {
    out: Output,
    /// Whether the ETag and the Timestamp are written.
    system: bool,
    line: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(out: Output, system: bool) -> Self {
        Self { out, system, line: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.out.bytes()
    }

    /// Hands all lines to the file.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.end().map(|_| ())
    }
}

impl RowWriter for Writer {
    fn write(&mut self, row: &DynamicEntity) -> Result<()> {
        self.line.clear();
        push_row(&mut self.line, row, self.system);
        self.line.push(b'\n');
        self.out.put(&self.line)
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        self.out.end()
    }
}

/// Appends a row as one JSON object.
///
/// The form is that of `DynamicEntity::to_json`, without its check of limits: a row that a service returned is written
/// even if another service would not store it.
pub(crate) fn push_row(out: &mut Vec<u8>, row: &DynamicEntity, system: bool) {
    out.push(b'{');
    if let Some(etag) = row.etag().filter(|_| system) {
        out.extend_from_slice(b"\"odata.etag\":");
        push_json(out, etag.as_str());
        out.push(b',');
    }
    out.extend_from_slice(b"\"PartitionKey\":");
    push_json(out, &row.key().partition_key);
    out.extend_from_slice(b",\"RowKey\":");
    push_json(out, &row.key().row_key);
    if let Some(timestamp) = row.timestamp().filter(|_| system) {
        out.extend_from_slice(format!(",\"Timestamp\":\"{timestamp}\"").as_bytes());
    }
    for (name, value) in row.properties() {
        out.push(b',');
        push_property(out, name, value);
    }
    out.push(b'}');
}

fn push_property(out: &mut Vec<u8>, name: &str, value: &EdmValue) {
    push_json(out, name);
    let ty = value.edm_type();
    if !matches!(ty, EdmType::String | EdmType::Boolean | EdmType::Int32) {
        // The annotation precedes the value: it follows the name, in place of the quote.
        out.pop();
        out.extend_from_slice(b"@odata.type\":\"");
        out.extend_from_slice(ty.as_str().as_bytes());
        out.extend_from_slice(b"\",");
        push_json(out, name);
    }
    out.push(b':');
    match value {
        EdmValue::String(text) => push_json(out, text),
        EdmValue::Boolean(value) => push_json(out, value),
        EdmValue::Int32(value) => push_json(out, value),
        EdmValue::Double(value) if value.is_finite() => push_json(out, value),
        // These texts need no escapes.
        other => out.extend_from_slice(format!("\"{other}\"").as_bytes()),
    }
}

fn push_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Writing a text or a number as JSON to a Vec cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// Reads a row from its JSON object. A value that would change silently is an error.
pub(crate) fn read_row(text: &str) -> std::result::Result<DynamicEntity, String> {
    let row = DynamicEntity::from_json(text);
    let row = row.map_err(|error| Failure::from(Error::from(error)).message().to_owned())?;
    members::check(text)?;
    Ok(row)
}

/// Reads a row from each line that is not blank.
pub(super) struct Reader {
    lines: Lines,
    line: Vec<u8>,
    /// What is taken of a list; `None` if the file cannot be one.
    lists: Option<Lists>,
    is_list: bool,
}

impl Reader {
    pub(super) fn new(lines: Lines, lists: Option<Lists>) -> Self {
        Self { lines, line: Vec::new(), lists, is_list: false }
    }

    fn read(&mut self) -> Result<Option<DynamicEntity>> {
        loop {
            self.line.clear();
            if !self.lines.append_to(&mut self.line)? {
                return Ok(None);
            }
            if self.line.trim_ascii().is_empty() || self.begins_list()? {
                continue;
            }
            let error = |why: &str| self.lines.error(self.lines.number(), why);
            let line = std::str::from_utf8(self.line.trim_ascii_end())
                .map_err(|_| error("the line is not UTF-8"))?;
            let row = match &self.lists {
                Some(lists) if self.is_list => lists.row(line, read_row),
                _ => read_row(line).map(Some),
            };
            if let Some(row) = row.map_err(|why| error(&why))? {
                return Ok(Some(row));
            }
        }
    }

    /// Whether the line is the first one of a list.
    fn begins_list(&mut self) -> Result<bool> {
        let Some(lists) = self.lists.as_ref().filter(|_| self.lines.number() == 1) else {
            return Ok(false);
        };
        let head = Head::read(self.lines.name(), &self.line)?;
        if let Some(head) = &head {
            lists.begin(self.lines.name(), head)?;
        }
        self.is_list = head.is_some();
        Ok(self.is_list)
    }
}

impl Iterator for Reader {
    type Item = Result<DynamicEntity>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
