//! `export`: the rows of a table as a file.
//!
//! The rows are downloaded as JSON lines, which can be resumed at any row. Another format is converted from them
//! afterwards, because a CSV header and a Parquet schema need all rows.

mod all_tables;
mod convert;
mod download;
mod dry_run;
mod files;
mod new_folders;
mod position;
mod tail;

use std::fs::{self, File};

use azure_table_client::TableServiceClient;

use crate::args::{Export as Arguments, Globals};
use crate::confirm::confirm;
use crate::engine::checkpoint::{Resume, Saved};
use crate::failure::{Failure, Result};
use crate::format::{Format, Output, is_standard, jsonl};
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::progress::Progress;
use convert::{Conversion, convert};
use download::Download;
use dry_run::count;
use files::Files;
use position::{Finished, Position};

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    if args.columns.is_some() && Format::of(&args.file, args.format)? != Format::Csv {
        return Err(Failure::usage(
            "--columns is only for CSV; --select chooses the properties of each format",
        ));
    }
    if let Some(folder) = args.all_tables.clone() {
        return all_tables::run(args, folder, globals).await;
    }
    let service = globals.service()?;
    if args.dry_run {
        return dry_run::run(&args, &service, globals).await;
    }
    table(&args, &service, globals).await.map(|_| ())
}

/// Exports a table. Returns the number of its rows.
pub(crate) async fn table(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<u64> {
    let format = Format::of(&args.file, args.format)?;
    let target = if is_standard(&args.file) {
        None
    } else {
        Some(Target::open(args, service.endpoint(), format, globals)?)
    };
    // After the questions, which a Ctrl-C ends by itself.
    let interrupt = Interrupt::install()?;
    let download = Download::new(args, service, interrupt, globals);
    let conversion = Conversion::of(format, args);
    let Some(Target { files, position, saved }) = target else {
        return to_stdout(download, conversion, globals.quiet).await;
    };
    let export = Export { download, conversion, files };
    export.run(position, saved.as_ref(), globals).await
}

/// Streams the rows if they need no conversion. Otherwise they are kept in a temporary file.
async fn to_stdout(download: Download, conversion: Conversion, quiet: bool) -> Result<u64> {
    if let Some(writer) = conversion.streaming(Output::stdout)? {
        return download.all(writer).await;
    }
    let folder = std::env::temp_dir();
    let rows = tempfile::NamedTempFile::new_in(&folder)
        .map_err(|error| Failure::file("write to", &folder, error))?;
    let file = rows.reopen().map_err(|error| Failure::file("write", rows.path(), error))?;
    let writer = jsonl::Writer::new(Output::file(file, rows.path()), conversion.system);
    let count = download.all(Box::new(writer)).await?;
    let progress = Progress::new(quiet, "convert", Some(count));
    convert(rows.path(), Output::stdout(), &conversion, &download.interrupt, &progress)?;
    Ok(count)
}

/// The files of an export, and the position that it begins at.
struct Target {
    files: Files,
    position: Position,
    saved: Option<Saved>,
}

impl Target {
    /// Locks the files, and asks before a file is replaced.
    fn open(args: &Arguments, endpoint: &str, format: Format, globals: &Globals) -> Result<Self> {
        let files = Files::lock(args, endpoint, format)?;
        let resume = Resume::of(args.resuming.resume, true);
        let saved = files.checkpoint.begin(resume, globals)?;
        let position: Position = saved.as_ref().map(Saved::read).transpose()?.unwrap_or_default();
        if saved.is_none() {
            if files.file.exists() {
                confirm(globals.yes, &format!("replace the file {}?", files.file.display()))?;
            }
            files.begin(globals)?;
        }
        files.check_links()?;
        Ok(Self { files, position, saved })
    }
}

/// An export to a file.
struct Export {
    download: Download,
    conversion: Conversion,
    files: Files,
}

impl Export {
    async fn run(
        self,
        mut position: Position,
        saved: Option<&Saved>,
        globals: &Globals,
    ) -> Result<u64> {
        let Files { file, rows, checkpoint, .. } = &self.files;
        let is_missing = position.is_complete && !rows.exists();
        if is_missing && position.finished.is_some() && position.finished == Finished::of(file).ok()
        {
            // The earlier run ended between its last steps.
            checkpoint.remove()?;
            return Ok(position.rows);
        }
        let reason = if is_missing {
            Some(format!("{} is missing", rows.display()))
        } else if !position.is_complete && position.after.is_some() && !self.download.has_key_order
        {
            Some("the rows of Cosmos DB have no order".to_owned())
        } else {
            None
        };
        if let Some(reason) = reason {
            position = Position::default();
            note(globals, &format!("{reason}: the export begins again"));
        } else if let Some(saved) = saved {
            if !position.is_complete && self.download.has_key_order && rows.exists() {
                position = position.after_whole_rows(rows)?;
            }
            saved.note(position.rows, globals);
        }
        if !position.is_complete {
            let end = self.download.to_file(rows, position, checkpoint).await;
            self.download.progress.finish();
            position = end?;
        }
        let progress = Progress::new(globals.quiet, "convert", Some(position.rows));
        let rows = position.rows;
        self.finish(position, &progress)?;
        Ok(rows)
    }

    /// Converts the rows if they need it, and gives the file its name.
    fn finish(&self, mut position: Position, progress: &Progress) -> Result<()> {
        let Files { file, part, rows, checkpoint, .. } = &self.files;
        if rows != part {
            let failed = |error| Failure::file("write", part, error);
            let created = File::create(part).map_err(failed)?;
            let written = created.try_clone().map_err(failed)?;
            let out = Output::file(created, part);
            convert(rows, out, &self.conversion, &self.download.interrupt, progress)?;
            written.sync_all().map_err(failed)?;
        }
        // Without the rows, a resumed run needs to know whether the file is the new one.
        let finished = Finished::of(part).map_err(|error| Failure::file("read", part, error))?;
        position.finished = Some(finished);
        checkpoint.save(&position, 0)?;
        fs::rename(part, file).map_err(|error| Failure::file("write", file, error))?;
        if rows != part {
            fs::remove_file(rows).map_err(|error| Failure::file("remove", rows, error))?;
        }
        checkpoint.remove()
    }
}
