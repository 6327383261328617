//! The replication of an account to its secondary.
//!
//! Source: [Get Table Service Stats][stats].
//!
//! [stats]: https://learn.microsoft.com/rest/api/storageservices/get-table-service-stats

use std::fmt;
use std::time::SystemTime;

use http::Method;

use super::{Reply, Request};
use crate::error::Error;
use crate::wire::escape::escaped;
use crate::wire::{Operation, xml};

/// The replication of an account to its secondary in another region.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceStats {
    /// The state of the replication.
    pub replication: Replication,
    /// The secondary holds all writes before this time, in whole seconds; `None` if the time is unknown.
    pub last_sync: Option<SystemTime>,
    /// The service's id of the request.
    pub request_id: Option<String>,
}

/// The state of an account's replication.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replication {
    /// The secondary can be read.
    Live,
    /// The secondary is being created.
    Bootstrap,
    /// The secondary currently cannot be read.
    Unavailable,
    /// A state that this crate does not know.
    Other(String),
}

impl fmt::Display for Replication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Live => "live",
            Self::Bootstrap => "bootstrap",
            Self::Unavailable => "unavailable",
            Self::Other(text) => text,
        })
    }
}

const STATUS: &[&str] = &["storageservicestats", "georeplication", "status"];
const LAST_SYNC: &[&str] = &["storageservicestats", "georeplication", "lastsynctime"];

pub(crate) fn get() -> Request {
    Request::of_service(Operation::GetStats, Method::GET, "stats")
}

pub(crate) fn stats(reply: Reply, request: &Request) -> Result<ServiceStats, Error> {
    let reply = reply.ok(request)?;
    let body = std::str::from_utf8(&reply.body).unwrap_or_default();
    let texts = xml::texts(body.trim_start_matches('\u{feff}'), [STATUS, LAST_SYNC]);
    let Some([Some(status), last_sync]) = texts else {
        // Only a document that is cut is read again.
        reply.xml(request)?;
        let message = "the response does not contain the state of the replication";
        return Err(reply.unexpected(message, request));
    };
    Ok(ServiceStats {
        replication: match status.trim() {
            "live" => Replication::Live,
            "bootstrap" => Replication::Bootstrap,
            "unavailable" => Replication::Unavailable,
            other => Replication::Other(escaped(other.to_owned())),
        },
        last_sync: last_sync.and_then(|time| httpdate::parse_http_date(time.trim()).ok()),
        request_id: reply.request_id().map(str::to_owned),
    })
}
