//! `sync`: the changes and deletions of a table into its copy.
//!
//! A pass copies the rows that changed since the one before by the run of `copy`, then deletes the recorded rows that the
//! source has no more. The passes overlap, and each can be repeated: a killed pass is lost without a loss of rows.

mod deletions;
mod dry_run;
mod equality;
mod limit;
mod pair;
mod pass;
mod removal;
mod report;

use futures_util::FutureExt as _;
use tokio::time::sleep;

use super::copy::prepare;
use crate::args::{Globals, Sync};
use crate::confirm::confirm;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::note;
use pair::Pair;
use pass::Passes;

pub(crate) async fn run(args: Sync, globals: &Globals) -> Result<()> {
    let pair = Pair::open(&args, globals)?;
    let files = pair.lock(&args)?;
    let interrupt = Interrupt::install()?;
    if args.dry_run {
        return stopped_by(&interrupt, dry_run::run(&args, &pair, &files, globals)).await;
    }
    if args.delete {
        let (source, target) = (pair.source.rows.name(), pair.target.rows.name());
        let question =
            format!("sync deletes rows of {target} that are deleted in {source}. Continue?");
        confirm(globals.yes, &question)?;
    }
    interrupt.stops(prepare(&pair.target, false)).await?;
    let mut passes = Passes::begin(&args, &pair, files, &interrupt, globals)?;
    // Whether the tables differed after the pass before, which changed nothing.
    let mut has_differed = false;
    loop {
        let report = passes.pass().await?;
        note(globals, &report.to_string());
        if args.until_equal && report.is_unchanged() {
            let differences = equality::differences(&args, &pair, globals);
            let differences = stopped_by(&interrupt, differences).await?;
            if differences == 0 {
                return Ok(());
            }
            if has_differed {
                return Err(equality::failure(differences));
            }
            has_differed = true;
        } else {
            has_differed = false;
        }
        stopped_by(&interrupt, sleep(args.every).map(Ok)).await?;
    }
}

/// Awaits a step. The user can interrupt it.
async fn stopped_by<T>(interrupt: &Interrupt, step: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        biased;
        exit = interrupt.wait() => Err(interrupted(exit)),
        result = step => result,
    }
}

fn interrupted(exit: Exit) -> Failure {
    Failure::new(exit, "interrupted: the same command continues")
}
