//! The reasons why a data file cannot be opened.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::dialect::ServiceDialect;

#[derive(Debug)]
pub(crate) enum OpenError {
    Io(io::Error),
    InUse,
    /// A pipe, a socket or a device.
    NotAFile,
    /// Another program's file is where a compaction writes.
    Occupied(PathBuf),
    /// The file does not begin like a data file.
    Foreign,
    Format {
        found: u16,
        known: u16,
    },
    /// The names of tables and the order of lists depend on the dialect.
    Dialect {
        found: ServiceDialect,
        expected: ServiceDialect,
    },
    Damaged {
        at: u64,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::InUse => f.write_str("another process uses the file"),
            Self::Occupied(path) => {
                write!(f, "{} is not a file of the emulator: move it", path.display())
            }
            Self::NotAFile => f.write_str("the data file must be a regular file"),
            Self::Foreign => f.write_str(
                "the file is not a data file of the emulator, or its beginning is damaged; \
                 restore or move the file",
            ),
            Self::Format { found, known } => write!(
                f,
                "the file has format {found}, and this version reads only format {known}: \
                 start the version that wrote the file, or move the file to begin without tables"
            ),
            Self::Dialect { found, expected } => write!(
                f,
                "the file has the dialect of {}, and the service that of {}: \
                 select the dialect of the file, or move the file to begin without tables",
                found.name(),
                expected.name()
            ),
            Self::Damaged { at } => write!(
                f,
                "the file is damaged at byte {at}; \
                 restore it from a copy, or move it to begin without tables"
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
