//! Reads the rows of a table and writes them one after another.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use azure_table_client::{DynamicEntity, TableServiceClient};
use futures_util::future;
use futures_util::stream::{StreamExt as _, TryStreamExt as _};

use super::position::Position;
use crate::args::{Export as Arguments, Globals};
use crate::engine::checkpoint::CheckpointFile;
use crate::engine::scan::Scan;
use crate::failure::{Exit, Failure, Result};
use crate::format::{Output, RowWriter, jsonl};
use crate::interrupt::Interrupt;
use crate::key_order::{self, advice};
use crate::progress::{Progress, counted};

/// The rows that an export reads.
pub(super) struct Download {
    scan: Scan,
    pub(super) interrupt: Interrupt,
    pub(super) progress: Progress,
    /// The time between two saves of the checkpoint.
    save_every: Duration,
    /// Whether the ETag and the Timestamp are written.
    system: bool,
    /// Whether the service returns rows in key order, so that a position means something.
    pub(super) has_key_order: bool,
}

/// The number of rows between two updates of the progress.
const ROWS_PER_UPDATE: u64 = 256;

impl Download {
    pub(super) fn new(
        args: &Arguments,
        service: &TableServiceClient,
        interrupt: Interrupt,
        globals: &Globals,
    ) -> Self {
        Self {
            scan: Scan {
                filter: args.filter.clone(),
                select: args.select.clone(),
                ranges: args.reading.parallel.into(),
                ..Scan::of(service.table_named(&args.table), args.reading.rate)
            },
            interrupt,
            progress: Progress::new(globals.quiet, args.label(), args.expect)
                .with_requests(&globals.connection.requests),
            save_every: args.resuming.save_every,
            system: args.system,
            has_key_order: key_order::is_kept_by(service.dialect()),
        }
    }

    /// Counts the rows.
    pub(super) async fn count(&self) -> Result<u64> {
        let rows = self.scan.keys().inspect_ok(|_| self.progress.add_rows(1));
        let count = rows.try_fold(0, |count, _| future::ok(count + 1));
        let count = self.interrupt.stops(count).await;
        self.progress.finish();
        count
    }

    /// Writes all rows, and returns their number. An interrupt is an error.
    pub(super) async fn all(&self, mut writer: Box<dyn RowWriter>) -> Result<u64> {
        let count = self.write_all(&mut *writer).await;
        self.progress.finish();
        let count = count?;
        writer.finish()?;
        Ok(count)
    }

    async fn write_all(&self, writer: &mut dyn RowWriter) -> Result<u64> {
        let mut stop = pin!(self.interrupt.wait());
        let mut rows = self.scan.rows();
        let mut count = 0_u64;
        loop {
            let row = tokio::select! {
                biased;
                exit = &mut stop => {
                    let message = format!("interrupted after {}", counted(count, "row"));
                    return Err(Failure::new(exit, message));
                }
                row = rows.next() => row,
            };
            let Some(row) = row else { break };
            writer.write(&row?)?;
            count += 1;
            if count.is_multiple_of(ROWS_PER_UPDATE) {
                self.progress.add_rows(ROWS_PER_UPDATE);
            }
        }
        self.progress.add_rows(count % ROWS_PER_UPDATE);
        Ok(count)
    }

    /// Writes all rows after the position to a file of JSON lines, and keeps the checkpoint up to date. Returns the last
    /// position.
    pub(super) async fn to_file(
        &self,
        path: &Path,
        position: Position,
        checkpoint: &CheckpointFile,
    ) -> Result<Position> {
        let mut sink = Sink::open(path, position, checkpoint, self)?;
        self.progress.add_earlier_rows(sink.position.rows);
        self.progress.add_bytes(sink.position.bytes);
        let result = self.fill(&mut sink).await;
        // Without a row there is nothing to resume: the table does not exist, for example.
        let is_empty = sink.position.rows == 0 && !matches!(result, Ok(None));
        if is_empty || sink.is_out_of_order {
            sink.remove()?;
        } else if !sink.is_damaged {
            // Also after an error: the rows that were read need not be read again.
            sink.position.is_complete = matches!(result, Ok(None));
            sink.save()?;
        }
        match result {
            Ok(None) => Ok(sink.position),
            Ok(Some(exit)) => {
                let message = match sink.position.rows {
                    0 => "interrupted before the first row".to_owned(),
                    rows => {
                        let rows = counted(rows, "row");
                        format!("interrupted after {rows}: add --resume to read the other rows")
                    }
                };
                Err(Failure::new(exit, message))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the exit code if a signal interrupts it.
    async fn fill(&self, sink: &mut Sink<'_>) -> Result<Option<Exit>> {
        let mut stop = pin!(self.interrupt.wait());
        let mut rows = self.scan.rows_after(sink.position.after.as_ref())?;
        loop {
            let row = tokio::select! {
                biased;
                exit = &mut stop => return Ok(Some(exit)),
                row = rows.next() => row,
            };
            let Some(row) = row else { return Ok(None) };
            let row = row?;
            if self.has_key_order {
                self.check_order(&row, sink)?;
            }
            let before = sink.writer.bytes();
            sink.write(&row)?;
            self.progress.add_rows(1);
            self.progress.add_bytes(sink.writer.bytes() - before);
        }
    }

    /// Checks that the row comes after the position. Otherwise the position does not separate the rows of the file from the
    /// others.
    fn check_order(&self, row: &DynamicEntity, sink: &mut Sink<'_>) -> Result<()> {
        key_order::check(sink.position.after.as_ref(), row.key()).map_err(|problem| {
            sink.is_out_of_order = true;
            let (name, advice) = (self.scan.table.name(), advice("--dialect"));
            let message = format!("table {name} is not in key order: {problem}; {advice}");
            Failure::new(Exit::Failed, message)
        })
    }
}

/// The file of an export, with its checkpoint.
struct Sink<'c> {
    writer: jsonl::Writer,
    file: File,
    path: &'c Path,
    checkpoint: &'c CheckpointFile,
    /// The rows that were written; they are safe after a save.
    position: Position,
    /// The size of the file before this run.
    start: u64,
    saved: Instant,
    save_every: Duration,
    /// Whether a write failed: the end of the file is unknown, and the last checkpoint stays.
    is_damaged: bool,
    /// Whether the rows turned out to be in another order, so that no position can be kept.
    is_out_of_order: bool,
}

impl<'c> Sink<'c> {
    /// Opens the file and cuts off everything after the position.
    fn open(
        path: &'c Path,
        position: Position,
        checkpoint: &'c CheckpointFile,
        download: &Download,
    ) -> Result<Self> {
        let failed = |error| Failure::file("write", path, error);
        let mut options = OpenOptions::new();
        // `append`: writes follow the rows that the file has.
        let file = options.create(true).append(true).open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        if found < position.bytes {
            let message = format!(
                "{} is not the file of the checkpoint: it has {found} bytes, and the checkpoint has {}",
                path.display(),
                position.bytes
            );
            return Err(Failure::new(Exit::Failed, message));
        }
        file.set_len(position.bytes).map_err(failed)?;
        let out = Output::file(file.try_clone().map_err(failed)?, path);
        let writer = jsonl::Writer::new(out, download.system);
        let start = position.bytes;
        let mut sink = Self {
            writer,
            file,
            path,
            checkpoint,
            position,
            start,
            saved: Instant::now(),
            save_every: download.save_every,
            is_damaged: false,
            is_out_of_order: false,
        };
        sink.save()?;
        Ok(sink)
    }

    fn write(&mut self, row: &DynamicEntity) -> Result<()> {
        self.is_damaged = true;
        self.writer.write(row)?;
        self.is_damaged = false;
        self.position.rows += 1;
        self.position.after = Some(row.key().clone());
        if self.saved.elapsed() >= self.save_every {
            self.save()?;
        }
        Ok(())
    }

    /// Makes the rows durable, then the checkpoint that counts them.
    fn save(&mut self) -> Result<()> {
        self.is_damaged = true;
        self.writer.flush()?;
        self.file.sync_data().map_err(|error| Failure::file("write", self.path, error))?;
        self.position.bytes = self.start + self.writer.bytes();
        self.checkpoint.save(&self.position, 0)?;
        self.saved = Instant::now();
        self.is_damaged = false;
        Ok(())
    }

    /// Removes the checkpoint and the file.
    fn remove(&self) -> Result<()> {
        self.checkpoint.remove()?;
        fs::remove_file(self.path).map_err(|error| Failure::file("remove", self.path, error))
    }
}
