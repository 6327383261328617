//! Typed async client for Azure Table Storage and the Cosmos DB Table API.
//!
//! Derive [`TableEntity`] on a struct, open its table on a [`TableServiceClient`], and call what
//! [`TableClient`] offers. [`DynamicEntity`] stands for rows without a struct. With the feature
//! `mock`, `mock::MockTableService` is the whole service in memory, for unit tests.
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
//! **How do I …?** The [questions that are asked first](guide::questions) have short answers, and something that
//! does not work has [a page of its own](troubleshooting). Who comes from another client finds each of its calls
//! [here](migration).
//!
//! Guides, on [entities and keys](guide::entities), [partitions](guide::partitions),
//! [queries](guide::queries), the [unit of work](guide::units_of_work),
//! [concurrency](guide::concurrency), [batches and bulk runs](guide::batches),
//! [errors and retries](guide::errors), testing, [telemetry](guide::telemetry),
//! [security](guide::security) and [old versions of the service](guide::protocol_versions), are in
//! [`guide`]; [`Dialect`] is about Cosmos DB, emulators and proxies.
//!
//! The layers, each of which uses those before it and none behind it:
//! `edm, entity <- wire <- error, transport, auth, filter <- operation <- telemetry <- pipeline <- client <- context,
//! bulk`.
//! Nothing depends on `mock`, which uses what is before `operation`; only its `client()` shortcut
//! reaches up.

#![cfg_attr(docsrs, feature(doc_cfg))]

// ---- values ----
mod decode;
mod dialect;
pub mod edm;
pub mod entity;
mod etag;
mod key;
pub mod limits;
pub mod serde;

// ---- bytes of the protocol ----
mod wire;

// ---- who, when, and how a request travels ----
pub mod auth;
pub mod clock;
mod error;
pub mod filter;
mod operation;
mod outcome;
mod pipeline;
pub mod telemetry;
pub mod transport;

// ---- what users call ----
pub mod bulk;
pub mod client;
pub mod context;

// ---- pages of documentation ----
pub mod migration;
pub mod troubleshooting;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(feature = "mock")]
pub mod mock;

#[doc(hidden)]
pub mod measure;

// ---- prose ----
pub mod guide;

#[doc = include_str!("../docs/derive.md")]
pub use azure_table_derive::TableEntity;
#[doc = include_str!("../docs/enum.md")]
pub use azure_table_derive::TableEnum;
#[doc = include_str!("../docs/filter.md")]
pub use azure_table_derive::filter;

pub use crate::client::{TableClient, TableServiceClient};
pub use crate::dialect::Dialect;
pub use crate::entity::{DynamicEntity, EntityKey, TableEntity};
pub use crate::error::{Error, ErrorCode, ErrorKind, OtherCode, Outcome};
pub use crate::etag::{ETag, IfMatch};
pub use crate::operation::Location;
pub use crate::pipeline::{FailedAttempt, LocationMode, RetryPolicy};
pub use crate::wire::{Metadata, Operation, PayloadFormat, ServiceVersion};
