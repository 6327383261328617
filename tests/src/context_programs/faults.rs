//! The faults of requests: those of the mock's random plans and of the proxy of the chaos.
//!
//! The network of a program strikes with them itself, so that it knows which deliveries the service applied.

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse};
use fastrand::Rng;

/// A fault of one request. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// No connection.
    RefuseConnection,
    /// The request does not arrive, and the connection breaks.
    LoseRequest,
    /// The request is applied, and the connection breaks.
    LoseResponse,
    /// The request does not arrive, and no response comes.
    Hang,
    /// The request arrives after this time, also if the client no longer waits.
    Late(u64),
    /// The response arrives after this time.
    LateResponse(u64),
    /// Another response, see [`RESPONSES`], before or after the request is applied.
    Instead {
        /// The index of the response.
        response: usize,
        /// Whether the request is applied.
        is_applied: bool,
    },
    /// The client receives the response to its previous request.
    SwapResponse,
    /// The response lacks its second half.
    TruncateResponse,
    /// Another copy of the request arrives after this time. The response is that to the first one, or with 0 to the second
    /// one.
    Twice(u64),
    /// The service is busy for one copy of the request, and another one arrives after this time.
    BusyAndLate(u64),
}

/// Names of responses that come in place of the service's, their faults as JSON, and whether the request can be applied.
const RESPONSES: [(&str, &str, bool); 16] = [
    ("busy", r#"{"fault": "busy", "retry_after": 1}"#, false),
    ("busy for minutes", r#"{"fault": "busy", "retry_after": 600}"#, false),
    ("too many requests", r#"{"fault": "too_many_requests"}"#, false),
    ("internal error", r#"{"fault": "internal_error"}"#, true),
    ("timed out", r#"{"fault": "timed_out"}"#, true),
    ("408", r#"{"fault": "error", "status": 408, "code": "RequestTimeout"}"#, true),
    ("proxy 502", r#"{"fault": "proxy_page", "status": 502}"#, true),
    ("proxy 503", r#"{"fault": "proxy_page", "status": 503}"#, true),
    ("empty 503", r#"{"fault": "proxy_page", "status": 503, "without_body": true}"#, true),
    ("proxy 200", r#"{"fault": "proxy_page", "status": 200}"#, true),
    ("portal 200", r#"{"fault": "captive_portal", "status": 200}"#, false),
    ("empty portal", r#"{"fault": "captive_portal", "status": 200, "without_body": true}"#, false),
    ("portal 204", r#"{"fault": "captive_portal", "status": 204}"#, false),
    ("disabled", r#"{"fault": "error", "status": 403, "code": "AccountIsDisabled"}"#, false),
    ("no table", r#"{"fault": "error", "status": 404, "code": "TableNotFound"}"#, false),
    ("throttled", r#"{"fault": "busy", "retry_after_date": 2}"#, false),
];
/// Longer than an attempt waits: 45 s. Longer than a save: 5 minutes. Close to the expiry of a request: 14 and 28 minutes.
const DELAYS: [u64; 7] = [5, 3_000, 45_000, 45_000, 300_000, 14 * 60_000, 28 * 60_000];

impl Fault {
    pub(super) fn random(chance: &mut Rng) -> Self {
        let delay = DELAYS[chance.usize(..DELAYS.len())];
        match chance.u8(..100) {
            0..5 => Self::RefuseConnection,
            5..15 => Self::LoseRequest,
            15..40 => Self::LoseResponse,
            40..43 => Self::Hang,
            43..55 => Self::Late(delay),
            55..58 => Self::LateResponse(delay.min(45_000)),
            58..82 => {
                let response = chance.usize(..RESPONSES.len());
                Self::Instead { response, is_applied: RESPONSES[response].2 && chance.bool() }
            }
            82..90 => Self::SwapResponse,
            90..93 => Self::TruncateResponse,
            93..97 => Self::Twice([0, 0, delay][chance.usize(..3)]),
            _ => Self::BusyAndLate(delay),
        }
    }

    /// The name for figures.
    pub(super) fn name(self) -> String {
        match self {
            Self::Instead { response, is_applied } => {
                let when = if is_applied { ", applied" } else { "" };
                format!("{}{when}", RESPONSES[response].0)
            }
            other => format!("{other:?}"),
        }
    }
}

/// The response of this index to a request, by a service with the same clock.
pub(super) fn response(
    mock: &MockTableService,
    index: usize,
    request: &HttpRequest,
) -> HttpResponse {
    let service = MockTableService::builder().clock(mock.clock()).kept_requests(0).build();
    service.faults().add_json(RESPONSES[index].1).expect("a fault");
    service.respond(request)
}
