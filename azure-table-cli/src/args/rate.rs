//! `--rate` and `--ramp`, the options of commands that scan a table or write many rows.

use std::time::Duration;

use azure_table_client::TableEntity;
use azure_table_client::bulk::Bulk;
use azure_table_client::client::Query;
use clap::Args;

use super::duration::duration;
use super::headings::HOW_FAST;

/// The documented throughput of an account of Azure Storage, in entities per second.
const ACCOUNT: u32 = 20_000;

/// The maximum rate of a command.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Rate {
    /// Maximum number of rows per second that are read from a table or written to one
    ///
    /// With --all-tables, the limit applies to each table separately.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..), help_heading = HOW_FAST)]
    rate: Option<u32>,
    /// Time within which the rate grows evenly from a tenth of --rate to --rate
    ///
    /// Azure Storage moves busy partitions to other servers, which takes time. Without --rate, the rate grows to 20,000, the
    /// limit of an account of Azure Storage.
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = HOW_FAST)]
    ramp: Option<Duration>,
}

impl Rate {
    /// Returns the rows per second, and the time within which this rate is reached.
    pub(crate) fn limit(self) -> Option<(u32, Duration)> {
        match (self.rate, self.ramp) {
            (None, None) => None,
            (rate, ramp) => Some((rate.unwrap_or(ACCOUNT), ramp.unwrap_or_default())),
        }
    }

    /// Limits a query.
    pub(crate) fn limit_query<E, T>(self, query: Query<E, T>) -> Query<E, T> {
        match self.limit() {
            Some((rows, ramp)) => query.max_rate(rows, ramp),
            None => query,
        }
    }

    /// Limits a bulk run.
    pub(crate) fn limit_run<T: TableEntity>(self, bulk: Bulk<T>) -> Bulk<T> {
        match self.limit() {
            Some((rows, ramp)) => bulk.max_rate(rows, ramp),
            None => bulk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_alone_ends_at_the_rate_of_an_account() {
        let ramp = Duration::from_secs(60);
        for (rate, time, limit) in [
            (None, None, None),
            (Some(50), None, Some((50, Duration::ZERO))),
            (Some(50), Some(ramp), Some((50, ramp))),
            (None, Some(ramp), Some((20_000, ramp))),
        ] {
            assert_eq!(Rate { rate, ramp: time }.limit(), limit);
        }
    }
}
