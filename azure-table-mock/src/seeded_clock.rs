//! The clock of a service with a random seed.

use std::io;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use fastrand::Rng;

use crate::clock::{Clock, TokioClock};
use crate::lock::lock;

/// The time that a new clock shows, 2026-01-01T00:00:00Z. It is a full second, since a wait until a date depends on the
/// fraction.
const START: Duration = Duration::from_secs(1_767_225_600);

/// A clock that follows tokio's time from a fixed date, and whose random bytes repeat with its seed.
#[derive(Debug)]
pub(super) struct SeededClock {
    /// It begins when the time is first read, within the runtime of the test.
    time: OnceLock<TokioClock>,
    random: Mutex<Rng>,
}

impl SeededClock {
    pub(super) fn new(seed: u64) -> Self {
        Self { time: OnceLock::new(), random: Mutex::new(Rng::with_seed(seed)) }
    }
}

impl Clock for SeededClock {
    fn now(&self) -> SystemTime {
        let begin = || TokioClock::starting_at(SystemTime::UNIX_EPOCH + START);
        self.time.get_or_init(begin).now()
    }

    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()> {
        lock(&self.random).fill(bytes);
        Ok(())
    }
}
