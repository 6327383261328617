//! Entities: their mapping, keys and queries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::default_trait_access,
    reason = "tests"
)]

mod atom;
mod derive;
mod key_oracle;
mod listed_keys;
mod long_keys;
mod many_keys;
mod one_clock;
mod plans;
mod random_filters;
mod random_ids;
mod random_queries;
mod serde_bridge;
mod wrong_keys;
