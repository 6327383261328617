//! The connections of a transport, by host.
//!
//! The pool is our own because that of `hyper-util` does not limit the open connections of a host, and spawns a task for each
//! connection, which costs each request a wake-up.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use ::http::{HeaderValue, Uri};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;

use super::connect::ProxyRoute;
use super::connection::Connection;
use crate::clock::{Clock as _, SystemClock};
use crate::lock::lock;
use crate::transport::host_header::host_header;
use crate::transport::{TransportError, TransportErrorKind};

/// Idle connections are closed before the service does it (which then loses a request).
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Pool {
    max_connections: usize,
    hosts: Mutex<Vec<Arc<PoolHost>>>,
    /// The task that closes connections which were idle for too long. It ends with the last idle connection.
    reaper: Mutex<Option<JoinHandle<()>>>,
}

/// The connections to one scheme, host and port.
pub(super) struct PoolHost {
    header: HeaderValue,
    route: ProxyRoute,
    permits: Semaphore,
    /// The longest idle connection first.
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: Connection,
    until: Instant,
}

impl Pool {
    pub(super) fn new(max_connections: usize) -> Self {
        Self {
            max_connections: max_connections.clamp(1, Semaphore::MAX_PERMITS),
            hosts: Mutex::default(),
            reaper: Mutex::default(),
        }
    }

    /// Returns the host of `uri`. For a new host, `route` finds the route.
    pub(super) fn host(
        &self,
        uri: &Uri,
        route: impl FnOnce(&Uri) -> Result<ProxyRoute, TransportError>,
    ) -> Result<Arc<PoolHost>, TransportError> {
        let mut hosts = lock(&self.hosts);
        if let Some(known) = hosts.iter().find(|host| host.route.leads_to(uri)) {
            return Ok(Arc::clone(known));
        }
        let header = host_header(uri)?;
        let permits = Semaphore::new(self.max_connections);
        let host = PoolHost { header, route: route(uri)?, permits, idle: Mutex::default() };
        let host = Arc::new(host);
        hosts.retain(|host| Arc::strong_count(host) > 1 || !lock(&host.idle).is_empty());
        hosts.push(Arc::clone(&host));
        Ok(host)
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(self: &Arc<Self>, host: &PoolHost, connection: Connection) {
        let until = SystemClock.instant() + IDLE_TIMEOUT;
        lock(&host.idle).push(Idle { connection, until });
        let mut reaper = lock(&self.reaper);
        // A task also ends with its runtime.
        if reaper.as_ref().is_none_or(JoinHandle::is_finished) {
            *reaper = Some(tokio::spawn(reap(Arc::downgrade(self))));
        }
    }

    /// Closes connections that were idle for too long. Returns the time at which the next one expires, if there is one;
    /// otherwise the task ends.
    fn close_expired(&self) -> Option<Instant> {
        // Held to the end: a connection that is kept meanwhile is either seen here, or starts a new task.
        let mut reaper = lock(&self.reaper);
        let now = SystemClock.instant();
        let next = lock(&self.hosts).iter().filter_map(|host| host.close_expired(now)).min();
        if next.is_none() {
            *reaper = None;
        }
        next
    }
}

#[cfg(all(test, feature = "rustls"))]
impl Pool {
    pub(super) fn known(&self) -> usize {
        lock(&self.hosts).len()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(reaper) = lock(&self.reaper).take() {
            reaper.abort();
        }
    }
}

async fn reap(pool: Weak<Pool>) {
    let mut wait = IDLE_TIMEOUT;
    loop {
        SystemClock.sleep(wait).await;
        let Some(pool) = pool.upgrade() else { return };
        match pool.close_expired() {
            Some(until) => wait = until.saturating_duration_since(SystemClock.instant()),
            None => return,
        }
    }
}

impl PoolHost {
    /// Waits until a connection may be used or opened.
    pub(super) async fn permit(&self) -> Result<SemaphorePermit<'_>, TransportError> {
        let permit = self.permits.acquire().await;
        permit.map_err(|closed| TransportError::new(TransportErrorKind::Connect, closed))
    }

    /// Removes the connection that was used last, so that the others can expire.
    pub(super) fn take_idle(&self) -> Option<Connection> {
        let now = SystemClock.instant();
        let mut idle = lock(&self.idle);
        let latest = idle.pop()?;
        if latest.until > now {
            return Some(latest.connection);
        }
        idle.clear();
        None
    }

    fn close_expired(&self, now: Instant) -> Option<Instant> {
        let mut idle = lock(&self.idle);
        idle.retain(|it| it.until > now);
        idle.first().map(|it| it.until)
    }

    pub(super) fn header(&self) -> &HeaderValue {
        &self.header
    }

    pub(super) fn route(&self) -> &ProxyRoute {
        &self.route
    }
}
