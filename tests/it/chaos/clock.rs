//! A machine whose clock is off by hours.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use azure_table_client::clock::Clock;

/// The clock of a machine with this offset in seconds.
#[derive(Debug)]
pub(super) struct SkewedClock {
    inner: Arc<dyn Clock>,
    seconds: AtomicI64,
}

impl SkewedClock {
    pub(super) fn new(inner: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { inner, seconds: AtomicI64::new(0) })
    }

    /// Sets the clock ahead by this number of hours, or back if it is negative.
    pub(super) fn skew(&self, hours: i64) {
        self.seconds.store(hours * 3600, Ordering::Relaxed);
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> SystemTime {
        let seconds = self.seconds.load(Ordering::Relaxed);
        let skew = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { self.inner.now() - skew } else { self.inner.now() + skew }
    }
}
