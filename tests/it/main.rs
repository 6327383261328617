//! The requests of a client: retries, outcomes, units of work, bulk runs, chaos, hostile servers.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::default_trait_access,
    reason = "tests"
)]

mod bad_input;
mod bulk;
mod by_reqwest;
mod chaos;
mod context;
mod credentials;
mod damaged_bodies;
mod decisions;
mod dialects;
mod errors;
mod explored;
mod faults;
mod foreign_rows;
mod foreign_successes;
mod fuzz_seeds;
mod guides;
mod helpers;
mod hostile_paging;
mod hostile_server;
mod hostile_texts;
mod layers;
mod misdirected_replies;
mod mock;
mod outcome_bugs;
mod outcome_table;
mod outcomes;
mod public_types;
mod readers;
mod real_replies;
mod recordings;
mod retry;
mod runtime;
mod sas;
mod secret_paths;
mod security;
mod signatures;
mod streams;
mod transactions;
mod troubleshooting;
mod update_rows;
