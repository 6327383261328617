use std::time::Duration;

use super::retry::{self, FailedAttempt};
use super::trace::is_code;
use super::{Endpoint, unreachable};
use crate::error::{Error, Rounded};
use crate::operation::Answer;
use crate::transport::{TransportError, TransportErrorKind};

const OF_ANOTHER_REQUEST: &str =
    "the response belongs to another request: its x-ms-client-request-id differs";
const DAMAGED: &str = "the body of the response is damaged, or belongs to another request";

/// The reason why an attempt may be retried.
pub(super) enum Failure {
    Response(Answer),
    /// A response with the id of another request. Nothing in it is used.
    OfAnotherRequest,
    /// A response to a read, with a body that is cut, is not in the format that its head announces, or has the rows of
    /// another request.
    Damaged,
    Transport(TransportError),
    TimedOut(Duration),
}

impl Failure {
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Response(..) | Self::OfAnotherRequest | Self::Damaged | Self::TimedOut(_) => true,
            Self::Transport(error) => retry::is_transient_error(error.kind()),
        }
    }

    /// Whether the attempt cannot have been applied: the service refused it, or the request never left this machine.
    pub(super) fn closes(&self) -> bool {
        match self {
            Self::Response(answer) => answer.closes,
            Self::Transport(error) => {
                matches!(error.kind(), TransportErrorKind::Connect | TransportErrorKind::Invalid)
            }
            Self::OfAnotherRequest | Self::Damaged | Self::TimedOut(_) => false,
        }
    }

    /// Returns the error of the transport, if it failed.
    pub(super) const fn transport(&self) -> Option<&TransportError> {
        match self {
            Self::Transport(error) => Some(error),
            Self::Response(..) | Self::OfAnotherRequest | Self::Damaged | Self::TimedOut(_) => None,
        }
    }

    /// No connection could be made.
    pub(super) fn is_connect(&self) -> bool {
        matches!(self, Self::Transport(error) if error.kind() == TransportErrorKind::Connect)
    }

    /// The connection broke, or a part of the response is lost.
    pub(super) fn is_interrupted(&self) -> bool {
        match self {
            Self::Damaged => true,
            Self::Transport(error) => error.kind() == TransportErrorKind::Interrupted,
            Self::Response(..) | Self::OfAnotherRequest | Self::TimedOut(_) => false,
        }
    }

    pub(super) const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut(_))
    }

    /// Returns the description of the failure that the retry policy receives.
    pub(super) fn attempt(&self, number: u32) -> FailedAttempt {
        let mut failed = FailedAttempt::new(number);
        if let Self::Response(answer) = self {
            failed.status = Some(answer.status.as_u16());
            failed.retry_after = answer.wait;
        }
        failed
    }

    /// The error code of the service's response.
    pub(super) fn code(&self) -> Option<&str> {
        let Self::Response(answer) = self else { return None };
        answer.error.as_ref().map(|error| &*error.code).filter(|code| is_code(code))
    }

    /// The service's id of the request.
    pub(super) fn request_id(&self) -> Option<&str> {
        let Self::Response(answer) = self else { return None };
        answer.request_id()
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Response(answer) => answer.status.to_string(),
            Self::OfAnotherRequest => OF_ANOTHER_REQUEST.to_owned(),
            Self::Damaged => DAMAGED.to_owned(),
            Self::Transport(error) => error.to_string(),
            Self::TimedOut(limit) => format!("no response within {}", Rounded(*limit)),
        }
    }

    /// Returns one sentence of advice.
    pub(super) fn hint(&self, endpoint: &Endpoint) -> Option<String> {
        match self {
            Self::Response(..) | Self::Damaged | Self::TimedOut(_) => None,
            Self::OfAnotherRequest => Some(
                "A proxy between this program and the service mixes up responses, or changes \
                 x-ms-client-request-id in all of them."
                    .to_owned(),
            ),
            Self::Transport(error) => unreachable::hint(error, endpoint),
        }
    }

    /// Returns the answer, or the error of an attempt without one.
    pub(super) fn into_answer(self) -> Result<Answer, Error> {
        match self {
            Self::Response(answer) => Ok(answer),
            Self::OfAnotherRequest => Err(Error::unexpected_reply(OF_ANOTHER_REQUEST)),
            Self::Damaged => Err(Error::damaged_reply(DAMAGED)),
            Self::Transport(error) => Err(Error::from(error)),
            Self::TimedOut(limit) => {
                Err(Error::timeout(format!("no response within {}", Rounded(limit))))
            }
        }
    }
}
