use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};

use crate::transport::TransportErrorKind;

/// When and how often a failed attempt is done again.
///
/// Done again: 408, 429, 500, 502, 503 and 504, and connections that failed or broke or took too
/// long. Not done again: every other answer.
///
/// The default is exponential with three retries: waits of up to 0.8 s, 1.6 s and 3.2 s, drawn at
/// random between nothing and that ("full jitter"), so that clients that failed together do not
/// come back together. A `Retry-After` of the service is a lower bound of the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    max_retries: u32,
    base: Duration,
    cap: Duration,
    exponential: bool,
    jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::exponential(3, Duration::from_millis(800), Duration::from_mins(1))
    }
}

impl RetryPolicy {
    /// Waits of up to `base`, twice that, four times that …, none above `cap`.
    pub const fn exponential(max_retries: u32, base: Duration, cap: Duration) -> Self {
        Self { max_retries, base, cap, exponential: true, jitter: true }
    }

    /// The same wait each time.
    pub const fn fixed(max_retries: u32, wait: Duration) -> Self {
        Self { max_retries, base: wait, cap: wait, exponential: false, jitter: false }
    }

    /// One attempt only.
    pub const fn none() -> Self {
        Self::fixed(0, Duration::ZERO)
    }

    /// How often a failed attempt is done again at most.
    pub const fn max_retries(&self) -> u32 {
        self.max_retries
    }

    /// The longest wait after the attempt with this number, counted from 1, before jitter.
    pub fn longest_wait(&self, attempt: u32) -> Duration {
        if !self.exponential {
            return self.base;
        }
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }

    /// The wait after that attempt; `server` is what the service asked for.
    pub(crate) fn wait(&self, attempt: u32, server: Option<Duration>) -> Duration {
        let longest = self.longest_wait(attempt);
        let own = if self.jitter { below(longest) } else { longest };
        server.map_or(own, |server| own.max(server))
    }
}

/// Any time up to `longest`.
fn below(longest: Duration) -> Duration {
    let seconds = longest.as_secs_f64() * fastrand::f64();
    // Only rounding at the very end of the range can fail.
    Duration::try_from_secs_f64(seconds).unwrap_or(longest)
}

/// Whether an answer may be another one next time.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// Whether a request that got this answer may have been done, or may still be.
///
/// Throttling is decided before the work; the other transient answers say nothing about it.
pub(crate) fn leaves_outcome_open(status: StatusCode) -> bool {
    is_transient(status) && !matches!(status.as_u16(), 429 | 503)
}

pub(crate) fn is_transient_error(kind: TransportErrorKind) -> bool {
    matches!(kind, TransportErrorKind::Connect | TransportErrorKind::Interrupted)
}

/// `Retry-After` in seconds or as a date.
pub(crate) fn server_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn waits_grow_to_the_cap_and_never_overflow() {
        let policy = RetryPolicy::exponential(9, Duration::from_secs(1), Duration::from_secs(10));
        let longest: Vec<u64> = (1..=6).map(|n| policy.longest_wait(n).as_secs()).collect();
        assert_eq!(longest, [1, 2, 4, 8, 10, 10]);
        assert_eq!(policy.longest_wait(u32::MAX).as_secs(), 10);
        for _ in 0..100 {
            assert!(policy.wait(3, None) <= Duration::from_secs(4));
        }
        let fixed = RetryPolicy::fixed(2, Duration::from_secs(5));
        assert_eq!(fixed.wait(7, None), Duration::from_secs(5));
        let endless = RetryPolicy::exponential(9, Duration::MAX, Duration::MAX);
        assert!((0..1000).all(|_| endless.wait(3, None) <= Duration::MAX));
    }

    #[test]
    fn the_service_sets_the_lower_bound() {
        let fixed = RetryPolicy::fixed(2, Duration::from_secs(5));
        assert_eq!(fixed.wait(1, Some(Duration::from_secs(30))), Duration::from_secs(30));
        assert_eq!(fixed.wait(1, Some(Duration::from_secs(1))), Duration::from_secs(5));
    }

    #[test]
    fn retry_after_in_both_forms() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, text.parse().unwrap());
            server_wait(&headers, UNIX_EPOCH + Duration::from_secs(784_111_777))
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:39 GMT"), Some(Duration::from_secs(2)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:30 GMT"), None, "in the past");
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-1"), None);
    }

    #[test]
    fn which_answers_are_done_again() {
        for status in 100..600 {
            let status = StatusCode::from_u16(status).unwrap();
            let expected = [408, 429, 500, 502, 503, 504].contains(&status.as_u16());
            assert_eq!(is_transient(status), expected, "{status}");
        }
    }
}
