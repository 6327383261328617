//! The responses in a batch.

use http::{HeaderMap, StatusCode, header};

use crate::wire::multipart::{Message, MultipartError, Part, Parts, first_status};

/// Returns the status of the response, or of the operation in it that failed.
pub(super) fn status_of(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> StatusCode {
    if status != StatusCode::ACCEPTED {
        return status;
    }
    // Most batches succeed, so only the first status is read.
    if content_type(headers)
        .and_then(|kind| first_status(kind, body))
        .is_none_or(|s| !is_failure(s))
    {
        return status;
    }
    failed(headers, body).and_then(|message| message.status().ok()).unwrap_or(status)
}

/// Returns the headers of the operation in a batch that failed.
pub(crate) fn failed_headers(headers: &HeaderMap, body: &[u8]) -> Option<HeaderMap> {
    failed(headers, body)?.headers().ok()
}

/// Returns the body of the operation in a batch that failed.
pub(crate) fn failed_body<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Option<&'a [u8]> {
    failed(headers, body).map(|message| message.body)
}

fn is_failure(status: StatusCode) -> bool {
    !status.is_success()
}

/// Returns the failure in a batch, which is its only result. With other results, the response contradicts itself.
fn failed<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Option<Message<'a>> {
    let has_more = |parts: &mut Parts<'a>| matches!(parts.next(), Some(Ok(_)));
    let mut parts = parts(headers, body).ok()?;
    let (message, is_alone) = match parts.next()?.ok()? {
        Part::Message(message) => (message, true),
        Part::Parts(mut changeset) => match changeset.next()?.ok()? {
            Part::Message(message) => (message, !has_more(&mut changeset)),
            Part::Parts(_) => return None,
        },
    };
    let is_alone = is_alone && !has_more(&mut parts);
    Some(message).filter(|message| is_alone && message.status().is_ok_and(is_failure))
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
