#![doc = include_str!("../docs/links.md")]
#![doc = include_str!("../docs/pictures.md")]
#![doc = include_str!("../docs/retention.md")]

mod expiring;
mod period;
mod tables;

use std::time::Duration;

pub use expiring::Expiring;
pub use period::Period;
pub use tables::{Maintained, PeriodTables};

/// The default time by which the clocks of any two programs may differ.
const MARGIN: Duration = Duration::from_secs(24 * 3600);
