//! The command line arguments, before the environment variables are read.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt as _};

use super::{OptionsError, error};

pub(super) enum Arguments {
    Given(Box<Given>),
    Help,
    Version,
}

#[derive(Default)]
pub(super) struct Given {
    /// The last value of each option that has one value.
    values: HashMap<&'static str, String>,
    paths: HashMap<&'static str, PathBuf>,
    /// The names of `--account`.
    pub(super) names: Vec<String>,
    /// The keys of `--account-key` and `--key-file`, in order.
    pub(super) keys: Vec<KeySource>,
    pub(super) seed: Vec<PathBuf>,
    pub(super) allow_hosts: Vec<String>,
    /// The folder of `--self-signed`, which is empty without a value.
    pub(super) self_signed: Option<PathBuf>,
    switches: HashSet<&'static str>,
}

/// The keys of one account.
pub(super) enum KeySource {
    Text(String),
    File(PathBuf),
}

impl Given {
    pub(super) fn take(&mut self, name: &'static str) -> Option<String> {
        self.values.remove(name)
    }

    pub(super) fn take_path(&mut self, name: &'static str) -> Option<PathBuf> {
        self.paths.remove(name)
    }

    pub(super) fn is_on(&self, name: &'static str) -> bool {
        self.switches.contains(name)
    }
}

impl Arguments {
    pub(super) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, OptionsError> {
        let mut parser = Parser::from_args(arguments);
        let mut given = Given::default();
        // The error does not repeat the argument, which may be a key.
        while let Some(argument) = parser.next().map_err(|_| OptionsError(unexpected()))? {
            let name = match argument {
                Arg::Long(name) => format!("--{name}"),
                Arg::Short(name) => format!("-{name}"),
                // The first argument of scripts that start a container of Azurite.
                Arg::Value(program) if program == "azurite" || program == "azurite-table" => {
                    continue;
                }
                Arg::Value(_) => return error(unexpected()),
            };
            match &*name {
                "--help" | "-h" => return Ok(Self::Help),
                "--version" | "-V" => return Ok(Self::Version),
                _ => given.read(&name, &mut parser)?,
            }
        }
        Ok(Self::Given(Box::new(given)))
    }
}

impl Given {
    /// Reads an option and its value.
    fn read(&mut self, name: &str, parser: &mut Parser) -> Result<(), OptionsError> {
        if let Some(option) = one_value(name) {
            self.values.insert(option, text(name, parser)?);
            return Ok(());
        }
        if let Some(option) = one_path(name) {
            self.paths.insert(option, path(name, parser)?);
            return Ok(());
        }
        match name {
            "--account" => self.names.push(text(name, parser)?),
            "--account-key" => self.keys.push(KeySource::Text(text(name, parser)?)),
            "--key-file" => self.keys.push(KeySource::File(path(name, parser)?)),
            "--seed" => self.seed.push(path(name, parser)?),
            "--allow-host" => self.allow_hosts.push(text(name, parser)?),
            "--log" => {
                self.values.insert("log", log_format(parser)?);
            }
            name if is_of_another_service(name) => {
                text(name, parser)?;
                self.switches.insert("other services");
            }
            "--self-signed" => {
                self.self_signed = Some(parser.optional_value().unwrap_or_default().into());
            }
            _ => match switch(name) {
                Some(option) => {
                    self.switches.insert(option);
                }
                None => return error(format!("unknown option {name}; see --help")),
            },
        }
        Ok(())
    }
}

/// The option with one value that has this name, or this name in Azurite.
fn one_value(name: &str) -> Option<&'static str> {
    Some(match name {
        "--host" | "--tableHost" => "host",
        "--port" | "--tablePort" => "port",
        "--tableKeepAliveTimeout" => "tableKeepAliveTimeout",
        "--max-connections" => "max-connections",
        "--control-token" => "control-token",
        "--dialect" => "dialect",
        "--oauth" => "oauth",
        "--pwd" => "pwd",
        _ => return None,
    })
}

/// Whether an option of Azurite is for blobs or queues. It has a value.
fn is_of_another_service(name: &str) -> bool {
    let of_service = |rest: &str| matches!(rest, "Host" | "Port" | "KeepAliveTimeout");
    name == "--extentMemoryLimit"
        || ["--blob", "--queue"].iter().any(|it| name.strip_prefix(it).is_some_and(of_service))
}

/// The option whose value is a path.
fn one_path(name: &str) -> Option<&'static str> {
    Some(match name {
        "--data" | "--location" | "-l" => "data",
        "--debug" | "-d" => "debug",
        "--accounts-file" => "accounts-file",
        "--control-token-file" => "control-token-file",
        "--pwd-file" => "pwd-file",
        "--faults" => "faults",
        "--cert" => "cert",
        "--key" => "key",
        _ => return None,
    })
}

/// The option without a value that has this name.
fn switch(name: &str) -> Option<&'static str> {
    Some(match name {
        "--health" => "health",
        "--silent" | "-s" => "silent",
        "--loose" | "-L" => "loose",
        "--no-page" => "no-page",
        "--read-only" => "read-only",
        "--inMemoryPersistence" => "inMemoryPersistence",
        "--disableProductStyleUrl" => "disable-product-style-url",
        "--exact-types" => "exact-types",
        // The emulator accepts every version and sends no telemetry.
        "--skipApiVersionCheck" | "--disableTelemetry" => "no effect",
        _ => return None,
    })
}

fn unexpected() -> String {
    "an argument is neither an option nor its value; see --help".into()
}

fn text(name: &str, parser: &mut Parser) -> Result<String, OptionsError> {
    let value = parser.value().or_else(|_| error(format!("{name} needs a value")))?;
    value.string().or_else(|_| error(format!("the value of {name} is not UTF-8")))
}

fn path(name: &str, parser: &mut Parser) -> Result<PathBuf, OptionsError> {
    let value = parser.value().or_else(|_| error(format!("{name} needs a value")))?;
    if value.is_empty() {
        return error(format!("{name} needs a path: the value is empty"));
    }
    Ok(value.into())
}

/// The format after `--log`, which may be missing.
fn log_format(parser: &mut Parser) -> Result<String, OptionsError> {
    let is_format = |value: &OsStr| value == "json" || value == "text";
    let value = match parser.optional_value() {
        Some(value) => Some(value),
        None => parser.try_raw_args().and_then(|mut rest| rest.next_if(is_format)),
    };
    let format = value.unwrap_or_else(|| "text".into());
    // The error does not repeat the value, which may be a key.
    format.into_string().or_else(|_| error("--log must be text or json"))
}
