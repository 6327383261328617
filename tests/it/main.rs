//! Integration tests: one binary, so that it links once.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::default_trait_access,
    reason = "tests"
)]
#![allow(clippy::duplicate_mod, reason = "tests over sockets run once by each transport")]

mod atom;
mod bad_input;
mod bulk;
mod by_hyper;
mod by_reqwest;
mod chaos;
mod context;
mod credentials;
mod damaged_bodies;
mod decisions;
mod derive;
mod dialects;
mod differential;
mod endpoint;
mod errors;
mod faults;
mod formats;
mod fuzz_seeds;
mod guides;
mod helpers;
mod hostile_paging;
mod hostile_server;
mod hostile_texts;
mod interop;
mod key_oracle;
mod layers;
mod listed_keys;
mod long_keys;
mod many_keys;
mod misdirected_replies;
mod mock;
mod mock_data;
mod outcome_bugs;
mod outcome_table;
mod outcomes;
mod plans;
mod random_filters;
mod random_ids;
mod random_queries;
mod readers;
mod real_replies;
mod recordings;
mod retry;
mod runtime;
mod sas;
mod secret_paths;
mod security;
mod serde_bridge;
mod signatures;
mod streams;
mod transactions;
mod troubleshooting;
mod update_rows;
mod wrong_keys;
