//! The clock of a machine, which is off by hours and runs fast or slow.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use azure_table_client::clock::{Clock, Sleep};
use fastrand::Rng;

/// The clock of a machine.
#[derive(Debug)]
pub struct MachineClock {
    inner: Arc<dyn Clock>,
    start: Instant,
    /// The seconds by which the time of day is ahead.
    ahead: AtomicI64,
    /// The speed of the monotonic clock: 1 is correct.
    rate: f64,
}

impl MachineClock {
    /// Creates the clock of a machine whose monotonic clock runs at this rate.
    pub fn new(inner: Arc<dyn Clock>, rate: f64) -> Self {
        let start = inner.instant();
        Self { inner, start, ahead: AtomicI64::new(0), rate }
    }

    /// Creates a clock that is correct, or off by up to five hours with a rate from 0.99 to 1.01.
    pub(super) fn random(inner: Arc<dyn Clock>, chance: &mut Rng) -> Self {
        if chance.u8(..4) == 0 {
            return Self::new(inner, 1.0);
        }
        let clock = Self::new(inner, 0.99 + 0.02 * chance.f64());
        clock.skew(chance.i64(-5..=5) * 3600);
        clock
    }

    /// Sets the time of day ahead by this number of seconds, or back if it is negative.
    pub fn skew(&self, seconds: i64) {
        self.ahead.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for MachineClock {
    fn now(&self) -> SystemTime {
        let seconds = self.ahead.load(Ordering::Relaxed);
        let skew = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { self.inner.now() - skew } else { self.inner.now() + skew }
    }

    fn instant(&self) -> Instant {
        self.start + (self.inner.instant() - self.start).mul_f64(self.rate)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        // A duration beyond a year never ends in a test.
        let longest = Duration::from_secs(365 * 24 * 3600);
        self.inner.sleep(duration.min(longest).div_f64(self.rate))
    }

    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.fill_random(bytes)
    }
}
