//! The fields of a shared access signature.

use std::borrow::Cow;

use url::form_urlencoded;

use super::super::failure::Failure;
use super::super::request::RawRequest;
use super::refused;
use crate::auth::read_time;
use crate::edm::EdmDateTime;
use crate::wire::ServiceVersion;

/// The decoded options of a query, which include the fields of the signature.
pub(super) struct SasFields<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> SasFields<'q> {
    pub(super) fn of(request: &RawRequest<'q>) -> Self {
        Self(form_urlencoded::parse(request.query.as_bytes()).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The signed text of a field, or an empty text.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// An optional field, which must not be empty.
    pub(super) fn optional(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.get(name) {
            Some(text) if text.trim().is_empty() => Err(refused("a field of the SAS is empty")),
            text => Ok(text),
        }
    }

    pub(super) fn mandatory(&self, name: &str) -> Result<&str, Failure> {
        self.optional(name)?.ok_or_else(|| refused("a field of the SAS is missing"))
    }

    pub(super) fn time(&self, name: &str) -> Result<Option<EdmDateTime>, Failure> {
        let Some(text) = self.optional(name)? else {
            return Ok(None);
        };
        read_time(text).map(Some).ok_or_else(|| refused("a time of the SAS is malformed"))
    }

    /// The version of the signature, from `first` on.
    pub(super) fn version(&self, first: &str) -> Result<&str, Failure> {
        let version = self.mandatory("sv")?;
        if ServiceVersion::of_date(version).is_none() || version < first {
            return Err(refused("the version of the SAS is missing or not supported"));
        }
        Ok(version)
    }
}
