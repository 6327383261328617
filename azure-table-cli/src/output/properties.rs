//! One row as a list of its properties, with their types and whole values.

use super::{Out, one_line, padded, width};
use crate::failure::Result;
use azure_table_client::{DynamicEntity, ETag};

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
    let columns = lines.iter().map(|(name, ..)| width(name)).max().unwrap_or_default();
    let mut out = Out::new();
    for (name, ty, value) in lines {
        out.put(&format!("{}  {ty:12}  {value}\n", padded(&name, columns)))?;
    }
    out.flush()
}
