//! The clients: what users call.

mod builder;
mod call;
mod get_or_insert;
mod list_tables;
mod merge;
mod pages;
mod parallel;
mod query;
mod ranges;
mod removal;
mod results;
mod rounds;
mod service;
mod set;
pub(crate) mod setters;
mod source;
mod stream;
mod table;
mod table_wait;
mod transaction;
mod update_with;

pub use azure_table_derive::TableSet;
pub use builder::TableServiceClientBuilder;
pub use call::Call;
pub use get_or_insert::{GetOrInsert, Obtained};
pub use list_tables::{ListTables, TableNamePages};
pub use pages::{Page, Pages};
pub use parallel::Parallel;
pub use query::{Query, QueryPlan};
pub use results::{QueryCost, Results};
pub use service::TableServiceClient;
pub use set::TableSet;
pub use stream::EntityStream;
pub use table::TableClient;
pub use transaction::Transaction;
pub use update_with::{UpdateWith, Updated};

pub use crate::operation::access_policies::StoredAccessPolicy;
pub use crate::operation::continuation::Continuation;
pub use crate::operation::entity::Fetched;
pub use crate::operation::query::ScanPolicy;
pub use crate::operation::service_properties::{CorsRule, Logging, Metrics, ServiceProperties};
pub use crate::operation::stats::{Replication, ServiceStats};
pub use crate::operation::transaction::{Committed, OperationResult};
pub use crate::operation::{Confirmation, Done, Written};
pub use crate::wire::NoServiceVersion;
