//! The clock of a client: the time of day, durations, timers, and random bytes.
//!
//! This is the only place where the client uses the timers of its runtime and the operating system's random source.

mod random;

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

pub use self::random::RandomSourceError;

/// A timer; see [`Clock::sleep`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The time of day, durations and timers, and random bytes: the values that differ between two runs.
///
/// A client and the mock that it calls share one clock, so that they agree on the time when a test advances it.
///
/// The default methods measure and wait by tokio, whose paused time they follow. A client on another runtime needs
/// a clock that overrides [`sleep`](Self::sleep), and a [transport](crate::transport::Transport) of that runtime:
///
/// ```
/// use std::time::{Duration, Instant, SystemTime};
///
/// use azure_table_client::clock::{Clock, Sleep};
///
/// /// A clock that needs no runtime.
/// #[derive(Debug)]
/// struct ThreadClock;
///
/// impl Clock for ThreadClock {
///     fn now(&self) -> SystemTime {
///         SystemTime::now()
///     }
///
///     fn instant(&self) -> Instant {
///         Instant::now()
///     }
///
///     fn sleep(&self, duration: Duration) -> Sleep {
///         let (sender, receiver) = tokio::sync::oneshot::channel();
///         std::thread::spawn(move || {
///             std::thread::sleep(duration);
///             let _ = sender.send(());
///         });
///         Box::pin(async move { drop(receiver.await) })
///     }
/// }
/// ```
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the time of day, which dates requests.
    fn now(&self) -> SystemTime;

    /// Returns the current time of a clock that never runs backward, for measuring durations.
    fn instant(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    /// Returns a future that is ready once [`instant`](Self::instant) has advanced by `duration`.
    ///
    /// A duration that the runtime cannot represent may be cut.
    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }

    /// Fills `bytes` with random bytes for waits, and for the ids of requests and writes, which prove outcomes: no two
    /// programs may draw the same ones.
    ///
    /// The default reads the operating system's source at each call. A generator in the program would repeat its
    /// bytes in a fork, and after a virtual machine is started twice from one snapshot. A test can override this to
    /// repeat a run.
    ///
    /// # Errors
    /// The operating system has no random source, or refuses to read it.
    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::from)
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that follows tokio's time: it stands still under `start_paused` and jumps with
/// `tokio::time::advance`.
#[derive(Debug, Clone)]
pub struct TokioClock {
    start: SystemTime,
    since: tokio::time::Instant,
}

impl TokioClock {
    /// Creates a clock that shows `start` now.
    pub fn starting_at(start: SystemTime) -> Self {
        Self { start, since: tokio::time::Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> SystemTime {
        self.start + self.since.elapsed()
    }
}

/// A clock with several owners.
#[doc(hidden)]
pub type SharedClock = Arc<dyn Clock>;

impl dyn Clock {
    /// Returns the time since `start`.
    #[doc(hidden)]
    pub fn since(&self, start: Instant) -> Duration {
        self.instant().saturating_duration_since(start)
    }

    /// Returns the time until `at`; zero if it has passed.
    #[doc(hidden)]
    pub fn until(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.instant())
    }

    /// Waits for `work`, but not longer than `limit`.
    #[doc(hidden)]
    pub async fn timeout<F: Future + Unpin>(
        &self,
        limit: Duration,
        mut work: F,
    ) -> Option<F::Output> {
        let end = self.instant().checked_add(limit);
        let mut timer = self.sleep(limit);
        poll_fn(|context| {
            if let Poll::Ready(output) = Pin::new(&mut work).poll(context) {
                return Poll::Ready(Some(output));
            }
            // The clock decides as well: a timer of tokio is never ready after work that used up the budget of its task,
            // as reading does while data keeps arriving.
            let is_late = end.is_some_and(|end| self.instant() >= end);
            if is_late || timer.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for `work`, but only until `at`; `None` is unlimited.
    #[doc(hidden)]
    pub async fn timeout_at<F: Future + Unpin>(
        &self,
        at: Option<Instant>,
        work: F,
    ) -> Option<F::Output> {
        match at {
            Some(at) => self.timeout(self.until(at), work).await,
            None => Some(work.await),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn a_time_limit_holds_for_work_that_never_waits() {
        let clock: SharedClock = Arc::new(SystemClock);
        let work = pin!(async {
            for _ in 0..50_000_000_u64 {
                tokio::task::coop::consume_budget().await;
            }
        });
        assert_eq!(clock.timeout(Duration::from_millis(20), work).await, None);
    }
}
