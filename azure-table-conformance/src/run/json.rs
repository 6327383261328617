//! The comparison of JSON.

use serde_json::Value;

use crate::case::{Pattern, Values};

/// The text that stands for a member that must be absent.
const ABSENT: &str = "(absent)";

/// Compares a value. Objects may have further members unless they are compared exactly; lists have the same number of
/// elements. Texts are patterns. Fails with the expected value and the found one.
pub(super) fn compare(
    at: &str,
    expected: &Value,
    found: &Value,
    is_exact: bool,
    values: &mut Values<'_>,
) -> Result<(), (String, String)> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(object)) => {
            for (name, expected) in expected {
                let name = values.shown(name);
                let at = format!("{at}.{name}");
                match object.get(&name) {
                    None if expected == ABSENT => {}
                    None => return Err((shown(&at, expected, values), format!("{at} is absent"))),
                    Some(found) if expected == ABSENT => {
                        return Err((format!("{at} is absent"), shown(&at, found, values)));
                    }
                    Some(found) => compare(&at, expected, found, is_exact, values)?,
                }
            }
            let mut further = object.iter().filter(|(name, _)| !expected.contains_key(*name));
            match further.next() {
                Some((name, found)) if is_exact => {
                    let at = format!("{at}.{name}");
                    Err((format!("{at} is absent"), shown(&at, found, values)))
                }
                _ => Ok(()),
            }
        }
        (Value::Array(expected), Value::Array(list)) if expected.len() == list.len() => {
            for (index, (expected, found)) in expected.iter().zip(list).enumerate() {
                compare(&format!("{at}[{index}]"), expected, found, is_exact, values)?;
            }
            Ok(())
        }
        (Value::String(pattern), Value::String(text))
            if Pattern::new(pattern).matches(text, values) =>
        {
            Ok(())
        }
        // 3.0 and 3 differ: this alone distinguishes a Double from an Int32. So do 0.0 and -0.0.
        (Value::Number(expected), Value::Number(found))
            if expected.to_string() == found.to_string() =>
        {
            Ok(())
        }
        (Value::Bool(_) | Value::Null, _) if expected == found => Ok(()),
        _ => Err((shown(at, expected, values), shown(at, found, values))),
    }
}

fn shown(at: &str, value: &Value, values: &Values<'_>) -> String {
    let text: String = values.shown(&value.to_string()).chars().take(300).collect();
    format!("{at} is {text}")
}
