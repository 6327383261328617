//! The deletion on the mock, with crashes at every request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use azure_table_client::client::TableSet as _;
use azure_table_client::clock::Clock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{Error, TableServiceClient};
use tokio::sync::Notify;

use super::{AnyError, Database, LEASE, Worker, contents, fill, request_deletion};

/// Deletes a channel of `blogs` blogs repeatedly, each time with these crashes and one more: at each
/// request, before and after it is applied. Returns the number of those requests.
pub(crate) async fn at_every_request(crashes: &[Stop], blogs: usize) -> Result<usize, AnyError> {
    for request in 0.. {
        for is_done in [false, true] {
            let crashes = [crashes, &[Stop::at(request, is_done)]].concat();
            let have_happened = crash_and_recover(&crashes, blogs).await;
            if !have_happened.map_err(|error| format!("{crashes:?}: {error}"))? {
                return Ok(request);
            }
        }
    }
    Ok(0)
}

/// Deletes a channel, with a crash in each run of the program. Returns `false` if a run ended before its crash.
async fn crash_and_recover(crashes: &[Stop], blogs: usize) -> Result<bool, AnyError> {
    let stage = Stage::new(blogs).await?;
    let mut is_requested = false;
    for (number, crash) in crashes.iter().enumerate() {
        let (service, stopped) = stage.stopping_at(*crash)?;
        let program = stage.program(&service, number, &mut is_requested);
        let has_crashed = tokio::select! {
            done = program => { done?; false }
            // Drops the program in the middle of its request.
            () = stopped.reached.notified() => true,
        };
        stage.check(is_requested, blogs).await?;
        if !has_crashed {
            return Ok(false);
        }
        if stage.is_leased().await? {
            let deleted = stage.worker("too early", &stage.mock.client()).run().await?;
            expect(deleted == 0, "the lease excludes other workers")?;
        }
        stage.clock.advance(LEASE + Duration::from_secs(1));
    }
    stage.program(&stage.mock.client(), crashes.len(), &mut is_requested).await?;
    let doomed = contents(&stage.database, "Doomed").await?;
    expect(doomed == (false, 0, false), "everything is deleted in the end")?;
    stage.check(is_requested, blogs).await?;
    Ok(true)
}

fn expect(holds: bool, what: &str) -> Result<(), AnyError> {
    if holds { Ok(()) } else { Err(format!("violated: {what}").into()) }
}

/// A service with two channels, and a manual clock.
pub(crate) struct Stage {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) mock: MockTableService,
    pub(crate) database: Database,
}

impl Stage {
    pub(crate) async fn new(blogs: usize) -> Result<Self, Error> {
        let clock = Arc::new(ManualClock(Mutex::new(SystemTime::now())));
        let mock = MockTableService::builder().clock(clock.clone()).build();
        let database = Database::open(&mock.client());
        database.create_if_not_exists().await?;
        fill(&database, blogs).await?;
        Ok(Self { clock, mock, database })
    }

    pub(crate) fn worker(&self, name: &str, service: &TableServiceClient) -> Worker {
        let (name, database) = (name.to_owned(), Database::open(service));
        Worker { name, database, clock: self.clock.clone() }
    }

    /// Creates a client that stops at this request.
    pub(crate) fn stopping_at(
        &self,
        stop: Stop,
    ) -> Result<(TableServiceClient, Arc<Stopped>), Error> {
        let stopped = Arc::new(Stopped::default());
        let transport = Stopping {
            inner: self.mock.transport(),
            stop,
            requests: AtomicUsize::new(0),
            stopped: Arc::clone(&stopped),
        };
        let service =
            TableServiceClient::builder_from_connection_string(&self.mock.connection_string())?
                .transport(Arc::new(transport))
                .clock(self.mock.clock())
                .build()?;
        Ok((service, stopped))
    }

    /// Requests the deletion, unless it was requested before, and works on it.
    async fn program(
        &self,
        service: &TableServiceClient,
        number: usize,
        is_requested: &mut bool,
    ) -> Result<usize, Error> {
        let worker = self.worker(&format!("worker {number}"), service);
        if !*is_requested {
            request_deletion(&worker.database, "Doomed").await?;
            *is_requested = true;
        }
        worker.run().await
    }

    /// Returns whether a worker holds the lease.
    async fn is_leased(&self) -> Result<bool, Error> {
        let now = self.clock.now().into();
        Ok(self.database.work.query().await?.iter().any(|item| item.leased_until > now))
    }

    /// Checks the invariants: blogs have their channel, a requested deletion has its work
    /// until it is complete, and other channels are unchanged.
    async fn check(&self, is_requested: bool, blogs: usize) -> Result<(), AnyError> {
        let (channel, left, work) = contents(&self.database, "Doomed").await?;
        expect(channel || left == 0, "no blog is without its channel")?;
        expect(
            work || !is_requested || !channel,
            "the work exists until the deletion is complete",
        )?;
        let kept = contents(&self.database, "Kept").await?;
        expect(kept == (true, blogs as u64, false), "other channels stay unchanged")
    }
}

/// A request at which a program stops, before the service receives it or after it is applied. Among the
/// requests with this method and this text in the URL, it is the one with this number, from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    pub(crate) method: &'static str,
    pub(crate) url: &'static str,
    pub(crate) number: usize,
    pub(crate) is_done: bool,
}

impl Stop {
    /// A stop at one of all requests.
    pub(crate) const fn at(number: usize, is_done: bool) -> Self {
        Self { method: "", url: "", number, is_done }
    }
}

/// The transport of a program that stops: permanently, or until it is resumed.
#[derive(Debug)]
struct Stopping {
    inner: Arc<dyn Transport>,
    stop: Stop,
    /// The number of requests so far that match the stop.
    requests: AtomicUsize,
    stopped: Arc<Stopped>,
}

#[derive(Debug, Default)]
pub(crate) struct Stopped {
    pub(crate) reached: Notify,
    pub(crate) resume: Notify,
}

impl Transport for Stopping {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let Stop { method, url, number, is_done } = self.stop;
        let is_hit = request.method.as_str().contains(method)
            && request.uri.path().contains(url)
            && self.requests.fetch_add(1, Ordering::Relaxed) == number;
        Box::pin(async move {
            if is_hit && !is_done {
                self.stopped.wait().await;
            }
            let response = self.inner.send(request).await;
            if is_hit && is_done {
                self.stopped.wait().await;
            }
            response
        })
    }
}

impl Stopped {
    async fn wait(&self) {
        self.reached.notify_one();
        self.resume.notified().await;
    }
}

/// A clock that advances only by `advance`.
#[derive(Debug)]
pub(crate) struct ManualClock(Mutex<SystemTime>);

impl ManualClock {
    pub(crate) fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
