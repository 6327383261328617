//! What of the table becomes which status.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use azure_table_client::{Error, ErrorCode, ErrorKind, Outcome};
use serde_json::json;

/// Why a request is not done.
#[derive(Debug)]
pub(super) enum Failure {
    /// A write must say which version it means.
    NoCondition,
    Table(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Table(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, text) = match &self {
            Self::NoCondition => (
                StatusCode::PRECONDITION_REQUIRED,
                "send If-None-Match: * for a new note, or If-Match with its ETag".to_owned(),
            ),
            Self::Table(error) => of_table(error),
        };
        let mut body = json!({ "error": text });
        if let Self::Table(error) = &self {
            // For the operator: it finds the request in the logs of the table service.
            body["request_id"] = json!(error.request_id());
            body["is_done"] = match error.outcome() {
                Outcome::Applied => json!(true),
                Outcome::NotApplied => json!(false),
                Outcome::Unknown => json!("unknown"),
            };
        }
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, 10.into());
        }
        response
    }
}

/// The status, and what a visitor may know of it: the text of an error is for the log, unless it is
/// about what the visitor sent.
fn of_table(error: &Error) -> (StatusCode, String) {
    let (status, text) = match error.kind() {
        ErrorKind::InvalidInput => return (StatusCode::BAD_REQUEST, error.to_string()),
        ErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "the table takes too long"),
        _ if error.code() == Some(&ErrorCode::TableNotFound) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "the table is not there")
        }
        _ if error.is_not_found() => (StatusCode::NOT_FOUND, "there is no such note"),
        _ if error.code() == Some(&ErrorCode::EntityAlreadyExists) => {
            (StatusCode::PRECONDITION_FAILED, "the note is there already")
        }
        _ if error.is_precondition_failed() => {
            (StatusCode::PRECONDITION_FAILED, "somebody else has written the note")
        }
        _ if error.is_throttled() => (StatusCode::SERVICE_UNAVAILABLE, "the table is busy"),
        _ => (StatusCode::BAD_GATEWAY, "the table cannot be used"),
    };
    (status, text.to_owned())
}
