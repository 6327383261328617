#![doc = include_str!("../docs/telemetry.md")]

mod observer;
mod stats;

pub use observer::{AttemptOutcome, CallOutcome, Finished, Observer, Received, Sending};
pub use stats::{ClientStats, Counts};

#[cfg(all(test, feature = "mock"))]
mod tests;
