//! The Table service in memory, for unit tests without a socket.
//!
//! [`TableService`] follows the service's rules for keys, filters, pages, versions, limits,
//! transactions, signatures and errors. It has three hosts: [`TableService::transport`] in process,
//! `TableServer` on a loopback port (feature `server`), and your own host that calls
//! [`TableService::receive`], like the program `azure-table-emulator`. Tests reach it through
//! [`azure_table_client::mock`](https://docs.rs/azure-table-client/latest/azure_table_client/mock/), which adds clients.
//!
//! A comparison with a property that is missing, or that has another type than the literal, is false for
//! all six operators, and `not` is plain negation. The sources contradict each other here.
//!
//! `TableServer` documents its differences from the in-process transport. A host that calls
//! [`TableService::respond`] instead of `receive` supports only the faults that a response can show.
//!
//! A key has at most 1,024 UTF-16 code units, as [the documentation of the service][targets] states today.
//! It used to state 1 KiB, which [`max_key_units(512)`](TableServiceBuilder::max_key_units) enforces.
//!
//! [targets]: https://learn.microsoft.com/azure/storage/tables/scalability-targets
//!
//! # Versions and formats
//!
//! Responses are JSON from version 2013-08-15 on and Atom before version 2015-12-11. Between the two,
//! `Accept` or `$format` decides, and the default is Atom. From 2015-12-11 on, a request that names no
//! format receives 415, like from the service. Upserts and `$select` exist from version 2011-08-18 on,
//! `Prefer` and PATCH from 2013-08-15 on. The OData version headers restrict these features further. A
//! request without a version uses the oldest version, or the newest one if the service is
//! [`loose`](TableServiceBuilder::loose).
//!
//! # Missing features
//!
//! There are no roles: each Entra ID token that [`tokens`](TableServiceBuilder::tokens) accepts
//! allows every operation, and obtains a user delegation key. Logging and metrics settings are stored but have no
//! effect.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use(opaque_debug)]
extern crate azure_table_protocol;

mod authorize;
mod builder;
mod check;
mod core;
mod delivery;
mod dialect;
mod error;
mod exchange_log;
mod export;
mod failure;
mod faults;
mod handlers;
mod head;
mod in_process;
mod inspect;
mod json;
mod keys;
mod names;
mod payload;
mod policies;
mod recorder;
mod reply;
mod request;
mod room;
mod row;
mod seed;
mod seeded_clock;
mod select;
#[cfg(feature = "server")]
mod server;
mod service;
mod service_properties;
mod step;
mod store;
mod xml;

use azure_table_protocol::{
    Dialect, ETag, ErrorCode, auth, clock, edm, entity, filter, key, limits, lock, transport, wire,
};

pub use self::builder::TableServiceBuilder;
pub use self::error::{Error, ErrorKind};
pub use self::faults::{AddedFault, Fault, Faults};
pub use self::recorder::{RecordedRequest, Requests};
pub use self::seed::{Seed, SeedError};
#[cfg(feature = "server")]
pub use self::server::TableServer;
#[doc(hidden)]
pub use self::service::IN_PROCESS_AUTHORITY;
pub use self::service::TableService;
pub use self::store::DiskStatus;

#[cfg(test)]
mod tests;
