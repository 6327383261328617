//! The formats of bodies.

/// The metadata of a JSON response besides the data.
///
/// Dynamic entities, structs with `extra`, and the unit of work require types or ETags, and refuse [`None`](Self::None).
/// Structs whose fields determine their types are read at all levels.
///
/// Source: [Payload format for Table service operations][format].
///
/// [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Metadata {
    /// `odata=nometadata`: neither types nor ETags; the smallest. Only for structs without an ETag field; the
    /// struct's fields determine the type of a property that is sent as text.
    None,
    /// `odata=minimalmetadata`: types where JSON does not show them, and ETags; slightly larger.
    #[default]
    Minimal,
    /// `odata=fullmetadata`: also the links and type names; the largest.
    Full,
}

impl Metadata {
    /// Returns the media type of this level.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata",
            Self::Minimal => "application/json;odata=minimalmetadata",
            Self::Full => "application/json;odata=fullmetadata",
        }
    }
}

#[doc(hidden)]
impl Metadata {
    pub const ALL: [Self; 3] = [Self::Minimal, Self::None, Self::Full];

    /// The level that a `Content-Type` or one entry of an `Accept` header names, if it is JSON.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let mut parts = media_type.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case("application/json") {
            return None;
        }
        let level = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("odata").then(|| value.trim())
        });
        let is = |name: &str| level.is_some_and(|level| level.eq_ignore_ascii_case(name));
        Some(match () {
            () if is("nometadata") => Self::None,
            () if is("fullmetadata") => Self::Full,
            () => Self::Minimal,
        })
    }
}

/// The format of requests and responses.
///
/// The [version](crate::ServiceVersion) determines the choice:
///
/// | version | formats |
/// |---|---|
/// | before 2013-08-15 | Atom |
/// | from 2013-08-15, before 2015-12-11 | JSON, Atom |
/// | from 2015-12-11 | JSON |
///
/// It is set for a client, or for the responses to a single read (`Call::format`, `Query::format`). According to the
/// performance checklist of 2014, JSON has a quarter of the length of Atom. A response in a format that was not requested is
/// an error, because it does not come from the service.
///
/// Source: [Payload format for Table service operations][format].
///
/// [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadFormat {
    /// JSON with this level of metadata.
    Json(Metadata),
    /// Atom (XML), with types and ETags.
    Atom,
}

impl Default for PayloadFormat {
    fn default() -> Self {
        Self::Json(Metadata::default())
    }
}

impl From<Metadata> for PayloadFormat {
    fn from(level: Metadata) -> Self {
        Self::Json(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_media_types() {
        for level in [Metadata::None, Metadata::Minimal, Metadata::Full] {
            assert_eq!(Metadata::of_media_type(level.media_type()), Some(level));
        }
        let real = "application/json;odata=nometadata;streaming=true;charset=utf-8";
        assert_eq!(Metadata::of_media_type(real), Some(Metadata::None));
        assert_eq!(Metadata::of_media_type("application/json"), Some(Metadata::Minimal));
        assert_eq!(Metadata::of_media_type("text/html"), None);
    }
}
