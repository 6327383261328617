//! The failures of attempts, and when a failed attempt is repeated.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::Endpoint;
use super::trace::is_code;
use crate::clock::Clock;
use crate::error::{Error, Rounded};
use crate::operation::Answer;
use crate::transport::{NO_PROVIDER, NO_TLS, TransportError, TransportErrorKind};

/// When and how often a failed attempt is repeated.
///
/// Retried: 408, 429, 500, 502, 503 and 504, connections that failed or broke, timeouts, and responses to reads
/// whose body is cut, is not in the format that the head announces, or has the rows of another request. A connection that could not be made, or a
/// response to a read that was lost or damaged, is replaced immediately the first time. Other responses are
/// not retried, with two exceptions, each once per call: a 403 caused by a wrong clock is sent with the date of
/// the service, and a 403 for a credential that was [replaced](crate::TableServiceClient::set_credential)
/// meanwhile is signed again.
///
/// The default is exponential with three retries: waits of up to 0.8 s, 1.6 s and 3.2 s, each a random part of
/// that ("full jitter"), so that clients that failed together do not return together. A `Retry-After` of the
/// service is a lower bound of the wait. Compared with other clients:
///
/// | client | retries | first wait | longest wait | jitter | one attempt | whole call |
/// |---|---|---|---|---|---|---|
/// | this one | 3 | 0.8 s | 60 s | full | 60 s | 5 min |
/// | .NET [Azure.Core][net] | 3 | 0.8 s | 60 s | up to 20 % | 100 s | none |
/// | Python [azure-core][python] | 10, at most 3 of one kind | 0.8 s, the first at once | 120 s | none | 300 s to connect or read | 7 days |
/// | Go [azcore][go] | 3 | 0.8 s (4 s at first) | 60 s (120 s at first) | up to 30 % | none | none |
///
/// Retries also end where a client has spent its [budget](crate::TableServiceClientBuilder::retry_budget).
///
/// [net]: https://learn.microsoft.com/dotnet/api/azure.core.retryoptions
/// [python]: https://learn.microsoft.com/python/api/azure-core/azure.core.pipeline.policies.retrypolicy
/// [go]: https://pkg.go.dev/github.com/Azure/azure-sdk-for-go/sdk/azcore/policy#RetryOptions
#[doc(alias("backoff", "ExponentialRetry", "throttling"))]
#[derive(Clone)]
pub struct RetryPolicy {
    max_retries: u32,
    waits: Waits,
}

#[derive(Clone)]
enum Waits {
    Fixed(Duration),
    Exponential { base: Duration, cap: Duration },
    Own(Arc<OwnWaits>),
}

type OwnWaits = dyn Fn(&FailedAttempt) -> Option<Duration> + Send + Sync;

/// A failed attempt whose cause may be transient, for [`RetryPolicy::own`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// Its number, from 1.
    pub number: u32,
    /// The HTTP status; `None` without a response.
    pub status: Option<u16>,
    /// The wait that the service requests.
    pub retry_after: Option<Duration>,
}

impl FailedAttempt {
    pub(crate) const fn new(number: u32) -> Self {
        Self { number, status: None, retry_after: None }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::exponential(3, Duration::from_millis(800), Duration::from_secs(60))
    }
}

impl RetryPolicy {
    /// Waits of up to `base`, twice that, four times that …, none above `cap`.
    pub const fn exponential(max_retries: u32, base: Duration, cap: Duration) -> Self {
        Self { max_retries, waits: Waits::Exponential { base, cap } }
    }

    /// The same wait each time.
    pub const fn fixed(max_retries: u32, wait: Duration) -> Self {
        Self { max_retries, waits: Waits::Fixed(wait) }
    }

    /// One attempt only.
    pub const fn none() -> Self {
        Self::fixed(0, Duration::ZERO)
    }

    /// Waits for the duration that `wait` returns; `None` ends the attempts.
    ///
    /// ```
    /// # use azure_table_client::RetryPolicy;
    /// # use std::time::Duration;
    /// // Twice, and after throttling only.
    /// let policy = RetryPolicy::own(|failed| {
    ///     let is_throttled = matches!(failed.status, Some(429 | 503));
    ///     let wait = failed.retry_after.unwrap_or(Duration::from_secs(2));
    ///     (is_throttled && failed.number <= 2).then_some(wait)
    /// });
    /// ```
    pub fn own(wait: impl Fn(&FailedAttempt) -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self { max_retries: u32::MAX, waits: Waits::Own(Arc::new(wait)) }
    }

    /// How often a failed attempt is done again at most.
    pub const fn max_retries(&self) -> u32 {
        self.max_retries
    }

    /// The longest wait after the attempt with this number, counted from 1, before jitter; `None` if it
    /// is not known beforehand.
    pub fn longest_wait(&self, attempt: u32) -> Option<Duration> {
        match &self.waits {
            Waits::Fixed(wait) => Some(*wait),
            Waits::Exponential { base, cap } => {
                let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
                Some(base.saturating_mul(factor).min(*cap))
            }
            Waits::Own(_) => None,
        }
    }

    /// The wait after that attempt; `None` if it was the last one.
    pub(crate) fn wait(&self, failed: &FailedAttempt, clock: &dyn Clock) -> Option<Duration> {
        let own = match &self.waits {
            Waits::Own(wait) => return wait(failed),
            Waits::Fixed(wait) => *wait,
            Waits::Exponential { .. } => below(self.longest_wait(failed.number)?, clock),
        };
        Some(failed.retry_after.map_or(own, |server| own.max(server)))
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.waits {
            Waits::Fixed(wait) => write!(f, "fixed({}, {wait:?})", self.max_retries),
            Waits::Exponential { base, cap } => {
                write!(f, "exponential({}, {base:?}, {cap:?})", self.max_retries)
            }
            Waits::Own(_) => f.write_str("own"),
        }
    }
}

/// Any time up to `longest`.
fn below(longest: Duration, clock: &dyn Clock) -> Duration {
    let seconds = longest.as_secs_f64() * clock.random_fraction();
    // Only rounding at the very end of the range can fail.
    Duration::try_from_secs_f64(seconds).unwrap_or(longest)
}

/// Returns whether a second attempt may succeed.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

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
            Self::Transport(error) => matches!(
                error.kind(),
                TransportErrorKind::Connect | TransportErrorKind::Interrupted
            ),
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
    use crate::clock::SystemClock;

    fn failed(number: u32, retry_after: Option<u64>) -> FailedAttempt {
        let retry_after = retry_after.map(Duration::from_secs);
        FailedAttempt { retry_after, ..FailedAttempt::new(number) }
    }

    #[test]
    fn waits_grow_to_the_cap_and_never_overflow() {
        let policy = RetryPolicy::exponential(9, Duration::from_secs(1), Duration::from_secs(10));
        let longest: Vec<u64> =
            (1..=6).map(|n| policy.longest_wait(n).unwrap().as_secs()).collect();
        assert_eq!(longest, [1, 2, 4, 8, 10, 10]);
        assert_eq!(policy.longest_wait(u32::MAX).unwrap().as_secs(), 10);
        for _ in 0..100 {
            assert!(policy.wait(&failed(3, None), &SystemClock).unwrap() <= Duration::from_secs(4));
        }
        let fixed = RetryPolicy::fixed(2, Duration::from_secs(5));
        assert_eq!(fixed.wait(&failed(7, None), &SystemClock), Some(Duration::from_secs(5)));
        let endless = RetryPolicy::exponential(9, Duration::MAX, Duration::MAX);
        assert!((0..1000).all(|_| endless.wait(&failed(3, None), &SystemClock).is_some()));
    }

    #[test]
    fn the_service_sets_the_lower_bound() {
        let fixed = RetryPolicy::fixed(2, Duration::from_secs(5));
        assert_eq!(fixed.wait(&failed(1, Some(30)), &SystemClock), Some(Duration::from_secs(30)));
        assert_eq!(fixed.wait(&failed(1, Some(1)), &SystemClock), Some(Duration::from_secs(5)));
    }

    #[test]
    fn own_waits() {
        let own = RetryPolicy::own(|failed| {
            (failed.number < 3).then(|| Duration::from_secs(failed.number.into()))
        });
        let waits = [1, 2, 3].map(|n| own.wait(&failed(n, Some(9)), &SystemClock));
        assert_eq!(waits, [Some(Duration::from_secs(1)), Some(Duration::from_secs(2)), None]);
        assert_eq!(format!("{own:?} {:?}", RetryPolicy::none()), "own fixed(0, 0ns)");
    }

    #[test]
    fn which_answers_are_done_again() {
        for status in 100..600 {
            let status = StatusCode::from_u16(status).unwrap();
            let expected = [408, 429, 500, 502, 503, 504].contains(&status.as_u16());
            assert_eq!(is_transient(status), expected, "{status}");
        }
    }

    #[test]
    fn the_guide_lists_the_operations_of_each_retry_class() {
        use std::collections::BTreeSet;

        use crate::Operation;
        use crate::wire::RetryClass::{Guarded, Read, Repeatable};

        let guide = include_str!("../../docs/guide/errors.md");
        for (name, class) in [("read", Read), ("guarded", Guarded), ("repeatable", Repeatable)] {
            let row = guide.lines().find(|line| line.starts_with(&format!("| **{name}** |")));
            let cell = row.unwrap().split('|').nth(2).unwrap();
            let listed: BTreeSet<_> =
                cell.split(',').map(|name| name.trim().trim_matches('`')).collect();
            let is_sent = |operation: &&Operation| **operation != Operation::Other;
            let expected: BTreeSet<_> = Operation::ALL
                .iter()
                .filter(is_sent)
                .filter(|operation| operation.retry_class() == class)
                .map(|operation| operation.as_str())
                .collect();
            assert_eq!(listed, expected, "{name}");
        }
    }

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
