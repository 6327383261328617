//! `export`: the rows of a table as a file.
//!
//! The rows are downloaded as JSON lines, which can be resumed at any row. Another format is converted from them
//! afterwards, because a CSV header and a Parquet schema need all rows.

mod convert;
mod download;
mod position;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use azure_table_client::{Dialect, DynamicEntity};

use crate::args::{Export as Arguments, Globals};
use crate::checkpoint::{CheckpointFile, Job};
use crate::confirm::confirm;
use crate::failure::{Failure, Result};
use crate::format::{Format, Output, is_standard, jsonl};
use crate::interrupt::Interrupt;
use crate::output::message;
use crate::progress::Progress;
use convert::{Conversion, convert};
use download::Download;
use position::Position;

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    let format = Format::of(&args.file, args.format)?;
    if args.columns.is_some() && format != Format::Csv {
        return Err(Failure::usage("--columns is only for CSV"));
    }
    let service = globals.service()?;
    let interrupt = Interrupt::install()?;
    let download = Download {
        table: service.table_named::<DynamicEntity>(&args.table),
        filter: args.filter.clone(),
        select: args.select.clone(),
        parallel: args.parallel.into(),
        interrupt,
        progress: Progress::new(globals.quiet, "export", None),
        save_every: Duration::from_millis(args.save_every),
        system: args.system,
        has_key_order: service.dialect() != Dialect::CosmosDb,
    };
    let conversion = Conversion::of(format, &args);
    if is_standard(&args.file) {
        return to_stdout(download, conversion, globals.quiet).await;
    }
    let export = Export::new(&args, service.endpoint(), download, conversion);
    export.run(&args, globals).await
}

/// Streams the rows if they need no conversion. Otherwise they are kept in a temporary file.
async fn to_stdout(download: Download, conversion: Conversion, quiet: bool) -> Result<()> {
    if let Some(writer) = conversion.streaming(Output::stdout)? {
        return download.all(writer).await.map(|_| ());
    }
    let folder = std::env::temp_dir();
    let rows = tempfile::NamedTempFile::new_in(&folder)
        .map_err(|error| Failure::file("write to", &folder, error))?;
    let file = rows.reopen().map_err(|error| Failure::file("write", rows.path(), error))?;
    let writer = jsonl::Writer::new(Output::file(file, rows.path()), conversion.system);
    let count = download.all(Box::new(writer)).await?;
    let progress = Progress::new(quiet, "convert", Some(count));
    convert(rows.path(), Output::stdout(), &conversion, &download.interrupt, &progress)
}

/// An export to a file.
struct Export {
    download: Download,
    conversion: Conversion,
    checkpoint: CheckpointFile,
    file: PathBuf,
    /// The unfinished file, which gets the name of the file at the end.
    part: PathBuf,
    /// The downloaded rows: the unfinished file itself if it is JSON lines.
    rows: PathBuf,
}

impl Export {
    fn new(args: &Arguments, endpoint: &str, download: Download, conversion: Conversion) -> Self {
        let part = with_suffix(&args.file, ".part");
        let is_converted = conversion.format != Format::JsonLines;
        let rows = if is_converted { with_suffix(&args.file, ".rows.part") } else { part.clone() };
        let job = Job::new("export")
            .with("endpoint", endpoint)
            .with("table", &args.table)
            .with("filter", args.filter.clone().unwrap_or_default())
            .with("select", args.select.join(","))
            .with("system", args.system.to_string())
            .with("rows", rows.display().to_string());
        let path = args.checkpoint.clone();
        let path = path.unwrap_or_else(|| with_suffix(&args.file, ".checkpoint"));
        let checkpoint = CheckpointFile::new(path, job);
        Self { download, conversion, checkpoint, file: args.file.clone(), part, rows }
    }

    async fn run(self, args: &Arguments, globals: &Globals) -> Result<()> {
        // Without a checkpoint, nothing was exported yet.
        let resumes = args.resume && self.checkpoint.path().exists();
        let position = self.checkpoint.begin(resumes)?;
        if position.is_none() && self.file.exists() {
            confirm(globals, &format!("replace the file {}?", self.file.display()))?;
        }
        let mut position = Position::from_json(position.as_ref())?;
        if position.after.is_some() && !self.download.has_key_order && !position.is_complete {
            position = Position::default();
            message("the rows of Cosmos DB have no order: the export begins again");
        }
        if position.is_complete && !self.rows.exists() && self.file.exists() {
            // The earlier run ended between its last two steps.
            return self.checkpoint.remove();
        }
        if !position.is_complete {
            let end = self.download.to_file(&self.rows, position, &self.checkpoint).await;
            self.download.progress.finish();
            position = end?;
        }
        self.finish(&Progress::new(globals.quiet, "convert", Some(position.rows)))
    }

    /// Converts the rows if they need it, and gives the file its name.
    fn finish(&self, progress: &Progress) -> Result<()> {
        if self.rows != self.part {
            let failed = |error| Failure::file("write", &self.part, error);
            let file = File::create(&self.part).map_err(failed)?;
            let written = file.try_clone().map_err(failed)?;
            let out = Output::file(file, &self.part);
            convert(&self.rows, out, &self.conversion, &self.download.interrupt, progress)?;
            written.sync_all().map_err(failed)?;
        }
        fs::rename(&self.part, &self.file)
            .map_err(|error| Failure::file("write", &self.file, error))?;
        if self.rows != self.part {
            fs::remove_file(&self.rows)
                .map_err(|error| Failure::file("remove", &self.rows, error))?;
        }
        self.checkpoint.remove()
    }
}

/// Returns the path with text after its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
