//! An authorized request and the settings of its response.

use http::{HeaderName, StatusCode};

use crate::authorize::Grant;
use crate::core::{Core, ServiceClock};
use crate::failure::Failure;
use crate::faults::Effects;
use crate::payload::{BaseUrl, Payload, PayloadItem, PayloadWriter};
use crate::reply::{ResponseDraft, headers_of_creation};
use crate::request::{ParsedRequest, Preference, RequestProtocol};
use crate::select::Select;
use crate::wire::{PayloadFormat, page_token};

/// An authorized request and the settings of its response.
pub(super) struct Exchange<'a> {
    pub(super) request: &'a ParsedRequest<'a>,
    pub(super) protocol: &'a RequestProtocol,
    pub(super) format: PayloadFormat,
    pub(super) base_url: BaseUrl<'a>,
    pub(super) preference: Preference,
    pub(super) grant: &'a Grant,
    pub(super) clock: &'a ServiceClock,
    /// The effects of the fault plan. `None` in a batch, since faults strike a batch as a whole.
    pub(super) effects: Option<&'a Effects>,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        core: &'a Core,
        request: &'a ParsedRequest<'a>,
        grant: &'a Grant,
    ) -> Result<Self, Failure> {
        let protocol = request.protocol()?;
        let format = request.dialect.format(request);
        Ok(Self {
            request,
            protocol,
            format: format.unwrap_or_else(|| protocol.format(&request.raw))?,
            base_url: BaseUrl {
                origin: request.raw.origin,
                account: core.rules.account(),
                suffix: grant.location.suffix(),
                account_in_host: request.account_in_host,
            },
            preference: protocol.preference(&request.raw),
            grant,
            clock: &core.clock,
            effects: None,
        })
    }

    /// A writer of response bodies with the rows of a table, or with tables.
    pub(super) fn payload<'p>(&'p self, set: &'p str, select: Option<&'p Select>) -> Payload<'p> {
        Payload {
            dialect: self.request.dialect,
            writer: PayloadWriter::new(self.request.dialect, self.format),
            base_url: &self.base_url,
            set,
            select,
            clock: self.clock,
        }
    }

    /// The reply to an operation that created an item of this set.
    pub(super) fn created(&self, set: &str, item: PayloadItem<'_>) -> ResponseDraft {
        let mut reply = self.body_of_creation(set, item);
        self.put_headers_of_creation(set, item, |name, value| {
            reply.text_header(name.clone(), value);
        });
        reply
    }

    /// The same reply without its headers.
    pub(super) fn body_of_creation(&self, set: &str, item: PayloadItem<'_>) -> ResponseDraft {
        if self.preference == Preference::ReturnNoContent {
            return ResponseDraft::no_content();
        }
        let body = self.payload(set, None).one(item);
        ResponseDraft::with_body(StatusCode::CREATED, self.format, body)
    }

    /// Passes the headers of that reply to `put`, in their order.
    pub(super) fn put_headers_of_creation(
        &self,
        set: &str,
        item: PayloadItem<'_>,
        put: impl FnMut(&HeaderName, &str),
    ) {
        let url = self.request.dialect.url_in_header(self.payload(set, None).url(item));
        headers_of_creation(&url, self.preference, put);
    }

    /// `$top`, up to the limit of the dialect. A developer of Storage Explorer reports that the service accepts 0 and
    /// returns no rows ([Azurite#1428][top]). No source shows a continuation token with it, so the mock sends none.
    ///
    /// [top]: https://github.com/Azure/Azurite/issues/1428
    pub(super) fn top(&self) -> Result<Option<usize>, Failure> {
        let Some(text) = self.request.raw.option("$top") else {
            return Ok(None);
        };
        match text.parse() {
            Ok(top) if top <= self.request.dialect.max_top() => Ok(Some(top)),
            _ => Err(Failure::invalid_input()),
        }
    }

    /// The key in a continuation token.
    pub(super) fn token(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(text) = self.request.raw.option(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        page_token::decode(&text).map(Some).ok_or_else(Failure::invalid_input)
    }

    /// Adds a continuation token to a reply.
    pub(super) fn add_token(reply: &mut ResponseDraft, name: &HeaderName, key: &str) {
        reply.text_header(name.clone(), page_token::encode(key));
    }
}
