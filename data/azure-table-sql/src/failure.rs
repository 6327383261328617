//! Failed runs and their exit codes, which are those of `azure-table`.

use std::io;
use std::process::ExitCode;

use datafusion::error::DataFusionError;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The exit codes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The reader closed the output.
    Done = 0,
    /// The service, the query or the machine failed.
    Failed = 1,
    /// The arguments are invalid.
    Usage = 2,
    /// The table does not exist.
    NotFound = 6,
    /// The credential is missing or invalid, or does not permit the request.
    Denied = 8,
}

/// The reason why a run failed.
#[derive(Debug)]
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

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Prints the message. Control characters are escaped, since a server may send any.
    pub(crate) fn report(self) -> ExitCode {
        if self.exit != Exit::Done {
            eprintln!("azure-table-sql: {}", escaped(&self.message));
        }
        ExitCode::from(self.exit as u8)
    }
}

/// Escapes control characters except line breaks, which the parser of SQL uses.
fn escaped(text: &str) -> String {
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

impl From<azure_table_client::Error> for Failure {
    fn from(error: azure_table_client::Error) -> Self {
        let exit = match error.status() {
            Some(401 | 403) => Exit::Denied,
            Some(404) => Exit::NotFound,
            _ => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        let exit = match client_error(&error).map(azure_table_client::Error::status) {
            Some(Some(401 | 403)) => Exit::Denied,
            Some(Some(404)) => Exit::NotFound,
            _ => Exit::Failed,
        };
        if is_broken_pipe(&error) {
            return Self::new(Exit::Done, "");
        }
        Self::new(exit, error.strip_backtrace())
    }
}

/// The error of the client behind an error of DataFusion.
fn client_error(error: &DataFusionError) -> Option<&azure_table_client::Error> {
    match error.find_root() {
        DataFusionError::External(source) => match source.downcast_ref()? {
            azure_table_arrow::Error::Client(error) => Some(error),
            _ => None,
        },
        _ => None,
    }
}

fn is_broken_pipe(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::IoError(error) if error.kind() == io::ErrorKind::BrokenPipe)
}
