//! `sync`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::copy::Sides;
use super::duration::duration;
use super::groups::{Reading, Writing};
use super::headings::{HOW_FAST, ON_FAILURE};

/// Bring the changes of a table over to its copy, until they are equal or you stop it
///
/// `copy --for-sync` copies the table first. Each pass copies the rows whose Timestamp is newer than the pass before, and
/// --delete deletes the rows of the target that the source does not have. Without `copy --for-sync`, the first pass copies
/// all rows. The position is saved in SOURCE-TARGET.sync in the current folder: after a signal, a crash or a failure, the
/// same command continues.
///
/// Timestamps have no index: a pass makes the service read the whole table, about one request per 1,000 rows if many
/// changed, and at least one for each of its servers. From Cosmos DB, whose filters find no Timestamp, each pass transfers
/// the whole table. --delete reads all keys of both tables as well, about one request per 1,000 rows of each, and looks up
/// each key in the source once more before it deletes the row.
///
/// A row that is deleted and inserted between two passes is one change. Properties that only the target has are removed
/// with the next change of a row. No other program may write the target meanwhile: --delete deletes its rows too. The
/// source cannot be a -secondary endpoint. After the target was dropped and created again, delete SOURCE-TARGET.sync, and
/// copy again.
///
/// To move to the target, stop all writes to the source, wait until --until-equal ends the command, and begin to write to
/// the target: until then, writes must pause.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table copy Blogs Blogs --from env:OLD --to env:NEW --create --for-sync
  azure-table sync Blogs Blogs --from env:OLD --to env:NEW --delete --until-equal

Exit codes: 0 both tables are equal, 2 a question was not answered with yes, 3 differences remain after a pass without a
change, 4 both tables are equal except for refused rows, 5 a pass stopped and the outcome of some rows is unknown, 130 or
143 stopped by a signal; the others are those of `azure-table help`.")]
pub(crate) struct Sync {
    /// Table to read
    #[arg(id = "table", value_name = "SOURCE")]
    pub(crate) source: String,
    /// Table to write
    pub(crate) target: String,
    /// Delete the rows of the target that the source does not have, whoever wrote them
    ///
    /// A row is deleted only in the version that the comparison found: if another program writes it at that moment, it
    /// stays until the next pass, and is listed.
    #[arg(long)]
    pub(crate) delete: bool,
    /// Permit a pass to delete more than 10 % of the rows of the target, up to this number, without a question
    #[arg(long, value_name = "ROWS", requires = "delete")]
    pub(crate) max_deletes: Option<u64>,
    /// After a pass without a change, compare both tables, and end if they are equal and one more pass changes nothing
    ///
    /// Refused rows are not a difference: their number is reported, with code 4. If the tables differ then and after one more
    /// pass without a change, the command ends with code 3; `diff` shows the rows.
    #[arg(long)]
    pub(crate) until_equal: bool,
    /// Time between two passes
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(crate) every: Duration,
    /// Time by which a pass reads rows again: more than the clocks of the service's servers differ
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(crate) overlap: Duration,
    /// Print the number of rows that one pass would copy and delete, and its estimated requests; nothing is written
    ///
    /// The estimate is a request for 1,000 rows read and 100 rows written, or one for each partition.
    #[arg(long, conflicts_with = "until_equal")]
    pub(crate) dry_run: bool,
    /// List of the rows that did not get through, which grows with each pass [default: SOURCE-TARGET.failed.jsonl in the
    /// current folder]
    #[arg(long, value_name = "FILE", help_heading = ON_FAILURE)]
    pub(crate) failed: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Time after which a partition of the target without any success is given up until the next pass
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, help_heading = HOW_FAST)]
    pub(crate) give_up_after: Duration,
    #[command(flatten)]
    pub(crate) sides: Sides,
}
