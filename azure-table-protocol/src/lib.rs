//! The protocol of Azure Table Storage and of Azure Cosmos DB for Table: what both sides of the wire know, without I/O.
//!
//! Programs that read and write tables use the client, [`azure-table-client`], which re-exports what they need from here.
//! This crate is for proxies, test servers and other clients, which read or write the same bytes.
//!
//! | module | content |
//! |---|---|
//! | [`edm`] | values and their types |
//! | [`entity`], [`key`] | rows, keys, and the traits that map Rust types to them |
//! | [`filter`] | filters: tree, parser, evaluation |
//! | [`auth`] | strings to sign, shared access signatures |
//! | [`limits`] | the limits of the service, and their checks |
//! | [`transport`], [`clock`] | the seams: how requests are exchanged, and the source of time and random bytes |
//!
//! Hidden items are for the crates of this workspace, which require exactly this version.
//!
//! [`azure-table-client`]: https://docs.rs/azure-table-client

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod macros;

#[doc(hidden)]
pub mod lock;

// ---- values ----
#[doc(hidden)]
pub mod dialect;
pub mod edm;
pub mod entity;
mod error_code;
mod etag;
mod format;
pub mod key;
pub mod limits;
mod operation;
mod version;

// ---- bytes, filters and signatures ----
pub mod auth;
pub mod filter;
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub mod wire;

// ---- the seams ----
pub mod clock;
pub mod transport;

pub use crate::dialect::Dialect;
pub use crate::error_code::ErrorCode;
pub use crate::etag::{ETag, IfMatch, IntoIfMatch};
pub use crate::format::{Metadata, PayloadFormat};
pub use crate::operation::Operation;
pub use crate::version::ServiceVersion;
#[doc(inline)]
pub use crate::wire::EntityJsonError;
