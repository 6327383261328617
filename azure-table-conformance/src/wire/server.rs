//! The server under test: its address, its account and how its tables are named.

use std::fmt;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;

use super::sign::Key;
use super::tls::Tls;

/// A service that cases run on.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) is_https: bool,
    /// The host and the port as they are in the header `Host`.
    pub(crate) authority: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The path of the account: empty, or `/NAME` for emulators.
    pub(crate) path: String,
    pub(crate) account: String,
    pub(crate) key: Key,
    pub(crate) dialect: Dialect,
    pub(crate) timeout: Duration,
    pub(crate) settle: Duration,
    pub(crate) prefix: String,
    pub(super) tls: Tls,
}

/// The service whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Azure Table Storage.
    Storage,
    /// Azure Cosmos DB for Table.
    Cosmos,
}

impl Server {
    /// Creates a server from the URL of its account, with the account's name and key.
    pub fn new(endpoint: &str, account: &str, key: &str) -> Result<Self, ServerError> {
        let uri: Result<Uri, _> = endpoint.parse();
        let shown = uri.as_ref().map(without_secrets).unwrap_or_default();
        let invalid = |reason| ServerError::Endpoint(shown.clone(), reason);
        let uri = uri.map_err(|_| invalid("it is not a URL"))?;
        let is_https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(invalid("it must begin with http:// or https://")),
        };
        if uri.query().is_some() {
            return Err(invalid("it must not have a query"));
        }
        let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("it must not have a user name"));
        }
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if account.is_empty() || !account.bytes().all(is_name) {
            return Err(ServerError::Account);
        }
        Ok(Self {
            is_https,
            authority: authority.as_str().to_owned(),
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            path: uri.path().trim_end_matches('/').to_owned(),
            account: account.to_owned(),
            key: Key::from_base64(key).ok_or(ServerError::Key)?,
            dialect: Dialect::Storage,
            timeout: Duration::from_secs(30),
            settle: Duration::ZERO,
            prefix: "conformance".to_owned(),
            tls: Tls::default(),
        })
    }

    /// Creates a server from a connection string with an account key.
    pub fn from_connection_string(text: &str) -> Result<Self, ServerError> {
        let pairs: Vec<_> = text.split(';').filter_map(|pair| pair.split_once('=')).collect();
        let value = |name: &str| {
            let is_it = |(known, _): &&(&str, &str)| known.trim().eq_ignore_ascii_case(name);
            pairs.iter().find(is_it).map(|(_, value)| value.trim())
        };
        if value("UseDevelopmentStorage").is_some_and(|it| it.eq_ignore_ascii_case("true")) {
            return Self::new(DEVELOPMENT_ENDPOINT, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY);
        }
        let missing = |name| ServerError::ConnectionString(name);
        let account = value("AccountName").ok_or(missing("AccountName"))?;
        let key = value("AccountKey").ok_or(missing("AccountKey"))?;
        let endpoint = value("TableEndpoint").map_or_else(
            || {
                let scheme = value("DefaultEndpointsProtocol").unwrap_or("https");
                let suffix = value("EndpointSuffix").unwrap_or("core.windows.net");
                format!("{scheme}://{account}.table.{suffix}")
            },
            str::to_owned,
        );
        Self::new(&endpoint, account, key)
    }

    /// Sets the service whose rules apply; Azure Table Storage by default.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets the time limit of a request; 30 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long reads are repeated after a change of service properties or access policies, which the service applies
    /// within 30 s; not at all by default.
    #[must_use]
    pub fn settle(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }

    /// Sets how the names of tables begin: with a letter, then up to 29 further letters and digits; `conformance` by
    /// default.
    pub fn table_prefix(mut self, prefix: &str) -> Result<Self, ServerError> {
        let begins = prefix.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_name = prefix.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !begins || !is_name || prefix.len() > 30 {
            return Err(ServerError::TablePrefix);
        }
        prefix.clone_into(&mut self.prefix);
        Ok(self)
    }

    /// Trusts certificates in the form of PEM besides those of the platform.
    pub fn trust(mut self, pem: &[u8]) -> Result<Self, ServerError> {
        self.tls = Tls::trusting(pem)?;
        Ok(self)
    }

    /// The URL of the account, without a slash at its end.
    pub fn endpoint(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }
}

/// The scheme and the host of an endpoint. The rest may be a key, a signature or a password.
fn without_secrets(endpoint: &Uri) -> String {
    match (endpoint.scheme_str(), endpoint.host()) {
        (Some(scheme @ ("http" | "https")), Some(host)) => format!("{scheme}://{host}"),
        _ => String::new(),
    }
}

const DEVELOPMENT_ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";
const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
// The published key of every emulator.
const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// An invalid description of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerError {
    /// The scheme and the host of the endpoint, or nothing, and the reason.
    Endpoint(String, &'static str),
    /// The account has characters that no account has.
    Account,
    /// The key is not Base64.
    Key,
    /// The connection string lacks this setting.
    ConnectionString(&'static str),
    /// The certificates are not PEM.
    Certificate,
    /// The prefix of tables is not the beginning of a table's name.
    TablePrefix,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(shown, reason) if shown.is_empty() => write!(f, "endpoint: {reason}"),
            Self::Endpoint(shown, reason) => write!(f, "endpoint {shown}: {reason}"),
            Self::Account => f.write_str("account name: only letters, digits and - are allowed"),
            Self::Key => f.write_str("account key: it is not Base64"),
            Self::ConnectionString(name) => write!(f, "connection string: {name} is missing"),
            Self::Certificate => f.write_str("trusted certificates: the file has no valid PEM"),
            Self::TablePrefix => {
                f.write_str("prefix of tables: it must be a letter and up to 29 letters and digits")
            }
        }
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
