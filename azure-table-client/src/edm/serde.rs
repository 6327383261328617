//! Date-times for serde, as the text that they have on the wire.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::EdmDateTime;

impl Serialize for EdmDateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EdmDateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = EdmDateTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date-time of the form YYYY-MM-DDTHH:MM:SS[.fffffff]Z")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<EdmDateTime, E> {
        text.parse().map_err(|error| E::custom(format_args!("{text:?}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_are_text_with_all_their_digits() {
        let json = serde_json::to_string(&EdmDateTime::MAX).unwrap();
        assert_eq!(json, r#""9999-12-31T23:59:59.9999999Z""#);
        assert_eq!(serde_json::from_str::<EdmDateTime>(&json).unwrap(), EdmDateTime::MAX);
        let error = serde_json::from_str::<EdmDateTime>(r#""yesterday""#).unwrap_err();
        assert!(error.to_string().starts_with(r#""yesterday": not a date-time"#), "{error}");
        assert!(serde_json::from_str::<EdmDateTime>("5").is_err());
    }
}
