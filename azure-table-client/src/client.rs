//! The clients: what users call.

pub(crate) mod builder;
mod call;
mod get_many;
mod get_or_insert;
mod list_tables;
mod parallel;
mod partition_rows;
mod query;
mod removal;
mod rounds;
pub(crate) mod service;
mod set;
pub(crate) mod setters;
pub(crate) mod table;
mod table_wait;
mod transaction;
mod unsupported;
mod update_rows;
mod update_with;

pub use azure_table_derive::TableSet;
pub use call::Call;
pub use get_many::GetMany;
pub use get_or_insert::GetOrInsert;
pub use list_tables::ListTables;
pub use parallel::Parallel;
pub use partition_rows::PartitionRows;
pub use query::{Query, QueryPlan};
pub(crate) use service::TableServiceClient;
pub use set::TableSet;
pub(crate) use table::TableClient;
pub use transaction::Transaction;
pub use update_rows::UpdateRowsWith;
pub use update_with::UpdateWith;

pub use crate::operation::access_policies::StoredAccessPolicy;
pub use crate::operation::query::ScanPolicy;
pub use crate::operation::service_properties::{CorsRule, Logging, Metrics, ServiceProperties};
pub use crate::operation::stats::{Replication, ServiceStats};
pub use crate::operation::{Committed, OperationResult};
pub use crate::operation::{Location, ResponseInfo, WriteOutcome, WriteResult};
pub use crate::pipeline::{FailedAttempt, LocationMode};
pub use crate::query::{Continuation, EntityStream, Page, Pages, QueryCost, Results};
#[doc(inline)]
pub use azure_table_protocol::{IntoIfMatch, ServiceVersion};
