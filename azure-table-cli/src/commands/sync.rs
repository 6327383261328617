//! `sync`: the changes and deletions of a table into its copy.
//!
//! A pass copies the rows that changed since the one before by the run of `copy`, then deletes the rows that the source does
//! not have. The passes overlap, and each can be repeated: a killed pass is lost without a loss of rows.

mod comparison;
mod deletions;
mod dry_run;
mod limit;
mod pair;
mod pass;
mod removal;
mod report;

use futures_util::FutureExt as _;
use tokio::time::sleep;

use crate::args::{Globals, Sync};
use crate::confirm::confirm;
use crate::engine::files::note_current_folder;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::note;
use comparison::Comparison;
use pair::Pair;
use pass::Passes;

const CONTINUES: &str = "the same command continues";

pub(crate) async fn run(args: Sync, globals: &Globals) -> Result<()> {
    let pair = Pair::open(&args, globals)?;
    let file = pair.lock()?;
    if args.dry_run {
        let dry_run = dry_run::run(&args, &pair, &file, globals);
        return stopped_by(&Interrupt::install()?, dry_run).await;
    }
    if args.delete {
        let (source, target) = (pair.source.rows.name(), pair.target.rows.name());
        let question =
            format!("sync deletes the rows of {target} that {source} does not have. Continue?");
        confirm(globals.yes, &question)?;
    }
    note_current_folder(&[file.path(), &pair.list], globals);
    // Before, Ctrl-C ends the command at once.
    let interrupt = Interrupt::install()?;
    let mut passes = Passes::begin(&args, &pair, file, &interrupt, globals)?;
    match follow(&mut passes, &args, &pair, &interrupt, globals).await {
        Err(failure) if failure.exit() == Exit::NotFound => Err(pair.without_target(failure).await),
        end => end,
    }
}

/// Runs passes. With `--until-equal`, the last one finds no change after a comparison that found no difference.
async fn follow(
    passes: &mut Passes<'_>,
    args: &Sync,
    pair: &Pair,
    interrupt: &Interrupt,
    globals: &Globals,
) -> Result<()> {
    // The comparison after the pass before, if that changed nothing.
    let mut last: Option<Comparison> = None;
    loop {
        let report = passes.pass().await?;
        note(globals, &report.to_string());
        let mut now = None;
        if args.until_equal && report.is_unchanged() {
            if let Some(equal) = last.as_ref().filter(|last| last.is_equal()) {
                return equal.conclude(&pair.list, globals);
            }
            let compared = Comparison::run(args, pair, passes.refused(), globals);
            let compared = stopped_by(interrupt, compared).await?;
            if !compared.is_equal() && last.is_some() {
                return Err(compared.failure());
            }
            now = Some(compared);
        }
        last = now;
        // The last pass needs no wait.
        if !last.as_ref().is_some_and(Comparison::is_equal) {
            stopped_by(interrupt, sleep(args.every).map(Ok)).await?;
        }
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
    Failure::new(exit, format!("interrupted: {CONTINUES}"))
}

/// The failure of a pass that stopped.
fn stopped(failure: &Failure, is_unknown: bool) -> Failure {
    let exit = if is_unknown { Exit::Unknown } else { failure.exit() };
    Failure::new(exit, format!("{}; {CONTINUES}", failure.message()))
}
