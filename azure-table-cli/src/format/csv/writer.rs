//! Writes rows as CSV.

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, ETag};

use super::super::{Output, RowWriter};
use super::columns::{Columns, Positions};
use super::record::push_field;
use crate::failure::{Exit, Failure, Result};

/// Writes the header, then a record for each row.
pub(crate) struct Writer {
    out: Output,
    positions: Positions,
    /// The number of columns of properties.
    width: usize,
    /// Whether the ETag and the Timestamp are written.
    system: bool,
    record: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(mut out: Output, columns: &Columns, system: bool) -> Result<Self> {
        let mut record = b"PartitionKey,RowKey".to_vec();
        if system {
            record.extend_from_slice(b",Timestamp,ETag");
        }
        for (name, ty) in columns.iter() {
            record.push(b',');
            push_field(&mut record, &format!("{name}@{ty}"));
        }
        record.push(b'\n');
        out.put(&record)?;
        let (positions, width) = (columns.positions(), columns.iter().count());
        Ok(Self { out, positions, width, system, record })
    }
}

impl RowWriter for Writer {
    fn write(&mut self, row: &DynamicEntity) -> Result<()> {
        let mut values = vec![None; self.width];
        for (name, value) in row.properties() {
            let Some(position) = self.positions.of(name, value) else {
                let ty = value.edm_type();
                let key = row.key();
                return Err(Failure::new(
                    Exit::Failed,
                    format!(
                        "row {key} cannot be written: no column is {:?}",
                        format!("{name}@{ty}")
                    ),
                ));
            };
            values[position] = Some(value);
        }
        self.record.clear();
        let record = &mut self.record;
        push_value(record, &row.key().partition_key);
        record.push(b',');
        push_value(record, &row.key().row_key);
        if self.system {
            record.push(b',');
            push_field(record, &row.timestamp().map(|at| at.to_string()).unwrap_or_default());
            record.push(b',');
            push_field(record, row.etag().map(ETag::as_str).unwrap_or_default());
        }
        for value in values {
            record.push(b',');
            match value {
                None => {}
                Some(EdmValue::String(text)) => push_value(record, text),
                Some(value) => push_value(record, &value.to_string()),
            }
        }
        record.push(b'\n');
        self.out.put(record)
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        self.out.end()
    }
}

/// Appends the text of a value. Escapes a text that would be read as a missing value or as an escape.
fn push_value(record: &mut Vec<u8>, text: &str) {
    if text.is_empty() || text.starts_with('\\') {
        push_field(record, &format!("\\{text}"));
    } else {
        push_field(record, text);
    }
}
