//! The patterns on the mock: examples of use, a crash at each request, and chaos.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here is a test"
)]

mod delete_channel;
mod event_stream;
mod harness;
mod hostile;
mod indexed;
mod lease;
mod orleans_membership;
mod outbox;
mod purchase;
mod retention;
mod schema;
mod sequence;
mod versioned_partition;
mod wide;
