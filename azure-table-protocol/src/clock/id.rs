//! Random ids.

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

impl dyn Clock {
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
        let clock: SharedClock = Arc::new(NoSource);
        assert_eq!(clock.random_id().unwrap_err().to_string(), "the random source for ids failed");
    }
}
