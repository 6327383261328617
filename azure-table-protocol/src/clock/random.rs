//! Random ids and fractions.

use std::{error, fmt, io};

use uuid::Uuid;

use super::Clock;

/// The random source for ids failed.
#[derive(Debug)]
pub struct RandomSourceError(io::Error);

impl fmt::Display for RandomSourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the random source for ids failed")
    }
}

impl error::Error for RandomSourceError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.0)
    }
}

impl dyn Clock + '_ {
    /// Returns a random id (a UUID of version 4) from [`fill_random`](Clock::fill_random), for a write id or a request
    /// id of your own.
    ///
    /// # Errors
    /// The random source failed. A client's error has the kind `Configuration`.
    pub fn random_id(&self) -> Result<Uuid, RandomSourceError> {
        let mut bytes = uuid::Bytes::default();
        self.fill_random(&mut bytes).map_err(RandomSourceError)?;
        Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// Returns a random number from 0 to below 1, for a part of a wait; 1, the whole wait, without a random source.
    #[doc(hidden)]
    #[expect(clippy::cast_precision_loss, reason = "an f64 holds 53 bits")]
    pub fn random_fraction(&self) -> f64 {
        let mut bytes = [0; 8];
        match self.fill_random(&mut bytes) {
            Ok(()) => (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64,
            Err(_) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use crate::clock::{SharedClock, SystemClock};

    /// A machine without a random source.
    #[derive(Debug)]
    struct NoSource;

    impl Clock for NoSource {
        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }

        fn fill_random(&self, _: &mut [u8]) -> io::Result<()> {
            Err(io::Error::other("no entropy"))
        }
    }

    #[test]
    fn ids_are_random_and_a_failed_source_is_an_error() {
        let clock: SharedClock = Arc::new(SystemClock);
        let (first, second) = (clock.random_id().unwrap(), clock.random_id().unwrap());
        assert_ne!(first, second);
        assert_eq!(first.get_version_num(), 4);
        assert!((0..100).all(|_| (0.0..1.0).contains(&clock.random_fraction())));
        let clock: SharedClock = Arc::new(NoSource);
        assert_eq!(clock.random_id().unwrap_err().to_string(), "the random source for ids failed");
        assert!((clock.random_fraction() - 1.0).abs() < f64::EPSILON);
    }
}
