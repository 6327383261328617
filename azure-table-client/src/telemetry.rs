//! Counters and hooks for calls and attempts, without a subscriber.
//!
//! The [guide](crate::guide::telemetry) lists the spans and events, and the values that are never reported.

mod histogram;
mod observer;
mod stats;

pub use histogram::Histogram;
pub use observer::{AttemptOutcome, CallOutcome, Finished, Observer, Received, Sending};
pub use stats::{ClientStats, Counts};

#[cfg(all(test, feature = "mock"))]
mod tests;
