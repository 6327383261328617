#![doc = include_str!("../docs/links.md")]
#![doc = include_str!("../docs/pictures.md")]
#![doc = include_str!("../docs/retention.md")]

mod expiring;
mod period;
mod tables;

use azure_table_client::clock::Clock;
use chrono::{DateTime, Utc};

pub use expiring::Expiring;
pub use period::Period;
pub use tables::{Maintained, PeriodTables};

fn now(clock: &dyn Clock) -> DateTime<Utc> {
    clock.now().into()
}
