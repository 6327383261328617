//! One row as a list of its properties, with their types and whole values.

use azure_table_client::{DynamicEntity, ETag};
use unicode_width::UnicodeWidthStr as _;

use super::{Out, one_line, padded};
use crate::failure::Result;

pub(crate) fn print(row: &DynamicEntity, system: bool) -> Result<()> {
    let text =
        |name: &str, ty: &str, value: &str| (name.to_owned(), ty.to_owned(), one_line(value));
    let mut lines = vec![
        text("PartitionKey", "Edm.String", &row.key().partition_key),
        text("RowKey", "Edm.String", &row.key().row_key),
    ];
    if system {
        let timestamp = row.timestamp().map(|time| time.to_string()).unwrap_or_default();
        lines.push(text("Timestamp", "Edm.DateTime", &timestamp));
        lines.push(text("ETag", "", row.etag().map(ETag::as_str).unwrap_or_default()));
    }
    let properties = row.properties();
    lines.extend(
        properties.map(|(name, value)| {
            text(&one_line(name), value.edm_type().as_str(), &value.to_string())
        }),
    );
    let width = lines.iter().map(|(name, ..)| name.width()).max().unwrap_or_default();
    let mut out = Out::new();
    for (name, ty, value) in lines {
        out.put(&format!("{}  {ty:12}  {value}\n", padded(&name, width)))?;
    }
    out.flush()
}
