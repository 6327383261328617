//! What the program is told: its arguments, and variables of the environment for the same.

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
  --port PORT      Port to listen at; 0 takes a free one [default: 10002] [env: AZURE_TABLE_MOCK_PORT]
  --account NAME   An account; repeatable, each with its --key [default: devstoreaccount1]
                   [env: AZURE_TABLE_MOCK_ACCOUNT]
  --key KEY        The account's key in base64 [default: the well-known key of devstoreaccount1]
                   [env: AZURE_TABLE_MOCK_KEY]
  --data DIR       Folder that keeps the tables, one file an account [default: in memory only]
                   [env: AZURE_TABLE_MOCK_DATA]
  --log            Print a line for each request to standard error [env: AZURE_TABLE_MOCK_LOG]
  --loose          Take requests without a signature, or with a wrong one [env: AZURE_TABLE_MOCK_LOOSE]
  --no-page        Do not serve the page at /-/ [env: AZURE_TABLE_MOCK_NO_PAGE]
  --help           Print this
  --version        Print the version

AZURE_TABLE_MOCK_ACCOUNTS=name:key;name2:key2 sets several accounts. Variables that are 1 or true switch
an option on. An argument comes before its variable.

The service is at http://HOST:PORT/ACCOUNT, its health at /-/health, and a look inside at /-/.
";

/// What the program is to do.
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

/// An account and its key. `Debug` shows no key.
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

/// What is wrong with the options, in one line that shows no key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionsError(String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn wrong<T>(text: impl Into<String>) -> Result<T, OptionsError> {
    Err(OptionsError(text.into()))
}

/// What the arguments say, before the environment is asked.
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
    /// Reads the arguments behind the program's name, and what they leave open from `variable`.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, OptionsError> {
        let mut parser = Parser::from_args(arguments);
        let mut read = Arguments::default();
        // An argument that stands alone is not shown: it could be a key.
        while let Some(argument) = parser.next().map_err(|_| OptionsError(unexpected()))? {
            match argument {
                Arg::Long("host") => read.host = Some(text("--host", &mut parser)?),
                Arg::Long("port") => read.port = Some(text("--port", &mut parser)?),
                Arg::Long("account") => read.names.push(text("--account", &mut parser)?),
                Arg::Long("key") => read.keys.push(text("--key", &mut parser)?),
                Arg::Long("data") => {
                    let data = parser.value().or_else(|_| wrong("--data needs a value"))?;
                    read.data = Some(data.into());
                }
                Arg::Long("log") => read.log = true,
                Arg::Long("loose") => read.loose = true,
                Arg::Long("no-page") => read.no_page = true,
                Arg::Long("help") | Arg::Short('h') => return Ok(Self::Help),
                Arg::Long("version") | Arg::Short('V') => return Ok(Self::Version),
                Arg::Long(name) => {
                    return wrong(format!("there is no option --{name}; see --help"));
                }
                Arg::Short(name) => {
                    return wrong(format!("there is no option -{name}; see --help"));
                }
                Arg::Value(_) => return wrong(unexpected()),
            }
        }
        read.options(&Environment(&variable)).map(Self::Run)
    }
}

fn unexpected() -> String {
    "an argument is neither an option nor its value; see --help".into()
}

fn text(name: &str, parser: &mut Parser) -> Result<String, OptionsError> {
    let value = parser.value().or_else(|_| wrong(format!("{name} needs a value")))?;
    value.string().or_else(|_| wrong(format!("the value of {name} is not UTF-8")))
}

/// The variables `AZURE_TABLE_MOCK_*`.
struct Environment<'a>(&'a dyn Fn(&str) -> Option<OsString>);

impl Environment<'_> {
    fn raw(&self, name: &str) -> Option<OsString> {
        (self.0)(&full_name(name)).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Result<Option<String>, OptionsError> {
        let text = self.raw(name).map(OsString::into_string).transpose();
        text.or_else(|_| wrong(format!("{} is not UTF-8", full_name(name))))
    }

    fn switch(&self, name: &str) -> Result<bool, OptionsError> {
        match self.text(name)?.as_deref() {
            Some("1" | "true") => Ok(true),
            None | Some("0" | "false") => Ok(false),
            Some(_) => wrong(format!("{} is 1, true, 0 or false", full_name(name))),
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
                port.parse().or_else(|_| wrong(format!("{of} is a number from 0 to 65535")))?
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

/// The accounts of the environment, or else the development account.
fn accounts_of(environment: &Environment<'_>) -> Result<Vec<Account>, OptionsError> {
    let (name, key) = (environment.text("ACCOUNT")?, environment.text("KEY")?);
    let Some(list) = environment.text("ACCOUNTS")? else {
        return pairs(name.into_iter().collect(), key.into_iter().collect());
    };
    if name.is_some() || key.is_some() {
        return wrong(
            "AZURE_TABLE_MOCK_ACCOUNTS takes the place of AZURE_TABLE_MOCK_ACCOUNT and …_KEY",
        );
    }
    let pair = |pair: &str| match pair.trim().split_once(':') {
        Some((name, key)) => Ok(Account { name: name.trim().into(), key: key.trim().into() }),
        None => wrong("AZURE_TABLE_MOCK_ACCOUNTS is a list of name:key, separated by semicolons"),
    };
    list.split(';').filter(|entry| !entry.trim().is_empty()).map(pair).collect()
}

/// Names and keys in the order in which they came. Without any, or with one of the two, the rest is
/// the development account's.
fn pairs(mut names: Vec<String>, mut keys: Vec<String>) -> Result<Vec<Account>, OptionsError> {
    if names.is_empty() && keys.len() <= 1 {
        names.push(DEVELOPMENT_ACCOUNT.into());
    }
    if keys.is_empty() && names.len() == 1 && names[0] == DEVELOPMENT_ACCOUNT {
        keys.push(DEVELOPMENT_KEY.into());
    }
    match (names.len(), keys.len()) {
        (names, keys) if names > keys => wrong("an account has no key: each needs its own"),
        (names, keys) if names < keys => wrong("a key has no account: each needs its own"),
        _ => Ok(names.into_iter().zip(keys).map(|(name, key)| Account { name, key }).collect()),
    }
}

/// Names are those that the service takes, so that each is one segment of a path; keys are base64.
fn check(accounts: &[Account]) -> Result<(), OptionsError> {
    if accounts.is_empty() {
        return wrong("there is no account");
    }
    for (at, Account { name, key }) in accounts.iter().enumerate() {
        let is_name = (3..=24).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !is_name {
            return wrong("the name of an account has 3 to 24 lower-case letters and digits");
        }
        if accounts[..at].iter().any(|other| other.name == *name) {
            return wrong(format!("the account {name} is there twice"));
        }
        if SharedKey::new(name, key).is_err() {
            return wrong(format!("the key of the account {name} is not valid base64"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
