//! Requests and responses as bytes on the wire: HTTP over hyper and signatures by this crate. Nothing here uses the client,
//! so a fault of the client cannot hide a fault of a server.

mod connection;
mod multipart;
mod server;
mod sign;
mod target;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "wire/no_tls.rs"]
mod tls;

pub(crate) use connection::{Connection, Request, Response};
pub(crate) use multipart::parts;
pub use server::{Dialect, Server, ServerError};
pub(crate) use sign::{Key, SignedRequest, string_of_sas};
pub(crate) use target::{encoded, encoded_target, parameters};
