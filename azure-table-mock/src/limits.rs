//! The limits that bound the memory, the connections and the waits of the server.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, timeout};

/// The files that the program needs besides one for each connection.
const OTHER_FILES: usize = 64;
/// The unit of the byte budget.
const UNIT: usize = 1024;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// The longest wait for the next request on a connection.
    pub(crate) idle: Duration,
    /// The longest wait for the rest of the headers after their first byte.
    pub(crate) head: Duration,
    /// The longest wait for a body.
    pub(crate) body: Duration,
    /// The longest time in which a client receives no byte of a response.
    pub(crate) write: Duration,
    /// The longest time in which a client reads a response, besides 1 s for each 64 KiB of it.
    pub(crate) slow: Duration,
    /// The longest wait for the client to close a connection after a response that refuses its body.
    pub(crate) linger: Duration,
    /// The bytes of large bodies in flight, of requests to the services and their responses.
    pub(crate) bytes: usize,
    /// The bytes of large responses of the page in flight. Clients that read them slowly do not delay the
    /// services.
    pub(crate) page_bytes: usize,
    /// The longest wait for room in `bytes` or `page_bytes`.
    pub(crate) room: Duration,
}

impl Limits {
    pub(crate) const fn new(connections: usize) -> Self {
        Self {
            connections,
            // Longer than the pools of common clients keep connections: 60 s in .NET, 90 s in Go and reqwest.
            idle: Duration::from_secs(2 * 60),
            head: Duration::from_secs(10),
            body: Duration::from_secs(60),
            write: Duration::from_secs(20),
            // A page of 4 MiB thus holds its share for about 2 minutes at most.
            slow: Duration::from_secs(60),
            linger: Duration::from_secs(5),
            bytes: 128 * 1024 * 1024,
            // Two exports.
            page_bytes: 64 * 1024 * 1024,
            // Longer than `write`, so that clients that never read do not cause refusals of others.
            room: Duration::from_secs(30),
        }
    }

    /// Raises the limit of open files, and lowers the number of connections if the files do not suffice.
    /// Returns a warning in that case.
    pub(crate) fn fit_open_files(&mut self) -> Option<String> {
        let files = open_files(self.connections.saturating_add(OTHER_FILES))?;
        let available = files.saturating_sub(OTHER_FILES).max(1);
        if available >= self.connections {
            return None;
        }
        self.connections = available;
        Some(format!(
            "warning: the limit of {files} open files allows {available} connections (see ulimit -n)"
        ))
    }
}

/// Raises the limit of open files to this number if the hard limit allows it, and returns the limit. macOS
/// refuses its own hard limit, which may be infinite.
#[cfg(unix)]
fn open_files(wanted: usize) -> Option<usize> {
    use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let wanted = rlim_t::try_from(wanted).map_or(hard, |wanted| wanted.min(hard));
    let is_raised = soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    usize::try_from(if is_raised { wanted } else { soft }).ok()
}

/// The limit of open files is not known.
#[cfg(not(unix))]
fn open_files(_wanted: usize) -> Option<usize> {
    None
}

/// The bytes of large bodies in flight. Requests wait for room.
#[derive(Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    all: usize,
    wait: Duration,
}

/// A share of the budget. It is returned on drop.
#[derive(Debug)]
pub(crate) struct Share(OwnedSemaphorePermit);

impl Budget {
    /// Smaller bodies need no share, since the number of connections bounds them.
    pub(crate) const SMALL: usize = 16 * 1024;

    /// Returns a budget of this number of bytes. A request waits for room for this time.
    pub(crate) fn new(bytes: usize, wait: Duration) -> Self {
        let all = bytes / UNIT;
        Self { units: Arc::new(Semaphore::new(all)), all, wait }
    }

    /// Waits for room for this number of bytes. Returns `None` if there is none in time.
    pub(crate) async fn share(&self, bytes: usize) -> Option<Share> {
        let units = u32::try_from(self.units_of(bytes)).ok()?;
        let acquired = Arc::clone(&self.units).acquire_many_owned(units);
        timeout(self.wait, acquired).await.ok()?.ok().map(Share)
    }

    /// A body larger than the budget may use all of it.
    fn units_of(&self, bytes: usize) -> usize {
        bytes.div_ceil(UNIT).min(self.all)
    }

    /// Ties a body to its share, which becomes as large as the body. A small body returns it at once.
    ///
    /// # Errors
    /// The body, if it exceeds its share and there is no room.
    pub(crate) fn hold(&self, body: Bytes, share: Option<Share>) -> Result<Bytes, Bytes> {
        if body.len() <= Self::SMALL {
            return Ok(body);
        }
        let needed = self.units_of(body.len());
        let mut held = share.map(|Share(permit)| permit);
        let part = held.as_ref().map_or(0, |permit| permit.num_permits().min(needed));
        let kept = held.as_mut().and_then(|permit| permit.split(part));
        drop(held);
        let missing = u32::try_from(needed - part).unwrap_or(u32::MAX);
        let Ok(mut more) = Arc::clone(&self.units).try_acquire_many_owned(missing) else {
            return Err(body);
        };
        if let Some(kept) = kept {
            more.merge(kept);
        }
        Ok(Bytes::from_owner(Held { body, _share: more }))
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        (self.all - self.units.available_permits()) * UNIT
    }
}

/// A body that returns its share when the last part of it is dropped.
struct Held {
    body: Bytes,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_keeps_a_share_of_its_size() {
        let budget = Budget::new(1024 * UNIT, Duration::ZERO);
        let body = |units: usize| Bytes::from(vec![0; units * UNIT]);
        let share = budget.share(100 * UNIT).await;
        assert_eq!(budget.used(), 100 * UNIT);
        let smaller = budget.hold(body(40), share).unwrap();
        assert_eq!(budget.used(), 40 * UNIT);
        let larger = budget.hold(body(200), budget.share(100 * UNIT).await).unwrap();
        assert_eq!(budget.used(), 240 * UNIT);
        let second = larger.slice(1..2);
        drop((smaller, larger));
        assert_eq!(budget.used(), 200 * UNIT);
        drop(second);
        assert_eq!(budget.used(), 0);
        // A small body returns its share, and a body larger than the budget uses all of it.
        let small = budget.hold(body(1), budget.share(100 * UNIT).await).unwrap();
        assert_eq!((budget.used(), small.len()), (0, UNIT));
        let all = budget.share(2048 * UNIT).await;
        assert!(all.is_some() && budget.share(1).await.is_none());
        let beyond = budget.hold(body(32), None).unwrap_err();
        assert_eq!((budget.used(), beyond.len()), (1024 * UNIT, 32 * UNIT));
        drop(all);
        let beyond = budget.hold(body(2048), None).unwrap();
        assert_eq!((budget.used(), beyond.len()), (1024 * UNIT, 2048 * UNIT));
    }

    #[test]
    fn connections_fit_the_open_files() {
        #[cfg(unix)]
        let soft_limit = || {
            use nix::sys::resource::{Resource, getrlimit};
            getrlimit(Resource::RLIMIT_NOFILE).unwrap().0
        };
        #[cfg(unix)]
        let before = soft_limit();
        let mut few = Limits::new(1);
        assert_eq!((few.fit_open_files(), few.connections), (None, 1));
        #[cfg(unix)]
        assert_eq!(soft_limit(), before, "the limit suffices");
        let mut many = Limits::new(usize::MAX);
        let warning = many.fit_open_files();
        assert_eq!(warning.is_some(), cfg!(unix), "{warning:?}");
        assert_eq!(many.connections < usize::MAX, cfg!(unix));
    }
}
