//! `copy`: the rows of a table into another table, possibly of another account or service.

mod dry_run;
mod frontier;
mod record;
mod run;
mod sent_rows;
mod source;
mod stop;
mod sync_files;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use azure_table_client::{Dialect, TableServiceClient};

use super::accounts;
use super::import::Mode;
use crate::args::{Copy, Globals};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{message, note};
use crate::progress::{Progress, counted};
use crate::run_files::check_distinct;
use crate::run_files::checkpoint::{self, CheckpointFile, Job, Resume};
use crate::run_files::row_list::{RowList, lock_of};
use crate::service_clock::ServiceClock;
use crate::side_table::SideTable;
use crate::table_name;
use stop::Stop;

pub(super) use dry_run::estimate;
pub(super) use frontier::{Frontier, Refused, Saved};
pub(super) use run::{Ended, Reason, Run, line};
pub(super) use sent_rows::{SentRows, ends_pass, is_of_content};
pub(super) use source::Source;
pub(super) use sync_files::{Position, SyncFiles};

pub(crate) async fn run(args: Copy, globals: &Globals) -> Result<()> {
    let clock = Arc::new(ServiceClock::default());
    let account = args.sides.first_account(&globals.connection)?;
    let source = clock.observe(account, &globals.connection)?;
    let target = args.sides.second(&globals.connection)?;
    if args.all_tables {
        return accounts::copy::run(args, source, target, globals).await;
    }
    table(args, source, target, Some(&clock), globals).await
}

/// Copies a table. The clock is that of the source.
pub(crate) async fn table(
    args: Copy,
    source: TableServiceClient,
    target: TableServiceClient,
    clock: Option<&ServiceClock>,
    globals: &Globals,
) -> Result<()> {
    let source = SideTable::new(source, &args.source);
    let target = SideTable::new(target, &args.target);
    if source.is_same(&target) {
        // The copy would read its own rows.
        return Err(Failure::usage("the source and the target are the same table"));
    }
    table_name::check(&target.service, &args.target)?;
    let paths = Paths { checkpoint: args.checkpoint_path(), refused: args.refused_path() };
    paths.check()?;
    if args.for_sync && args.mode != Mode::UpsertReplace {
        return Err(Failure::usage("--for-sync needs --mode upsert-replace"));
    }
    if args.dry_run {
        return dry_run::run(&args, &source, &target, globals).await;
    }
    let job = Job::new("copy")
        .with("source", source.service.endpoint())
        .with("table", source.rows.name())
        .with("target", target.service.endpoint())
        .with("target table", target.rows.name())
        .with("filter", args.filter.clone().unwrap_or_default())
        .with("mode", args.mode.name())
        .with("for sync", args.for_sync.to_string())
        .with("refused", paths.refused.display().to_string());
    let checkpoint = CheckpointFile::lock(&paths.checkpoint, job)?;
    let clock = clock.filter(|_| args.for_sync);
    let for_sync = clock.map(|clock| ForSync::lock(clock, &source, &target, &paths));
    let mut for_sync = for_sync.transpose()?;
    let resume = Resume::of(args.resume, args.mode.is_repeatable());
    let stored = checkpoint.begin(resume, globals)?;
    let is_resumed = stored.is_some();
    let mut saved = match &stored {
        Some(stored) => Saved::from_json(&stored.position).ok_or_else(|| {
            let path = paths.checkpoint.display();
            Failure::new(Exit::Usage, format!("{path} has no position of a copy"))
        })?,
        None => Saved::default(),
    };
    let refused = match &stored {
        Some(stored) => {
            if source.has_key_order() || saved == Saved::default() {
                stored.note(saved.copied + saved.refused, globals);
            } else {
                saved = Saved::default();
                note(globals, "the rows of the source have no order: the copy begins again");
            }
            RowList::resume(paths.refused.clone(), saved.refused_bytes)?
        }
        None => RowList::begin(paths.refused.clone(), globals)?,
    };
    let interrupt = Interrupt::install()?;
    let resumed = (&*paths.checkpoint, saved.copied + saved.refused);
    if let Err(failure) = interrupt.stops(prepare(&target, args.create, resumed)).await {
        // The checkpoint of an earlier run is still there.
        let again = if is_resumed && failure.exit() != Exit::NotFound {
            format!("; {}", paths.again())
        } else {
            String::new()
        };
        return Err(Failure::new(failure.exit(), format!("{}{again}", failure.message())));
    }
    let sent = match &mut for_sync {
        Some(for_sync) => Some(interrupt.stops(for_sync.begin(&source, is_resumed)).await?),
        None => None,
    };
    let progress = Progress::new(globals.quiet, args.label("copy"), args.expect)
        .with_requests(&globals.connection.requests);
    if source.has_key_order() {
        progress.add_earlier_rows(saved.copied + saved.refused);
    }
    let run = Run {
        has_key_order: source.has_key_order(),
        source: Source {
            table: source.rows,
            filter: args.filter,
            since: None,
            ranges: args.parallel.into(),
        },
        target: target.rows,
        mode: args.mode,
        concurrency: args.concurrency.into(),
        rate: args.rate,
        give_up_after: args.give_up_after,
        is_resumed,
        save_every: args.save_every,
        checkpoint: Some(checkpoint),
        refused,
        sent,
        progress: progress.clone(),
    };
    let ended = run.run(Frontier::new(saved), &interrupt).await?;
    progress.finish();
    if let Some(for_sync) = &mut for_sync
        && ended.is_complete()
    {
        for_sync.files.end_copy()?;
    }
    conclude(ended, &paths, globals.quiet)
}

/// The files of `--for-sync`.
struct ForSync<'c> {
    clock: &'c ServiceClock,
    files: SyncFiles,
}

impl<'c> ForSync<'c> {
    fn lock(
        clock: &'c ServiceClock,
        source: &SideTable,
        target: &SideTable,
        paths: &Paths,
    ) -> Result<Self> {
        let others =
            [("the checkpoint", &*paths.checkpoint), ("the list of refused rows", &*paths.refused)];
        Ok(Self { clock, files: SyncFiles::lock(source, target, &others)? })
    }

    /// Saves the time before the first row is read, and opens the record.
    async fn begin(&mut self, source: &SideTable, is_resumed: bool) -> Result<SentRows> {
        let position = match (is_resumed, self.files.position()) {
            (true, Some(position)) => position.clone(),
            (true, None) => {
                let message =
                    "the files of --for-sync are missing: delete the checkpoint, and copy again";
                return Err(Failure::usage(message));
            }
            (false, _) => self.files.of_copy(self.clock.now(&source.rows).await?),
        };
        self.files.save(position)?;
        Ok(SentRows::new(self.files.open_record()?))
    }
}

/// Creates the table, or checks that it exists. A run that resumes after rows needs the table that has them.
async fn prepare(
    target: &SideTable,
    creates: bool,
    (checkpoint, resolved): (&Path, u64),
) -> Result<()> {
    let table = &target.rows;
    if creates && resolved > 0 {
        if !table.table_exists().await? {
            let (rows, path) = (counted(resolved, "row"), checkpoint.display());
            let message = format!(
                "the table {} does not exist any more, and the earlier run has handled {rows}: delete {path} to copy all rows again",
                table.name()
            );
            return Err(Failure::new(Exit::NotFound, message));
        }
    } else if creates {
        table.create_if_not_exists().await?;
    } else if target.service.dialect() == Dialect::CosmosDb && !table.table_exists().await? {
        // Cosmos DB refuses each row of a missing table like a missing row.
        return Err(is_missing(target));
    }
    Ok(())
}

/// The failure of a target that does not exist.
fn is_missing(target: &SideTable) -> Failure {
    let message = format!("the table {} does not exist: add --create", target.rows.name());
    Failure::new(Exit::NotFound, message)
}

/// The files that a copy leaves.
#[derive(Debug)]
struct Paths {
    checkpoint: PathBuf,
    refused: PathBuf,
}

impl Paths {
    fn check(&self) -> Result<()> {
        let checkpoint = checkpoint::Paths::of(&self.checkpoint);
        let refused = ("the list of refused rows", &*self.refused);
        let lock = lock_of(&self.refused);
        let lock = ("the lock of the list of refused rows", &*lock);
        check_distinct(&[&checkpoint.named()[..], &[refused, lock]].concat())
    }

    /// The advice to continue.
    fn again(&self) -> String {
        format!("continue with --resume (checkpoint {})", self.checkpoint.display())
    }
}

/// Reports the end of a run.
fn conclude(ended: Ended, paths: &Paths, is_quiet: bool) -> Result<()> {
    let Ended { saved, reason, is_unknown, has_checkpoint } = ended;
    let copied = format!("{} copied", counted(saved.copied, "row"));
    let again = paths.again();
    match reason {
        Reason::Interrupted(exit) => {
            Err(Failure::new(exit, format!("interrupted: {copied}; {again}")))
        }
        Reason::Stopped(cause) => {
            let failure = match cause.downcast_ref::<Stop>() {
                Some(stop) if is_unknown => Failure::new(Exit::Unknown, stop.to_string()),
                _ => Failure::of_cause(&*cause),
            };
            if !has_checkpoint {
                return Err(failure);
            }
            let message = format!("{}; {copied}; {again}", failure.message());
            Err(Failure::new(failure.exit(), message))
        }
        Reason::Complete if !saved.unresolved.is_empty() => {
            let rows = counted(saved.unresolved.len() as u64, "row");
            let (exit, problem) = if is_unknown {
                (Exit::Unknown, "with an unknown outcome")
            } else {
                (Exit::Failed, "not copied")
            };
            Err(Failure::new(exit, format!("{rows} {problem}; {copied}; {again}")))
        }
        Reason::Complete if saved.refused > 0 => {
            let (rows, list) = (counted(saved.refused, "row"), paths.refused.display());
            Err(Failure::new(Exit::Partial, format!("{rows} refused, see {list}; {copied}")))
        }
        Reason::Complete => {
            if !is_quiet {
                message(&copied);
            }
            Ok(())
        }
    }
}
