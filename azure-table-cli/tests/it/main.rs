//! Tests of the program `azure-table`: each runs it against an emulator on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod access;
mod accounts;
mod accounts_faults;
mod accounts_sides;
mod bench;
mod chaos;
mod closed_streams;
mod control;
mod copy;
mod copy_stops;
mod count;
mod diff;
mod dry_run;
mod file_kills;
mod files;
mod found_rows;
mod found_rows_changes;
mod found_rows_chaos;
#[cfg(target_os = "linux")]
mod found_rows_questions;
mod frozen_files;
#[cfg(unix)]
mod full_disk;
mod key_order;
mod pair;
mod printed_structs;
mod program;
#[cfg(target_os = "linux")]
mod prompt;
mod proxy;
mod rate;
mod row_lists;
mod rows;
mod run_files;
mod schema;
mod sessions;
mod support;
mod sync;
#[cfg(unix)]
mod sync_files;
mod sync_kills;
#[cfg(target_os = "linux")]
mod sync_questions;
mod sync_refusals;
#[cfg(target_os = "linux")]
mod terminal;
