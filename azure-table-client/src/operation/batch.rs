//! The responses in a batch.

use http::{HeaderMap, StatusCode, header};

use crate::wire::multipart::{Message, MultipartError, Part, Parts, first_status};

/// Returns the status of the response, or of the operation in it that failed.
pub(super) fn status_of(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> StatusCode {
    if status != StatusCode::ACCEPTED {
        return status;
    }
    // The failed operation is the first part. A look at its status is enough unless it failed.
    if content_type(headers)
        .and_then(|kind| first_status(kind, body))
        .is_none_or(|s| !is_failure(s))
    {
        return status;
    }
    let first = first(headers, body).and_then(|message| message.status().ok());
    first.filter(|status| is_failure(*status)).unwrap_or(status)
}

/// Returns the headers of the operation in a batch that failed.
pub(crate) fn failed_headers(headers: &HeaderMap, body: &[u8]) -> Option<HeaderMap> {
    let failed = first(headers, body).filter(|message| message.status().is_ok_and(is_failure));
    failed?.headers().ok()
}

/// Returns the body of the operation in a batch that failed.
pub(crate) fn failed_body<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Option<&'a [u8]> {
    let failed = first(headers, body).filter(|message| message.status().is_ok_and(is_failure));
    failed.map(|message| message.body)
}

fn is_failure(status: StatusCode) -> bool {
    !status.is_success()
}

/// Returns the first response in a batch.
fn first<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Option<Message<'a>> {
    match parts(headers, body).ok()?.next()?.ok()? {
        Part::Message(message) => Some(message),
        Part::Parts(mut changeset) => match changeset.next()?.ok()? {
            Part::Message(message) => Some(message),
            Part::Parts(_) => None,
        },
    }
}

fn parts<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Result<Parts<'a>, MultipartError> {
    Parts::read(content_type(headers).ok_or(MultipartError::Boundary)?, body)
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}

/// Returns the responses in a batch, including those in a changeset.
pub(super) fn messages<'a>(
    headers: &'a HeaderMap,
    body: &'a [u8],
) -> Result<Vec<Message<'a>>, MultipartError> {
    let mut messages = Vec::new();
    for part in parts(headers, body)? {
        match part? {
            Part::Message(message) => messages.push(message),
            Part::Parts(changeset) => {
                for part in changeset {
                    match part? {
                        Part::Message(message) => messages.push(message),
                        Part::Parts(_) => return Err(MultipartError::Depth),
                    }
                }
            }
        }
    }
    Ok(messages)
}
