//! Tests of the running program: start, requests over HTTP, the page, and shutdown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

mod accounts;
mod control;
mod disk;
mod https;
mod origins;
mod page;
mod page_edit;
mod page_query;
mod process;
mod requests;
mod server;
mod watchdog;
