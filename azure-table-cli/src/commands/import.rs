//! `import`: the rows of a file into a table, by a bulk run.
//!
//! The file is read twice: first to find damaged rows before anything is sent, then to send its rows.

mod input;
mod job;
mod mode;
mod row_list;
mod run;
mod source;

use std::time::Duration;

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::{Bulk, Checkpoint};

use crate::args::{Globals, Import as Arguments};
use crate::failure::{Failure, Result};
use crate::format::{Format, is_standard};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use row_list::RowList;
use run::{Position, Run};
use source::SharedRows;

pub(crate) use mode::Mode;

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    let format = Format::of(&args.file, args.format)?;
    let service = globals.service()?;
    let table = service.table_named::<DynamicEntity>(&args.table);
    let interrupt = Interrupt::install()?;
    let checkpoint = job::checkpoint(&args, service.endpoint())?;
    let position = match &checkpoint {
        // Without a checkpoint, nothing was sent yet.
        Some(file) => file.begin(args.resume && file.path().exists())?,
        None if args.resume => {
            return Err(Failure::usage("standard input cannot be resumed: import a file"));
        }
        None => None,
    };
    let position = Position::from_json(position.as_ref())?;
    let total = if is_standard(&args.file) {
        None
    } else {
        let progress = Progress::new(globals.quiet, "check", None);
        Some(input::check(&args.file, format, &interrupt, progress).await?)
    };
    if args.create {
        table.create_if_not_exists().await?;
    }
    let refused = RowList::open(job::refused(&args), position.refused_bytes)?;
    // A resumed run tries these rows again.
    let unknown = RowList::open(job::unknown(&args), 0)?;
    let progress = Progress::new(globals.quiet, "import", total);
    let bulk = table.bulk().concurrency(args.concurrency.into()).resume(position.bulk.clone());
    let bulk = show(bulk, progress.clone());
    let save_every = Duration::from_millis(args.save_every);
    let rows = SharedRows::new(refused, unknown);
    let is_resumed = position.bulk != Checkpoint::new();
    let run = Run { monitor: bulk.monitor(), rows, checkpoint, is_resumed, save_every };
    let begin = {
        let run = run.clone();
        move || run.save()
    };
    let chunks = input::read(&args.file, format);
    let rows = run.rows.clone();
    let operations = source::operations(chunks, args.mode, position.bulk, rows, begin);
    let report = run.drive(bulk, operations, &interrupt).await;
    progress.finish();
    run.conclude(&report?)
}

fn show(bulk: Bulk<DynamicEntity>, progress: Progress) -> Bulk<DynamicEntity> {
    let (mut rows, mut bytes) = (0, 0);
    bulk.on_progress(move |now| {
        progress.add_rows(now.finished() - rows);
        progress.add_bytes(now.bytes - bytes);
        progress.set_throttled(now.throttled);
        (rows, bytes) = (now.finished(), now.bytes);
    })
}
