//! The behaviors of `azure-table-conformance` on the mock in this process. `tests/endpoints` has the further targets, and the
//! cases of bytes on the wire.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod mock;
