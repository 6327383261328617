//! The Table service in memory, for unit tests without a socket.
//!
//! [`TableService`] follows the service's rules for keys, filters, pages, versions, limits,
//! transactions, signatures and errors. It has three hosts: [`TableService::transport`] in process,
//! `TableServer` on a loopback port (feature `server`), and your own host that calls
//! [`TableService::receive`], like the program `azure-table-emulator`. Tests reach it through
//! [`azure_table_client::mock`](https://docs.rs/azure-table-client/latest/azure_table_client/mock/), which adds clients.
//!
//! A comparison with a property that is missing, or that has another type than the literal, is false for
//! all six operators, and `not` is plain negation. The sources contradict each other here.
//!
//! `TableServer` documents its differences from the in-process transport. A host that calls
//! [`TableService::respond`] instead of `receive` supports only the faults that a response can show.
//!
//! A key has at most 1,024 UTF-16 code units, as [the documentation of the service][targets] states today.
//! It used to state 1 KiB, which [`max_key_units(512)`](TableServiceBuilder::max_key_units) enforces.
//!
//! [targets]: https://learn.microsoft.com/azure/storage/tables/scalability-targets
//!
//! # Versions and formats
//!
//! Responses are JSON from version 2013-08-15 on and Atom before version 2015-12-11. Between the two,
//! `Accept` or `$format` decides, and the default is Atom. From 2015-12-11 on, a request that names no
//! format receives 415, like from the service. Upserts and `$select` exist from version 2011-08-18 on,
//! `Prefer` and PATCH from 2013-08-15 on. The OData version headers restrict these features further. A
//! request without a version uses the oldest version, or the newest one if the service is
//! [`loose`](TableServiceBuilder::loose).
//!
//! # Missing features
//!
//! There are no roles: each Entra ID token that [`tokens`](TableServiceBuilder::tokens) accepts
//! allows every operation, and obtains a user delegation key. Logging and metrics settings are stored but have no
//! effect.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use(opaque_debug)]
extern crate azure_table_protocol;

mod authorize;
mod builder;
mod check;
mod core;
mod delivery;
mod dialect;
mod error;
mod export;
mod failure;
mod faults;
mod handlers;
mod head;
mod in_process;
mod inspect;
mod json;
mod keys;
mod location;
mod names;
mod payload;
mod policies;
mod recorder;
mod reply;
mod request;
mod room;
mod seed;
mod select;
#[cfg(feature = "server")]
mod server;
mod service_properties;
mod step;
mod store;
mod xml;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use azure_table_protocol::{
    Dialect, ETag, ErrorCode, auth, clock, edm, entity, filter, key, limits, lock, transport, wire,
};

use crate::auth::SharedKey;
use crate::clock::Clock;
use crate::transport::{HttpRequest, HttpResponse, Transport};

pub use self::builder::TableServiceBuilder;
use self::core::Core;
pub use self::error::{Error, ErrorKind};
use self::faults::FaultPlan;
pub use self::faults::{AddedFault, Fault, Faults};
use self::in_process::{Direct, InProcess};
use self::recorder::Recorder;
pub use self::recorder::{RecordedRequest, Requests};
use self::request::RawRequest;
pub use self::seed::{Seed, SeedError};
#[cfg(feature = "server")]
pub use self::server::TableServer;

/// The host and the port of the in-process endpoint, where no socket is open.
#[doc(hidden)]
pub const IN_PROCESS_AUTHORITY: &str = "127.0.0.1:10002";
/// The sender's address if the host does not know it.
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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
pub struct TableService(Arc<Inner>);

/// The state of the [file](TableServiceBuilder::open) of a [`TableService`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskStatus {
    /// The number of commits since the start. Concurrent writes share a commit.
    pub commits: u64,
    /// The reason why the latest commit failed, for example that the disk is full. It is repeated every half
    /// second. Until it succeeds, the service responds with 500 to every write, and to every read that could
    /// show a change that is not on disk.
    pub failure: Option<String>,
}

struct Inner {
    core: Core,
    faults: FaultPlan,
    recorder: Recorder,
}

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

    /// Returns a transport that sends every request to this service, without a socket.
    pub fn transport(&self) -> Arc<dyn Transport> {
        self.transport_from(LOCAL)
    }

    /// Returns a transport whose requests come from this address, since a shared access signature may be
    /// restricted to some addresses.
    pub fn transport_from(&self, address: IpAddr) -> Arc<dyn Transport> {
        Arc::new(InProcess { service: self.clone(), sender: address })
    }

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

    fn connection_string_at(&self, origin: &str) -> String {
        let account = self.account();
        format!(
            "AccountName={account};AccountKey={};TableEndpoint={origin}/{account}",
            self.core().rules.keys.first_text()
        )
    }

    /// Returns a transport whose requests are not recorded, and which no fault strikes.
    pub fn direct_transport(&self) -> Arc<dyn Transport> {
        Arc::new(Direct(self.clone()))
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

    fn core(&self) -> &Core {
        &self.0.core
    }

    /// Returns the requests that the service has received.
    pub fn requests(&self) -> Requests<'_> {
        self.0.recorder.requests()
    }

    /// Returns the fault plan.
    pub fn faults(&self) -> Faults<'_> {
        Faults { plan: &self.0.faults, clock: &self.core().clock }
    }

    /// Returns the state of the file that [`open`](TableServiceBuilder::open) opened. `None` without one.
    pub fn disk(&self) -> Option<DiskStatus> {
        self.core().store.journal.disk.as_ref().map(store::Disk::status)
    }

    /// Waits until all changes so far are in the file that [`open`](TableServiceBuilder::open) opened, for example
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

    /// Returns the response to one request. Never panics, even if the request is malformed.
    ///
    /// The sender's address is 127.0.0.1. Faults that delay a request or break its connection have no
    /// effect here; a host that can do both calls [`receive_from`](Self::receive_from).
    pub fn respond(&self, request: &HttpRequest) -> HttpResponse {
        self.respond_to(RawRequest::in_process(request, LOCAL))
    }
}

opaque_debug!(TableService, |it| account: it.account());

#[cfg(test)]
mod tests;
