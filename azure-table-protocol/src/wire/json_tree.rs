//! Small JSON documents that are not entities. Documents with repeated members are refused: other readers of the same
//! document may use the other value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// The most levels of objects and arrays in a document.
pub(super) const MAX_DEPTH: u8 = 64;

/// A JSON value. Numbers, truth values and nulls are not kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JsonNode {
    Object(Vec<(String, JsonNode)>),
    Text(String),
    Other,
}

impl JsonNode {
    /// Reads a document; `None` if it is not JSON, repeats a member or is nested too deep.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let value = Seed { levels: MAX_DEPTH }.deserialize(&mut json).ok()?;
        json.end().ok()?;
        Some(value)
    }

    /// Returns a member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Object(_) | Self::Other => None,
        }
    }
}

/// Reads a value with at most this number of levels.
#[derive(Clone, Copy)]
struct Seed {
    levels: u8,
}

impl Seed {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        levels.map(|levels| Self { levels }).ok_or_else(|| E::custom("nested too deep"))
    }
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = JsonNode;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonNode, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = JsonNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<JsonNode, E> {
        Ok(JsonNode::Other)
    }
    fn visit_bool<E>(self, _: bool) -> Result<JsonNode, E> {
        Ok(JsonNode::Other)
    }
    fn visit_i64<E>(self, _: i64) -> Result<JsonNode, E> {
        Ok(JsonNode::Other)
    }
    fn visit_u64<E>(self, _: u64) -> Result<JsonNode, E> {
        Ok(JsonNode::Other)
    }
    fn visit_f64<E>(self, _: f64) -> Result<JsonNode, E> {
        Ok(JsonNode::Other)
    }
    fn visit_str<E>(self, text: &str) -> Result<JsonNode, E> {
        Ok(JsonNode::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonNode, A::Error> {
        let inner = self.inner()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(JsonNode::Other)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonNode, A::Error> {
        let inner = self.inner()?;
        let mut members = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom("repeated member"));
            }
            members.push((name, map.next_value_seed(inner)?));
        }
        Ok(JsonNode::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found() {
        let json = JsonNode::read(br#" {"a":{"b":"x\u00e9","c":[1,-1,0.5,true,null,{}]},"n":1} "#)
            .unwrap();
        assert_eq!(json.get("a").and_then(|a| a.get("b")).and_then(JsonNode::text), Some("xé"));
        assert_eq!(json.get("a").and_then(|a| a.get("c")), Some(&JsonNode::Other));
        assert_eq!(json.get("b"), None);
    }

    #[test]
    fn repeated_members_and_deep_documents_are_refused() {
        for bad in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":[{"a":{"b":1,"b":2}}]}"#,
            "{} {}",
            "{",
            "",
        ] {
            assert_eq!(JsonNode::read(bad.as_bytes()), None, "{bad}");
        }
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(JsonNode::read(nested(64).as_bytes()).is_some());
        for levels in [65, 127, 30_000] {
            assert_eq!(JsonNode::read(nested(levels).as_bytes()), None, "{levels}");
        }
    }
}
