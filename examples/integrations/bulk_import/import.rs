//! An import that can be interrupted at any time. Its state is in a file next to the CSV.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use azure_table_client::bulk::{BulkMonitor, BulkOperation, Checkpoint, Progress};
use azure_table_client::client::WriteOutcome;
use azure_table_client::{TableClient, TableEntity, TableServiceClient};
use futures_util::stream;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::AnyError;

/// A line of the file and a row of the table.
#[derive(Debug, Serialize, Deserialize, TableEntity)]
#[table(name = "ExampleReadings", rename_all = "PascalCase")]
pub(super) struct Reading {
    #[table(partition_key)]
    pub(super) device: String,
    #[table(row_key)]
    pub(super) id: u32,
    pub(super) celsius: f64,
}

/// The time after which the state is saved again, for the case of a crash.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The state of an interrupted import.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// A checkpoint is about the rows of one file in one table.
    endpoint: String,
    table: String,
    sha256: [u8; 32],
    checkpoint: String,
    /// The reasons for which the service refused rows, by their index among the readable ones.
    refused: BTreeMap<u64, String>,
}

/// The end of a run.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) progress: Progress,
    /// The file of the rows that were not imported, if the import is complete and has any.
    pub(super) refused: Option<PathBuf>,
    /// Whether all rows are imported or refused. Otherwise the next run continues.
    pub(super) is_complete: bool,
}

pub(super) struct Import {
    pub(super) table: TableClient<Reading>,
    endpoint: String,
    csv: PathBuf,
}

impl Import {
    pub(super) fn new(service: &TableServiceClient, csv: impl Into<PathBuf>) -> Self {
        Self { table: service.table(), endpoint: service.endpoint().to_owned(), csv: csv.into() }
    }

    /// The file of the state: `readings.csv.checkpoint`.
    pub(super) fn checkpoint(&self) -> PathBuf {
        self.beside(".checkpoint")
    }

    /// The file of the rows that were not imported: `readings.csv.refused.csv`.
    pub(super) fn refused(&self) -> PathBuf {
        self.beside(".refused.csv")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(&self.csv);
        name.push(suffix);
        name.into()
    }

    /// Continues after the last run, to the end of the file or until `stop` is ready.
    pub(super) async fn run(
        &self,
        bar: &ProgressBar,
        stop: impl Future<Output = ()>,
    ) -> Result<Ended, AnyError> {
        let mut state = self.load()?;
        let resolved = match &*state.checkpoint {
            "" => Checkpoint::new(),
            text => text.parse()?,
        };
        let (before, refused) = (resolved.resolved(), state.refused.len() as u64);
        bar.set_position(before);
        bar.reset_eta();
        let shown = bar.clone();
        let bulk = self.table.bulk().resume(resolved).on_progress(move |progress| {
            shown.set_position(before + progress.finished() - progress.skipped);
            let (throttled, failed) = (progress.throttled, refused + progress.failed);
            shown.set_message(format!("{throttled} throttled, {failed} failed"));
        });
        let monitor = bulk.monitor();
        // Line by line: at most a window of rows is in memory. Invalid lines are reported at the end.
        let mut file = reader(&self.csv)?;
        let rows = file.deserialize().filter_map(|line| match line {
            Ok(row) => Some(Ok(BulkOperation::InsertOrReplace(row))),
            Err(error) if error.is_io_error() => Some(Err(error)),
            Err(_) => None,
        });
        let mut run = pin!(bulk.try_run_stream(stream::iter(rows)));
        let mut stop = pin!(stop);
        let mut timer = tokio::time::interval(SAVE_EVERY);
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut stop => break None,
                ended = &mut run => break Some(ended),
                _ = timer.tick() => self.save(&monitor, &mut state)?,
            }
        };
        // Rows with a response are resolved, also if the run was stopped. The next run sends the others again.
        self.save(&monitor, &mut state)?;
        let is_ended = match ended {
            Some(Err(error)) if error.report().stopped.is_some() => return Err(error.into()),
            ended => ended.is_some(),
        };
        let report = monitor.report();
        let is_resolved = report.failures().all(|row| row.outcome.is_resolved());
        let is_complete = is_ended && is_resolved;
        let mut refused = None;
        if is_complete {
            refused = (self.write_refused(&state)? > 0).then(|| self.refused());
            fs::remove_file(self.checkpoint())?;
        }
        Ok(Ended { progress: report.progress, refused, is_complete })
    }

    fn load(&self) -> Result<State, AnyError> {
        let new = State {
            endpoint: self.endpoint.clone(),
            table: self.table.name().to_owned(),
            sha256: sha256(&self.csv)?,
            ..State::default()
        };
        let old: State = match fs::read(self.checkpoint()) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(new),
            Err(error) => return Err(error.into()),
        };
        let reason = if (&old.endpoint, &old.table) != (&new.endpoint, &new.table) {
            format!("the import began in the table {} of {}", old.table, old.endpoint)
        } else if old.sha256 != new.sha256 {
            "the CSV has changed".to_owned()
        } else {
            return Ok(old);
        };
        let path = self.checkpoint();
        Err(format!("{reason}: delete {} to import all rows", path.display()).into())
    }

    /// Replaces the file as a whole, so that a crash leaves the old one or the new one.
    fn save(&self, monitor: &BulkMonitor, state: &mut State) -> Result<(), AnyError> {
        let report = monitor.report();
        state.checkpoint = report.checkpoint.to_string();
        for row in report.failures() {
            if let WriteOutcome::Failed(error) = &row.outcome
                && row.outcome.is_resolved()
            {
                state.refused.insert(row.index, error.to_string());
            }
        }
        let new = self.beside(".checkpoint.new");
        fs::write(&new, serde_json::to_vec(state)?)?;
        Ok(fs::rename(new, self.checkpoint())?)
    }

    /// Copies the lines that were not imported, with two more columns. Once corrected, the file can be imported.
    fn write_refused(&self, state: &State) -> Result<u64, AnyError> {
        let mut file = reader(&self.csv)?;
        let mut refused = csv::Writer::from_writer(Vec::new());
        let headers = file.headers()?.clone();
        refused.write_record(headers.iter().chain(["line", "reason"]))?;
        let (mut index, mut count) = (0, 0);
        for record in file.records() {
            let (record, reason) = match record {
                Ok(record) => match record.deserialize::<Reading>(Some(&headers)) {
                    Ok(_) => {
                        index += 1;
                        let Some(reason) = state.refused.get(&(index - 1)) else { continue };
                        (record, reason.clone())
                    }
                    Err(error) => (record, error.to_string()),
                },
                Err(error) if error.is_io_error() => return Err(error.into()),
                // Not UTF-8.
                Err(error) => (csv::StringRecord::new(), error.to_string()),
            };
            count += 1;
            let line = record.position().map_or("?".to_owned(), |at| at.line().to_string());
            let mut fields: Vec<&str> = record.iter().collect();
            fields.resize(headers.len(), "");
            refused.write_record(fields.into_iter().chain([&*line, &*reason]))?;
        }
        if count > 0 {
            let mut out = BufWriter::new(fs::File::create(self.refused())?);
            out.write_all(&refused.into_inner().map_err(|error| error.to_string())?)?;
            out.flush()?;
        }
        Ok(count)
    }
}

/// Returns the number of lines below the header.
pub(super) fn count(csv: &Path) -> Result<u64, AnyError> {
    let (mut file, mut record) = (reader(csv)?, csv::ByteRecord::new());
    let mut count = 0;
    while file.read_byte_record(&mut record)? {
        count += 1;
    }
    Ok(count)
}

fn sha256(path: &Path) -> io::Result<[u8; 32]> {
    let (mut file, mut hash) = (BufReader::new(fs::File::open(path)?), Sha256::new());
    loop {
        let bytes = file.fill_buf()?;
        let count = bytes.len();
        if count == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(bytes);
        file.consume(count);
    }
}

/// A line with too few fields is a row that cannot be read, and does not end the import.
fn reader(path: &Path) -> csv::Result<csv::Reader<fs::File>> {
    csv::ReaderBuilder::new().flexible(true).from_path(path)
}
