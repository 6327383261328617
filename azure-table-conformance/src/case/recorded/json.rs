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
                    ("message", message) => self::message(message, known),
                    (_, value) => expected(value, known),
                };
                (known.text(&name), value)
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| expected(item, known)).collect())
        }
        Value::String(text) => Value::String(known.pattern(&text)),
        other => other,
    }
}

/// A message of an error: the first line of its text. Those below it have an id and a time.
fn message(mut message: Value, known: &Names) -> Value {
    let text = message["value"].as_str().and_then(|text| text.lines().next());
    match text.map(|line| known.pattern(line) + "*") {
        Some(text) => {
            message["value"] = Value::String(text);
            message
        }
        None => expected(message, known),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_message_of_an_error_is_compared_by_its_first_line() {
        let text = r#"{"odata.error":{"message":{"lang":"en-US","value":"No * {x}\nTime:1"}},"value":"a\nb"}"#;
        let found = expected(serde_json::from_str(text).unwrap_or_default(), &Names::of(&[]));
        assert_eq!(found["odata.error"]["message"]["value"], "No {star} {brace}x}*");
        assert_eq!(found["value"], "a\nb");
    }
}
