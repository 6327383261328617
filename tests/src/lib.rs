//! The integration suite: written once, run against the in-process mock, the mock behind HTTP,
//! and any endpoint that `AZURE_STORAGE_CONNECTION_STRING` names (in CI a real Azurite).

pub mod conformance;
mod target;

pub use target::{Server, Target};
