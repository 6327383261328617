//! The bytes of the protocol: bodies, paths, header names. No I/O.

pub mod atom;
pub mod encoding;
mod entity_json;
pub mod escape;
pub mod headers;
pub mod json_read;
mod json_tree;
pub mod json_write;
pub mod multipart;
mod operation;
mod payload;
mod protocol;
mod read_error;
pub mod service_error;
pub mod service_properties;
mod version;
pub mod xml;
pub mod xml_tree;

pub use entity_json::EntityJsonError;
pub use operation::Operation;
pub use operation::{Document, Permissions, RetryClass};
pub use payload::PayloadFormat;
pub use protocol::{Protocol, Unsupported};
pub use read_error::ReadError;
pub use version::{NoServiceVersion, ServiceVersion};

/// The metadata of a JSON response besides the data.
///
/// Source: [Payload format for Table service operations][format].
///
/// [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Metadata {
    /// `odata=nometadata`: neither types nor ETags. Only for structs without an ETag field; the
    /// struct's fields determine the type of a property that is sent as text.
    None,
    /// `odata=minimalmetadata`: types where JSON does not show them, and ETags.
    #[default]
    Minimal,
    /// `odata=fullmetadata`: also the links and type names.
    Full,
}

impl Metadata {
    #[doc(hidden)]
    pub const ALL: [Self; 3] = [Self::Minimal, Self::None, Self::Full];

    /// Returns the media type of this level.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata",
            Self::Minimal => "application/json;odata=minimalmetadata",
            Self::Full => "application/json;odata=fullmetadata",
        }
    }

    /// The level that a `Content-Type` or one entry of an `Accept` header names, if it is JSON.
    #[doc(hidden)]
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
