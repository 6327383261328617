#![doc = include_str!("../docs/schema.md")]
//! # Safety argument
//!
//! A snapshot stands for a set of rows: each property with the values of its form, under its name or an alias, or
//! absent if it is not required; and, with or without them, the properties of earlier versions. A change is
//! compatible if the new struct reads each row of this set as before. The updated snapshot stands for these rows and
//! the new ones, because a compatible change never narrows a property, an alias list or a default, and keeps what it
//! does not read as `removed`. By induction, each version reads the rows of all versions before it.
//!
//! The tests draw 400,000 changes among 95 definitions of one entity, write, merge and replace rows with each
//! version that the guard accepts, and read all rows with its successors by the derive's own code. Without the
//! `removed` lines, or without the rules for absent properties, they find rows with other values. No drawn row shows
//! a difference for 3 % of the refused changes.

mod compare;
mod file;
mod parse;
mod snapshot;
mod values;
mod write;

use std::fmt;
use std::path::PathBuf;

use azure_table_client::TableEntity;

pub use self::file::{SchemaGuard, Update};
pub use self::parse::ParseError;
pub use self::snapshot::Snapshot;

/// Compares the stored form of `E` with the snapshot at `path`, relative to the directory in which the test runs: the
/// package's.
///
/// The first call writes the file, except in CI. With the environment variable `UPDATE_SCHEMAS=1` a compatible change
/// updates it; `UPDATE_SCHEMAS=incompatible` updates it after any change.
///
/// # Errors
/// Rows that are stored would not be read, or would be read as another value; or the change is compatible, and the file
/// does not contain it yet. `Debug` writes the same text as `Display`, so that a test can return the error.
pub fn check<E: TableEntity>(path: impl Into<PathBuf>) -> Result<(), SchemaError> {
    SchemaGuard::new(path).check::<E>()
}

/// A reason why rows would be read with other values, or would be unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The property, the key or the entity kind.
    pub what: String,
    /// The difference.
    pub why: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// The reason why a check failed.
#[derive(Clone)]
#[non_exhaustive]
pub enum SchemaError {
    /// Rows that are stored would not be read, or would be read as other values.
    Incompatible {
        /// The snapshot.
        path: PathBuf,
        /// The differences.
        problems: Vec<Problem>,
    },
    /// Programs of the last version could not read the rows of this one while both run.
    Rolling {
        /// The snapshot.
        path: PathBuf,
        /// The differences.
        problems: Vec<Problem>,
    },
    /// The change is compatible, and the snapshot does not contain it.
    Outdated {
        /// The snapshot.
        path: PathBuf,
        /// The differences that a program of the last version has with rows of this one.
        rolling: Vec<Problem>,
    },
    /// The file does not exist. CI does not write it, because the file must be committed.
    Missing {
        /// The snapshot.
        path: PathBuf,
    },
    /// The file is not a snapshot.
    Malformed {
        /// The snapshot.
        path: PathBuf,
        /// The line and the reason.
        error: ParseError,
    },
    /// The file cannot be read or written.
    File {
        /// The snapshot.
        path: PathBuf,
        /// The message of the operating system.
        message: String,
    },
}

impl SchemaError {
    /// Returns whether stored rows would not be read, or would be read as other values.
    pub const fn is_incompatible(&self) -> bool {
        matches!(self, Self::Incompatible { .. })
    }

    /// Returns whether programs of the last version could not read the new rows while both run.
    pub const fn is_rolling(&self) -> bool {
        matches!(self, Self::Rolling { .. })
    }

    /// Returns whether the change is compatible, and only the snapshot has to be updated.
    pub const fn is_outdated(&self) -> bool {
        matches!(self, Self::Outdated { .. })
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incompatible { path, problems } => {
                writeln!(
                    f,
                    "the stored rows of {} would be read with other values, or not at all:",
                    path.display()
                )?;
                list(f, problems)?;
                f.write_str(
                    "keep the old form readable (`alias`, `default`, `accept`, an `Option` or a new property), or rewrite \
                     all rows first and then update the snapshot with UPDATE_SCHEMAS=incompatible",
                )
            }
            Self::Rolling { path, problems } => {
                let path = path.display();
                writeln!(f, "programs of the last version would not read the new rows of {path}:")?;
                list(f, problems)?;
                f.write_str("deploy a version first that reads both forms and writes the old one")
            }
            Self::Outdated { path, rolling } => {
                let path = path.display();
                writeln!(f, "the stored form of {path} changed in a compatible way")?;
                if !rolling.is_empty() {
                    f.write_str("programs of the last version that still run would not read the new rows:\n")?;
                    list(f, rolling)?;
                }
                f.write_str("update the snapshot with UPDATE_SCHEMAS=1, and commit it")
            }
            Self::Missing { path } => {
                let path = path.display();
                write!(f, "no snapshot at {path}: run the test outside CI, and commit the file")
            }
            Self::Malformed { path, error } => {
                write!(f, "{} is not a snapshot: {error}: restore the file", path.display())
            }
            Self::File { path, message } => write!(f, "{}: {message}", path.display()),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, problems: &[Problem]) -> fmt::Result {
    problems.iter().try_for_each(|problem| writeln!(f, "  - {problem}"))
}

/// The text for people: a test that returns the error prints it by `Debug`.
impl fmt::Debug for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SchemaError {}
