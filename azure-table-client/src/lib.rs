//! Typed async client for Azure Table Storage and the Cosmos DB Table API.

#![cfg_attr(docsrs, feature(doc_cfg))]

// ---- values ----
pub mod edm;
pub mod entity;
mod etag;
pub mod limits;

// ---- bytes of the protocol ----
mod wire;

// ---- who, when, and how a request travels ----
pub mod auth;
pub mod clock;
mod error;
pub mod filter;
mod operation;
mod pipeline;
pub mod transport;

// ---- what users call ----
pub mod client;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(feature = "mock")]
pub mod mock;

#[doc(hidden)]
pub mod measure;

#[doc = include_str!("../docs/derive.md")]
pub use azure_table_derive::TableEntity;

pub use crate::client::{TableClient, TableServiceClient};
pub use crate::entity::{DynamicEntity, EntityKey, TableEntity};
pub use crate::error::{Error, ErrorCode, ErrorKind, Outcome};
pub use crate::etag::{ETag, IfMatch};
pub use crate::pipeline::RetryPolicy;
pub use crate::wire::{Metadata, Operation};
