//! `bench`.

use clap::{Args, ValueEnum};

use super::copy::Lines;

/// Find the request rate at which the service throttles one partition
///
/// Each phase sends requests at a rate that doubles every few seconds, without retries, until more than 1 % of the responses are
/// throttled (429, 503, or the timeout of the service, 500) or a bound is reached. The limit is the rate that the service
/// applies while it throttles. Rates are in rows of 1 KiB per second. Each phase sends for at most --seconds, so that the three
/// phases send for at most 180 s by default; the last responses and the removal of the rows take longer.
///
/// The rows are in a new partition, whose name is printed and begins with azure-table-bench-. The command removes exactly the
/// rows that it wrote, also after Ctrl-C or an error; a second Ctrl-C ends it at once. Without --yes, it runs only on an
/// emulator: an address of this machine, or the development account.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table bench Blogs --dry-run
  azure-table bench Blogs --only inserts,transactions --max-rate 4000 --yes")]
pub(crate) struct Bench {
    /// Name of the table
    pub(crate) table: String,
    /// Only these phases, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PHASES")]
    pub(crate) only: Vec<Phase>,
    /// Highest rate of each phase, in rows per second
    #[arg(long, value_name = "ROWS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) max_rate: u64,
    /// Longest time of each phase, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) seconds: u64,
    /// Create the table if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
    /// Print the phases and the maximum number of requests of each, without sending them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Form of the results
    #[arg(long, short, value_enum, default_value_t = Lines::Text)]
    pub(crate) output: Lines,
}

/// A kind of request, which one part of the load test sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Phase {
    /// A new row in each request
    Inserts,
    /// One row in each request, by its keys
    Reads,
    /// 100 upserts of new rows in each request
    Transactions,
}

impl Phase {
    pub(crate) const ALL: [Self; 3] = [Self::Inserts, Self::Reads, Self::Transactions];

    /// The name in options and results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Inserts => "inserts",
            Self::Reads => "reads",
            Self::Transactions => "transactions",
        }
    }

    /// The rows of each request.
    pub(crate) const fn rows(self) -> u64 {
        match self {
            Self::Inserts | Self::Reads => 1,
            Self::Transactions => 100,
        }
    }
}

impl Bench {
    /// Returns the phases in the order in which they run.
    pub(crate) fn phases(&self) -> Vec<Phase> {
        let is_wanted = |phase: &Phase| self.only.is_empty() || self.only.contains(phase);
        Phase::ALL.into_iter().filter(is_wanted).collect()
    }
}
