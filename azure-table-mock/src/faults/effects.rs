//! The effects of the fault plan on one request.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::random;
use super::throttle::ThrottleLimit;
use crate::dialect::ServiceDialect;
use crate::failure::Failure;
use crate::transport::HttpResponse;
use crate::wire::headers::http_date;

/// The effects of the fault plan on one request, which are empty by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects {
    pub(crate) delay_request: Duration,
    pub(crate) delay_reply: Duration,
    pub(crate) connection: Option<Break>,
    pub(crate) replacement: Option<Replacement>,
    pub(crate) is_body_cut: bool,
    /// The service handles the request twice and sends the second response.
    pub(crate) is_delivered_twice: bool,
    /// The client receives the response to another request.
    pub(crate) is_reply_swapped: bool,
    pub(crate) page_end: Option<PageEnd>,
    /// The time during which the name of a deleted table cannot be used.
    pub(crate) hold_name: Duration,
    /// The faults as JSON, for the log.
    pub(crate) texts: Vec<String>,
    /// The number of the request in the log.
    pub(crate) number: u64,
}

/// A fault of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    Refused,
    Hangs,
    LosesRequest,
    LosesReply,
}

/// A response in place of the service's own.
#[derive(Debug, Clone)]
pub(crate) struct Replacement {
    pub(crate) body: ReplacementBody,
    pub(crate) retry_after: Option<RetryAfter>,
    /// The request is applied nevertheless.
    pub(crate) is_applied: bool,
    pub(crate) has_body: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplacementBody {
    Failure(Failure),
    Html(StatusCode),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum RetryAfter {
    Seconds(u64),
    Date(Duration),
    Milliseconds(u64),
}

/// The row before which a page ends early.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PageEnd {
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
    Throttle(ThrottleLimit, Replacement),
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
    pub(super) fn of_throttling(&self, dialect: ServiceDialect) -> Self {
        match dialect {
            ServiceDialect::AzureStorage => self.clone(),
            ServiceDialect::CosmosDb => {
                let body = ReplacementBody::Failure(Failure::too_many_requests());
                Self { body, ..self.clone() }
            }
        }
    }
}

impl RetryAfter {
    pub(crate) fn header(self, now: SystemTime) -> (HeaderName, String) {
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
    pub(crate) fn of(self, rows: usize) -> Option<usize> {
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
pub(crate) fn proxy_page(status: StatusCode) -> HttpResponse {
    if status.is_informational() || matches!(status.as_u16(), 204 | 205 | 304) {
        return HttpResponse { status, headers: HeaderMap::new(), body: Bytes::new() };
    }
    let text = status.canonical_reason().unwrap_or("Gateway");
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let body = format!("<!DOCTYPE html><html><head><title>{text}</title></head><body/></html>");
    HttpResponse { status, headers, body: body.into() }
}
