//! Failed runs and their exit codes, which are those of `azure-table`.

use std::fmt::{self, Display};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use azure_table_client::ErrorKind;
use azure_table_client::auth::CredentialError;
use datafusion::error::DataFusionError;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The exit codes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The reader closed the output.
    Done = 0,
    /// The service or the machine failed, or a row does not fit the columns.
    Failed = 1,
    /// The arguments or the query are invalid.
    Usage = 2,
    /// The table does not exist.
    NotFound = 6,
    /// The credential is missing or invalid, or does not permit the request.
    Denied = 8,
    /// Stopped by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

/// The reason why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The failure of an operation on a file: `cannot write posts.csv: No space left on device`.
    pub(crate) fn file(action: &str, path: &Path, error: impl Display) -> Self {
        Self::new(Exit::Failed, format!("cannot {action} {}: {error}", path.display()))
    }

    /// The failure to write to standard output. If the reader closed it, as `head` does, the program ends quietly.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Done, "");
        }
        Self::new(Exit::Failed, format!("cannot write to standard output: {error}"))
    }

    /// States the action that failed before the message.
    #[must_use]
    pub(crate) fn of(mut self, action: &str) -> Self {
        self.message = format!("{action}: {}", self.message);
        self
    }

    /// Prints the message. Control characters are escaped, since a server may send any.
    pub(crate) fn report(&self) -> ExitCode {
        if self.exit != Exit::Done {
            note(&format!("azure-table-sql: {}", self.message));
        }
        ExitCode::from(self.exit as u8)
    }
}

/// Prints a line to standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escaped(text));
}

/// Escapes control characters except line breaks, which the parser of SQL uses.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// DataFusion returns the failures of the tables of the account.
impl std::error::Error for Failure {}

impl From<Failure> for DataFusionError {
    fn from(failure: Failure) -> Self {
        Self::External(Box::new(failure))
    }
}

impl From<azure_table_client::Error> for Failure {
    fn from(error: azure_table_client::Error) -> Self {
        (&error).into()
    }
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        azure_table_client::Error::from(error).into()
    }
}

impl From<&azure_table_client::Error> for Failure {
    fn from(error: &azure_table_client::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(source) = cause {
            let text = source.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = source.source();
        }
        let exit = match (error.kind(), error.status()) {
            (ErrorKind::Configuration | ErrorKind::InvalidInput, _) => Exit::Usage,
            (ErrorKind::Credential, _) | (_, Some(401 | 403)) => Exit::Denied,
            _ if error.is_not_found() => Exit::NotFound,
            _ => Exit::Failed,
        };
        Self::new(exit, message)
    }
}

/// Names the option that accepts the rows.
impl From<&azure_table_arrow::Error> for Failure {
    fn from(error: &azure_table_arrow::Error) -> Self {
        use azure_table_arrow::Error;

        let option = match error {
            Error::Client(error) => return error.into(),
            Error::Schema(_) => return Self::usage(error.to_string()),
            Error::Row { .. } => {
                "; pass --mixed rest for a JSON column with such values, or --sample all to infer the columns from all rows"
            }
            Error::MixedTypes { .. } => " (--mixed rest)",
            Error::TimeOutOfRange { .. } => " (--datetimes micros or ticks)",
            _ => "",
        };
        Self::new(Exit::Failed, format!("{error}{option}"))
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        let exit = match error.find_root() {
            DataFusionError::External(source) => {
                if let Some(failure) = source.downcast_ref::<Self>() {
                    return failure.clone();
                }
                if let Some(error) = source.downcast_ref::<azure_table_arrow::Error>() {
                    return error.into();
                }
                Exit::Failed
            }
            DataFusionError::Plan(reason) if is_unknown_table(reason) => Exit::NotFound,
            DataFusionError::SQL(..)
            | DataFusionError::Plan(_)
            | DataFusionError::SchemaError(..) => Exit::Usage,
            _ => Exit::Failed,
        };
        Self::new(exit, error.strip_backtrace())
    }
}

/// DataFusion has no other sign of a table that the schema does not have.
fn is_unknown_table(reason: &str) -> bool {
    reason.starts_with("table '") && reason.contains("' not found")
}
