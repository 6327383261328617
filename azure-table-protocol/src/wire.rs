//! The bytes of the protocol: bodies, paths, header names. No I/O.

pub mod atom;
pub mod encoding;
mod entity_json;
pub mod escape;
pub mod headers;
pub mod json_read;
mod json_tree;
pub mod json_write;
mod location;
pub mod multipart;
pub mod page_token;
mod payload;
mod protocol;
mod read_error;
pub mod service_error;
pub mod service_properties;
pub mod xml;
pub mod xml_tree;

pub use entity_json::EntityJsonError;
pub use location::Location;
pub use protocol::{Protocol, Unsupported};
pub use read_error::ReadError;

pub use crate::format::{Metadata, PayloadFormat};
pub use crate::operation::{Document, Operation, Permissions, RetryClass};
pub use crate::version::ServiceVersion;
