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
mod difference;
mod error;
pub mod filter;
mod max_rate;
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
/// Makes an enum a value of a property, a key, or a part of a key. Implements
/// [`ToEdm`], [`FromEdm`] and
/// [`KeyPart`], and `From` for [`EdmValue`], so that stored
/// values, filters and keys have the same form.
///
/// ```
/// use azure_table_client::filter::{CompareOp, Filter};
/// use azure_table_client::{DynamicEntity, TableEntity, TableEnum};
///
/// #[derive(Debug, Clone, PartialEq, TableEnum)]
/// #[table(rename_all = "lowercase")]
/// enum Status {
///     Draft,
///     #[table(rename = "live", alias = "published")] // older programs write "published"
///     Published,
///     #[table(other)] // values of newer programs
///     Other(String),
/// }
///
/// #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, TableEnum)]
/// #[table(as_i32)]
/// enum Priority {
///     Low = 1,
///     High = 5,
/// }
///
/// #[derive(TableEntity)]
/// struct Task {
///     #[table(partition_key)]
///     priority: Priority,
///     #[table(row_key)]
///     id: u32,
///     status: Status,
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let task = Task { priority: Priority::High, id: 7, status: Status::Published };
///     let stored = DynamicEntity::from_entity(&task)?;
///     assert_eq!(stored.key(), &Task::key(Priority::High, 7)?);
///     assert_eq!(stored.key().partition_key, "00000000005");
///     assert_eq!(stored.get::<String>("status"), Some(Ok("live".into())));
///     assert_eq!(stored.get::<Status>("status"), Some(Ok(Status::Published)));
///
///     let live = Filter::compare("status", CompareOp::Eq, Status::Published)?;
///     assert_eq!(live.to_string(), "status eq 'live'");
///     Ok(())
/// }
/// ```
///
/// # On the enum
///
/// | `#[table(…)]` | |
/// |---|---|
/// | `rename_all = "lowercase"` | The case of the stored texts: `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `lowercase` or `UPPERCASE`. Without it, they are the variants' names. |
/// | `as_i32` | Stored as the number of the variant, an Int32, so keys sort by the numbers, and filters have `lt`, `ge` and `between` unless the enum has a variant `other`. Text sorts alphabetically. Cannot be combined with `rename_all`. In an enum with a variant `other`, explicit numbers require Rust's `#[repr(i32)]`. |
/// | `crate = "path"` | The path of this crate, for crates that re-export it. |
///
/// # On a variant
///
/// | `#[table(…)]` | |
/// |---|---|
/// | `rename = "x"` | The stored text, regardless of `rename_all`. |
/// | `alias = "x"` | Another text that is read from a property as this variant, and that filters find; it is not written. It can be repeated. Keys ignore aliases, since the entity would get another key. |
/// | `other` | Holds any other value, as a `String` or an `i32`. Without such a variant, another value is an error, or follows the field's policy for mistyped properties. |
///
/// [`EdmValue`]: crate::edm::EdmValue
/// [`FromEdm`]: crate::edm::FromEdm
/// [`KeyPart`]: crate::entity::KeyPart
/// [`ToEdm`]: crate::edm::ToEdm
pub use azure_table_derive::TableEnum;
pub use azure_table_derive::TableValue;

/// Creates a condition from an expression, for [`Query::filter`].
///
/// ```
/// use azure_table_client::{TableEntity, filter, mock::MockTableService};
///
/// #[derive(TableEntity)]
/// #[table(name = "Blogs", rename_all = "PascalCase")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
///     text: String,
///     rating: i32,
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), azure_table_client::Error> {
///     let blogs = MockTableService::new().client().table::<Blog>();
///     blogs.create().await?;
///     let least = 3;
///     let good = filter!(Blog, b => b.channel == "Channel9"
///     && (b.rating >= least || b.rating in [1, 2] && !b.text.starts_with("Re: ")));
///     let good = blogs.query().filter(good).await?;
///     Ok(())
/// }
/// ```
///
/// The result is a closure over the columns, `|b| b.channel.eq("Channel9") & …`:
///
/// | expression | becomes |
/// |---|---|
/// | `==`, `!=`, `<`, `<=`, `>`, `>=` | the methods of [`Column`] and [`KeyColumn`] |
/// | `&&`, <code>\|\|</code>, `!` | `&`, <code>\|</code>, `!` |
/// | `a in list` | `a.is_in(list)` |
/// | `b.live`, a Boolean column | `b.live.is_true()` |
///
/// `&&` binds tighter than `||`, like in Rust, and `!` requires parentheses around a comparison. The column may be on
/// either side of a comparison. A `Descending` key is compared with `Descending(x)`, in stored order, or by the methods
/// `newer_than(x)` and `older_than(x)`. All other expressions, such as `b.text.starts_with("Re: ")` or
/// `b.rating.between(1, 3)`, stay unchanged; values are any Rust expressions.
///
/// A list may be longer than the 15 comparisons that Azure Storage documents for a filter, and than a URL. The
/// query is then split into several requests, whose results come in key order. A list of keys is read
/// [by key][queries#lists-of-keys].
///
/// [`Column`]: crate::filter::Column
/// [`KeyColumn`]: crate::filter::KeyColumn
/// [`Query::filter`]: crate::client::Query::filter
/// [queries#lists-of-keys]: crate::guide::queries#lists-of-keys
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
