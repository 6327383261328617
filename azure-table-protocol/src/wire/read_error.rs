use std::fmt;

use super::atom::AtomError;
use crate::entity::DecodeError;

/// The reason why a body could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The body is not JSON, or has another form than expected.
    Json(serde_json::Error),
    /// The body is not XML, or has another form than expected.
    Atom(AtomError),
    /// An entity in the body does not match the struct.
    Decode(DecodeError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Atom(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
        }
    }
}

impl From<AtomError> for ReadError {
    fn from(error: AtomError) -> Self {
        Self::Atom(error)
    }
}
