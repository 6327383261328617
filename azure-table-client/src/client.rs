//! The clients: what users call.

mod branch_reader;
mod branches;
pub(crate) mod builder;
mod call;
mod fetch;
mod get_many;
mod get_or_insert;
mod list_tables;
mod merge;
mod page;
mod pages;
mod parallel;
mod query;
mod query_limits;
mod ranges;
mod removal;
mod results;
mod rounds;
pub(crate) mod service;
mod set;
pub(crate) mod setters;
mod stream;
pub(crate) mod table;
mod table_wait;
mod transaction;
mod update_with;

pub use azure_table_derive::TableSet;
pub(crate) use builder::TableServiceClientBuilder;
pub use call::Call;
pub use get_many::GetMany;
pub use get_or_insert::GetOrInsert;
pub use list_tables::{ListTables, TableNamePages};
pub use page::{Page, QueryCost};
pub use pages::Pages;
pub use parallel::Parallel;
pub use query::{Query, QueryPlan};
pub use results::Results;
pub(crate) use service::TableServiceClient;
pub use set::TableSet;
pub use stream::EntityStream;
pub(crate) use table::TableClient;
pub use transaction::Transaction;
pub use update_with::UpdateWith;

pub use crate::operation::ResponseInfo;
pub use crate::operation::access_policies::StoredAccessPolicy;
pub use crate::operation::query::ScanPolicy;
pub use crate::operation::service_properties::{CorsRule, Logging, Metrics, ServiceProperties};
pub use crate::operation::stats::{Replication, ServiceStats};
pub use crate::operation::transaction::{Committed, OperationResult};

pub use crate::wire::NoServiceVersion;
