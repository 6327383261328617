//! The HTTP status for each error of the table.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use azure_table_client::limits::LimitError;
use azure_table_client::{Error, ErrorCode, ErrorKind, Outcome};
use serde_json::json;

/// The reason for a failed request.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request writes a note without a condition.
    NoCondition,
    /// The path has a text that is not a key, and so names nothing.
    NoKey(LimitError),
    Table(Error),
}

impl From<LimitError> for Failure {
    fn from(error: LimitError) -> Self {
        Self::NoKey(error)
    }
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
            Self::NoKey(error) => (StatusCode::NOT_FOUND, error.to_string()),
            Self::Table(error) => of_table(error),
        };
        let mut body = json!({ "error": text });
        if let Self::Table(error) = &self {
            // The operator finds the request in the logs of the table service by this id.
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

/// Returns the status and the text for the visitor. The text of an error is for the log only, unless it is
/// about the visitor's request.
fn of_table(error: &Error) -> (StatusCode, String) {
    let (status, text) = match error.kind() {
        ErrorKind::InvalidInput => return (StatusCode::BAD_REQUEST, error.to_string()),
        ErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "the table takes too long"),
        // Before 404, 409 and 412: the status is that of the last attempt, and an earlier one may have been applied.
        _ if error.outcome() == Outcome::Unknown => {
            (StatusCode::GATEWAY_TIMEOUT, "the note may have been written: read it")
        }
        _ if error.code() == Some(&ErrorCode::TableNotFound) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "the table does not exist")
        }
        _ if error.is_not_found() => (StatusCode::NOT_FOUND, "the note does not exist"),
        _ if error.code() == Some(&ErrorCode::EntityAlreadyExists) => {
            (StatusCode::PRECONDITION_FAILED, "the note exists already")
        }
        _ if error.is_precondition_failed() => {
            (StatusCode::PRECONDITION_FAILED, "the note has another version")
        }
        _ if error.is_throttled() => (StatusCode::SERVICE_UNAVAILABLE, "the table is busy"),
        _ => (StatusCode::BAD_GATEWAY, "the table cannot be used"),
    };
    (status, text.to_owned())
}
