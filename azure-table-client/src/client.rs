//! The clients: what users call.

mod builder;
mod call;
mod pages;
mod query;
mod results;
mod service;
mod set;
mod table;

pub use azure_table_derive::TableSet;
pub use builder::TableServiceClientBuilder;
pub use call::Call;
pub use pages::{Pages, TableNamePages};
pub use query::{ListTables, Query, QueryPlan};
pub use service::TableServiceClient;
pub use set::TableSet;
pub use table::TableClient;

pub use crate::operation::continuation::Continuation;
pub use crate::operation::entity::Fetched;
pub use crate::operation::query::{Page, ScanPolicy};
pub use crate::operation::{Done, Written};
