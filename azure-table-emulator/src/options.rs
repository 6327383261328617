//! The options: command line arguments, and environment variables with the same meaning. The names of
//! `azurite-table` are accepted too.
//!
//! The options are our own over `lexopt`, and not `clap`'s, because the program stays small, starts in about a millisecond,
//! and accepts the spellings of Azurite.

mod accounts;
mod arguments;
mod environment;
mod help;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use azure_table_client::Dialect;

pub(crate) use self::accounts::{Account, parse_list};
use self::arguments::Arguments;
pub(crate) use self::environment::read;
use self::environment::{Environment, Setting};
pub(crate) use self::help::HELP;

/// The port of the table service in emulators.
const DEFAULT_PORT: u16 = 10002;
const DEFAULT_HOST: &str = "127.0.0.1";
/// The default of `--max-connections`. It leaves room below the usual limit of 1,024 open files.
const DEFAULT_MAX_CONNECTIONS: usize = 1_000;

/// The command of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Run(Box<Options>),
    /// Checks the emulator that runs with these options.
    Health(Box<Options>),
    Help,
    Version,
}

#[derive(PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Options {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The service that the emulator follows.
    pub(crate) dialect: Dialect,
    pub(crate) accounts: Vec<Account>,
    /// The file that `accounts` comes from. It is read again while the program runs.
    pub(crate) accounts_file: Option<PathBuf>,
    /// The folder of the tables. `None` keeps them in memory.
    pub(crate) data: Option<PathBuf>,
    /// The format of the request log on standard error. `None` logs nothing there.
    pub(crate) log: Option<LogFormat>,
    /// The file to which the request log is appended.
    pub(crate) log_file: Option<PathBuf>,
    pub(crate) loose: bool,
    pub(crate) page: bool,
    /// The page and the control API change nothing.
    pub(crate) read_only: bool,
    /// More names that the `Host` header may have.
    pub(crate) allow_hosts: Vec<String>,
    /// The token that the control API requires.
    pub(crate) control_token: Option<String>,
    /// The files and folders that fill the tables at the start, in order.
    pub(crate) seed: Vec<PathBuf>,
    /// The file with the fault plan.
    pub(crate) faults: Option<PathBuf>,
    pub(crate) max_connections: usize,
    /// How long an idle connection stays open. `None` is the default of the host.
    pub(crate) keep_alive: Option<Duration>,
    /// The certificate. `None` serves plain HTTP.
    pub(crate) tls: Option<Tls>,
    /// Accepts Entra ID tokens by their claims.
    pub(crate) oauth: bool,
    /// Accepts the account as the first label of the host, as in `account.localhost`.
    pub(crate) account_in_host: bool,
    /// An Int32 literal in a filter also matches Int64 and Double values.
    pub(crate) exact_types: bool,
    /// The arguments have options for blobs or queues.
    pub(crate) names_other_services: bool,
}

/// Hides the control token.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, accounts, data, tls, .. } = self;
        let mut shown = f.debug_struct("Options");
        shown.field("host", host).field("port", port).field("accounts", accounts);
        shown.field("data", data).field("tls", tls).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// The source of the server's certificate and private key.
#[derive(PartialEq, Eq)]
pub(crate) enum Tls {
    Pem {
        certificates: PathBuf,
        key: PathBuf,
    },
    Pfx {
        file: PathBuf,
        password: String,
    },
    /// Certificates that the program writes to this folder.
    SelfSigned {
        folder: PathBuf,
    },
}

/// Hides the password.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, path) = match self {
            Self::Pem { certificates, .. } => ("Pem", certificates),
            Self::Pfx { file, .. } => ("Pfx", file),
            Self::SelfSigned { folder } => ("SelfSigned", folder),
        };
        f.debug_tuple(kind).field(path).finish()
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

impl Command {
    /// Parses the arguments after the program's name. Missing options come from `variable`.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, OptionsError> {
        match Arguments::parse(arguments)? {
            Arguments::Help => Ok(Self::Help),
            Arguments::Version => Ok(Self::Version),
            Arguments::Given(given) => {
                let command = if given.is_on("health") { Self::Health } else { Self::Run };
                Options::new(*given, &Environment(&variable)).map(|all| command(Box::new(all)))
            }
        }
    }
}

impl Options {
    fn new(
        mut given: arguments::Given,
        environment: &Environment<'_>,
    ) -> Result<Self, OptionsError> {
        let (accounts, accounts_file) = accounts::of(&mut given, environment)?;
        let mut setting = |name: &'static str| environment.setting(given.take(name), name);
        let host = setting("host")?.map_or_else(|| DEFAULT_HOST.into(), |host| host.value);
        let port = setting("port")?;
        let max_connections = setting("max-connections")?;
        let keep_alive = setting("tableKeepAliveTimeout")?;
        let dialect = setting("dialect")?.map(|name| dialect(&name)).transpose()?;
        let oauth = setting("oauth")?.map(|level| level.one_of(&["basic"])).transpose()?;
        let log = setting("log")?.map(|format| log_format(&format)).transpose()?.flatten();
        let (token, password) = (setting("control-token")?, setting("pwd")?);
        let mut path = |name: &'static str| environment.path_setting(given.take_path(name), name);
        let control_token = control_token(token, path("control-token-file"))?;
        let password = password_of(password, path("pwd-file"))?;
        let (data, log_file, faults) = (path("data"), path("debug"), path("faults"));
        let (certificate, key) = (path("cert"), path("key"));
        let tls = tls(
            certificate,
            key,
            password,
            given.self_signed.take().or_else(|| self_signed(environment)),
            data.as_ref(),
        )?;
        if given.is_on("inMemoryPersistence") && data.is_some() {
            return error("--inMemoryPersistence and a folder for the data exclude each other");
        }
        if oauth.is_some() && tls.is_none() {
            return error("--oauth needs HTTPS: add --cert or --self-signed");
        }
        let mut seed = std::mem::take(&mut given.seed);
        if seed.is_empty() {
            seed.extend(environment.path("seed"));
        }
        let mut allow_hosts = std::mem::take(&mut given.allow_hosts);
        if let (true, Some(names)) = (allow_hosts.is_empty(), environment.text("allow-host")?) {
            allow_hosts.extend(names.split(',').map(|name| name.trim().to_owned()));
        }
        if allow_hosts.iter().any(String::is_empty) {
            return error("--allow-host needs a host name: the value is empty");
        }
        let is_on = |name| Ok(given.is_on(name) || environment.switch(name)?);
        Ok(Self {
            host,
            port: match port {
                None => DEFAULT_PORT,
                Some(port) => port.number("from 0 to 65535")?,
            },
            dialect: dialect.unwrap_or_default(),
            accounts,
            accounts_file,
            data,
            log: log.filter(|_| !given.is_on("silent")),
            log_file,
            loose: is_on("loose")?,
            page: !is_on("no-page")?,
            read_only: is_on("read-only")?,
            allow_hosts,
            control_token,
            seed,
            faults,
            max_connections: match max_connections {
                None => DEFAULT_MAX_CONNECTIONS,
                Some(number) => number.number::<std::num::NonZero<usize>>("of at least 1")?.get(),
            },
            // Azurite's 0 switches the limit off. Here it is the default, which is longer than Azurite's.
            keep_alive: keep_alive
                .map(|seconds| seconds.number("of seconds"))
                .transpose()?
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            tls,
            oauth: oauth.is_some(),
            account_in_host: !is_on("disable-product-style-url")?,
            exact_types: is_on("exact-types")?,
            names_other_services: given.is_on("other services"),
        })
    }
}

fn dialect(setting: &Setting) -> Result<Dialect, OptionsError> {
    match &*setting.value {
        "storage" => Ok(Dialect::AzureStorage),
        "cosmos" => Ok(Dialect::CosmosDb),
        _ => error(format!("{} must be storage or cosmos", setting.name)),
    }
}

/// Returns `None` if the log is switched off.
fn log_format(setting: &Setting) -> Result<Option<LogFormat>, OptionsError> {
    match &*setting.value {
        "text" | "1" | "true" => Ok(Some(LogFormat::Text)),
        "json" => Ok(Some(LogFormat::Json)),
        "0" | "false" => Ok(None),
        _ => error(format!("{} must be text or json", setting.name)),
    }
}

fn control_token(
    token: Option<Setting>,
    file: Option<PathBuf>,
) -> Result<Option<String>, OptionsError> {
    let token = match (token, file) {
        (Some(_), Some(_)) => {
            return error("--control-token and --control-token-file exclude each other");
        }
        (Some(token), None) => token.value,
        (None, Some(file)) => read(&file)?.trim().to_owned(),
        (None, None) => return Ok(None),
    };
    if token.is_empty() {
        return error("--control-token needs a token: the value is empty");
    }
    Ok(Some(token))
}

fn password_of(
    password: Option<Setting>,
    file: Option<PathBuf>,
) -> Result<Option<String>, OptionsError> {
    match (password, file) {
        (Some(_), Some(_)) => error("--pwd and --pwd-file exclude each other"),
        // A password may begin or end with spaces.
        (None, Some(file)) => Ok(Some(read(&file)?.trim_end_matches(['\r', '\n']).to_owned())),
        (password, None) => Ok(password.map(|password| password.value)),
    }
}

/// The folder in the variable, which is empty for the value 1.
fn self_signed(environment: &Environment<'_>) -> Option<PathBuf> {
    let folder = environment.path("self-signed")?;
    let is_switch = folder.as_os_str() == "1" || folder.as_os_str() == "true";
    Some(if is_switch { PathBuf::new() } else { folder })
}

/// The certificate's source. `self_signed` is the folder, which is empty without a value.
fn tls(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    password: Option<String>,
    self_signed: Option<PathBuf>,
    data: Option<&PathBuf>,
) -> Result<Option<Tls>, OptionsError> {
    if let Some(folder) = self_signed {
        if certificate.is_some() || key.is_some() || password.is_some() {
            return error("--self-signed excludes --cert, --key, --pwd and --pwd-file");
        }
        let folder = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
        return match folder.or_else(|| data.cloned()) {
            Some(folder) => Ok(Some(Tls::SelfSigned { folder })),
            None => error("--self-signed needs a folder: add --self-signed=DIR or --data DIR"),
        };
    }
    match (certificate, key, password) {
        (None, None, None) => Ok(None),
        (Some(certificates), Some(key), None) => Ok(Some(Tls::Pem { certificates, key })),
        (Some(file), None, Some(password)) => Ok(Some(Tls::Pfx { file, password })),
        (Some(_), Some(_), Some(_)) => {
            error("--key and --pwd exclude each other: --key is for PEM and --pwd for PFX")
        }
        (Some(_), None, None) => error("--cert needs --key FILE (PEM) or --pwd PASSWORD (PFX)"),
        (None, Some(_), _) => error(
            "--key is the file of the TLS key and needs --cert; an account's key is --account-key",
        ),
        (None, None, Some(_)) => error("--pwd is the password of a PFX file and needs --cert"),
    }
}

#[cfg(test)]
mod tests;
