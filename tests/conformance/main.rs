//! The conformance list of `azure-table-conformance` on the mock: the cases of bytes on the wire, and the behaviors of the
//! client in this process. `tests/endpoints` has the further targets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod cases;
mod mock;
