//! The options: command line arguments, and environment variables with the same meaning.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use lexopt::{Arg, Parser, ValueExt as _};

/// The port of the table service in emulators.
const DEFAULT_PORT: u16 = 10002;
const DEFAULT_HOST: &str = "127.0.0.1";

pub(crate) const HELP: &str = "\
A stand-alone Azure Table Storage for development and tests.

Usage: azure-table-mock [OPTIONS]

Options:
  --host HOST      Address to listen at [default: 127.0.0.1] [env: AZURE_TABLE_MOCK_HOST]
  --port PORT      Port to listen at; 0 selects a free one [default: 10002] [env: AZURE_TABLE_MOCK_PORT]
  --account NAME   An account; repeatable, each with its --key [default: devstoreaccount1]
                   [env: AZURE_TABLE_MOCK_ACCOUNT]
  --key KEY        The account's key in base64 [default: the well-known key of devstoreaccount1]
                   [env: AZURE_TABLE_MOCK_KEY]
  --data DIR       Folder that keeps the tables, one file an account [default: in memory only]
                   [env: AZURE_TABLE_MOCK_DATA]
  --log            Print a line for each request to standard error [env: AZURE_TABLE_MOCK_LOG]
  --loose          Accept requests without a valid signature [env: AZURE_TABLE_MOCK_LOOSE]
  --no-page        Do not serve the page at /-/ [env: AZURE_TABLE_MOCK_NO_PAGE]
  --help           Print this
  --version        Print the version

AZURE_TABLE_MOCK_ACCOUNTS=name:key;name2:key2 sets several accounts. The value 1 or true switches
an option on. An argument overrides its variable.

The service is at http://HOST:PORT/ACCOUNT, its health at /-/health, and its page at /-/.
";

/// The command of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Run(Options),
    Help,
    Version,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) accounts: Vec<Account>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) log: bool,
    pub(crate) loose: bool,
    pub(crate) page: bool,
}

/// An account and its key. The key is hidden in `Debug`.
#[derive(PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) key: String,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An error in the options, as one line without any key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionsError(String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn error<T>(text: impl Into<String>) -> Result<T, OptionsError> {
    Err(OptionsError(text.into()))
}

/// The parsed arguments, before the environment variables are read.
#[derive(Default)]
struct Arguments {
    host: Option<String>,
    port: Option<String>,
    names: Vec<String>,
    keys: Vec<String>,
    data: Option<PathBuf>,
    log: bool,
    loose: bool,
    no_page: bool,
}

impl Command {
    /// Parses the arguments after the program's name. Missing options come from `variable`.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, OptionsError> {
        let mut parser = Parser::from_args(arguments);
        let mut read = Arguments::default();
        // The error does not repeat the argument, which may be a key.
        while let Some(argument) = parser.next().map_err(|_| OptionsError(unexpected()))? {
            match argument {
                Arg::Long("host") => read.host = Some(text("--host", &mut parser)?),
                Arg::Long("port") => read.port = Some(text("--port", &mut parser)?),
                Arg::Long("account") => read.names.push(text("--account", &mut parser)?),
                Arg::Long("key") => read.keys.push(text("--key", &mut parser)?),
                Arg::Long("data") => {
                    let data = parser.value().or_else(|_| error("--data needs a value"))?;
                    read.data = Some(data.into());
                }
                Arg::Long("log") => read.log = true,
                Arg::Long("loose") => read.loose = true,
                Arg::Long("no-page") => read.no_page = true,
                Arg::Long("help") | Arg::Short('h') => return Ok(Self::Help),
                Arg::Long("version") | Arg::Short('V') => return Ok(Self::Version),
                Arg::Long(name) => {
                    return error(format!("unknown option --{name}; see --help"));
                }
                Arg::Short(name) => {
                    return error(format!("unknown option -{name}; see --help"));
                }
                Arg::Value(_) => return error(unexpected()),
            }
        }
        read.options(&Environment(&variable)).map(Self::Run)
    }
}

fn unexpected() -> String {
    "an argument is neither an option nor its value; see --help".into()
}

fn text(name: &str, parser: &mut Parser) -> Result<String, OptionsError> {
    let value = parser.value().or_else(|_| error(format!("{name} needs a value")))?;
    value.string().or_else(|_| error(format!("the value of {name} is not UTF-8")))
}

/// The variables `AZURE_TABLE_MOCK_*`.
struct Environment<'a>(&'a dyn Fn(&str) -> Option<OsString>);

impl Environment<'_> {
    fn raw(&self, name: &str) -> Option<OsString> {
        (self.0)(&full_name(name)).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Result<Option<String>, OptionsError> {
        let text = self.raw(name).map(OsString::into_string).transpose();
        text.or_else(|_| error(format!("{} is not UTF-8", full_name(name))))
    }

    fn switch(&self, name: &str) -> Result<bool, OptionsError> {
        match self.text(name)?.as_deref() {
            Some("1" | "true") => Ok(true),
            None | Some("0" | "false") => Ok(false),
            Some(_) => error(format!("{} must be 1, true, 0 or false", full_name(name))),
        }
    }
}

fn full_name(name: &str) -> String {
    format!("AZURE_TABLE_MOCK_{name}")
}

impl Arguments {
    fn options(self, environment: &Environment<'_>) -> Result<Options, OptionsError> {
        let host = match self.host {
            Some(host) => host,
            None => environment.text("HOST")?.unwrap_or_else(|| DEFAULT_HOST.into()),
        };
        let (port, of) = match self.port {
            Some(port) => (Some(port), "--port".to_owned()),
            None => (environment.text("PORT")?, full_name("PORT")),
        };
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => {
                port.parse().or_else(|_| error(format!("{of} is a number from 0 to 65535")))?
            }
        };
        let accounts = if self.names.is_empty() && self.keys.is_empty() {
            accounts_of(environment)?
        } else {
            pairs(self.names, self.keys)?
        };
        check(&accounts)?;
        Ok(Options {
            host,
            port,
            accounts,
            data: self.data.or_else(|| environment.raw("DATA").map(PathBuf::from)),
            log: self.log || environment.switch("LOG")?,
            loose: self.loose || environment.switch("LOOSE")?,
            page: !(self.no_page || environment.switch("NO_PAGE")?),
        })
    }
}

/// Returns the accounts of the environment variables. The default is the development account.
fn accounts_of(environment: &Environment<'_>) -> Result<Vec<Account>, OptionsError> {
    let (name, key) = (environment.text("ACCOUNT")?, environment.text("KEY")?);
    let Some(list) = environment.text("ACCOUNTS")? else {
        return pairs(name.into_iter().collect(), key.into_iter().collect());
    };
    if name.is_some() || key.is_some() {
        return error("AZURE_TABLE_MOCK_ACCOUNTS excludes AZURE_TABLE_MOCK_ACCOUNT and …_KEY");
    }
    let pair = |pair: &str| match pair.trim().split_once(':') {
        Some((name, key)) => Ok(Account { name: name.trim().into(), key: key.trim().into() }),
        None => {
            error("AZURE_TABLE_MOCK_ACCOUNTS must be a list of name:key, separated by semicolons")
        }
    };
    list.split(';').filter(|entry| !entry.trim().is_empty()).map(pair).collect()
}

/// Pairs names and keys in their order. The development account supplies a single missing name or key.
fn pairs(mut names: Vec<String>, mut keys: Vec<String>) -> Result<Vec<Account>, OptionsError> {
    if names.is_empty() && keys.len() <= 1 {
        names.push(DEVELOPMENT_ACCOUNT.into());
    }
    if keys.is_empty() && names.len() == 1 && names[0] == DEVELOPMENT_ACCOUNT {
        keys.push(DEVELOPMENT_KEY.into());
    }
    match (names.len(), keys.len()) {
        (names, keys) if names > keys => error("an account has no key: each needs its own"),
        (names, keys) if names < keys => error("a key has no account: each needs its own"),
        _ => Ok(names.into_iter().zip(keys).map(|(name, key)| Account { name, key }).collect()),
    }
}

/// Checks the names by the service's rules, so that each is one path segment, and the keys.
fn check(accounts: &[Account]) -> Result<(), OptionsError> {
    if accounts.is_empty() {
        return error("no account is set");
    }
    for (at, Account { name, key }) in accounts.iter().enumerate() {
        let is_name = (3..=24).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !is_name {
            return error("the name of an account must have 3 to 24 lower-case letters and digits");
        }
        if accounts[..at].iter().any(|other| other.name == *name) {
            return error(format!("the account {name} is set twice"));
        }
        if SharedKey::new(name, key).is_err() {
            return error(format!("the key of the account {name} is not valid base64"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
