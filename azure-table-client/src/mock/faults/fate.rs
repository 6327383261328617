//! What becomes of one request.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::super::failure::Failure;
use super::dice;
use super::fault::Kind;
use crate::transport::HttpResponse;
use crate::wire::headers::http_date;

/// What becomes of one request; by default nothing but what it asks for.
#[derive(Debug, Clone, Default)]
pub(in crate::mock) struct Fate {
    pub(in crate::mock) delay_request: Duration,
    pub(in crate::mock) delay_reply: Duration,
    pub(in crate::mock) connection: Option<Break>,
    pub(in crate::mock) answer: Option<Answer>,
    pub(in crate::mock) is_body_cut: bool,
    /// The service handles the request twice, and the second response is passed on.
    pub(in crate::mock) is_delivered_twice: bool,
    pub(in crate::mock) page_end: Option<Cut>,
    /// How long the name of a table that is deleted cannot be used.
    pub(in crate::mock) deletion: Option<Duration>,
}

/// What becomes of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mock) enum Break {
    Refused,
    Hangs,
    LosesRequest,
    LosesReply,
}

/// An answer that takes the place of the service's own.
#[derive(Debug, Clone)]
pub(in crate::mock) struct Answer {
    pub(in crate::mock) content: Content,
    pub(in crate::mock) retry_after: Option<RetryAfter>,
    /// Whether the request is done all the same.
    pub(in crate::mock) is_done: bool,
    pub(in crate::mock) has_body: bool,
}

#[derive(Debug, Clone)]
pub(in crate::mock) enum Content {
    Refusal(Failure),
    Html(StatusCode),
}

#[derive(Debug, Clone, Copy)]
pub(in crate::mock) enum RetryAfter {
    Seconds(u64),
    Date(Duration),
    Milliseconds(u64),
}

/// Where a page ends before it is full.
#[derive(Debug, Clone, Copy)]
pub(in crate::mock) enum Cut {
    /// After this many rows.
    After(usize),
    /// At some row of those it would have.
    Anywhere(u64),
}

impl Fate {
    pub(super) fn suffer(&mut self, kind: &Kind, dice: u64) {
        match kind {
            Kind::Break(how) => self.connection = Some(*how),
            // What throttling refused is not done.
            Kind::Answer(answer) => _ = self.answer.get_or_insert_with(|| answer.clone()),
            Kind::CutBody => self.is_body_cut = true,
            Kind::DeliverTwice => self.is_delivered_twice = true,
            Kind::EndPage(Some(rows)) => self.page_end = Some(Cut::After(*rows)),
            // Another roll, since this one was below the fault's probability.
            Kind::EndPage(None) => self.page_end = Some(Cut::Anywhere(dice::roll([dice, 0, 0]))),
            Kind::HoldName(time) => self.deletion = Some(*time),
            Kind::DelayRequest(_) | Kind::DelayReply(_) | Kind::Throttle(..) => {}
        }
    }
}

impl Answer {
    pub(super) const fn refusal(failure: Failure) -> Self {
        Self {
            content: Content::Refusal(failure),
            retry_after: None,
            is_done: false,
            has_body: true,
        }
    }

    pub(super) const fn html(status: StatusCode) -> Self {
        Self { content: Content::Html(status), retry_after: None, is_done: false, has_body: true }
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

impl Cut {
    /// How many rows are left of a page of `rows`; fewer than those, or it is not cut.
    pub(in crate::mock) fn of(self, rows: usize) -> Option<usize> {
        let left = match self {
            Self::After(left) => left,
            Self::Anywhere(dice) => {
                let rows = u64::try_from(rows).ok()?;
                usize::try_from(dice.checked_rem(rows)?).ok()?
            }
        };
        (left < rows).then_some(left)
    }
}

/// An HTML page that does not come from the service and has none of its headers. Statuses that forbid a
/// body have none.
pub(in crate::mock) fn html(status: StatusCode) -> HttpResponse {
    if status.is_informational() || matches!(status.as_u16(), 204 | 205 | 304) {
        return HttpResponse { status, headers: HeaderMap::new(), body: Bytes::new() };
    }
    let text = status.canonical_reason().unwrap_or("Gateway");
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let body = format!("<!DOCTYPE html><html><head><title>{text}</title></head><body/></html>");
    HttpResponse { status, headers, body: body.into() }
}
