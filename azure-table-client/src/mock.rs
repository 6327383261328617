//! The table service in memory: for unit tests, without a socket.
//!
//! [`MockTableService`] answers as the service does: keys, filters, pages, versions, limits,
//! transactions, signatures and errors. Three hosts share its core:
//! [`MockTableService::transport`] in process, `MockTableServer` on a loopback port (feature
//! `mock-server`), and your own by [`MockTableService::receive`]; the program `azure-table-mock` is one.
//!
//! Where sources contradict each other, this service follows one rule: a comparison with a property
//! that is missing or of another type than the literal is false, for all six operators, and `not`
//! is plain negation.
//!
//! What follows works in process. `MockTableServer` says what differs over HTTP; a host of your own that
//! calls [`MockTableService::receive`] has it all, one that calls
//! [`MockTableService::respond`] has what an answer can show.
//!
//! # Versions and formats
//!
//! Requests are answered in JSON from version 2013-08-15 on and in Atom before 2015-12-11, in that of
//! the two that `Accept` or `$format` asks for; where neither says it, in Atom while there is Atom, and
//! then with 415, as the service does. Versions before 2011-08-18 have no upserts and no `$select`, those
//! before 2013-08-15 no `Prefer` and no PATCH; the headers of OData's version bound these in the same
//! way. A request without a version is of the oldest one, or of the newest where the service is
//! [`loose`](MockTableServiceBuilder::loose).
//!
//! # What is missing
//!
//! Tokens of Entra ID are taken as [`tokens`](MockTableServiceBuilder::tokens) says, and whoever has one
//! may do everything: there are no roles. User delegation signatures are refused. The settings of logging
//! and metrics are kept, and nothing is logged or measured by them.
//!
//! # Testing your code
//!
//! The [guide](crate::guide::testing) shows how to fill tables, look at requests and make things go wrong.

mod authorize;
mod batch;
mod body;
mod check;
mod client;
mod cors;
mod entities;
mod evaluate;
mod failure;
mod faults;
mod inspect;
mod json;
mod observer;
mod payload;
mod place;
mod policies;
mod protocol;
mod query;
mod recorder;
mod reply;
mod request;
mod respond;
mod seed;
mod select;
#[cfg(feature = "mock-server")]
mod server;
mod service_properties;
mod store;
mod tables;
mod transport;
mod xml_requests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use crate::auth::{DEVELOPMENT_KEY, SharedKey};
use crate::clock::{Clock, SharedClock, TokioClock};
use crate::edm::EdmDateTime;
use crate::error::Error;
use crate::limits::KEY_UTF16_UNITS;
use crate::transport::{HttpRequest, HttpResponse, Transport};

use authorize::Tokens;
pub use faults::{AddedFault, Fault, Faults};
use faults::{Late, Plan};
use observer::Observer;
use recorder::Recorder;
pub use recorder::{RecordedRequest, Requests};
use request::Incoming;
#[cfg(feature = "mock-server")]
pub use server::MockTableServer;
use store::{Entry, Journal, Replica, Store};
use transport::InProcess;

/// Where the in-process service seems to be. No socket is opened.
const IN_PROCESS_ORIGIN: &str = "http://127.0.0.1:10002";
/// Who sends, where that is not known.
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The table service in memory. Clones share the tables.
///
/// ```
/// use azure_table_client::filter::PlanKind;
/// use azure_table_client::mock::MockTableService;
/// use azure_table_client::{DynamicEntity, Operation};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let mock = MockTableService::new();
/// let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
/// blogs.create().await?;
/// blogs.insert(DynamicEntity::new("Channel9", "1").set("Rating", 3)).await?;
/// blogs.query().filter_text("PartitionKey eq 'Channel9'").await?;
///
/// assert_eq!(mock.requests().count(Operation::Insert), 1);
/// assert_eq!(mock.requests().last().unwrap().plan, Some(PlanKind::Partition));
/// assert_eq!(mock.row_count("Blogs"), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MockTableService(Arc<Inner>);

struct Inner {
    credential: SharedKey,
    account_key: String,
    clock: SharedClock,
    loose: bool,
    tokens: Option<Tokens>,
    max_comparisons: Option<usize>,
    max_key_units: usize,
    store: RwLock<Store>,
    journal: Journal,
    recorder: Recorder,
    observer: Option<Observer>,
    plan: Plan,
    late: Late,
}

impl Default for MockTableService {
    fn default() -> Self {
        Self::new()
    }
}

impl MockTableService {
    /// An empty service with the development account, on a clock that goes with tokio's time.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sets up a service with an account, a clock or rules of its own.
    pub fn builder() -> MockTableServiceBuilder {
        MockTableServiceBuilder {
            credential: SharedKey::development(),
            account_key: DEVELOPMENT_KEY.to_owned(),
            clock: None,
            loose: false,
            tokens: None,
            max_comparisons: None,
            max_key_units: KEY_UTF16_UNITS,
            replication_lag: Duration::ZERO,
            kept_requests: recorder::KEPT_REQUESTS,
            kept_payload_bytes: recorder::KEPT_PAYLOAD_BYTES,
            observer: None,
            #[cfg(feature = "mock-data")]
            data: None,
        }
    }

    /// A transport that ends in this service, without a socket.
    pub fn transport(&self) -> Arc<dyn Transport> {
        self.transport_from(LOCAL)
    }

    /// A transport that ends in this service, for requests that a host of your own got from this
    /// address: a shared access signature may be bound to some.
    pub fn transport_from(&self, address: IpAddr) -> Arc<dyn Transport> {
        Arc::new(InProcess { service: self.clone(), from: address })
    }

    /// The clock that stamps what is stored; clients of this service date their requests by it.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.0.clock)
    }

    /// A connection string with the account of this service, for clients that are given its
    /// [`transport`](Self::transport). Nothing listens at its endpoint.
    pub fn connection_string(&self) -> String {
        self.connection_string_at(IN_PROCESS_ORIGIN)
    }

    fn connection_string_at(&self, origin: &str) -> String {
        let account = self.account();
        format!(
            "AccountName={account};AccountKey={};TableEndpoint={origin}/{account}",
            self.0.account_key
        )
    }

    fn account(&self) -> &str {
        self.0.credential.account()
    }

    /// What was asked of the service so far.
    pub fn requests(&self) -> Requests<'_> {
        self.0.recorder.requests()
    }

    /// What goes wrong on purpose.
    pub fn faults(&self) -> Faults<'_> {
        Faults(&self.0.plan)
    }

    /// Whether the file of [`data`](MockTableServiceBuilder::data) takes no changes any more. From then
    /// on every request is answered 500.
    #[cfg(feature = "mock-data")]
    pub fn has_lost_its_disk(&self) -> bool {
        self.0.journal.disk.as_ref().is_some_and(store::Disk::has_failed)
    }

    /// Answers one request; the core that all hosts share. Never panics, whatever it is sent.
    ///
    /// It is taken for one from 127.0.0.1. Faults that need time or a connection do not strike here;
    /// a host that has both calls [`receive_from`](Self::receive_from).
    pub fn respond(&self, request: &HttpRequest) -> HttpResponse {
        self.respond_to(&Incoming::in_process(request, LOCAL))
    }

    /// The store, whatever happened to a thread that held it: every write to it is one step.
    fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.0.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn store_mut(&self) -> RwLockWriteGuard<'_, Store> {
        self.0.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change; to be called under the lock under which it was made.
    fn note(&self, entry: impl Fn() -> Entry) {
        self.0.journal.add(|| self.now(), entry);
    }

    fn now(&self) -> SystemTime {
        self.0.plan.skewed(self.0.clock.now())
    }

    fn edm_now(&self) -> EdmDateTime {
        stamp(self.now())
    }
}

fn stamp(time: SystemTime) -> EdmDateTime {
    EdmDateTime::from_system_time(time).unwrap_or(EdmDateTime::MIN)
}

impl fmt::Debug for MockTableService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockTableService").field("account", &self.account()).finish_non_exhaustive()
    }
}

/// Sets up a [`MockTableService`].
#[must_use]
pub struct MockTableServiceBuilder {
    credential: SharedKey,
    account_key: String,
    clock: Option<SharedClock>,
    loose: bool,
    tokens: Option<Tokens>,
    max_comparisons: Option<usize>,
    max_key_units: usize,
    replication_lag: Duration,
    kept_requests: usize,
    kept_payload_bytes: usize,
    observer: Option<Observer>,
    #[cfg(feature = "mock-data")]
    data: Option<store::Opened>,
}

impl MockTableServiceBuilder {
    /// Another account than the development account; the key in base64.
    ///
    /// # Errors
    /// The key is no base64, or the name is empty or cannot be one.
    pub fn account(mut self, name: &str, key: &str) -> Result<Self, Error> {
        self.credential = SharedKey::new(name, key)?;
        key.clone_into(&mut self.account_key);
        Ok(self)
    }

    /// Another clock than one that goes with tokio's time. It is asked in the middle of a write, so
    /// it cannot ask the service anything.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Takes requests without a signature, or with a wrong one; and those that do not say their version
    /// for the newest, which is answered in JSON though nothing asks for that.
    pub fn loose(mut self, loose: bool) -> Self {
        self.loose = loose;
        self
    }

    /// Takes the tokens of Entra ID of which `is_valid` says so; all are refused by default. Who sends
    /// another one, or none in a version from 2020-12-06 on, is told where to get it: from a tenant that
    /// is all zeros, for `https://storage.azure.com`.
    pub fn tokens(mut self, is_valid: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.tokens = Some(Arc::new(is_valid));
        self
    }

    /// Refuses filters with more comparisons. The documentation states 15; whether the service
    /// holds to it is not settled, so there is no limit unless it is set here.
    pub fn max_comparisons(mut self, comparisons: usize) -> Self {
        self.max_comparisons = Some(comparisons);
        self
    }

    /// Refuses longer keys, in UTF-16 code units. The documentation states 1 KiB, which is 512; the
    /// service's own error speaks of 1,024, so that is the limit unless a lower one is set here.
    pub fn max_key_units(mut self, units: usize) -> Self {
        self.max_key_units = units.min(KEY_UTF16_UNITS);
        self
    }

    /// How long it takes until the secondary location has what was written. None by default.
    pub fn replication_lag(mut self, lag: Duration) -> Self {
        self.replication_lag = lag;
        self
    }

    /// Keeps everything in this file as well, a [redb] database that is made if it is not there.
    ///
    /// Whatever an answer shows is on disk by then, and a crash loses nothing of it. All rows are
    /// in memory too. If the disk fails, every request from then on is answered 500. That goes for
    /// [`transport`](MockTableService::transport) and [`receive`](MockTableService::receive);
    /// [`respond`](MockTableService::respond) does not wait for the disk. The file must not be taken
    /// away while it is in use.
    ///
    /// [redb]: https://docs.rs/redb
    ///
    /// # Errors
    /// The file cannot be opened, is in use, or is no such database.
    #[cfg(feature = "mock-data")]
    pub fn data(mut self, path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = store::Disk::open(path).map_err(|error| {
            Error::configuration(format!("{} cannot be opened", path.display())).with_source(error)
        })?;
        self.data = Some(opened);
        Ok(self)
    }

    /// The service, without tables but those of its file.
    pub fn build(mut self) -> MockTableService {
        let (store, journal) = self.journal();
        let clock = self.clock.unwrap_or_else(|| {
            let start = SystemTime::now();
            Arc::new(TokioClock::starting_at(start))
        });
        MockTableService(Arc::new(Inner {
            credential: self.credential,
            account_key: self.account_key,
            clock,
            loose: self.loose,
            tokens: self.tokens,
            max_comparisons: self.max_comparisons,
            max_key_units: self.max_key_units,
            store: RwLock::new(store),
            journal,
            recorder: Recorder::new(self.kept_requests, self.kept_payload_bytes),
            observer: self.observer,
            plan: Plan::default(),
            late: Late::default(),
        }))
    }

    fn journal(&mut self) -> (Store, Journal) {
        let lag = self.replication_lag;
        let replica = (!lag.is_zero()).then(|| Replica::new(lag));
        let journal = Journal::to(replica);
        #[cfg(feature = "mock-data")]
        if let Some(opened) = self.data.take() {
            return opened.into_store(journal);
        }
        (Store::default(), journal)
    }
}

impl fmt::Debug for MockTableServiceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockTableServiceBuilder")
            .field("credential", &self.credential)
            .field("loose", &self.loose)
            .field("max_comparisons", &self.max_comparisons)
            .field("max_key_units", &self.max_key_units)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
