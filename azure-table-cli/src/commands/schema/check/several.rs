//! Fields of several columns: series, and values in parts.

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;
use azure_table_client::entity::schema::{Layout, PropertySchema};
use azure_table_client::limits;
use azure_table_protocol::entity::PARTS;

/// Returns the columns of a field: those that the row must have, or has.
pub(super) fn columns(property: &PropertySchema, row: &DynamicEntity) -> Vec<String> {
    let name = &property.name;
    match property.layout {
        Layout::Series { digits, size } => {
            let element = |at: usize| format!("{name}{at:0digits$}");
            // A list ends with the last element of the row.
            let position = |column: &str| {
                let at = column.strip_prefix(name)?.parse().ok()?;
                (at < limits::PROPERTIES && element(at) == column).then_some(at)
            };
            let last = || row.properties().filter_map(|(column, _)| position(column)).max();
            let size = size.unwrap_or_else(|| last().map_or(0, |last| last + 1));
            (0..size).map(element).collect()
        }
        Layout::Split => {
            let others =
                (1..parts(property, row).unwrap_or(1)).map(|part| format!("{name}_{part}"));
            std::iter::once(name.clone()).chain(others).collect()
        }
        _ => vec![name.clone()],
    }
}

/// Whether the row has a column of the field.
pub(super) fn is_present(property: &PropertySchema, row: &DynamicEntity) -> bool {
    let parts = (1..PARTS).map(|part| format!("{}_{part}", property.name));
    let parts = parts.filter(|_| property.layout == Layout::Split);
    let own = columns(property, row).into_iter().chain(property.aliases.iter().cloned());
    let mut names = own.chain(parts).chain(number_column(property));
    names.any(|name| row.value(&name).is_some())
}

/// The column with the number of parts, if the field has one.
pub(super) fn number_column(property: &PropertySchema) -> Option<String> {
    (property.layout == Layout::Split).then(|| format!("{}_Parts", property.name))
}

/// The number of parts; `None` if the row has an invalid one.
pub(super) fn parts(property: &PropertySchema, row: &DynamicEntity) -> Option<usize> {
    match row.value(&number_column(property)?) {
        None => Some(1),
        Some(EdmValue::Int32(number)) => {
            usize::try_from(*number).ok().filter(|number| (1..=PARTS).contains(number))
        }
        Some(_) => None,
    }
}

/// Whether a part is as large as a column can be. Another program has written a smaller one before the last.
pub(super) fn is_full(part: &EdmValue) -> bool {
    match part {
        // The next character may have had two units.
        EdmValue::String(text) => text.encode_utf16().count() + 1 >= limits::STRING_UTF16_UNITS,
        EdmValue::Binary(bytes) => bytes.len() == limits::BINARY_BYTES,
        _ => false,
    }
}
