//! The credential and the date of the attempts of one call, and the difference between this machine's clock and the
//! service's. A refused signature is replaced once for each cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};

use super::Pipeline;
#[cfg(feature = "entra")]
use super::attempts::Bearer;
use crate::auth::Credential;
use crate::error::ErrorCode;
use crate::operation::Answer;

/// The signing of the attempts of one call.
pub(super) struct Signing {
    /// The credential that signed the last attempt.
    pub(super) credential: Arc<Credential>,
    /// The date of the last attempt.
    dated: SystemTime,
    /// Whether an attempt was dated by the service's clock.
    has_new_date: bool,
    /// Whether an attempt was signed again because the credential had been replaced.
    has_new_signature: bool,
    #[cfg(feature = "entra")]
    pub(super) bearer: Bearer,
}

impl Signing {
    pub(super) fn new(pipeline: &Pipeline) -> Self {
        Self {
            credential: pipeline.credential.get(),
            dated: SystemTime::UNIX_EPOCH,
            has_new_date: false,
            has_new_signature: false,
            #[cfg(feature = "entra")]
            bearer: Bearer::default(),
        }
    }

    /// Returns the date of the next attempt.
    pub(super) fn date(&mut self, pipeline: &Pipeline) -> SystemTime {
        self.dated = pipeline.now();
        self.dated
    }

    /// Returns whether to sign the request again after this refusal.
    pub(super) fn is_renewed(&mut self, pipeline: &Pipeline, answer: &Answer) -> bool {
        match answer.status {
            StatusCode::FORBIDDEN if answer.code() == Some(ErrorCode::AuthenticationFailed) => {
                if !self.has_new_date && self.is_misdated(pipeline, answer) {
                    self.has_new_date = true;
                    return true;
                }
                self.is_replaced(pipeline)
            }
            // Cosmos DB refuses a credential with this status.
            StatusCode::UNAUTHORIZED => self.is_replaced(pipeline),
            _ => false,
        }
    }

    /// Whether the service refuses the date of a signature, since this machine's clock is off.
    fn is_misdated(&self, pipeline: &Pipeline, answer: &Answer) -> bool {
        self.credential.key().is_some()
            && pipeline.skew.learn(&answer.headers, self.dated, pipeline.clock.now())
    }

    /// Whether the credential was replaced during this call, for the first time.
    fn is_replaced(&mut self, pipeline: &Pipeline) -> bool {
        let is_replaced =
            !self.has_new_signature && pipeline.credential.is_newer_than(&self.credential);
        self.has_new_signature |= is_replaced;
        is_replaced
    }
}

/// The service accepts a date that is up to 15 min off. A smaller difference than this one is not the reason
/// for a refusal.
const NOTICED: Duration = Duration::from_secs(5 * 60);

/// The seconds to add to this machine's time.
#[derive(Debug, Default)]
pub(super) struct Skew(AtomicI64);

impl Skew {
    pub(super) fn of(&self, now: SystemTime) -> SystemTime {
        let seconds = self.0.load(Ordering::Relaxed);
        let skew = Duration::from_secs(seconds.unsigned_abs());
        let moved = if seconds < 0 { now.checked_sub(skew) } else { now.checked_add(skew) };
        moved.unwrap_or(now)
    }

    /// Learns from the date of a response to a request with the date `dated`; this machine's clock shows `now`.
    /// Returns whether the date was too far off.
    pub(super) fn learn(&self, headers: &HeaderMap, dated: SystemTime, now: SystemTime) -> bool {
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else {
            return false;
        };
        let off = |time: SystemTime| match date.duration_since(time) {
            Ok(behind) => (behind, 1),
            Err(error) => (error.duration(), -1),
        };
        // A concurrent call may have stored the skew already; this request had a wrong date all the same.
        if off(dated).0 < NOTICED {
            return false;
        }
        let (skew, sign) = off(now);
        let seconds = i64::try_from(skew.as_secs()).unwrap_or(i64::MAX);
        self.0.store(sign * seconds, Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_clock_that_is_off_is_noticed_once() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        for off in [400_u64, 86_400] {
            for (service, machine) in
                [(1_000_000_000, 1_000_000_000 + off), (1_000_000_000 + off, 1_000_000_000)]
            {
                let mut headers = HeaderMap::new();
                let date = httpdate::fmt_http_date(at(service));
                headers.insert(header::DATE, date.parse().unwrap());
                let skew = Skew::default();
                assert!(skew.learn(&headers, at(machine), at(machine)));
                assert_eq!(skew.of(at(machine)), at(service));
                assert!(
                    skew.learn(&headers, at(machine), at(machine)),
                    "dated before it was known"
                );
                assert!(!skew.learn(&headers, at(service), at(machine)), "dated right");
            }
        }
        let mut headers = HeaderMap::new();
        let skew = Skew::default();
        assert!(!skew.learn(&headers, at(1_000), at(1_000)));
        headers.insert(header::DATE, "now".parse().unwrap());
        assert!(!skew.learn(&headers, at(1_000), at(1_000)));
        headers.insert(header::DATE, httpdate::fmt_http_date(at(1_100)).parse().unwrap());
        assert!(!skew.learn(&headers, at(1_000), at(1_000)), "a small skew is ignored");
        assert_eq!(Skew(AtomicI64::new(i64::MAX)).of(at(5)), at(5), "no time is that late");
    }
}
