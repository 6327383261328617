//! What a failed slice means for its rows. No I/O.

use crate::error::{Error, ErrorCode, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The service wants less at once. Nothing was done.
    Throttled,
    /// It may go well next time. If the service was overloaded, less at once may help.
    Transient { is_overload: bool },
    /// The service refuses an operation, of this index if it says so.
    Refused(Option<usize>),
    /// Nothing is said of the rows, and asking again would not help.
    Failed,
    /// Whatever else is sent would be refused as well.
    Fatal,
}

impl Verdict {
    pub(super) fn of(error: &Error) -> Self {
        if error.is_throttled() {
            return Self::Throttled;
        }
        if matches!(error.status(), Some(408 | 500 | 502 | 504)) {
            return Self::Transient { is_overload: true };
        }
        match error.kind() {
            ErrorKind::Timeout => Self::Transient { is_overload: true },
            ErrorKind::Connect | ErrorKind::Interrupted => Self::Transient { is_overload: false },
            ErrorKind::Service if is_of_all(error) => Self::Fatal,
            ErrorKind::Service => Self::Refused(error.batch_index()),
            _ if error.status() == Some(413) => Self::Refused(None),
            _ => Self::Failed,
        }
    }
}

/// Whether the refusal is about the table or the account, and not about a row.
fn is_of_all(error: &Error) -> bool {
    const PERMISSION: &str = "AuthorizationPermissionMismatch";
    error.status() == Some(401)
        || error.code().is_some_and(|code| {
            *code == ErrorCode::TABLE_NOT_FOUND
                || *code == ErrorCode::TABLE_BEING_DELETED
                || *code == ErrorCode::AUTHENTICATION_FAILED
                || code.as_str() == PERMISSION
        })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::wire::service_error::ErrorBody;

    fn service(status: u16, code: &str, message: &str) -> Error {
        Error::service(ErrorBody { code: code.into(), message: message.into() })
            .with_reply(StatusCode::from_u16(status).unwrap(), None)
    }

    #[test]
    fn each_error_means_one_thing_for_the_rows() {
        let overload = Verdict::Transient { is_overload: true };
        for (status, code, message, expected) in [
            (503, "ServerBusy", "busy", Verdict::Throttled),
            (429, "TooManyRequests", "busy", Verdict::Throttled),
            (500, "OperationTimedOut", "time", overload),
            (409, "EntityAlreadyExists", "7:there", Verdict::Refused(Some(7))),
            (413, "RequestBodyTooLarge", "large", Verdict::Refused(None)),
            (403, "AuthorizationFailure", "3:outside", Verdict::Refused(Some(3))),
            (403, "AuthenticationFailed", "key", Verdict::Fatal),
            (404, "TableNotFound", "0:table", Verdict::Fatal),
            (409, "TableBeingDeleted", "0:table", Verdict::Fatal),
        ] {
            assert_eq!(Verdict::of(&service(status, code, message)), expected, "{code}");
        }
        let page = Error::unexpected_reply("a page");
        assert_eq!(Verdict::of(&page.with_reply(StatusCode::NOT_FOUND, None)), Verdict::Failed);
        let page = Error::unexpected_reply("a page");
        assert_eq!(Verdict::of(&page.with_reply(StatusCode::BAD_GATEWAY, None)), overload);
        assert_eq!(Verdict::of(&Error::timeout("late")), overload);
    }
}
