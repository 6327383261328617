//! The arguments of the program.

#[cfg(feature = "live")]
mod live;

use std::path::{Path, PathBuf};
use std::time::Duration;

use azure_table_conformance::{Dialect, Server, ServerError};
use lexopt::{Arg, Parser, ValueExt as _};

/// The help of the program.
pub(crate) const HELP: &str = "\
Runs the cases of Azure Table Storage on a server, as bytes on the wire.

Usage: azure-table-conformance [OPTIONS]
       azure-table-conformance live [OPTIONS]   all checks on an account; see live --help

The server is that of --endpoint, --account and --key, or of the variable
AZURE_STORAGE_CONNECTION_STRING. Each case has tables of its own, which are deleted
afterwards, also after Ctrl-C or SIGTERM; a second signal ends the deletion. Cases of the area
`service` change the service properties, which are restored afterwards. Do not run the program
twice at once on an account: each run would restore the settings of the other's cases.

Options:
  --endpoint URL        the URL of the account, such as http://127.0.0.1:10002/devstoreaccount1
  --account NAME        the name of the account; by default the path or the first label of the
                        host of --endpoint
  --key KEY             the key of the account in Base64, or env:NAME for a variable
  --dialect DIALECT     storage (default), or cosmos for Azure Cosmos DB for Table
  --only TEXT           only cases whose name, or its part after the area, begins with this text; may
                        be repeated
  --report FILE         writes a report: as JSON if the name ends with .json, as a list for --known
                        if it ends with .tsv, otherwise as Markdown; may be repeated
  --known FILE          expects the outcomes of this list, which has each case that does not pass:
                        name, outcome and response, with tabs between them
  --ca FILE             trusts the certificates of this PEM file too
  --timeout SECONDS     the time limit of a request; by default 30
  --settle SECONDS      repeats reads for this time after a change of properties or policies, which
                        the service applies within 30 s; by default 0
  --table-prefix TEXT   how the names of tables begin; by default `conformance`
  --list                prints the names of all cases
  --help, --version

Exit codes: 0 if no case differs, with --known if all outcomes are those of the list; 1 otherwise; 2
for wrong arguments; 130 after a signal.
";

/// The action of the program.
#[derive(Debug)]
pub(crate) enum Command {
    /// Prints the help.
    Help,
    /// Prints the version.
    Version,
    /// Prints the cases.
    List,
    /// Runs cases.
    Run(Box<Options>),
    /// Prints the help of `live`.
    #[cfg(feature = "live")]
    LiveHelp,
    /// Runs everything on an account.
    #[cfg(feature = "live")]
    Live(Box<azure_table_conformance::live::Options>),
}

/// The arguments of a run.
#[derive(Debug)]
pub(crate) struct Options {
    /// The server.
    pub(crate) server: Server,
    /// The texts that select cases.
    pub(crate) only: Vec<String>,
    /// The files of the report.
    pub(crate) reports: Vec<PathBuf>,
    /// The text of the list of known differences.
    pub(crate) known: Option<String>,
}

/// The options of a server as they are given.
#[derive(Default)]
struct Given {
    endpoint: Option<String>,
    account: Option<String>,
    key: Option<String>,
    dialect: Option<String>,
    ca: Option<PathBuf>,
    timeout: Option<u64>,
    settle: u64,
    prefix: Option<String>,
}

/// Reads the arguments.
pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut given = Given::default();
    let (mut only, mut reports, mut known) = (Vec::new(), Vec::new(), None);
    #[cfg(feature = "live")]
    if live::is_named(&mut parser) {
        return live::parse(parser);
    }
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Command::Version),
            Arg::Long("list") => return Ok(Command::List),
            Arg::Long("only") => only.push(parser.value()?.string()?),
            Arg::Long("report") => reports.push(PathBuf::from(parser.value()?)),
            Arg::Long("known") => known = Some(list(&PathBuf::from(parser.value()?))?),
            Arg::Long(name) => {
                let name = name.to_owned();
                given.set(&name, &mut parser)?;
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(Command::Run(Box::new(Options { server: given.server()?, only, reports, known })))
}

/// A key, or that in the variable of `env:NAME`.
fn key(text: String) -> Result<String, lexopt::Error> {
    match text.strip_prefix("env:") {
        None => Ok(text),
        Some(name) => std::env::var(name).map_err(|_| error(format!("--key: {name} is not set"))),
    }
}

fn list(path: &Path) -> Result<String, lexopt::Error> {
    std::fs::read_to_string(path).map_err(|it| error(format!("--known {}: {it}", path.display())))
}

impl Given {
    /// Sets an option of the server.
    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<(), lexopt::Error> {
        match name {
            "endpoint" => self.endpoint = Some(parser.value()?.string()?),
            "account" => self.account = Some(parser.value()?.string()?),
            "key" => self.key = Some(key(parser.value()?.string()?)?),
            "dialect" => self.dialect = Some(parser.value()?.string()?),
            "ca" => self.ca = Some(PathBuf::from(parser.value()?)),
            "timeout" => self.timeout = Some(parser.value()?.parse()?),
            "settle" => self.settle = parser.value()?.parse()?,
            "table-prefix" => self.prefix = Some(parser.value()?.string()?),
            _ => return Err(Arg::Long(name).unexpected()),
        }
        Ok(())
    }

    /// The certificates of `--ca`.
    fn pem(&self) -> Result<Option<Vec<u8>>, lexopt::Error> {
        let Some(path) = &self.ca else { return Ok(None) };
        let pem = std::fs::read(path).map_err(|it| error(format!("--ca {}: {it}", path.display())));
        pem.map(Some)
    }

    fn server(self) -> Result<Server, lexopt::Error> {
        let mut server = self.bare_server()?.settle(Duration::from_secs(self.settle));
        if let (Some(path), Some(pem)) = (&self.ca, self.pem()?) {
            let at = |reason| error(format!("--ca {}: {reason}", path.display()));
            server = server.trust(&pem).map_err(at)?;
        }
        if let Some(prefix) = &self.prefix {
            server = server.table_prefix(prefix).map_err(|it| error(it.to_string()))?;
        }
        match self.timeout {
            Some(0) => return Err(error("--timeout must be at least 1 second".to_owned())),
            Some(seconds) => server = server.timeout(Duration::from_secs(seconds)),
            None => {}
        }
        match self.dialect.as_deref() {
            None | Some("storage") => Ok(server),
            Some("cosmos") => Ok(server.dialect(Dialect::Cosmos)),
            Some(other) => Err(error(format!("--dialect {other:?}: it must be storage or cosmos"))),
        }
    }

    fn bare_server(&self) -> Result<Server, lexopt::Error> {
        let Some(endpoint) = &self.endpoint else {
            if self.key.is_some() || self.account.is_some() {
                return Err(error("--endpoint is missing".to_owned()));
            }
            let text = std::env::var(VARIABLE)
                .map_err(|_| error(format!("--endpoint is missing, and {VARIABLE} is not set")))?;
            return Server::from_connection_string(&text)
                .map_err(|it| error(format!("{VARIABLE}: {}", without_host(it))));
        };
        let key = self.key.as_deref().ok_or_else(|| error("--key is missing".to_owned()))?;
        let account = self.account.as_deref().unwrap_or_else(|| account_of(endpoint));
        Server::new(endpoint, account, key).map_err(|it| error(it.to_string()))
    }
}

const VARIABLE: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// The variable is often a secret of a workflow, whose log does not show the host.
fn without_host(error: ServerError) -> ServerError {
    match error {
        ServerError::Endpoint(_, reason) => ServerError::Endpoint(String::new(), reason),
        other => other,
    }
}

/// The account in the path of an emulator's URL, or in the host.
fn account_of(endpoint: &str) -> &str {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    match rest.trim_end_matches('/').split_once('/') {
        Some((_, path)) => path,
        None => rest.split('.').next().unwrap_or_default(),
    }
}

fn error(message: String) -> lexopt::Error {
    lexopt::Error::Custom(message.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    fn parsed(arguments: &str) -> Result<Command, lexopt::Error> {
        parse(Parser::from_args(arguments.split_whitespace()))
    }

    #[test]
    fn a_run_has_a_server_and_a_selection() {
        let arguments = "--endpoint http://h:1/one --key a2V5 --only a --only b --report r.json";
        let Command::Run(options) = parsed(arguments).unwrap() else { panic!("{arguments}") };
        assert_eq!(options.server.endpoint(), "http://h:1/one");
        assert_eq!(options.only, ["a", "b"]);
        assert_eq!(options.reports, [PathBuf::from("r.json")]);
    }

    #[test]
    fn wrong_arguments_are_refused_without_the_key() {
        let base = "--endpoint http://h:1/one --key c2VjcmV0";
        for (arguments, reason) in [
            (format!("{base} --dialect other"), "storage or cosmos"),
            (format!("{base} --timeout 0"), "at least 1 second"),
            (format!("{base} --timeout x"), "invalid digit"),
            (format!("{base} --table-prefix 1"), "prefix of tables"),
            (format!("{base} --ca /none/such"), "--ca /none/such"),
            (format!("{base} --known /none/such"), "--known /none/such"),
            (format!("{base} --account a/b"), "account name"),
            (format!("{base} more"), "unexpected argument"),
            ("--endpoint http://h:1/one".to_owned(), "--key is missing"),
            ("--key c2VjcmV0".to_owned(), "--endpoint is missing"),
            ("--endpoint h --key c2VjcmV0".to_owned(), "http://"),
            ("--endpoint http://h --key secret!".to_owned(), "not Base64"),
            ("--key env:NO_SUCH_VARIABLE".to_owned(), "NO_SUCH_VARIABLE is not set"),
        ] {
            let message = parsed(&arguments).unwrap_err().to_string();
            assert!(message.contains(reason), "{arguments}: {message}");
            assert!(!message.contains("c2Vj") && !message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn errors_of_the_variable_have_no_host() {
        let text = "AccountName=mine;AccountKey=a2V5;TableEndpoint=https://mine.example/?a=b";
        let error = Server::from_connection_string(text).unwrap_err();
        assert!(error.to_string().contains("mine.example"), "{error}");
        assert_eq!(without_host(error).to_string(), "endpoint: it must not have a query");
    }

    #[test]
    fn the_account_is_in_the_path_or_in_the_host() {
        for (endpoint, account) in [
            ("http://127.0.0.1:10002/devstoreaccount1/", "devstoreaccount1"),
            ("https://mine.table.core.windows.net", "mine"),
            ("https://mine.table.cosmos.azure.com:443/", "mine"),
        ] {
            assert_eq!(account_of(endpoint), account);
        }
    }
}
