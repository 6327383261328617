//! The control API below `/-/`: it fills, exports and empties the tables, injects faults, shows the requests
//! and sets the clock. It is documented in `docs/control.md`.
//!
//! Web pages of other origins cannot use it: a POST needs a media type that makes browsers send a preflight
//! request, there are no CORS headers, and the `Host` header must be a local name unless a token is required.

mod access;
mod clock;
mod export;
mod faults;
mod requests;
mod seed;

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::{Either, Full};
use hyper::body::{Body as _, Incoming};
use serde_json::{Value, json};
use tokio::task::block_in_place;
use url::form_urlencoded;

pub(crate) use self::export::Export;
pub(crate) use self::seed::load;
use crate::accounts::Served;
use crate::body::{self, BodyError};
use crate::limits::{Limits, NoRoom, Share};
use crate::shared::Shared;

/// The largest body.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A response, whose body may be an export in pieces.
pub(crate) type Reply = Response<Either<Full<Bytes>, Export>>;

/// An operation of the control API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Seed,
    Export,
    Reset,
    Faults,
    Requests,
    Clock,
}

/// An error response: its status, its text and the line of the body.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    error: String,
    line: Option<usize>,
}

/// The result of an operation: a JSON document or an export.
enum Done {
    Json(Value),
    Export(Export),
}

impl Action {
    fn of_path(path: &str) -> Option<Self> {
        Some(match path {
            "/-/seed" => Self::Seed,
            "/-/export" => Self::Export,
            "/-/reset" => Self::Reset,
            "/-/faults" => Self::Faults,
            "/-/requests" => Self::Requests,
            "/-/clock" => Self::Clock,
            _ => return None,
        })
    }

    fn methods(self) -> &'static str {
        match self {
            Self::Seed | Self::Reset => "POST",
            Self::Export => "GET",
            Self::Requests => "GET, DELETE",
            Self::Faults | Self::Clock => "GET, POST, DELETE",
        }
    }
}

impl Refusal {
    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), line: None }
    }

    fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

/// Returns `true` if the request belongs to the control API. A browser that opens `/-/requests` gets the page.
pub(crate) fn is_for(request: &Parts) -> bool {
    let accepts_html = || {
        let accepted = request.headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
        accepted.is_some_and(|kinds| kinds.contains("text/html"))
    };
    match Action::of_path(request.uri.path()) {
        Some(Action::Requests) => request.method == Method::DELETE || !accepts_html(),
        action => action.is_some(),
    }
}

/// Responds to a request of the control API. The body is read only if the request is allowed.
pub(crate) async fn respond(shared: &Shared, request: &Parts, body: Incoming) -> Reply {
    match execute(shared, request, body).await {
        Ok(Done::Json(value)) => {
            let body = Bytes::from(format!("{value}\n"));
            let mut share = shared.page_budget.share();
            // The response to a change does not wait.
            if request.method == Method::GET && share.grow(body.len()).await == Err(NoRoom) {
                return refuse(busy());
            }
            reply(StatusCode::OK, share.hold(body))
        }
        Ok(Done::Export(export)) => {
            with_type(Response::new(Either::Right(export)), "application/x-ndjson")
        }
        Err(refusal) => refuse(refusal),
    }
}

async fn execute(shared: &Shared, request: &Parts, body: Incoming) -> Result<Done, Refusal> {
    let action = Action::of_path(request.uri.path())
        .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "the path is unknown"))?;
    access::check(shared, request, action.methods())?;
    let done = run_with_body(shared, action, request, body).await?;
    if matches!(action, Action::Seed | Action::Reset) {
        for account in shared.accounts.iter() {
            account.service.written().await.map_err(|error| {
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
            })?;
        }
    }
    Ok(done)
}

/// Reads the body and executes the operation.
async fn run_with_body(
    shared: &Shared,
    action: Action,
    request: &Parts,
    body: Incoming,
) -> Result<Done, Refusal> {
    let mut share = shared.page_budget.share();
    let body = read(body, &mut share, &shared.limits).await?;
    // Another thread continues with the other connections while a large seed is read.
    block_in_place(|| run(shared, action, request, &body))
}

fn run(shared: &Shared, action: Action, request: &Parts, body: &str) -> Result<Done, Refusal> {
    let query = Query::of(request);
    let done = match action {
        Action::Seed => seed::post(shared, &query, body)?,
        Action::Export => return export::get(shared, &query).map(Done::Export),
        Action::Reset => seed::reset(shared, &query)?,
        Action::Faults => faults::respond(shared, &request.method, &query, body)?,
        Action::Requests => requests::respond(shared, &request.method, &query)?,
        Action::Clock => clock::respond(shared, &request.method, &query, body)?,
    };
    Ok(Done::Json(done))
}

fn busy() -> Refusal {
    let text = "other requests and responses use the memory: try again later";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Reads a body in UTF-8.
async fn read(mut body: Incoming, share: &mut Share, limits: &Limits) -> Result<String, Refusal> {
    let too_large = || {
        let text = format!("the body has more than {MAX_BODY_BYTES} bytes: split it");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    // A declared length is refused before the client sends the body.
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    let read = body::read(&mut body, Bytes::new(), MAX_BODY_BYTES + 1, share, limits).await;
    let read = read.map_err(|error| match error {
        BodyError::NoRoom => busy(),
        BodyError::Late => {
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
        }
        BodyError::Malformed => Refusal::bad("the body is malformed or incomplete"),
    })?;
    if !read.is_whole {
        return Err(too_large());
    }
    String::from_utf8(read.bytes.into()).map_err(|_| Refusal::bad("the body is not UTF-8"))
}

/// The options in the query of a URL. Unknown ones are errors.
struct Query(Vec<(String, String)>);

impl Query {
    fn of(request: &Parts) -> Self {
        let query = request.uri.query().unwrap_or_default();
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// Checks that the query has only these options.
    fn allow(&self, names: &[&str]) -> Result<(), Refusal> {
        match self.0.iter().find(|(name, _)| !names.contains(&&**name)) {
            Some((name, _)) if names.is_empty() => {
                Err(Refusal::bad(format!("unknown option {name:?}: there are no options")))
            }
            Some((name, _)) => Err(Refusal::bad(format!(
                "unknown option {name:?}: the options are {}",
                names.join(", ")
            ))),
            None => Ok(()),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let option = self.0.iter().find(|(known, _)| known == name);
        option.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let number = self.get(name).map(|text| {
            text.parse().map_err(|_| Refusal::bad(format!("{name} must be a whole number")))
        });
        number.transpose()
    }

    /// Returns the accounts that the query selects: all, or the one of `account`.
    fn accounts(&self, shared: &Shared) -> Result<Vec<Arc<Served>>, Refusal> {
        match self.get("account") {
            None => Ok(shared.accounts.iter().collect()),
            Some(name) => named(shared, name).map(|account| vec![account]),
        }
    }
}

fn named(shared: &Shared, name: &str) -> Result<Arc<Served>, Refusal> {
    let account = shared.accounts.named(name);
    account.ok_or_else(|| {
        Refusal::new(StatusCode::NOT_FOUND, format!("the account {name} does not exist"))
    })
}

fn refuse(Refusal { status, error, line }: Refusal) -> Reply {
    let mut body = json!({ "error": error });
    if let Some(line) = line {
        body["line"] = line.into();
    }
    let mut response = reply(status, format!("{body}\n").into());
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // The body of a refused request may not have been read.
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn reply(status: StatusCode, body: Bytes) -> Reply {
    let mut response = Response::new(Either::Left(Full::new(body)));
    *response.status_mut() = status;
    with_type(response, "application/json")
}

fn with_type(mut response: Reply, kind: &'static str) -> Reply {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
