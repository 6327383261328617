//! `export`: the rows of a table as a file.
//!
//! The rows are downloaded as JSON lines, which can be resumed at any row. Another format is converted from them
//! afterwards, because a CSV header and a Parquet schema need all rows.

mod convert;
mod download;
mod position;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use azure_table_client::DynamicEntity;

use crate::args::Globals;
use crate::args::export::ExportArgs;
use crate::checkpoint::{CheckpointFile, Job};
use crate::confirm;
use crate::failure::{Exit, Failure, Result};
use crate::format::{self, Format, Output, RowWriter, is_standard};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use convert::{Conversion, convert};
use download::Download;
use position::Position;

pub(crate) async fn run(args: ExportArgs, globals: &Globals) -> Result<()> {
    let format = Format::of(&args.file, args.format)?;
    if args.columns.is_some() && format != Format::Csv {
        return Err(Failure::new(Exit::Usage, "--columns is only for CSV"));
    }
    let service = globals.connection.service()?;
    let interrupt = Interrupt::install()?;
    let download = Download {
        table: service.table_named::<DynamicEntity>(&args.table),
        filter: args.filter.clone(),
        select: args.select.clone(),
        parallel: args.parallel,
        interrupt,
        progress: Progress::new(globals.quiet, "export", None),
    };
    let conversion = Conversion::of(format, &args);
    if is_standard(&args.file) {
        return to_stdout(download, conversion).await;
    }
    let has_order = globals.connection.has_key_order(&service);
    let export = Export::new(&args, service.endpoint(), download, conversion);
    export.run(&args, globals, has_order).await
}

/// Streams the rows if they need no conversion. Otherwise they are kept in a temporary file.
async fn to_stdout(download: Download, conversion: Conversion) -> Result<()> {
    if conversion.is_standard_output_refused() {
        return Err(Failure::new(Exit::Usage, "Parquet needs a file: state one in place of -"));
    }
    let out = || Output::new(Box::new(io::stdout()), "standard output");
    let result = match conversion.streaming(out)? {
        Some(mut writer) => {
            let result = download.all(&mut *writer).await;
            result.and_then(|()| writer.finish().map(|_| ()))
        }
        None => {
            let rows = tempfile::NamedTempFile::new().map_err(|error| {
                Failure::new(Exit::Failed, format!("creating a temporary file failed: {error}"))
            })?;
            let file = rows.reopen().map_err(|error| Failure::io(rows.path(), &error))?;
            let file = Output::new(Box::new(file), format::name_of(rows.path()));
            let mut writer = Box::new(format::jsonl::Writer::new(file, conversion.system));
            download.all(&mut *writer).await?;
            writer.finish()?;
            convert(rows.path(), out(), &conversion, &download.interrupt).map(|_| ())
        }
    };
    download.progress.finish();
    result
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
    fn new(
        args: &ExportArgs,
        endpoint: &str,
        download: Download,
        conversion: Conversion,
    ) -> Self {
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

    async fn run(self, args: &ExportArgs, globals: &Globals, has_order: bool) -> Result<()> {
        // Without a checkpoint, nothing was exported yet.
        let resumes = args.resume && self.checkpoint.path().exists();
        let position = self.checkpoint.begin(resumes)?;
        if position.is_none() && self.file.exists() {
            confirm::ask(globals, &format!("replace {}", self.file.display()))?;
        }
        let mut position = Position::from_json(position.as_ref())?;
        if position.after.is_some() && !has_order && !position.is_complete {
            position = Position::default();
            eprintln!("the rows of Cosmos DB have no order: the export begins again");
        }
        if !position.is_complete {
            self.download.to_file(&self.rows, position, &self.checkpoint).await?;
        }
        self.download.progress.finish();
        self.finish()
    }

    /// Converts the rows if they need it, and gives the file its name.
    fn finish(&self) -> Result<()> {
        if self.rows != self.part {
            let file = File::create(&self.part).map_err(|error| Failure::io(&self.part, &error))?;
            let synced = file.try_clone().map_err(|error| Failure::io(&self.part, &error))?;
            let out = Output::new(Box::new(file), format::name_of(&self.part));
            convert(&self.rows, out, &self.conversion, &self.download.interrupt)?;
            synced.sync_all().map_err(|error| Failure::io(&self.part, &error))?;
        }
        fs::rename(&self.part, &self.file).map_err(|error| Failure::io(&self.file, &error))?;
        self.checkpoint.remove()?;
        if self.rows != self.part {
            fs::remove_file(&self.rows).map_err(|error| Failure::io(&self.rows, &error))?;
        }
        Ok(())
    }
}

/// Returns the path with text after its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
