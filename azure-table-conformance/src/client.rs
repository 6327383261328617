//! The behaviors that run through the client, each a test that runs against any server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here is a test"
)]

mod behaviors;
mod blog;
mod left_out;
mod target;

pub use behaviors::{BEHAVIORS, Behavior, run};
pub use target::{Protocol, Server, Target};
