//! The recorded bodies as patterns.

use serde_json::Value;

use super::exchange::Names;

/// A body as it is expected: times, ETags and ids of requests match any text.
pub(super) fn expected(value: Value, known: &Names) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| {
                let value = match (name.as_str(), value) {
                    ("odata.etag", Value::String(etag)) => {
                        Value::String(known.etag(&etag).unwrap_or_else(|| "*".to_owned()))
                    }
                    ("Timestamp", Value::String(_)) => Value::String("*".to_owned()),
                    // The first line of a message; those below it have an id and a time.
                    ("value", Value::String(text)) => {
                        let line = text.lines().next().unwrap_or_default();
                        Value::String(known.text(line) + "*")
                    }
                    (_, value) => expected(value, known),
                };
                (known.text(&name), value)
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| expected(item, known)).collect())
        }
        Value::String(text) => Value::String(known.text(&text)),
        other => other,
    }
}
