//! The account under test, and the clients that reach it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use azure_table_client::transport::{HttpRequest, HttpTransport, ResponseFuture, Transport};
use azure_table_client::{Dialect, Error, TableServiceClient, TableServiceClientBuilder};
use zeroize::Zeroizing;

use crate::wire::{self, Server};

use super::Options;

/// The largest response that is accepted.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// The time within which the service applies changes of its properties and of access policies.
const SETTLING: Duration = Duration::from_secs(30);

/// The service behind an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Storage,
    Cosmos,
    /// A server on this machine, or one with the account of emulators.
    Emulator,
}

impl Kind {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Storage => "Azure Storage",
            Self::Cosmos => "Azure Cosmos DB",
            Self::Emulator => "emulator",
        }
    }

    /// The name in the report's file.
    pub(super) fn file_name(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Cosmos => "cosmos",
            Self::Emulator => "emulator",
        }
    }
}

/// The account and its transport.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) server: Server,
    pub(super) transport: Arc<Counting>,
    /// The list of the cases that are expected to differ.
    pub(super) known: String,
    /// The table that exists as long as a run does.
    pub(super) lock: String,
    /// The user has agreed beforehand, by `--yes`.
    pub(super) is_confirmed: bool,
}

impl Account {
    pub(super) fn new(options: Options) -> Result<Self, String> {
        let lock = format!("{}lock", options.server.prefix);
        let mut server = unique_prefix(options.server)?;
        if is_cosmos(&server.host) {
            server = server.dialect(wire::Dialect::Cosmos);
        }
        if server.settle.is_zero() && !is_emulator(&server) {
            server = server.settle(SETTLING);
        }
        let transport = Arc::new(Counting::new(options.ca.as_deref())?);
        let known = options.known;
        Ok(Self { server, transport, known, lock, is_confirmed: options.yes })
    }

    pub(super) fn kind(&self) -> Kind {
        if is_emulator(&self.server) {
            Kind::Emulator
        } else if self.is_cosmos() {
            Kind::Cosmos
        } else {
            Kind::Storage
        }
    }

    pub(super) fn is_cosmos(&self) -> bool {
        self.server.dialect == wire::Dialect::Cosmos
    }

    /// Whether the server is Azurite, after the first response.
    pub(super) fn is_azurite(&self) -> bool {
        self.transport.server.get().is_some_and(|name| name.starts_with("Azurite"))
    }

    pub(super) fn dialect(&self) -> Dialect {
        if self.is_cosmos() { Dialect::CosmosDb } else { Dialect::AzureStorage }
    }

    pub(super) fn connection_string(&self) -> Zeroizing<String> {
        let (account, key) = (&self.server.account, self.server.key.to_base64());
        let endpoint = self.server.endpoint();
        let text = format!("AccountName={account};AccountKey={};TableEndpoint={endpoint}", *key);
        Zeroizing::new(text)
    }

    /// A builder of clients that sign with the key.
    pub(super) fn builder(&self) -> Result<TableServiceClientBuilder, Error> {
        let text = self.connection_string();
        Ok(self.set_up(TableServiceClient::builder_from_connection_string(&text)?))
    }

    /// Sets the transport, the dialect and the time limit of a client.
    pub(super) fn set_up(&self, builder: TableServiceClientBuilder) -> TableServiceClientBuilder {
        let transport: Arc<dyn Transport> = Arc::<Counting>::clone(&self.transport);
        builder
            .allow_http(true)
            .dialect(self.dialect())
            .try_timeout(self.server.timeout)
            .transport(transport)
    }

    pub(super) fn service(&self) -> Result<TableServiceClient, Error> {
        self.builder()?.build()
    }

    /// The name of a table of this run.
    pub(super) fn table_name(&self, word: &str) -> String {
        format!("{}{word}", self.server.prefix)
    }

    /// Creates the table that refuses a second run: each would restore settings that the other has changed.
    pub(super) async fn lock(&self) -> Result<(), String> {
        let created = async { self.service()?.create_table(&self.lock).await };
        created.await.map(drop).map_err(|error| match error.status() {
            Some(409) => format!(
                "the table {} exists: another run uses the account, or one was killed. If none runs, delete the \
                 table: {}",
                self.lock,
                chain(&error)
            ),
            _ => format!("the table {}: {}", self.lock, chain(&error)),
        })
    }

    /// Permits the next run.
    pub(super) async fn unlock(&self) -> Result<(), String> {
        let deleted = async { self.service()?.delete_table_if_exists(&self.lock).await };
        let deleted = deleted.await.map(drop);
        deleted.map_err(|error| format!("table {}: {}", self.lock, chain(&error)))
    }

    /// Sends a first request, so that a wrong address or key ends the run before it begins.
    pub(super) async fn check(&self) -> Result<(), String> {
        let checked = async { self.service()?.table_exists(&self.table_name("none")).await };
        checked
            .await
            .map(drop)
            .map_err(|error| format!("the account cannot be used: {}", chain(&error)))
    }
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let message = inner.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = inner.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The prefix of this run's tables: that of the user and a random number.
fn unique_prefix(server: Server) -> Result<Server, String> {
    if server.prefix.len() > 22 {
        return Err("--table-prefix: live accepts at most 22 characters".to_owned());
    }
    let id = getrandom::u32().map_err(|error| format!("random numbers: {error}"))?;
    let prefix = format!("{}{id:08x}", server.prefix);
    server.table_prefix(&prefix).map_err(|error| error.to_string())
}

fn is_cosmos(host: &str) -> bool {
    // The first label is the account.
    host.split('.').skip(1).any(|label| label == "cosmos" || label == "cosmosdb")
}

fn is_emulator(server: &Server) -> bool {
    let host = &server.host;
    let is_loopback = host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let is_local = is_loopback || host == "localhost" || host.ends_with(".localhost");
    is_local || server.account == "devstoreaccount1"
}

/// Sends over HTTP, counts the requests and remembers the server's name.
#[derive(Debug)]
pub(super) struct Counting {
    inner: HttpTransport,
    requests: AtomicU64,
    /// The header `Server` of the first response that has one.
    pub(super) server: OnceLock<String>,
}

impl Counting {
    fn new(ca: Option<&[u8]>) -> Result<Self, String> {
        let inner = match ca {
            None => HttpTransport::new(MAX_RESPONSE_BYTES),
            Some(pem) => {
                let trusted = reqwest::Certificate::from_pem_bundle(pem)
                    .map_err(|error| format!("--ca: {error}"))?;
                let client = reqwest::Client::builder().tls_certs_merge(trusted);
                HttpTransport::with_client(client, MAX_RESPONSE_BYTES)
            }
        };
        let inner = inner.map_err(|error| format!("transport: {}", chain(&error)))?;
        Ok(Self { inner, requests: AtomicU64::new(0), server: OnceLock::new() })
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Transport for Counting {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            let response = self.inner.send(request).await?;
            if let Some(name) = response.headers.get("server").and_then(|it| it.to_str().ok()) {
                self.server.get_or_init(|| name.to_owned());
            }
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn account(endpoint: &str, name: &str) -> Account {
        let server = Server::new(endpoint, name, "a2V5").unwrap();
        let (known, sections) = (String::new(), Vec::new());
        let options = Options {
            server,
            ca: None,
            sections,
            known,
            report: None,
            yes: true,
            name_account: false,
            change_settings: false,
            restore_settings: None,
        };
        Account::new(options).unwrap()
    }

    #[test]
    fn hosts_name_the_service() {
        for (endpoint, name, kind, is_cosmos) in [
            ("https://mine.table.core.windows.net", "mine", Kind::Storage, false),
            ("https://mine.table.cosmos.azure.com:443", "mine", Kind::Cosmos, true),
            ("https://mine.table.cosmosdb.azure.com", "mine", Kind::Cosmos, true),
            ("https://cosmos.table.core.windows.net", "cosmos", Kind::Storage, false),
            ("http://127.0.0.1:10002/mine", "mine", Kind::Emulator, false),
            ("http://[::1]:10002/mine", "mine", Kind::Emulator, false),
            ("http://emulator:10002/devstoreaccount1", "devstoreaccount1", Kind::Emulator, false),
        ] {
            let account = account(endpoint, name);
            assert_eq!((account.kind(), account.is_cosmos()), (kind, is_cosmos), "{endpoint}");
            let settle = if kind == Kind::Emulator { Duration::ZERO } else { SETTLING };
            assert_eq!(account.server.settle, settle, "{endpoint}");
        }
    }

    #[test]
    fn tables_have_a_prefix_of_the_run() {
        let names: Vec<String> = (0..2)
            .map(|_| account("https://mine.table.core.windows.net", "mine").table_name("x"))
            .collect();
        assert!(names[0] != names[1] && names[0].starts_with("conformance"), "{names:?}");
    }
}
