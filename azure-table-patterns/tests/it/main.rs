//! The patterns on the mock: examples of use, a crash at each request, and chaos.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here is a test"
)]

mod event_stream;
mod harness;
mod hostile;
mod indexed;
mod lease;
mod outbox;
mod repeated_runs;
mod retention;
mod schema;
mod sequence;
mod versioned_partition;
mod wide;

// The tests of examples are next to the examples. This binary includes them, because `.ci/without patterns` and the chaos of
// `.ci/run patterns` run it.
#[path = "../../../examples/delete_channel/tests.rs"]
mod delete_channel;
#[path = "../../examples/orleans_membership/tests.rs"]
mod orleans_membership;
#[path = "../../examples/purchase/tests.rs"]
mod purchase;
