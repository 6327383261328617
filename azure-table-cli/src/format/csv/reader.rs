//! Reads rows from CSV.

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};

use super::super::lines::Lines;
use super::super::value;
use super::columns::parse_column;
use super::record::{self, Field};
use crate::failure::Result;

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    PartitionKey,
    RowKey,
    /// The Timestamp or the ETag, which the service sets.
    System,
    Property(String, EdmType),
}

/// Reads a row from each record after the header.
pub(crate) struct Reader {
    lines: Lines,
    columns: Vec<Column>,
    record: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(mut lines: Lines) -> Result<Self> {
        let mut record = Vec::new();
        let Some(line) = record::read(&mut lines, &mut record)? else {
            return Err(lines.error(1, "the file has no header"));
        };
        let columns = header(&record).map_err(|why| lines.error(line, &why))?;
        Ok(Self { lines, columns, record })
    }

    fn read(&mut self) -> Result<Option<DynamicEntity>> {
        let Some(line) = record::read(&mut self.lines, &mut self.record)? else {
            return Ok(None);
        };
        let row = row(&self.columns, &self.record).map_err(|why| self.lines.error(line, &why))?;
        Ok(Some(row))
    }
}

impl Iterator for Reader {
    type Item = Result<DynamicEntity>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

type Parsed<T> = std::result::Result<T, String>;

fn fields(record: &[u8]) -> Parsed<Vec<Field<'_>>> {
    record::split(std::str::from_utf8(record).map_err(|_| "the record is not UTF-8")?)
}

fn header(record: &[u8]) -> Parsed<Vec<Column>> {
    let mut columns = Vec::new();
    for field in fields(record)? {
        let column = match &*field.text {
            "PartitionKey" => Column::PartitionKey,
            "RowKey" => Column::RowKey,
            "Timestamp" | "ETag" => Column::System,
            text => {
                let (name, ty) = parse_column(text)?;
                Column::Property(name.to_owned(), ty)
            }
        };
        if column != Column::System && columns.contains(&column) {
            return Err(format!("the header has column {:?} twice", field.text));
        }
        columns.push(column);
    }
    for (key, name) in [(Column::PartitionKey, "PartitionKey"), (Column::RowKey, "RowKey")] {
        if !columns.contains(&key) {
            return Err(format!("the header has no column {name}"));
        }
    }
    Ok(columns)
}

fn row(columns: &[Column], record: &[u8]) -> Parsed<DynamicEntity> {
    let fields = fields(record)?;
    let (found, expected) = (fields.len(), columns.len());
    if found != expected {
        return Err(format!("the record has {found} fields, and the header has {expected}"));
    }
    let (mut partition_key, mut row_key) = (String::new(), String::new());
    let mut properties: Vec<(&str, EdmValue)> = Vec::new();
    for (column, field) in columns.iter().zip(fields) {
        match column {
            Column::PartitionKey => partition_key = unescaped(&field).into(),
            Column::RowKey => row_key = unescaped(&field).into(),
            Column::System => {}
            Column::Property(name, ty) => {
                let Some(value) = read_value(*ty, &field) else { continue };
                let value = value.map_err(|why| format!("column {name:?}: {why}"))?;
                if properties.iter().any(|(known, _)| known == name) {
                    return Err(format!("property {name:?} has two values, of different types"));
                }
                properties.push((name, value));
            }
        }
    }
    let mut row = DynamicEntity::new(partition_key, row_key);
    for (name, value) in properties {
        row.set(name, value);
    }
    Ok(row)
}

fn unescaped<'f>(field: &'f Field<'_>) -> &'f str {
    field.text.strip_prefix('\\').unwrap_or(&field.text)
}

/// Reads a value; `None` if the property is missing.
fn read_value(ty: EdmType, field: &Field<'_>) -> Option<Parsed<EdmValue>> {
    let is_text = matches!(ty, EdmType::String | EdmType::Binary);
    if field.text.is_empty() && !(field.is_quoted && is_text) {
        return None;
    }
    Some(value::parse(ty, unescaped(field)))
}
