//! The builder of a [`TableService`].

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::Dialect;
use crate::clock::{Clock, SharedClock, SystemClock, TokioClock};
use crate::core::{Core, Rules, ServiceClock};
use crate::dialect::ServiceDialect;
use crate::error::Error;
use crate::exchange_log::ExchangeLog;
use crate::faults::FaultPlan;
use crate::keys::AccountKeys;
use crate::limits::KEY_UTF16_UNITS;
use crate::recorder::{self, Observer, RecordedRequest, Recorder};
use crate::seeded_clock::SeededClock;
use crate::service::{Inner, TableService};
#[cfg(feature = "disk")]
use crate::store::Disk;
use crate::store::{Journal, Replica, Storage, Store};

impl Default for TableService {
    fn default() -> Self {
        Self::new()
    }
}

impl TableService {
    /// Creates an empty service with the development account and a clock that follows tokio's time.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder for a service with its own account, clock or rules.
    pub fn builder() -> TableServiceBuilder {
        TableServiceBuilder::new()
    }
}

/// Configures a [`TableService`], or another type `S` that is made of one.
#[must_use]
pub struct TableServiceBuilder<S = TableService> {
    rules: Rules,
    clock: Option<SharedClock>,
    random_seed: Option<u64>,
    replication_lag: Duration,
    kept_requests: usize,
    kept_payload_bytes: usize,
    observer: Option<Observer>,
    builds: PhantomData<fn() -> S>,
}

impl<S: From<TableService>> Default for TableServiceBuilder<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: From<TableService>> TableServiceBuilder<S> {
    /// Returns the builder of a service with the development account, in memory.
    pub fn new() -> Self {
        Self {
            rules: Rules {
                dialect: ServiceDialect::default(),
                keys: AccountKeys::development(),
                loose: false,
                tokens: None,
                max_comparisons: None,
                max_key_units: KEY_UTF16_UNITS,
                exact_types: false,
                account_in_host: true,
            },
            clock: None,
            random_seed: None,
            replication_lag: Duration::ZERO,
            kept_requests: recorder::KEPT_REQUESTS,
            kept_payload_bytes: recorder::KEPT_PAYLOAD_BYTES,
            observer: None,
            builds: PhantomData,
        }
    }

    /// Sets the account and its key in base64. The default is the development account.
    ///
    /// # Errors
    /// The key is not valid base64, or the name is not a valid account name.
    pub fn account(mut self, name: &str, key: &str) -> Result<Self, Error> {
        self.rules.keys = AccountKeys::new(name, key)?;
        Ok(self)
    }

    /// Sets the service that the mock follows. The default is Azure Storage.
    ///
    /// [`Dialect::CosmosDb`] follows recordings of Azure Cosmos DB for Table, and its documentation where the
    /// recordings are silent:
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{Dialect, DynamicEntity};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::builder().dialect(Dialect::CosmosDb).build();
    /// for name in ["my-blogs", "My-Blogs"] {
    ///     let blogs = mock.client().table_named::<DynamicEntity>(name);
    ///     blogs.create().await?;
    /// }
    /// assert_eq!(mock.table_names().len(), 2, "the names of tables are case-sensitive");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Rows are returned in the order of their keys in both dialects. Cosmos DB itself [promises no order][faq].
    ///
    /// [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.rules.dialect = dialect.into();
        self
    }

    /// Sets the clock. The default clock follows tokio's time. The service reads the clock in the middle
    /// of a write, so the clock must not call the service.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Draws all that is random from this seed, so that a run of a test repeats itself: ids, timestamps, ETags, the
    /// [faults](TableService::faults), and the times that requests and responses take in process, up to 20 milliseconds
    /// each, which decide the order of concurrent requests. Unless [`clock`](Self::clock) sets another one, the clock
    /// begins at 2026-01-01T00:00:00Z, follows tokio's time, and draws the ids and waits of clients from the seed as well.
    ///
    /// The run has to be on a current-thread runtime with paused time; without paused time, each request takes real
    /// milliseconds. What the program itself leaves to chance, such as the time of day, `Uuid::new_v4`, the order of a
    /// `HashMap` or of `select!`, and disks, sockets and threads, does not repeat. [`log`](TableService::log) shows whether
    /// two runs are equal.
    pub fn random_seed(mut self, seed: u64) -> Self {
        self.random_seed = Some(seed);
        self
    }

    /// Accepts requests without a valid signature. A request without a version then uses the newest
    /// version, and the response is JSON even if the request does not accept it.
    pub fn loose(mut self, loose: bool) -> Self {
        self.rules.loose = loose;
        self
    }

    /// Accepts Entra ID tokens for which `is_valid` returns `true`. The default refuses all tokens. A
    /// request with another token, or without authorization in a version from 2020-12-06 on, receives a
    /// challenge: the all-zero tenant and the resource `https://storage.azure.com`.
    ///
    /// A valid token allows every operation, and obtains a user delegation key. The owner of the key is in the claims
    /// `oid` and `tid` of a JSON Web Token; for other texts both are the all-zero GUID.
    pub fn tokens(mut self, is_valid: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.rules.tokens = Some(Arc::new(is_valid));
        self
    }

    /// Refuses filters with more comparisons. The documentation states a limit of 15. It is unknown
    /// whether the service enforces it, so the default is unlimited.
    pub fn max_comparisons(mut self, comparisons: usize) -> Self {
        self.rules.max_comparisons = Some(comparisons);
        self
    }

    /// Refuses longer keys, in UTF-16 code units. The default is 1,024, as in the documentation, which used to
    /// state 1 KiB: 512 units.
    pub fn max_key_units(mut self, units: usize) -> Self {
        self.rules.max_key_units = units.min(KEY_UTF16_UNITS);
        self
    }

    /// Specifies whether a literal in a filter matches values of its own type only, as Cosmos DB does.
    ///
    /// By default, a value of another type is less than the literal: `Name ne ''` matches every row that has the
    /// property `Name`. An Int32 literal is widened to Int64 and Double: `Count ge 10` matches the Int64 10. Public
    /// reports about the service show both. [The documentation][querying] requires a literal of the property's type, so
    /// a program that passes its tests with exact types depends on neither.
    ///
    /// [querying]: https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
    pub fn exact_types(mut self, exact: bool) -> Self {
        self.rules.exact_types = exact;
        self
    }

    /// Specifies whether a URL may have the account in its host, like those of the service:
    /// `http://account.localhost/Blogs`. This is the default. Otherwise the account is always the first
    /// segment of the path.
    pub fn account_in_host(mut self, allowed: bool) -> Self {
        self.rules.account_in_host = allowed;
        self
    }

    /// Sets the delay after which the secondary location shows a write. By default the delay is zero.
    pub fn replication_lag(mut self, lag: Duration) -> Self {
        self.replication_lag = lag;
        self
    }

    /// Sets how many requests the recorder keeps. The default is 10,000.
    pub fn kept_requests(mut self, requests: usize) -> Self {
        self.kept_requests = requests;
        self
    }

    /// Sets how many bytes of request bodies the recorder keeps in total. The default is 32 MiB. The
    /// newest bodies are kept.
    pub fn kept_payload_bytes(mut self, bytes: usize) -> Self {
        self.kept_payload_bytes = bytes;
        self
    }

    /// Calls `observer` with each request after its response is computed. Use it for logs. The response waits
    /// until `observer` returns. `observer` must not call the service, which may hold a lock during the call.
    pub fn observer(mut self, observer: impl Fn(&RecordedRequest) + Send + Sync + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Creates the service. It has no tables, and keeps them in memory only.
    pub fn build(self) -> S {
        let dialect = self.rules.dialect;
        self.build_with(|journal| Storage::new(Store::new(dialect), journal))
    }

    /// Creates the service with the tables of this file, in which it also stores all changes. The file is
    /// created if it does not exist.
    ///
    /// A change is on disk before a response shows it, so a crash loses no change that a client knows of.
    /// All rows are also kept in memory. Only [`transport`](TableService::transport) and
    /// [`receive`](TableService::receive) wait for the disk; [`respond`](TableService::respond) does
    /// not. [`disk`](TableService::disk) reports a disk that is full or fails. On Unix only the owner can
    /// read the file. Do not remove or change the file while the service uses it.
    ///
    /// # Errors
    /// The file cannot be opened, is in use, is damaged, or has another [dialect](Self::dialect) or the format
    /// of another version.
    #[cfg(feature = "disk")]
    pub fn open(self, path: impl AsRef<std::path::Path>) -> Result<S, Error> {
        let path = path.as_ref();
        let opened = Disk::open(path, self.rules.dialect).map_err(|error| {
            Error::configuration(format!("{} cannot be opened", path.display())).with_source(error)
        })?;
        Ok(self.build_with(|journal| Storage::on_disk(opened, journal)))
    }

    fn build_with(self, storage: impl FnOnce(Journal) -> Storage) -> S {
        let lag = self.replication_lag;
        let replica = (!lag.is_zero()).then(|| Replica::new(lag, self.rules.dialect));
        let seed = self.random_seed;
        let clock = self.clock.unwrap_or_else(|| match seed {
            Some(seed) => Arc::new(SeededClock::new(seed)),
            None => Arc::new(TokioClock::starting_at(SystemClock.now())),
        });
        let recorder = Recorder::new(self.kept_requests, self.kept_payload_bytes, self.observer);
        let service = TableService(Arc::new(Inner {
            core: Core {
                store: storage(Journal::new(replica)),
                rules: self.rules,
                clock: ServiceClock::new(clock, seed),
            },
            faults: FaultPlan::new(seed),
            recorder,
            log: seed.map(|_| ExchangeLog::new(self.kept_requests > 0)),
        }));
        service.into()
    }
}

opaque_debug!(<S> TableServiceBuilder<S>, |it|
    dialect: it.rules.dialect,
    keys: it.rules.keys,
    loose: it.rules.loose,
    max_comparisons: it.rules.max_comparisons,
    max_key_units: it.rules.max_key_units,
    exact_types: it.rules.exact_types,
);
