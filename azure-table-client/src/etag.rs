//! Entity versions and the conditions made of them.

use std::fmt;
use std::sync::Arc;

/// The version of an entity; the service changes it with every write.
///
/// Opaque: compare it and send it back, nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(Arc<str>);

impl ETag {
    /// The tag as it travels, for example `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for ETag {
    /// Takes over a tag that the service gave.
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

/// What must hold for an update or a delete to be done.
///
/// There is no "no condition": the service would take such an update for an upsert and bring
/// deleted rows back. For an upsert there are operations of their own.
///
/// Source: [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// The entity exists, whatever its version (`If-Match: *`).
    Any,
    /// The entity has this version; otherwise the service answers 412.
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
