//! The Table service in memory, for unit tests without a socket.
//!
//! [`MockTableService`] is the service of [`azure_table_mock`] with clients: [`client`](MockTableService::client) and
//! [`client_builder`](MockTableService::client_builder). All methods of [`TableService`] are
//! methods of it. Types that tests do not name, such as the views of faults and requests, are in
//! [`azure_table_mock`].
//! `MockTableServer` (feature `mock-server`) is the same service on a loopback port.
//!
//! # Testing your code
//!
//! The [guide](crate::guide::testing) shows how to fill tables, inspect requests and inject faults.

mod client;
mod error;
#[cfg(feature = "explore")]
mod explore;
#[cfg(feature = "mock-server")]
mod server;

use std::ops::Deref;

use azure_table_mock::TableService;
#[doc(inline)]
pub use azure_table_mock::{AddedFault, Fault, RecordedRequest};
#[cfg(feature = "explore")]
pub use explore::explore;
#[cfg(feature = "mock-server")]
pub use server::MockTableServer;

/// The Table service in memory, with clients. Clones share the tables.
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
#[derive(Debug, Clone, Default)]
pub struct MockTableService(TableService);

/// Configures a [`MockTableService`].
pub type MockTableServiceBuilder = azure_table_mock::TableServiceBuilder<MockTableService>;

impl MockTableService {
    /// Creates an empty service with the development account and a clock that follows tokio's time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty service that draws all that is random from this seed, for a runtime with paused time; see
    /// [`random_seed`](MockTableServiceBuilder::random_seed). ([`seed`](TableService::seed) inserts rows.)
    pub fn with_random_seed(seed: u64) -> Self {
        Self::builder().random_seed(seed).build()
    }

    /// Returns a builder for a service with its own account, clock or rules.
    pub fn builder() -> MockTableServiceBuilder {
        MockTableServiceBuilder::new()
    }
}

impl From<TableService> for MockTableService {
    fn from(service: TableService) -> Self {
        Self(service)
    }
}

/// The tables, faults, recorded requests and seeds of the service.
impl Deref for MockTableService {
    type Target = TableService;

    fn deref(&self) -> &TableService {
        &self.0
    }
}
