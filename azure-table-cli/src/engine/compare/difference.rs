//! The differences between two rows, and their text.

use std::collections::BTreeMap;
use std::fmt;

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, EntityKey};
use serde_json::{Map, Value, json};

/// A row that is not the same on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Difference {
    OnlyInA(EntityKey),
    OnlyInB(EntityKey),
    /// The row has other properties, values or types.
    Changed(EntityKey, Vec<Change>),
}

/// A property that differs; `None` if the row does not have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    name: String,
    a: Option<EdmValue>,
    b: Option<EdmValue>,
}

impl Difference {
    pub(crate) const fn key(&self) -> &EntityKey {
        match self {
            Self::OnlyInA(key) | Self::OnlyInB(key) | Self::Changed(key, _) => key,
        }
    }

    /// Compares two rows with the same key. The order of the properties, Timestamps and ETags do not count.
    pub(super) fn between(a: DynamicEntity, b: DynamicEntity) -> Option<Self> {
        if a.properties().eq(b.properties()) {
            return None;
        }
        let key = a.key().clone();
        let mut both: BTreeMap<String, (Option<EdmValue>, Option<EdmValue>)> = BTreeMap::new();
        for (name, value) in a {
            both.entry(name).or_default().0 = Some(value);
        }
        for (name, value) in b {
            both.entry(name).or_default().1 = Some(value);
        }
        let changed = both.into_iter().filter(|(_, (a, b))| a != b);
        let changes: Vec<_> = changed.map(|(name, (a, b))| Change { name, a, b }).collect();
        (!changes.is_empty()).then_some(Self::Changed(key, changes))
    }

    /// The difference as a JSON object. All values are texts, because JSON has no form for some of them.
    pub(crate) fn to_json(&self) -> Value {
        let (word, key, changes) = match self {
            Self::OnlyInA(key) => ("only in A", key, None),
            Self::OnlyInB(key) => ("only in B", key, None),
            Self::Changed(key, changes) => ("different", key, Some(changes)),
        };
        let mut object = json!({
            "difference": word,
            "PartitionKey": key.partition_key,
            "RowKey": key.row_key,
        });
        if let Some(changes) = changes {
            let side = |value: &Option<EdmValue>| match value {
                Some(value) => {
                    json!({"type": value.edm_type().as_str(), "value": value.to_string()})
                }
                None => Value::Null,
            };
            let changes = changes
                .iter()
                .map(|Change { name, a, b }| (name.clone(), json!({"a": side(a), "b": side(b)})));
            object["properties"] = Value::Object(changes.collect::<Map<_, _>>());
        }
        object
    }
}

/// One line without control characters.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyInA(key) => write!(f, "only in A: {key}"),
            Self::OnlyInB(key) => write!(f, "only in B: {key}"),
            Self::Changed(key, changes) => {
                write!(f, "different: {key}: ")?;
                for (at, change) in changes.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "; " };
                    write!(f, "{separator}{change}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, a, b } = self;
        let name = name.escape_debug();
        write!(f, "{name} is {} in A, {} in B", Side(a.as_ref()), Side(b.as_ref()))
    }
}

/// The type and the value of one side.
struct Side<'c>(Option<&'c EdmValue>);

impl fmt::Display for Side<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("missing"),
            Some(EdmValue::String(text)) => write!(f, "Edm.String {text:?}"),
            Some(value) => write!(f, "{} {value}", value.edm_type()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> DynamicEntity {
        DynamicEntity::new("p", "r").with("N", 3).with("Text", "a\nb")
    }

    #[test]
    fn the_order_of_properties_does_not_count() {
        let other = DynamicEntity::new("p", "r").with("Text", "a\nb").with("N", 3);
        assert_eq!(Difference::between(row(), other), None);
    }

    #[test]
    fn types_signs_of_zero_and_missing_properties_count() {
        let a = row().with("Zero", 0.0).with("X", f64::NAN);
        let mut b = row().with("N", 3_i64).with("Zero", -0.0).with("X", -f64::NAN);
        b.remove("Text");
        let difference = Difference::between(a, b).unwrap();
        assert_eq!(
            difference.to_string(),
            concat!(
                r#"different: ("p", "r"): N is Edm.Int32 3 in A, Edm.Int64 3 in B; "#,
                r#"Text is Edm.String "a\nb" in A, missing in B; "#,
                "Zero is Edm.Double 0.0 in A, Edm.Double -0.0 in B",
            )
        );
        let json = difference.to_json();
        assert_eq!((&json["difference"], &json["RowKey"]), (&json!("different"), &json!("r")));
        assert_eq!(
            json["properties"]["N"],
            json!({"a": {"type": "Edm.Int32", "value": "3"}, "b": {"type": "Edm.Int64", "value": "3"}})
        );
        assert_eq!(json["properties"]["Text"]["b"], Value::Null);
        assert_eq!(json["properties"].as_object().unwrap().len(), 3);
    }

    #[test]
    fn control_characters_are_escaped() {
        let key = EntityKey::new("p\u{1b}", "r");
        assert_eq!(Difference::OnlyInA(key).to_string(), r#"only in A: ("p\u{1b}", "r")"#);
        let a = DynamicEntity::new("p", "r").with("A\u{7}", "\u{1b}[31m");
        let text = Difference::between(a, DynamicEntity::new("p", "r")).unwrap().to_string();
        assert!(!text.chars().any(char::is_control), "{text}");
    }
}
