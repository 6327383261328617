//! Checks members of a JSON object that the reader of rows would change or ignore silently.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

const ANNOTATION: &str = "@odata.type";

/// Checks the JSON object of a row:
///
/// - An integer beyond Edm.Int64 would become a rounded Edm.Double. With the annotation Edm.Double it is accepted.
/// - The type of a property that the row does not have would be ignored.
pub(super) fn check(line: &str) -> Result<(), String> {
    let Ok(Members(members)) = serde_json::from_str(line) else { return Ok(()) };
    let value_of = |wanted: &str| {
        let (_, value) = members.iter().rev().find(|(name, _)| name.0 == wanted)?;
        Some(value.get())
    };
    for (Name(name), value) in &members {
        if let Some(property) = name.strip_suffix(ANNOTATION) {
            if value_of(property).is_none() {
                return Err(format!("the property {property:?} has a type and no value"));
            }
        } else if is_too_large(value.get())
            && value_of(&format!("{name}{ANNOTATION}")) != Some(r#""Edm.Double""#)
        {
            return Err(format!(
                "the property {name:?} is an integer beyond Edm.Int64: state its type as Edm.Double, or write it as a string"
            ));
        }
    }
    Ok(())
}

fn is_too_large(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    // Most values are shorter than the limits.
    digits.len() >= 19
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && value.parse::<i64>().is_err()
}

/// The members of an object, in their order.
struct Members<'l>(Vec<(Name<'l>, &'l RawValue)>);

struct Name<'l>(Cow<'l, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_would_change_are_errors() {
        for (members, expected) in [
            (r#""A":9223372036854775807,"B":-9223372036854775808"#, ""),
            (r#""A":9223372036854775808"#, "\"A\" is an integer beyond"),
            (r#""A":-9223372036854775809"#, "\"A\" is an integer beyond"),
            (r#""A":100000000000000000000000"#, "\"A\" is an integer beyond"),
            (r#""A@odata.type":"Edm.Double","A":100000000000000000000000"#, ""),
            (r#""A@odata.type":"Edm.Int64","A":9223372036854775808"#, "\"A\" is an integer beyond"),
            (r#""A":9223372036854775808.0,"B":1e300,"C":-0"#, ""),
            (r#""A":"9223372036854775808","B":"-","C":null,"D":true"#, ""),
            (r#""A@odata.type":"Edm.Int64""#, "\"A\" has a type and no value"),
            (r#""B":1,"A@odata.type":"Edm.Int64","a":"1""#, "\"A\" has a type and no value"),
            // An annotation may follow its property, and names may have escapes.
            (r#""A":"1","A@odata.type":"Edm.Int64""#, ""),
            (r#""\u0041":"1","A@odata.type":"Edm.Int64""#, ""),
            (r#""odata.etag":"x","odata.type":"y","A@odata.type":"Edm.Int64","A":null"#, ""),
        ] {
            let line = format!(r#"{{"PartitionKey":"p","RowKey":"r",{members}}}"#);
            match check(&line) {
                Ok(()) => assert_eq!(expected, "", "{line}"),
                Err(error) => {
                    assert!(!expected.is_empty() && error.contains(expected), "{line}: {error}");
                }
            }
        }
        // The reader of rows reports these.
        for other in ["", "[]", "1", "{", r#"{"A":}"#] {
            assert_eq!(check(other), Ok(()), "{other}");
        }
    }
}
