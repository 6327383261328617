//! An authorized request and the settings of its response.

use http::{HeaderName, StatusCode};

use super::{Select, query};
use crate::edm::EdmDateTime;
use crate::mock::authorize::Grant;
use crate::mock::core::Core;
use crate::mock::failure::Failure;
use crate::mock::faults::Effects;
use crate::mock::payload::{Item, Payload};
use crate::mock::reply::{BaseUrl, Reply};
use crate::mock::request::{Preference, Protocol, Request};
use crate::wire::PayloadFormat;

/// An authorized request and the settings of its response.
pub(super) struct Exchange<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) protocol: &'a Protocol,
    pub(super) format: PayloadFormat,
    pub(super) base_url: BaseUrl<'a>,
    pub(super) preference: Preference,
    pub(super) grant: &'a Grant,
    pub(super) now: EdmDateTime,
    /// The effects of the fault plan. `None` in a batch, since faults strike a batch as a whole.
    pub(super) effects: Option<&'a Effects>,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        core: &'a Core,
        request: &'a Request<'a>,
        grant: &'a Grant,
    ) -> Result<Self, Failure> {
        let protocol = request.protocol()?;
        Ok(Self {
            request,
            protocol,
            format: protocol.format(&request.raw)?,
            base_url: BaseUrl {
                origin: request.raw.origin,
                account: core.rules.account(),
                suffix: grant.location.suffix(),
            },
            preference: protocol.preference(&request.raw),
            grant,
            now: core.clock.edm_now(),
            effects: None,
        })
    }

    /// A writer of response bodies with the rows of a table, or with tables.
    pub(super) fn payload<'p>(&'p self, set: &'p str, select: Option<&'p Select>) -> Payload<'p> {
        Payload { format: self.format, base_url: &self.base_url, set, select, now: self.now }
    }

    /// The reply to an operation that created an item of this set.
    pub(super) fn created(&self, set: &str, item: Item<'_>) -> Reply {
        let payload = self.payload(set, None);
        let mut reply = match self.preference {
            Preference::ReturnNoContent => Reply::no_content(),
            _ => Reply::with_body(StatusCode::CREATED, self.format, payload.one(item)),
        };
        reply.preference_applied(self.preference);
        reply.location(&payload.url(item), self.preference);
        reply
    }

    /// `$top`, from 1 to 1,000.
    pub(super) fn top(&self) -> Result<Option<usize>, Failure> {
        let Some(text) = self.request.raw.option("$top") else {
            return Ok(None);
        };
        match text.parse() {
            Ok(top @ 1..=1000) => Ok(Some(top)),
            _ => Err(Failure::invalid_input()),
        }
    }

    /// The key in a continuation token.
    pub(super) fn token(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(text) = self.request.raw.option(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        query::read_token(&text).map(Some).ok_or_else(Failure::invalid_input)
    }

    /// Adds a continuation token to a reply.
    pub(super) fn add_token(reply: &mut Reply, name: &HeaderName, key: &str) {
        reply.text_header(name.clone(), &query::write_token(key));
    }
}
