use std::error::Error as _;
use std::io;
use std::iter::successors;
use std::time::Duration;

use super::Endpoint;
use super::retry::{self, FailedAttempt};
use super::trace::is_code;
use crate::error::{Error, Rounded};
use crate::operation::Answer;
use crate::transport::{NO_PROVIDER, NO_TLS, TransportError, TransportErrorKind};

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
            Self::Transport(error) => hint_of(error, endpoint),
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

/// Returns one sentence of advice on a connection that could not be made. It shows only the host and the port of the endpoint.
fn hint_of(error: &TransportError, endpoint: &Endpoint) -> Option<String> {
    let mut causes = successors(error.source(), |&cause| cause.source());
    match error.kind() {
        TransportErrorKind::Connect => {}
        TransportErrorKind::Invalid => {
            let text = causes.next()?.to_string();
            let is_advice = [NO_TLS, NO_PROVIDER].contains(&&*text);
            return is_advice.then(|| text[..1].to_ascii_uppercase() + &text[1..] + ".");
        }
        _ => return None,
    }
    let (host, port) = (endpoint.host(), endpoint.port());
    causes.find_map(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::ConnectionRefused) {
            return Some(format!(
                "Nothing listens at {host}:{port}, or at the proxy that leads there: check the \
                 endpoint, and that the service or the emulator runs."
            ));
        }
        if kind == Some(io::ErrorKind::TimedOut) {
            return Some(no_response(host, port));
        }
        // These have no types of their own.
        match cause.to_string().as_str() {
            "dns error" => Some(format!(
                "The name {host} cannot be resolved: check the account's name, the endpoint, and \
                 the network of this machine."
            )),
            "operation timed out" => Some(no_response(host, port)),
            "invalid URL, scheme is not http" if endpoint.is_https() => Some(
                "This program is built without TLS: turn on the feature rustls or native-tls of \
                 azure-table-client."
                    .to_owned(),
            ),
            _ => None,
        }
    })
}

fn no_response(host: &str, port: u16) -> String {
    format!(
        "{host}:{port} does not respond: a firewall may drop the packets, or a proxy may be \
         needed."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        kind: TransportErrorKind,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> String {
        let endpoint = Endpoint::parse("https://me.table.core.windows.net").unwrap();
        hint_of(&TransportError::new(kind, source), &endpoint).unwrap_or_default()
    }

    #[test]
    fn a_transport_without_tls_names_the_remedy() {
        let text = of(TransportErrorKind::Invalid, NO_TLS);
        assert!(text.starts_with("The hyper transport") && text.ends_with("client."), "{text}");
        assert!(of(TransportErrorKind::Invalid, NO_PROVIDER).starts_with("No provider"));
        assert_eq!(of(TransportErrorKind::Invalid, "another reason"), "");
    }

    #[test]
    fn causes_that_can_be_told() {
        let connect = TransportErrorKind::Connect;
        for (source, expected) in [
            (
                io::ErrorKind::ConnectionRefused.into(),
                "Nothing listens at me.table.core.windows.net:443",
            ),
            (io::ErrorKind::TimedOut.into(), "me.table.core.windows.net:443 does not respond"),
            (io::Error::other("dns error"), "The name me.table.core.windows.net cannot"),
            (io::Error::other("operation timed out"), "does not respond"),
            (io::Error::other("invalid URL, scheme is not http"), "built without TLS"),
        ] {
            let shown = of(connect, source);
            assert!(shown.contains(expected), "{shown}");
            // The page on troubleshooting has it, for whatever endpoint.
            let page = include_str!("../../docs/troubleshooting.md").replace('\n', " ");
            let rest = shown.rsplit("me.table.core.windows.net").next().unwrap();
            assert!(page.contains(rest.trim_start_matches(":443")), "{shown}");
        }
        assert_eq!(of(connect, "something else"), "");
        assert_eq!(of(TransportErrorKind::Interrupted, io::Error::other("dns error")), "");
    }
}
