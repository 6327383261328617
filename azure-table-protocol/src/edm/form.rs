//! Descriptions of the values of a type.

use std::borrow::Cow;

/// The values that a type writes and reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueForm {
    /// The values of a form with this name, such as `u8` or `date`. All types with one form store a value in the same way.
    Named(Cow<'static, str>),
    /// One of several values.
    Choice {
        /// The values.
        choices: Vec<ValueChoice>,
        /// Whether other values are read, too.
        has_other: bool,
    },
    /// Not described: the type implements the conversion itself.
    Unknown,
}

/// A value of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueChoice {
    /// The variant.
    pub variant: String,
    /// Its stored text or number.
    pub stored: String,
    /// Other texts that are read as the variant.
    pub aliases: Vec<String>,
}

impl ValueForm {
    /// Returns the form with this name.
    pub const fn named(name: &'static str) -> Self {
        Self::Named(Cow::Borrowed(name))
    }

    /// Returns the form of a type whose texts consist of those of this form.
    #[doc(hidden)]
    #[must_use]
    pub fn within(&self, outer: &str) -> Self {
        match self {
            Self::Named(name) => Self::Named(Cow::Owned(format!("{outer} of {name}"))),
            Self::Choice { .. } | Self::Unknown => Self::Unknown,
        }
    }
}

impl ValueChoice {
    /// Returns the choice of a variant.
    pub fn new(variant: impl Into<String>, stored: impl Into<String>) -> Self {
        Self { variant: variant.into(), stored: stored.into(), aliases: Vec::new() }
    }
}
