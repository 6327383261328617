//! The limits that bound the memory, the connections and the waits of the server.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, sleep, timeout};

/// The files that the program needs besides one for each connection.
const OTHER_FILES: usize = 64;
/// The time between two attempts to find room.
const RETRY: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// The longest wait for the next request on a connection.
    pub(crate) idle: Duration,
    /// The longest wait for the rest of the headers after their first byte.
    pub(crate) head: Duration,
    /// The longest wait for a body.
    pub(crate) body: Duration,
    /// The longest wait for the next part of a body.
    pub(crate) rest: Duration,
    /// The longest time in which a client receives no byte of a response.
    pub(crate) write: Duration,
    /// The longest time in which a client reads a response, besides 1 s for each 64 KiB of it.
    pub(crate) slow: Duration,
    /// The longest wait for the client to close a connection after a response that refuses its body.
    pub(crate) linger: Duration,
    /// The bytes of large bodies in flight, of requests to the services and their responses.
    pub(crate) bytes: usize,
    /// The bytes of large bodies in flight of the page and the control API. Clients that read them slowly do not delay the
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
            rest: Duration::from_secs(10),
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

/// The memory of large bodies in flight. A request holds a [`Share`] for its body, and another one for its response.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    used: AtomicUsize,
    all: usize,
    /// The longest wait for room.
    wait: Duration,
    /// One request at a time may exceed the budget. Otherwise requests that have read parts of their bodies could
    /// wait for each other.
    turn: Arc<Semaphore>,
}

/// The part of a budget that a request holds. It is returned on drop.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    bytes: AtomicUsize,
    turn: Option<OwnedSemaphorePermit>,
}

/// A request did not get room within its longest wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Budget {
    /// Smaller bodies need no share, since the number of connections bounds them.
    pub(crate) const SMALL: usize = 16 * 1024;

    /// Returns a budget of this number of bytes. A request waits for room for this time.
    pub(crate) fn new(bytes: usize, wait: Duration) -> Self {
        let (used, turn) = (AtomicUsize::new(0), Arc::new(Semaphore::new(1)));
        Self(Arc::new(Pool { used, all: bytes, wait, turn }))
    }

    /// Returns an empty share.
    pub(crate) fn share(&self) -> Share {
        Share { pool: Arc::clone(&self.0), bytes: AtomicUsize::new(0), turn: None }
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }
}

impl Share {
    /// Extends the share to this number of bytes if there is room now.
    pub(crate) fn try_grow(&self, bytes: usize) -> bool {
        let held = self.bytes.load(Ordering::Relaxed);
        if bytes <= held.max(Budget::SMALL) {
            return true;
        }
        let Pool { used, all, .. } = &*self.pool;
        let all = if self.turn.is_some() { usize::MAX } else { *all };
        let grown = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes - held).filter(|used| *used <= all)
        });
        if grown.is_ok() {
            self.bytes.store(bytes, Ordering::Relaxed);
        }
        grown.is_ok()
    }

    /// Extends the share to this number of bytes. Waits for room, or for the turn to exceed the budget.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), NoRoom> {
        // Most bodies need no timer.
        if self.try_grow(bytes) {
            return Ok(());
        }
        timeout(self.pool.wait, self.wait_for(bytes)).await.map_err(|_| NoRoom)
    }

    async fn wait_for(&mut self, bytes: usize) {
        let mut turn = pin!(Arc::clone(&self.pool.turn).acquire_owned());
        while !self.try_grow(bytes) {
            tokio::select! {
                biased;
                turn = turn.as_mut(), if self.turn.is_none() => self.turn = turn.ok(),
                // A small need does not wait for the turns of large ones.
                () = sleep(RETRY) => {}
            }
        }
    }

    /// Ties a finished body to its share, which becomes as large as the body if there is room. Another request may
    /// exceed the budget from then on.
    pub(crate) fn hold(mut self, body: Bytes) -> Bytes {
        if body.len() <= Budget::SMALL {
            return body;
        }
        self.try_grow(body.len());
        self.turn = None;
        let held = self.bytes.get_mut();
        self.pool.used.fetch_sub(held.saturating_sub(body.len()), Ordering::Relaxed);
        *held = (*held).min(body.len());
        Bytes::from_owner(Held { body, _share: self })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.used.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// A body that returns its share when the last part of it is dropped.
struct Held {
    body: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const UNIT: usize = 1024;

    fn body(units: usize) -> Bytes {
        Bytes::from(vec![0; units * UNIT])
    }

    async fn share(budget: &Budget, units: usize) -> Result<Share, NoRoom> {
        let mut share = budget.share();
        share.grow(units * UNIT).await.map(|()| share)
    }

    #[tokio::test]
    async fn a_body_keeps_a_share_of_its_size() {
        let budget = Budget::new(1024 * UNIT, Duration::ZERO);
        let first = share(&budget, 100).await.unwrap();
        assert_eq!(budget.used(), 100 * UNIT);
        let smaller = first.hold(body(40));
        assert_eq!(budget.used(), 40 * UNIT);
        let larger = share(&budget, 200).await.unwrap().hold(body(200));
        assert_eq!(budget.used(), 240 * UNIT);
        let second = larger.slice(1..2);
        drop((smaller, larger));
        assert_eq!(budget.used(), 200 * UNIT);
        drop(second);
        assert_eq!(budget.used(), 0);
        // A small body needs no share.
        let small = share(&budget, 100).await.unwrap().hold(body(1));
        assert_eq!((budget.used(), small.len()), (0, UNIT));
        let _all = share(&budget, 1024).await.unwrap();
        assert!(
            budget.share().try_grow(Budget::SMALL) && !budget.share().try_grow(Budget::SMALL + 1)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_may_exceed_the_budget() {
        let budget = Budget::new(100 * UNIT, Duration::from_secs(1));
        let (mut first, mut second) =
            (share(&budget, 50).await.unwrap(), share(&budget, 50).await.unwrap());
        first.grow(200 * UNIT).await.unwrap();
        assert_eq!(budget.used(), 250 * UNIT);
        let refused = Instant::now();
        assert_eq!(second.grow(51 * UNIT).await, Err(NoRoom));
        assert_eq!(refused.elapsed(), Duration::from_secs(1));
        // The turn passes to the next request.
        let free = async {
            sleep(Duration::from_millis(500)).await;
            drop(first.hold(body(200)));
        };
        let (waited, ()) = tokio::join!(second.grow(400 * UNIT), free);
        assert_eq!((waited, budget.used()), (Ok(()), 400 * UNIT));
        // A response that its client reads slowly leaves the turn to others, although it exceeds the budget.
        let slow = second.hold(body(400));
        let mut third = budget.share();
        third.grow(500 * UNIT).await.unwrap();
        assert_eq!(budget.used(), 900 * UNIT);
        drop((slow, third));
        assert_eq!((budget.used(), budget.0.turn.available_permits()), (0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_need_does_not_wait_for_a_large_one() {
        let budget = Budget::new(1000 * UNIT, Duration::from_secs(10));
        let _exceeds = share(&budget, 1001).await.unwrap();
        let large = share(&budget, 900);
        let small = async {
            let waits = share(&budget, 50);
            let free = async { _ = budget.0.used.fetch_sub(100 * UNIT, Ordering::Relaxed) };
            tokio::join!(timeout(Duration::from_secs(1), waits), free).0
        };
        let (large, small) = tokio::join!(large, small);
        assert!(small.is_ok_and(|share| share.is_ok()) && large.is_err());
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
