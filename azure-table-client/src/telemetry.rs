//! Counters and hooks: what a client tells of its calls and attempts, without a subscriber.
//!
//! Its spans and events, and what is never told, stand in the [guide](crate::guide::telemetry).

mod histogram;
mod observer;
mod stats;

pub use histogram::Histogram;
pub use observer::{AttemptOutcome, CallOutcome, Finished, Observer, Received, Sending};
pub use stats::{ClientStats, Counts};

#[cfg(all(test, feature = "mock"))]
mod tests;
