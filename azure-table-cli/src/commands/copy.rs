//! `copy`: the rows of a table into another table, possibly of another account or service.

mod all_tables;
mod dry_run;
mod files;

use std::path::Path;
use std::sync::Arc;

use azure_table_client::{Dialect, TableServiceClient};

use crate::args::{Copy, Globals};
use crate::engine::copy_rows::{CopyRows, Frontier};
use crate::engine::end::End;
use crate::engine::mode::Mode;
use crate::engine::scan::Scan;
use crate::engine::sync_position::SyncFile;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, counted};
use crate::service_clock::ServiceClock;
use crate::side_table::SideTable;
use crate::table_name;
use files::{Files, Paths};

pub(crate) async fn run(args: Copy, globals: &Globals) -> Result<()> {
    let clock = Arc::new(ServiceClock::default());
    let account = args.sides.first_account(&globals.connection)?;
    let source = clock.observe(account, &globals.connection)?;
    let target = args.sides.second(&globals.connection)?;
    if args.all_tables {
        return all_tables::run(args, source, target, globals).await;
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
    let paths = Paths { checkpoint: args.checkpoint_path(), list: args.list_path() };
    paths.check()?;
    if args.for_sync && args.mode != Mode::UpsertReplace {
        return Err(Failure::usage("--for-sync needs --mode upsert-replace"));
    }
    if args.dry_run {
        return dry_run::run(&args, &source, &target, globals).await;
    }
    let clock = clock.filter(|_| args.for_sync);
    let for_sync = clock.map(|clock| ForSync::lock(clock, &source, &target, &paths));
    let mut for_sync = for_sync.transpose()?;
    let Files { checkpoint, list, saved, is_resumed } =
        Files::open(&args, &source, &target, &paths, globals)?;
    let interrupt = Interrupt::install()?;
    let progress = Progress::new(globals.quiet, args.label("copy"), args.expect)
        .with_requests(&globals.connection.requests);
    let resumed = (&*paths.checkpoint, saved.copied + saved.refused);
    let prepared = prepare(&source, &target, args.create, resumed);
    if let Err(failure) = interrupt.stops(prepared).await {
        // The checkpoint of an earlier run is still there.
        let again = if is_resumed && failure.exit() != Exit::NotFound {
            format!("; {}", paths.again())
        } else {
            String::new()
        };
        return Err(Failure::new(failure.exit(), format!("{}{again}", failure.message())));
    }
    if let Some(for_sync) = &mut for_sync {
        interrupt.stops(for_sync.begin(&source, is_resumed)).await?;
    }
    if source.has_key_order() {
        progress.add_earlier_rows(saved.copied + saved.refused);
    }
    let run = CopyRows {
        has_key_order: source.has_key_order(),
        source: Scan {
            filter: args.filter,
            ranges: args.reading.parallel.into(),
            ..Scan::of(source.rows, args.reading.rate)
        },
        target: target.rows,
        mode: args.mode,
        concurrency: args.writing.concurrency.into(),
        rate: args.reading.rate,
        give_up_after: args.give_up_after,
        is_resumed,
        save_every: args.resuming.save_every,
        checkpoint: Some(checkpoint),
        list,
        versions: None,
        progress: progress.clone(),
    };
    let copied = run.run(Frontier::new(saved), &interrupt).await?;
    progress.finish();
    if let Some(for_sync) = &mut for_sync
        && copied.is_complete()
    {
        for_sync.file.end_copy()?;
    }
    if !copied.has_checkpoint
        && let Some(problem) = copied.problem
    {
        return Err(problem);
    }
    let end = End {
        verb: "copied",
        rows: copied.rows,
        in_flight: copied.in_flight,
        next: paths.again(),
        list: paths.list,
        interrupted: copied.interrupted,
        problem: copied.problem,
    };
    end.report(globals)
}

/// The position of `--for-sync`.
struct ForSync<'c> {
    clock: &'c ServiceClock,
    file: SyncFile,
}

impl<'c> ForSync<'c> {
    fn lock(
        clock: &'c ServiceClock,
        source: &SideTable,
        target: &SideTable,
        paths: &Paths,
    ) -> Result<Self> {
        let others =
            [("the checkpoint", &*paths.checkpoint), ("the list of failed rows", &*paths.list)];
        Ok(Self { clock, file: SyncFile::lock(source, target, &others)? })
    }

    /// Saves the time before the first row is read.
    async fn begin(&mut self, source: &SideTable, is_resumed: bool) -> Result<()> {
        let position = match (is_resumed, self.file.position()) {
            (true, Some(position)) => position.clone(),
            (true, None) => {
                let message =
                    "the file of --for-sync is missing: delete the checkpoint, and copy again";
                return Err(Failure::usage(message));
            }
            (false, _) => self.file.of_copy(self.clock.now(&source.rows).await?),
        };
        self.file.save(position)
    }
}

/// Creates the table, or checks that it exists. A run that resumes after rows needs the table that has them.
async fn prepare(
    source: &SideTable,
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
        // Without the source, no empty table stays behind.
        source.rows.query().allow_scan().take(1).await?;
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
