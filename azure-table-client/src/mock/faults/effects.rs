//! The effects of the fault plan on one request.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::super::failure::Failure;
use super::random;
use crate::dialect::Dialect;
use crate::transport::HttpResponse;
use crate::wire::headers::http_date;

/// The effects of the fault plan on one request, which are empty by default.
#[derive(Debug, Clone, Default)]
pub(in crate::mock) struct Effects {
    pub(in crate::mock) delay_request: Duration,
    pub(in crate::mock) delay_reply: Duration,
    pub(in crate::mock) connection: Option<Break>,
    pub(in crate::mock) replacement: Option<Replacement>,
    pub(in crate::mock) is_body_cut: bool,
    /// The service handles the request twice and sends the second response.
    pub(in crate::mock) is_delivered_twice: bool,
    /// The client receives the response to another request.
    pub(in crate::mock) is_reply_swapped: bool,
    pub(in crate::mock) page_end: Option<PageEnd>,
    /// The time during which the name of a deleted table cannot be used.
    pub(in crate::mock) hold_name: Duration,
}

/// A fault of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mock) enum Break {
    Refused,
    Hangs,
    LosesRequest,
    LosesReply,
}

/// A response in place of the service's own.
#[derive(Debug, Clone)]
pub(in crate::mock) struct Replacement {
    pub(in crate::mock) body: ReplacementBody,
    pub(in crate::mock) retry_after: Option<RetryAfter>,
    /// The request is applied nevertheless.
    pub(in crate::mock) is_applied: bool,
    pub(in crate::mock) has_body: bool,
}

#[derive(Debug, Clone)]
pub(in crate::mock) enum ReplacementBody {
    Failure(Failure),
    Html(StatusCode),
}

#[derive(Debug, Clone, Copy)]
pub(in crate::mock) enum RetryAfter {
    Seconds(u64),
    Date(Duration),
    Milliseconds(u64),
}

/// The row before which a page ends early.
#[derive(Debug, Clone, Copy)]
pub(in crate::mock) enum PageEnd {
    /// After this many rows.
    After(usize),
    /// At a row of the page that this random number selects.
    Random(u64),
}

/// The kind of a fault.
#[derive(Debug, Clone)]
pub(super) enum FaultKind {
    Break(Break),
    DelayRequest(Duration),
    DelayReply(Duration),
    Replace(Replacement),
    Throttle(u32, Replacement),
    CutBody,
    DeliverTwice,
    SwapReply,
    /// After this many rows, or after a random number of rows.
    EndPage(Option<usize>),
    HoldName(Duration),
}

impl Effects {
    pub(super) fn add(&mut self, kind: &FaultKind, random: u64) {
        match kind {
            FaultKind::Break(connection) => self.connection = Some(*connection),
            // A request that throttling refused stays refused.
            FaultKind::Replace(replacement) => {
                self.replacement.get_or_insert_with(|| replacement.clone());
            }
            FaultKind::CutBody => self.is_body_cut = true,
            FaultKind::DeliverTwice => self.is_delivered_twice = true,
            FaultKind::SwapReply => self.is_reply_swapped = true,
            FaultKind::EndPage(Some(rows)) => self.page_end = Some(PageEnd::After(*rows)),
            // A new number, since this one was below the fault's probability.
            FaultKind::EndPage(None) => {
                self.page_end = Some(PageEnd::Random(random::number([random, 0, 0])));
            }
            FaultKind::HoldName(time) => self.hold_name = *time,
            FaultKind::DelayRequest(_) | FaultKind::DelayReply(_) | FaultKind::Throttle(..) => {}
        }
    }
}

impl Replacement {
    pub(super) const fn new(body: ReplacementBody) -> Self {
        Self { body, retry_after: None, is_applied: false, has_body: true }
    }

    /// The response to a request beyond the rate limit: 503 in Azure Storage, and 429 in Cosmos DB.
    pub(super) fn of_throttling(&self, dialect: Dialect) -> Self {
        match dialect {
            Dialect::AzureStorage => self.clone(),
            Dialect::CosmosDb => {
                let body = ReplacementBody::Failure(Failure::too_many_requests());
                Self { body, ..self.clone() }
            }
        }
    }
}

impl RetryAfter {
    pub(in crate::mock) fn header(self, now: SystemTime) -> (HeaderName, String) {
        match self {
            Self::Seconds(seconds) => (header::RETRY_AFTER, seconds.to_string()),
            Self::Date(wait) => {
                (header::RETRY_AFTER, http_date(now.checked_add(wait).unwrap_or(now)))
            }
            Self::Milliseconds(milliseconds) => {
                (HeaderName::from_static("x-ms-retry-after-ms"), milliseconds.to_string())
            }
        }
    }
}

impl PageEnd {
    /// The number of rows that remain of a page with `rows` rows, or `None` if it is not cut.
    pub(in crate::mock) fn of(self, rows: usize) -> Option<usize> {
        let left = match self {
            Self::After(left) => left,
            Self::Random(number) => {
                let rows = u64::try_from(rows).ok()?;
                usize::try_from(number.checked_rem(rows)?).ok()?
            }
        };
        (left < rows).then_some(left)
    }
}

/// An HTML page of a proxy, without the service's headers. The body is empty if the status forbids a body.
pub(in crate::mock) fn proxy_page(status: StatusCode) -> HttpResponse {
    if status.is_informational() || matches!(status.as_u16(), 204 | 205 | 304) {
        return HttpResponse { status, headers: HeaderMap::new(), body: Bytes::new() };
    }
    let text = status.canonical_reason().unwrap_or("Gateway");
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let body = format!("<!DOCTYPE html><html><head><title>{text}</title></head><body/></html>");
    HttpResponse { status, headers, body: body.into() }
}
