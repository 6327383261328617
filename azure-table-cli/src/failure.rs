//! Failed commands and their exit codes.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use azure_table_client::{Error, ErrorCode, ErrorKind, Outcome};

use crate::terminal::{escaped, message};

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

/// The exit codes of the programs, which `README.md` documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command is done.
    Done = 0,
    /// The service or the machine failed.
    Failed = 1,
    /// The arguments are invalid. Nothing was changed.
    Usage = 2,
    /// `diff` or `sync` found differences, or `schema --check` unreadable rows; or a file or a backup is damaged.
    Different = 3,
    /// Some rows were refused, or tables were deleted during an export; they are listed.
    Partial = 4,
    /// A write may have been applied.
    Unknown = 5,
    /// The row or the table does not exist.
    NotFound = 6,
    /// A condition failed, or the row or the table exists already.
    Conflict = 7,
    /// The credential is missing or invalid, or does not permit the request.
    Denied = 8,
    /// Stopped by Ctrl-C.
    Interrupted = 130,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// Returns the exit of a program that uses the same codes.
    pub fn of_code(code: u8) -> Self {
        let all = [
            Self::Done,
            Self::Usage,
            Self::Different,
            Self::Partial,
            Self::Unknown,
            Self::NotFound,
            Self::Conflict,
            Self::Denied,
            Self::Interrupted,
            Self::Terminated,
        ];
        all.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Self::Failed)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The reason why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// A failure whose message is printed to standard error. Control characters are escaped.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: escaped(&message.into()) }
    }

    /// The failure of invalid arguments.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// A failure that was reported already.
    pub const fn silent(exit: Exit) -> Self {
        Self { exit, message: String::new() }
    }

    /// The failure of an operation on a file: `cannot read rows.jsonl: No such file or directory`.
    pub fn file(action: &str, path: &Path, error: impl Display) -> Self {
        Self::new(Exit::Failed, format!("cannot {action} {}: {error}", path.display()))
    }

    /// The failure to write to standard output. If the reader closed it, as `head` does, the program ends quietly.
    pub fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::silent(Exit::Done);
        }
        Self::new(Exit::Failed, format!("cannot write to standard output: {error}"))
    }

    /// Returns the failure to print a difference. There is one, even if the reader has closed standard output.
    #[must_use]
    pub fn or_different(self) -> Self {
        if self.exit == Exit::Done { Self::silent(Exit::Different) } else { self }
    }

    /// The failure that a bulk run reports as the cause of its end.
    pub fn of_cause(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> Self {
        match (cause.downcast_ref::<Self>(), cause.downcast_ref::<Error>()) {
            (Some(failure), _) => failure.clone(),
            (_, Some(error)) => error.clone().into(),
            _ => Self::new(Exit::Failed, cause.to_string()),
        }
    }

    /// The exit code.
    pub const fn exit(&self) -> Exit {
        self.exit
    }

    /// The message, which is empty if the failure was reported already.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// States the action that failed before the message.
    #[must_use]
    pub fn of(self, action: &str) -> Self {
        Self::new(self.exit, format!("{action}: {}", self.message))
    }

    /// Prints the message of a program, and returns its exit code.
    pub fn report(&self, program: &str) -> ExitCode {
        if !self.message.is_empty() {
            message(&format!("{program}: {}", self.message));
        }
        self.exit.into()
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Words in the messages of the client that are about its functions, and those of this program.
const WORDS: [(&str, &str); 2] = [
    ("allow_http(true)", "--allow-http"),
    (" (make the field an Option or give it a default)", ""),
];

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut message = escaped(&error.to_string());
        let mut cause = std::error::Error::source(&error);
        while let Some(source) = cause {
            // The client escapes its message and not those of its causes.
            let text = escaped(&source.to_string());
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = source.source();
        }
        for (library, program) in WORDS {
            message = message.replace(library, program);
        }
        Self::new(exit(&error), message)
    }
}

fn exit(error: &Error) -> Exit {
    match (error.outcome(), error.kind(), error.status()) {
        (Outcome::Unknown, ..) => Exit::Unknown,
        (_, ErrorKind::Configuration | ErrorKind::InvalidInput, _) => Exit::Usage,
        (_, ErrorKind::Credential, _) | (.., Some(401 | 403)) => Exit::Denied,
        _ if error.is_not_found() => Exit::NotFound,
        _ if error.code() == Some(&ErrorCode::TableBeingDeleted) => Exit::Failed,
        _ if error.is_conflict() || error.is_precondition_failed() => Exit::Conflict,
        _ => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_directional_characters_are_escaped() {
        let failure = Failure::new(Exit::Failed, "a\u{1b}[31m\tb\nc\u{202e}d\u{2066}\u{e9}");
        assert_eq!(failure.message(), "a\\u{1b}[31m\\tb\nc\\u{202e}d\\u{2066}\u{e9}");
    }

    #[test]
    fn a_closed_output_ends_quietly() {
        let failure = Failure::stdout(&io::ErrorKind::BrokenPipe.into());
        assert_eq!((failure.exit(), failure.message()), (Exit::Done, ""));
        assert_eq!(Failure::stdout(&io::ErrorKind::StorageFull.into()).exit(), Exit::Failed);
    }

    #[test]
    fn errors_of_the_client_have_the_exit_code_of_their_kind() {
        use azure_table_client::TableServiceClient;
        let error = TableServiceClient::from_connection_string("AccountName=a").unwrap_err();
        assert_eq!(Failure::from(error).exit(), Exit::Usage);
    }
}
