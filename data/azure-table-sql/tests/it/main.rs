//! Tests of the program `azure-table-sql`: each runs it against an emulator on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod access;
mod columns;
mod failures;
mod files;
mod results;
mod support;
