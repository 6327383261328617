#![doc = include_str!("../README.md")]

mod case;
mod report;
mod run;
mod signals;
mod wire;

pub use case::{Case, ParseError, cases};
#[doc(hidden)]
pub use report::is_unsafe;
pub use report::{AreaCounts, CaseResult, Difference, Outcome, Report};
pub use run::{Run, Selection};
pub use signals::Signals;
pub use wire::{Dialect, Server, ServerError};

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "live")]
pub mod live;
