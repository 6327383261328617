//! Tables of Azure Table Storage and Cosmos DB in DataFusion, on one machine or on a Ballista cluster.
//!
//! ```
//! use std::sync::Arc;
//!
//! use azure_table_arrow::SchemaOptions;
//! use azure_table_client::{DynamicEntity, mock::MockTableService};
//! use azure_table_datafusion::AzureTable;
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
//! # blogs.create().await.unwrap();
//! # for id in 0..5 {
//! #     blogs.insert(&DynamicEntity::new("Channel9", format!("{id}")).with("Rating", id)).await.unwrap();
//! # }
//! let table = AzureTable::infer(blogs, 1000, &SchemaOptions::new()).await?;
//! let session = SessionContext::new();
//! session.register_table("blogs", Arc::new(table))?;
//! let sql = r#"SELECT "RowKey" FROM blogs WHERE "PartitionKey" = 'Channel9' AND "Rating" >= 3"#;
//! assert_eq!(session.sql(sql).await?.count().await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! The projection and the limit are sent to the service, and so are the conditions that it decides like SQL; DataFusion
//! evaluates the others. Each partition of the scan is a range of keys. `EXPLAIN` shows the filter that is sent and the
//! number of partitions, and `EXPLAIN VERBOSE` the filter of each. Rows have no declared order.
//!
//! With the feature `distributed`, a plan is sent to other processes with the *name* of its connection; see
//! [`AzureTableCodec`].

#[cfg(feature = "distributed")]
mod codec;
mod connection;
#[cfg(test)]
mod differential;
mod error;
mod provider;
mod pushdown;
mod ranges;
mod scan;
mod source;

#[cfg(feature = "distributed")]
pub use codec::AzureTableCodec;
pub use connection::{Connections, EnvironmentConnections};
pub use provider::AzureTable;
pub use scan::AzureTableScan;
