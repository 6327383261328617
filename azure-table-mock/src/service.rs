//! The service: its state, and what a program reads and sets.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::Dialect;
use crate::auth::SharedKey;
use crate::clock::Clock;
use crate::core::Core;
use crate::error::Error;
use crate::exchange_log::ExchangeLog;
use crate::faults::{FaultPlan, Faults};
use crate::recorder::{Recorder, Requests};
use crate::store::{self, DiskStatus};

/// The host and the port of the in-process endpoint, where no socket is open.
#[doc(hidden)]
pub const IN_PROCESS_AUTHORITY: &str = "127.0.0.1:10002";
/// The sender's address if the host does not know it.
pub(crate) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The Table service in memory. Clones share the tables.
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
#[doc(alias("Azurite", "emulator", "in_memory", "fake", "storage_emulator"))]
#[derive(Clone)]
pub struct TableService(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) core: Core,
    pub(crate) faults: FaultPlan,
    pub(crate) recorder: Recorder,
    /// `None` without a random seed.
    pub(crate) log: Option<ExchangeLog>,
}

impl TableService {
    /// Returns the clock for Timestamps. Clients of this service date their requests by it.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.core().clock.unskewed)
    }

    /// Returns the time by the clock of the service, with the skew of the [fault plan](Self::faults).
    pub fn now(&self) -> std::time::SystemTime {
        self.core().clock.now()
    }

    /// Returns a connection string with the account of this service, for clients that use its
    /// [`transport`](Self::transport). Nothing listens at its endpoint.
    pub fn connection_string(&self) -> String {
        self.connection_string_at(&format!("http://{IN_PROCESS_AUTHORITY}"))
    }

    pub(crate) fn connection_string_at(&self, origin: &str) -> String {
        let account = self.account();
        format!(
            "AccountName={account};AccountKey={};TableEndpoint={origin}/{account}",
            self.core().rules.keys.first_text()
        )
    }

    /// Returns the name of the account.
    pub fn account(&self) -> &str {
        self.core().rules.account()
    }

    /// Returns the first key of the account, which signs for clients of this service.
    pub fn key(&self) -> SharedKey {
        self.core().rules.keys.first()
    }

    /// Returns the service that the mock follows.
    pub fn dialect(&self) -> Dialect {
        *self.core().rules.dialect
    }

    pub(crate) fn core(&self) -> &Core {
        &self.0.core
    }

    /// Replaces the keys of the account with one or two keys in base64, to test that a client survives a
    /// key rotation. Requests and shared access signatures are valid if either key signed them. The first
    /// key is the one in connection strings.
    ///
    /// ```
    /// # use azure_table_client::mock::MockTableService;
    /// # use azure_table_client::auth::DEVELOPMENT_KEY;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// let client = mock.client();
    /// mock.set_keys(&["bmV3", DEVELOPMENT_KEY])?;
    /// client.create_table("Blogs").await?;
    /// mock.set_keys(&["bmV3"])?;
    /// assert!(client.create_table("Posts").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A key is not valid base64, or there are no keys or more than two. The keys then remain as they were.
    pub fn set_keys(&self, keys: &[&str]) -> Result<(), Error> {
        self.core().rules.keys.replace(keys)
    }

    /// Returns the requests that the service has received.
    ///
    /// ```
    /// use azure_table_client::mock::{Fault, MockTableService};
    /// use azure_table_client::{DynamicEntity, Operation};
    /// #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// async fn main() -> Result<(), azure_table_client::Error> {
    ///     let mock = MockTableService::new();
    ///     mock.seed::<DynamicEntity>("Blogs", [])?;
    ///     mock.faults().add(Fault::busy().on(Operation::Insert).times(1));
    ///
    ///     let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    ///     blogs.insert(DynamicEntity::new("Channel9", "1").set("Rating", 3)).await?;
    ///
    ///     let inserts = mock.requests().of(Operation::Insert);
    ///     let attempts: Vec<_> =
    ///         inserts.iter().map(|request| (request.attempt, request.status)).collect();
    ///     assert_eq!(attempts, [(1, 503), (2, 204)]);
    ///     assert!(inserts[1].payload.windows(10).any(|text| text == b"\"Rating\":3"));
    ///     Ok(())
    /// }
    /// ```
    pub fn requests(&self) -> Requests<'_> {
        self.0.recorder.requests()
    }

    /// Returns the fault plan.
    pub fn faults(&self) -> Faults<'_> {
        Faults { plan: &self.0.faults, clock: &self.core().clock }
    }

    /// Returns the faults that struck, and the requests and responses, as text without keys and signatures; of a long run,
    /// the last 64 MiB. Two runs with one [seed](crate::TableServiceBuilder::random_seed) have equal logs.
    ///
    /// Empty for a service without a seed, or that [keeps](crate::TableServiceBuilder::kept_requests) no requests. Requests
    /// over [`direct_transport`](Self::direct_transport) or [`respond`](Self::respond) are not in it.
    pub fn log(&self) -> String {
        self.0.log.as_ref().map_or_else(String::new, ExchangeLog::text)
    }

    /// Returns the state of the file that [`open`](crate::TableServiceBuilder::open) opened. `None` without one.
    pub fn disk(&self) -> Option<DiskStatus> {
        self.core().store.journal.disk.as_ref().map(store::Disk::status)
    }

    /// Waits until all changes so far are in the file that [`open`](crate::TableServiceBuilder::open) opened, for example
    /// after [`restore`](Self::restore).
    ///
    /// # Errors
    /// The disk has failed.
    pub async fn written(&self) -> Result<(), Error> {
        match &self.core().store.journal.disk {
            Some(disk) => disk.written().await.map_err(|_| {
                Error::configuration("the changes are not kept: writing to the disk failed")
            }),
            None => Ok(()),
        }
    }
}

opaque_debug!(TableService, |it| account: it.account());
