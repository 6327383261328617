//! Entity versions and the conditions made of them.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of an entity; the service changes it with every write.
///
/// Opaque: compare it and send it back.
#[doc(alias("version", "concurrency", "lock", "If-Match"))]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(Arc<str>);

impl ETag {
    /// The tag as it is sent, for example `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for ETag {
    /// Holds a tag that the service returned.
    fn from(text: &T) -> Self {
        Self(Arc::from(text.as_ref()))
    }
}

impl AsRef<str> for ETag {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The condition of an update or a delete.
///
/// An update always has a condition. Without one, the service would treat it as an upsert and recreate deleted
/// rows; `insert_or_merge` and `insert_or_replace` are the upserts.
///
/// The text of an `If-Match` header parses as a condition:
///
/// ```
/// use azure_table_client::{ETag, IfMatch};
///
/// assert_eq!("*".parse(), Ok(IfMatch::Any));
/// assert_eq!("W/\"1\"".parse(), Ok(IfMatch::Tag(ETag::from("W/\"1\""))));
/// ```
///
/// Source: [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2).
#[doc(alias("If-Match", "lock", "optimistic", "concurrency"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// The entity exists, in any version (`If-Match: *`).
    Any,
    /// The entity has this version; otherwise the service responds with 412.
    Tag(ETag),
}

impl IfMatch {
    /// The value of the `If-Match` header.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Any => "*",
            Self::Tag(tag) => tag.as_str(),
        }
    }
}

impl FromStr for IfMatch {
    type Err = Infallible;

    /// Parses the value of an `If-Match` header. Every text but `*` is an ETag; a call refuses one that is not valid
    /// in a header.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text.trim() == "*" { Self::Any } else { Self::Tag(ETag::from(text)) })
    }
}

impl From<ETag> for IfMatch {
    fn from(tag: ETag) -> Self {
        Self::Tag(tag)
    }
}

impl From<&ETag> for IfMatch {
    fn from(tag: &ETag) -> Self {
        Self::Tag(tag.clone())
    }
}

/// The condition of an update or a delete: an [`IfMatch`] or an [`ETag`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the condition of an update or a delete",
    label = "not an ETag and not an `IfMatch`",
    note = "give the ETag that was read, such as `&stored.etag`, or `IfMatch::Any` for any version",
    note = "a text is converted by the program: `text.parse::<IfMatch>()` for the header `If-Match`, `ETag::from(&text)` for a stored ETag"
)]
pub trait IntoIfMatch {
    #[doc(hidden)]
    fn into_if_match(self) -> IfMatch;
}

#[diagnostic::do_not_recommend]
impl<C: Into<IfMatch>> IntoIfMatch for C {
    fn into_if_match(self) -> IfMatch {
        self.into()
    }
}

impl Serialize for ETag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ETag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_its_text_for_serde() {
        let tag = ETag::from("W/\"1\"");
        let json = serde_json::to_string(&tag).unwrap();
        assert_eq!(json, r#""W/\"1\"""#);
        assert_eq!(serde_json::from_str::<ETag>(&json).unwrap(), tag);
    }
}
