//! The wall clock that dates requests, and stamps what the mock stores.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// Tells the time of day.
///
/// A client and the mock that it talks to share one clock, so that advancing it in a test makes
/// no skew between them.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that goes with tokio's time: it stands still under `start_paused` and jumps with
/// `tokio::time::advance`.
#[derive(Debug, Clone)]
pub struct TokioClock {
    start: SystemTime,
    since: tokio::time::Instant,
}

impl TokioClock {
    /// A clock that shows `start` now.
    pub fn starting_at(start: SystemTime) -> Self {
        Self { start, since: tokio::time::Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> SystemTime {
        self.start + self.since.elapsed()
    }
}

/// A clock in use by several owners.
pub(crate) type SharedClock = Arc<dyn Clock>;
