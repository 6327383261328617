//! The fields of a shared access signature.

use std::borrow::Cow;

use url::form_urlencoded;

use super::super::failure::Failure;
use super::super::request::Incoming;
use super::refused;
use crate::auth::read_time;
use crate::edm::EdmDateTime;
use crate::wire::ServiceVersion;

/// The options of a query, decoded, among which a signature and its fields are.
pub(super) struct Fields<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> Fields<'q> {
    pub(super) fn of(request: &Incoming<'q>) -> Self {
        Self(form_urlencoded::parse(request.query.as_bytes()).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The text of a field as it is signed.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A field that may be left out, but not be empty.
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
        read_time(text).map(Some).ok_or_else(|| refused("a time of the SAS has another form"))
    }

    /// The version of the signature, which is not before `first`.
    pub(super) fn version(&self, first: &str) -> Result<&str, Failure> {
        let version = self.mandatory("sv")?;
        if ServiceVersion::of_date(version).is_none() || version < first {
            return Err(refused("the SAS has no version, or one that is too early"));
        }
        Ok(version)
    }
}
