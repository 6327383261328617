//! The error of settings and seeds.

use std::borrow::Cow;
use std::fmt;

use crate::auth::CredentialError;
use crate::entity::EncodeError;
use crate::key::KeyError;
use crate::limits::LimitError;

/// A setting or a seed that the service refuses. Nothing has changed.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A key, an account or a file is wrong.
    Configuration,
    /// A row, a table or a fault is invalid.
    InvalidInput,
}

impl Error {
    pub(crate) fn configuration(message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::Configuration, message: message.into(), source: None }
    }

    pub(crate) fn invalid_input(message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::InvalidInput, message: message.into(), source: None }
    }

    pub(crate) fn with_source(
        mut self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Returns the kind of the error.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<CredentialError> for Error {
    fn from(source: CredentialError) -> Self {
        Self::configuration(source.to_string())
    }
}

macro_rules! invalid_input {
    ($($source:ty),*) => {$(
        impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::invalid_input(source.to_string()).with_source(source)
            }
        }
    )*};
}

invalid_input!(EncodeError, KeyError, LimitError);
