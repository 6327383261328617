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
            Self::Table(error) => {
                let status = status_of(error);
                (status, text_of(status, error))
            }
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

/// Returns the HTTP status for an error of the table.
fn status_of(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        // Before 404, 409 and 412: the status is that of the last attempt, and an earlier one may have been applied.
        _ if error.outcome() == Outcome::Unknown => StatusCode::GATEWAY_TIMEOUT,
        _ if error.code() == Some(&ErrorCode::TableNotFound) => StatusCode::INTERNAL_SERVER_ERROR,
        _ if error.is_not_found() => StatusCode::NOT_FOUND,
        _ if error.is_precondition_failed()
            || error.code() == Some(&ErrorCode::EntityAlreadyExists) =>
        {
            StatusCode::PRECONDITION_FAILED
        }
        _ if error.is_throttled() => StatusCode::SERVICE_UNAVAILABLE,
        // Everything else in the request was checked, so the service refused the ETag of `If-Match`.
        ErrorKind::Service if error.status() == Some(400) => StatusCode::BAD_REQUEST,
        _ => StatusCode::BAD_GATEWAY,
    }
}

/// Returns the text for the visitor. The text of an error is for the log only, unless it is about the visitor's request.
fn text_of(status: StatusCode, error: &Error) -> String {
    let text = match status {
        StatusCode::BAD_REQUEST if error.kind() == ErrorKind::InvalidInput => {
            return error.to_string();
        }
        StatusCode::BAD_REQUEST => "If-Match is neither * nor one ETag",
        StatusCode::NOT_FOUND => "the note does not exist",
        StatusCode::PRECONDITION_FAILED => "the note exists already, or has another version",
        StatusCode::INTERNAL_SERVER_ERROR => "the table does not exist",
        StatusCode::SERVICE_UNAVAILABLE => "the table is busy",
        StatusCode::GATEWAY_TIMEOUT => {
            "the table takes too long: after a write, read the note to see whether it was written"
        }
        _ => "the table cannot be used",
    };
    text.to_owned()
}
