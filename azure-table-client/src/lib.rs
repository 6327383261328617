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
mod pipeline;

pub use crate::entity::{DynamicEntity, EntityKey, TableEntity};
pub use crate::error::{Error, ErrorCode, ErrorKind, Outcome};
pub use crate::etag::{ETag, IfMatch};
pub use crate::wire::{Metadata, Operation};

/// How requests are carried: the seam for tests and for transports of one's own.
pub mod transport {
    pub use crate::pipeline::transport::{
        HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
    };
}
