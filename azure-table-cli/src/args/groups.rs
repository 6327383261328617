//! The options that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration::duration;
use super::headings::{HOW_FAST, ON_FAILURE};
use super::rate::Rate;

/// How fast a command reads tables.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reading {
    /// Key ranges of a table that are read at the same time, 1 to 256; the rows stay in key order. Worthwhile for large tables
    #[arg(long, value_name = "RANGES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = HOW_FAST)]
    pub(crate) parallel: u16,
    #[command(flatten)]
    pub(crate) rate: Rate,
}

/// How fast a command writes rows.
#[derive(Debug, Clone, Args)]
pub(crate) struct Writing {
    /// Writes in flight, 1 to 1024; fewer while the service throttles
    #[arg(long, value_name = "REQUESTS", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = HOW_FAST)]
    pub(crate) concurrency: u16,
}

/// What happens if a run does not end.
#[derive(Debug, Clone, Args)]
pub(crate) struct Resuming {
    /// Continue the run that left the checkpoint, or begin if there is none
    ///
    /// With --mode insert, replace and merge, a missing checkpoint is an error: the run could refuse rows that an earlier one
    /// has written.
    #[arg(long, help_heading = ON_FAILURE)]
    pub(crate) resume: bool,
    /// Checkpoint [default: FILE.checkpoint; of a copy SOURCE-TARGET.checkpoint in the current folder]
    #[arg(long, value_name = "FILE", help_heading = ON_FAILURE)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between two saves of the checkpoint
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration, help_heading = ON_FAILURE)]
    pub(crate) save_every: Duration,
}
