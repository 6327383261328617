//! What a failed slice means for its rows. No I/O.

use crate::error::{Error, ErrorCode, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The service wants less at once. Nothing was done.
    Throttled,
    /// It may go well next time. If the service was overloaded, less at once may help.
    Transient { is_overload: bool },
    /// The service refuses an operation, of this index if it says so. Nothing was done.
    Refused(Option<usize>),
    /// Nothing is said of the rows, and asking again would not help.
    Failed,
    /// Whatever else is sent would be refused as well.
    Fatal,
}

impl Verdict {
    /// What the failure of a slice of so many rows means.
    pub(super) fn of(error: &Error, rows: usize) -> Self {
        if error.is_throttled() {
            return Self::Throttled;
        }
        if matches!(error.status(), Some(408 | 500 | 502 | 504)) {
            return Self::Transient { is_overload: true };
        }
        match error.kind() {
            ErrorKind::Timeout => Self::Transient { is_overload: true },
            ErrorKind::Connect | ErrorKind::Interrupted => Self::Transient { is_overload: false },
            ErrorKind::Service if is_of_all(error, rows) => Self::Fatal,
            ErrorKind::Service => Self::Refused(error.batch_index()),
            _ if error.status() == Some(413) => Self::Refused(None),
            _ => Self::Failed,
        }
    }
}

/// Whether the refusal of a slice is about the table or the account, and not about one of its rows.
fn is_of_all(error: &Error, rows: usize) -> bool {
    let code = error.code().map_or("", ErrorCode::as_str);
    let is_one_of = |codes: &[ErrorCode]| codes.iter().any(|known| known.as_str() == code);
    if is_one_of(&[ErrorCode::TableNotFound, ErrorCode::TableBeingDeleted]) {
        return true;
    }
    // A signature may be for some keys only: of a transaction, the service then says which operation
    // is outside. Of one row alone it says the same as a firewall does.
    let may_be_a_row =
        code == "AuthorizationFailure" && (rows == 1 || error.batch_index().is_some());
    is_forbidden(error) && !may_be_a_row
}

fn is_forbidden(error: &Error) -> bool {
    matches!(error.status(), Some(401 | 403))
}

/// Whether the row is refused for what it is, and would be so again.
pub(super) fn is_of_row(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidInput
        || (matches!(Verdict::of(error, 1), Verdict::Refused(_)) && !is_forbidden(error))
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
            (403, "AuthorizationFailure", "a firewall", Verdict::Fatal),
            (403, "AuthorizationSourceIPMismatch", "address", Verdict::Fatal),
            (403, "AccountIsDisabled", "account", Verdict::Fatal),
            (401, "InvalidAuthenticationInfo", "token", Verdict::Fatal),
            (403, "AuthenticationFailed", "key", Verdict::Fatal),
            (404, "TableNotFound", "0:table", Verdict::Fatal),
            (409, "TableBeingDeleted", "0:table", Verdict::Fatal),
        ] {
            assert_eq!(Verdict::of(&service(status, code, message), 2), expected, "{code}");
        }
        let outside =
            service(403, "AuthorizationFailure", "a key outside the signature, or a firewall");
        assert_eq!(Verdict::of(&outside, 1), Verdict::Refused(None));
        assert!(!is_of_row(&outside) && is_of_row(&service(409, "EntityAlreadyExists", "there")));
        let page = Error::unexpected_reply("a page");
        assert_eq!(Verdict::of(&page.with_reply(StatusCode::NOT_FOUND, None), 2), Verdict::Failed);
        let page = Error::unexpected_reply("a page");
        assert_eq!(Verdict::of(&page.with_reply(StatusCode::BAD_GATEWAY, None), 2), overload);
        assert_eq!(Verdict::of(&Error::timeout("late"), 2), overload);
    }
}
