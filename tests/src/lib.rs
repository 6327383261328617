//! Shared code of the tests: a scripted transport, recordings of the services, chaos, crashes at each request, and the
//! checks of the fuzz targets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here is a test"
)]

pub mod chaos;
pub mod context_programs;
pub mod crashes;
pub mod fuzz;
pub mod recordings;
pub mod scripted;
mod socket_transport;

pub use socket_transport::SocketTransport;

/// Returns `full` if `AZURE_TABLE_TESTS_FULL` is set, as in the nightly part `chaos`, and `small` otherwise.
pub fn sized<T>(small: T, full: T) -> T {
    if std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some() { full } else { small }
}

/// The code of the READMEs, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../azure-table-client/README.md")]
#[doc = include_str!("../../azure-table-conformance/README.md")]
pub struct Readmes;

/// The code of the first page of the documentation site.
#[cfg(doctest)]
pub struct Introduction;
