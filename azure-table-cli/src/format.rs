//! Files of rows: JSON lines, CSV and Parquet. `docs/formats.md` describes them.

pub(crate) mod csv;
pub(crate) mod jsonl;
mod lines;
pub(crate) mod list;
mod output;
pub(crate) mod parquet;
pub(crate) mod value;
pub(crate) mod version;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use azure_table_client::DynamicEntity;
use clap::ValueEnum;

use crate::failure::{Failure, Result};
use list::Lists;

pub(crate) use lines::MAX_BYTES as MAX_LINE_BYTES;
pub(crate) use output::Output;

/// The path that means standard input or standard output.
pub(crate) const STANDARD: &str = "-";
const BUFFER_BYTES: usize = 256 * 1024;

/// The format of a file of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A JSON object in each line, in the form of the service; lossless.
    #[value(name = "jsonl")]
    JsonLines,
    /// Comma-separated values with the type of each column in the header.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// The format that was chosen, or the one that the file's name ends with. `-` without a choice is JSON lines.
    pub(crate) fn of(path: &Path, chosen: Option<Self>) -> Result<Self> {
        if let Some(format) = chosen {
            return Ok(format);
        }
        if is_standard(path) {
            return Ok(Self::JsonLines);
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("csv") => Ok(Self::Csv),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(Failure::usage(format!(
                "the format of {} is unknown: its name does not end with .jsonl, .ndjson, .csv or \
                 .parquet; state it with --format",
                name_of(path)
            ))),
        }
    }
}

impl Format {
    /// The extension of a file of this format.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// Writes rows to a file or a stream.
pub(crate) trait RowWriter: Send {
    fn write(&mut self, row: &DynamicEntity) -> Result<()>;

    /// Writes the end of the file and flushes it. Returns the size in bytes.
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// The rows of a file, read one after another.
pub(crate) type Rows = Box<dyn Iterator<Item = Result<DynamicEntity>> + Send>;

/// Opens a file of rows; `-` is standard input. Errors name the file and the line or row. The iterator ends after its
/// first error.
pub(crate) fn rows(path: &Path, format: Format) -> Result<Rows> {
    rows_or_list(path, format, None)
}

/// Like [`rows`]. The file may also be a list of rows that did not get through.
pub(crate) fn rows_or_list(path: &Path, format: Format, lists: Option<&Lists>) -> Result<Rows> {
    if format == Format::Parquet {
        return parquet::rows(path);
    }
    let input: Box<dyn BufRead + Send> = if is_standard(path) {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()))
    } else {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, open(path)?))
    };
    let text = lines::Lines::new(input, name_of(path));
    Ok(match format {
        Format::Csv => Box::new(UntilError::new(csv::Reader::new(text)?)),
        _ => Box::new(UntilError::new(jsonl::Reader::new(text, lists.cloned()))),
    })
}

#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// The name of a file in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Opens a file or a pipe. A device has no end.
fn open(path: &Path) -> Result<File> {
    const DEVICES: [&str; 2] = ["/dev/stdin", "/dev/null"];
    let found = std::fs::metadata(path).map_err(|error| Failure::file("read", path, error))?;
    if is_device(found.file_type()) && !DEVICES.iter().any(|device| path == Path::new(device)) {
        let path = path.display();
        return Err(Failure::usage(format!("{path} is a device: name a file, a pipe or -")));
    }
    File::open(path).map_err(|error| Failure::file("read", path, error))
}

/// Ends an iterator after its first error.
struct UntilError<I> {
    inner: Option<I>,
}

impl<I> UntilError<I> {
    fn new(inner: I) -> Self {
        Self { inner: Some(inner) }
    }
}

impl<T, I: Iterator<Item = Result<T>>> Iterator for UntilError<I> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.inner.as_mut()?.next();
        if !matches!(item, Some(Ok(_))) {
            self.inner = None;
        }
        item
    }
}
