//! The JSON of the rest column.

use std::collections::BTreeMap;

use azure_table_client::edm::EdmValue;

/// Returns the JSON of properties: `{"Value":{"Int64":7}}`.
pub(crate) fn to_json(properties: &BTreeMap<&str, &EdmValue>) -> serde_json::Result<String> {
    serde_json::to_string(properties)
}

/// Reads the properties.
pub(crate) fn from_json(json: &str) -> serde_json::Result<BTreeMap<String, EdmValue>> {
    serde_json::from_str(json)
}
