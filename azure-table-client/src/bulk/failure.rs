//! The kinds of failures of a chunk. No I/O.

use crate::error::{Error, ErrorCode, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The service throttles the partition or the account. No row was applied.
    Throttled,
    /// A retry may succeed. If the service was overloaded, fewer requests in flight may help.
    Transient { is_overload: bool },
    /// The service refused an operation, with its index if it is known. No row was applied.
    Refused(Option<usize>),
    /// The failure is not about the rows, and a retry would not help.
    Failed,
    /// The service would refuse every other request too.
    Fatal,
}

impl FailureKind {
    /// Classifies the error of a chunk with this number of rows.
    pub(super) fn of(error: &Error, rows: usize) -> Self {
        if error.is_throttled() {
            return Self::Throttled;
        }
        if matches!(error.status(), Some(408 | 500 | 502 | 504)) {
            return Self::Transient { is_overload: true };
        }
        match error.kind() {
            ErrorKind::Timeout => Self::Transient { is_overload: true },
            _ if has_no_response(error) => Self::Transient { is_overload: false },
            ErrorKind::Service if is_of_all(error, rows) => Self::Fatal,
            ErrorKind::Service => Self::Refused(error.batch_index()),
            _ if error.status() == Some(413) => Self::Refused(None),
            _ => Self::Failed,
        }
    }
}

/// Whether the connection broke, or the response belongs to another request, which has no status here. The next attempt
/// may receive its own response.
fn has_no_response(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Connect | ErrorKind::Interrupted => true,
        ErrorKind::UnexpectedReply => error.status().is_none(),
        _ => false,
    }
}

/// Whether the service refused the table or the account, and not one of the rows.
fn is_of_all(error: &Error, rows: usize) -> bool {
    if matches!(error.code(), Some(ErrorCode::TableNotFound | ErrorCode::TableBeingDeleted)) {
        return true;
    }
    // A signature may cover only some keys: the service then reports the index of the operation in a transaction. The
    // response to a single row is the same as that of a firewall.
    let may_be_a_row = error.code() == Some(&ErrorCode::AuthorizationFailure)
        && (rows == 1 || error.batch_index().is_some());
    is_forbidden(error) && !may_be_a_row
}

fn is_forbidden(error: &Error) -> bool {
    matches!(error.status(), Some(401 | 403))
}

/// Whether the row was refused because of its content, and would be refused again.
pub(super) fn is_of_row(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidInput
        || (matches!(FailureKind::of(error, 1), FailureKind::Refused(_)) && !is_forbidden(error))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::super::operation::Row;
    use super::*;
    use crate::wire::service_error::ErrorBody;

    fn service(status: u16, code: &str, message: &str) -> Error {
        Error::service(ErrorBody { code: code.into(), message: message.into() })
            .with_reply(StatusCode::from_u16(status).unwrap(), None)
    }

    #[test]
    fn each_error_has_one_kind() {
        let overload = FailureKind::Transient { is_overload: true };
        for (status, code, message, expected) in [
            (503, "ServerBusy", "busy", FailureKind::Throttled),
            (429, "TooManyRequests", "busy", FailureKind::Throttled),
            (500, "OperationTimedOut", "time", overload),
            (409, "EntityAlreadyExists", "7:there", FailureKind::Refused(Some(7))),
            (413, "RequestBodyTooLarge", "large", FailureKind::Refused(None)),
            (403, "AuthorizationFailure", "3:outside", FailureKind::Refused(Some(3))),
            (403, "AuthorizationFailure", "a firewall", FailureKind::Fatal),
            (403, "AuthorizationSourceIPMismatch", "address", FailureKind::Fatal),
            (403, "AccountIsDisabled", "account", FailureKind::Fatal),
            (401, "InvalidAuthenticationInfo", "token", FailureKind::Fatal),
            (403, "AuthenticationFailed", "key", FailureKind::Fatal),
            (404, "TableNotFound", "0:table", FailureKind::Fatal),
            (409, "TableBeingDeleted", "0:table", FailureKind::Fatal),
        ] {
            assert_eq!(FailureKind::of(&service(status, code, message), 2), expected, "{code}");
        }
        let outside =
            service(403, "AuthorizationFailure", "a key outside the signature, or a firewall");
        assert_eq!(FailureKind::of(&outside, 1), FailureKind::Refused(None));
        assert!(!is_of_row(&outside) && is_of_row(&service(409, "EntityAlreadyExists", "there")));
        let page = Error::unexpected_reply("a page");
        assert_eq!(
            FailureKind::of(&page.with_reply(StatusCode::NOT_FOUND, None), 2),
            FailureKind::Failed
        );
        let page = Error::unexpected_reply("a page");
        assert_eq!(FailureKind::of(&page.with_reply(StatusCode::BAD_GATEWAY, None), 2), overload);
        assert_eq!(FailureKind::of(&Error::timeout("late"), 2), overload);
        let lost = FailureKind::Transient { is_overload: false };
        assert_eq!(FailureKind::of(&Error::unexpected_reply("of another request"), 2), lost);
        let page =
            Error::unexpected_reply("a page").with_reply(StatusCode::PAYLOAD_TOO_LARGE, None);
        assert!(Row::may_follow_an_earlier_attempt(&page), "a proxy says nothing about the row");
        let large = service(413, "RequestBodyTooLarge", "large");
        assert!(!Row::may_follow_an_earlier_attempt(&large));
    }
}
