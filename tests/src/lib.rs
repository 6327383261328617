//! The integration suite: written once, run against the in-process mock, the mock behind HTTP,
//! and any endpoint that `AZURE_STORAGE_CONNECTION_STRING` names (in CI a real Azurite).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here is a test"
)]

mod blog;
pub mod chaos;
pub mod conformance;
pub mod crashes;
pub mod fuzz;
pub mod left_out;
pub mod recordings;
pub mod scripted;
mod target;

pub use blog::Blog;
pub use target::{Server, SocketTransport, Spoken, Target};

/// Returns `full` if `AZURE_TABLE_TESTS_FULL` is set, as in `.ci/run`, and `small` otherwise.
pub fn sized<T>(small: T, full: T) -> T {
    if std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some() { full } else { small }
}

/// The code of the READMEs, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../azure-table-client/README.md")]
pub struct Readmes;

/// The code of the first page of the documentation site.
#[cfg(doctest)]
#[doc = include_str!("../../book/introduction.md")]
pub struct Introduction;
