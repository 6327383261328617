//! `schema`: the columns of a table, as a list or as Rust structs, and the rows that a snapshot of the schema guard does not fit.

mod check;
mod kinds;
mod profile;
mod report;
mod rust;

use std::num::NonZeroU64;

use azure_table_client::DynamicEntity;
use futures_util::stream::TryStreamExt as _;

use crate::args::{Globals, Schema};
use crate::engine::scan;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::{Progress, counted};
use kinds::Rows;

pub(crate) async fn run(args: Schema, globals: &Globals) -> Result<()> {
    let sample = Sample::new(&args, globals)?;
    if let Some(file) = &args.check {
        return check::run(file, &args, sample, globals).await;
    }
    let mut rows = Rows::new(args.kind.as_deref())?;
    let end = sample.run(|row| rows.add(&row)).await?;
    let (whole, kinds) = rows.finish()?;
    if whole.rows > 0 {
        let text = if args.rust {
            rust::code(&args.table, &whole, end.is_sample, kinds.as_ref())
        } else {
            report::text(&whole, kinds.as_ref(), args.output)
        };
        let mut out = Out::new();
        out.put(&text)?;
        out.flush()?;
    }
    end.conclude()?;
    if whole.rows == 0 {
        return Err(Failure::new(Exit::NotFound, format!("table {} has no rows", args.table)));
    }
    Ok(())
}

/// The rows of the sample, which are not read yet.
struct Sample {
    rows: scan::Rows,
    limit: Option<u64>,
    progress: Progress,
}

/// The end of a scan.
#[derive(Debug, Clone, Copy)]
struct End {
    rows: u64,
    /// Whether the rows after the sample were not read. There may be none.
    is_sample: bool,
    /// The exit code of a signal.
    interrupted: Option<Exit>,
}

impl Sample {
    fn new(args: &Schema, globals: &Globals) -> Result<Self> {
        let table = globals.service()?.table_named(&args.table);
        let limit = args.limit().map(NonZeroU64::get);
        let progress = Progress::new(globals.quiet, "schema", None)
            .with_requests(&globals.connection.requests);
        let scan = scan::Scan { take: limit, ..scan::Scan::of(table, args.rate) };
        Ok(Self { rows: scan.rows(), limit, progress })
    }

    /// Passes the rows on, until the end or until the user interrupts it.
    async fn run(mut self, each: impl FnMut(DynamicEntity) -> Result<()>) -> Result<End> {
        let end = self.read(each).await;
        self.progress.finish();
        end
    }

    async fn read(&mut self, mut each: impl FnMut(DynamicEntity) -> Result<()>) -> Result<End> {
        let interrupt = Interrupt::install()?;
        let mut end = End { rows: 0, is_sample: false, interrupted: None };
        loop {
            let row = tokio::select! {
                biased;
                exit = interrupt.wait() => {
                    end.interrupted = Some(exit);
                    break;
                }
                row = self.rows.try_next() => row?,
            };
            let Some(row) = row else { break };
            each(row)?;
            end.rows += 1;
            self.progress.add_rows(1);
        }
        end.is_sample = self.limit == Some(end.rows);
        Ok(end)
    }
}

impl End {
    fn conclude(self) -> Result<()> {
        match self.interrupted {
            Some(exit) => {
                Err(Failure::new(exit, format!("interrupted after {}", counted(self.rows, "row"))))
            }
            None => Ok(()),
        }
    }
}
