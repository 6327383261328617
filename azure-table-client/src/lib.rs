//! Typed async client for Azure Table Storage and the Cosmos DB Table API.
//!
//! Derive [`TableEntity`] on a struct, open its table on a [`TableServiceClient`], and call the
//! methods of [`TableClient`]. [`DynamicEntity`] holds an entity of any shape. With the feature
//! `mock`, `mock::MockTableService` runs the service in memory, for tests.
//!
//! ```
//! use azure_table_client::mock::MockTableService;
//! use azure_table_client::{IfMatch, TableEntity};
//!
//! #[derive(TableEntity)]
//! #[table(name = "Channels", rename_all = "PascalCase")]
//! struct Channel {
//!     #[table(partition_key)]
//!     name: String,
//!     #[table(row_key)]
//!     kind: String,
//!     owner: Option<String>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), azure_table_client::Error> {
//! // On a real account: TableServiceClient::from_env()?
//! let service = MockTableService::new().client();
//! let channels = service.table::<Channel>();
//! channels.create_if_not_exists().await?;
//! let nine =
//!     Channel { name: "Channel9".into(), kind: "channel".into(), owner: Some("Joe".into()) };
//! channels.insert(&nine).await?;
//! let stored = channels.get(("Channel9", "channel")).await?;
//! assert_eq!(stored.owner.as_deref(), Some("Joe"));
//! channels.replace(&Channel { owner: None, ..nine }, &stored.etag).await?;
//! channels.delete(("Channel9", "channel"), IfMatch::Any).await?;
//! # Ok(())
//! # }
//! ```
//!
//! | type | purpose |
//! |---|---|
//! | [`TableServiceClient`] | An account: its tables, properties and signatures. Cheap to clone. |
//! | [`TableClient`] | One table and its entity type: every operation and query. |
//! | [`TableEntity`] | The derive that maps a struct to entities, and its trait. |
//! | [`DynamicEntity`] | An entity of any shape, without a struct. |
//! | [`Stored`], [`Written`] | The results of a read and of a write, with the ETag. |
//! | [`client::Query`] | A query: conditions, projections, pages, streams, plans. |
//! | [`client::Transaction`] | Up to 100 operations in one partition, all or none. |
//! | [`context::TableContext`] | A unit of work that tracks changes and saves them together. |
//! | [`bulk::Bulk`] | Writes of any number of rows, with checkpoints. |
//! | [`Error`] | The error of every call: kind, code, and the outcome of a write. |
#![cfg_attr(
    feature = "mock",
    doc = "| [`mock::MockTableService`] | The service in memory, for tests. |"
)]
//!
//! Start with the [tutorial](guide::tutorial). The [guides](guide) explain these types; [how do I …?](guide::questions)
//! is their index. See also [troubleshooting](guide::troubleshooting) and [migration](guide::migration) from other
//! clients.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use(opaque_debug, serde_as_text)]
extern crate azure_table_protocol;

#[macro_use]
mod macros;

// The crates below have these; modules name them by the paths of this crate.
#[doc(inline)]
pub use azure_table_protocol::{clock, limits};
use azure_table_protocol::{lock, wire};

// ---- values ----
pub mod edm;
pub mod entity;
mod key;
pub mod serde;

// ---- requests: credentials, retries, transport ----
pub mod auth;
mod client_core;
mod error;
pub mod filter;
mod operation;
mod outcome;
mod pipeline;
mod query;
pub mod telemetry;
pub mod transport;

// ---- the clients ----
pub mod bulk;
pub mod client;
pub mod context;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(feature = "mock")]
pub mod mock;

#[doc(hidden)]
pub mod measure;

#[cfg(any(doc, doctest))]
pub mod guide;
// The names in the text of the pages below.
#[cfg(any(doc, doctest))]
#[allow(unused_imports)]
use guide::*;

#[doc = include_str!("../docs/derive.md")]
pub use azure_table_derive::TableEntity;
#[doc = include_str!("../docs/enum.md")]
pub use azure_table_derive::TableEnum;
pub use azure_table_derive::TableValue;

#[doc = include_str!("../docs/filter.md")]
#[macro_export]
macro_rules! filter {
    ($($condition:tt)*) => {
        // A macro by example knows its crate, by whatever name the caller reaches it.
        $crate::__private::filter!($crate, $($condition)*)
    };
}

// The root has the types that signatures and structs of user code name; the modules have the rest, and `client` the calls
// themselves. Each type has one path.
pub use crate::client::builder::TableServiceClientBuilder;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table::TableClient;
pub use crate::error::{Error, ErrorKind, Outcome};
pub use crate::operation::{Confirmation, Proof, Stored, Written};
pub use crate::pipeline::RetryPolicy;
#[doc = include_str!("../docs/services.md")]
#[doc(inline)]
pub use azure_table_protocol::Dialect;
#[doc(inline)]
pub use azure_table_protocol::edm::TableValue;
#[doc(inline)]
pub use azure_table_protocol::entity::{DynamicEntity, TableEntity};
#[doc(inline)]
pub use azure_table_protocol::key::EntityKey;
#[doc(inline)]
pub use azure_table_protocol::{ETag, ErrorCode, IfMatch, Metadata, Operation, PayloadFormat};
