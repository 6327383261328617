use std::sync::Arc;

use azure_table_client::TableEntity;
use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::client::ServiceVersion;
use azure_table_client::clock::Clock;
use azure_table_client::transport::Transport;
use azure_table_client::{
    Dialect, Metadata, PayloadFormat, TableClient, TableServiceClient, TableServiceClientBuilder,
};

use crate::client::left_out;

/// The rules of the service that Azurite does not follow. `tools/conformance_board` writes it.
const AZURITE: &str = include_str!("../../differences/azurite.tsv");

/// The server of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The official emulator, whose known faults are skipped by name.
    Azurite,
    /// An account, or another emulator.
    Other,
}

/// The protocol of a target's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// The version of the service.
    pub version: ServiceVersion,
    /// The format of requests and responses.
    pub format: PayloadFormat,
    /// The dialect of the service.
    pub dialect: Dialect,
    /// Whether verbs are sent as a POST that names them.
    pub post_tunneling: bool,
}

impl Protocol {
    /// The default protocol.
    pub const DEFAULT: Self = Self::json(Metadata::Minimal);
    /// The protocol of the "Windows Azure Table" paper: the first version of the service, with Atom.
    pub const FIRST: Self = Self::atom(ServiceVersion::V2009_04_14);
    /// The last version with Atom.
    pub const LAST_ATOM: Self = Self::atom(ServiceVersion::V2015_07_08);

    /// JSON without types and ETags.
    pub const NO_METADATA: Self = Self::json(Metadata::None);
    /// JSON with full metadata.
    pub const FULL_METADATA: Self = Self::json(Metadata::Full);

    /// The dialect of Cosmos DB.
    pub const COSMOS: Self = Self { dialect: Dialect::CosmosDb, ..Self::DEFAULT };
    /// Through a proxy that lets only GET and POST pass.
    pub const TUNNELLED: Self = Self { post_tunneling: true, ..Self::DEFAULT };

    const fn json(level: Metadata) -> Self {
        Self::new(ServiceVersion::V2019_02_02, PayloadFormat::Json(level))
    }

    const fn atom(version: ServiceVersion) -> Self {
        Self::new(version, PayloadFormat::Atom)
    }

    const fn new(version: ServiceVersion, format: PayloadFormat) -> Self {
        Self { version, format, dialect: Dialect::AzureStorage, post_tunneling: false }
    }
}

/// A service to test, and the clients that reach it.
#[derive(Debug, Clone)]
pub struct Target {
    connection_string: String,
    server: Server,
    protocol: Protocol,
    /// The service that the server follows.
    serves: Dialect,
    transport: Option<Arc<dyn Transport>>,
    clock: Option<Arc<dyn Clock>>,
    /// How the names of tables begin.
    prefix: String,
}

impl Target {
    /// Creates a target of a service with the dialect of Azure Storage. Its clients have the default protocol, and the
    /// transport and the clock that clients have by default.
    pub fn new(connection_string: impl Into<String>) -> Self {
        Self {
            connection_string: connection_string.into(),
            server: Server::Other,
            protocol: Protocol::DEFAULT,
            serves: Dialect::AzureStorage,
            transport: None,
            clock: None,
            prefix: "t".to_owned(),
        }
    }

    /// Sets the server.
    #[must_use]
    pub fn server(self, server: Server) -> Self {
        Self { server, ..self }
    }

    /// Sets the protocol of the clients.
    #[must_use]
    pub fn protocol(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// Sets the dialect that the service follows.
    #[must_use]
    pub fn serves(self, dialect: Dialect) -> Self {
        Self { serves: dialect, ..self }
    }

    /// Sets the transport of the clients.
    #[must_use]
    pub fn transport(self, transport: Arc<dyn Transport>) -> Self {
        Self { transport: Some(transport), ..self }
    }

    /// Sets the clock of the clients.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Sets how the names of tables begin: letters and digits, a letter first; `t` by default.
    #[must_use]
    pub fn table_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Returns the behaviors that this target does not support, by the reason.
    pub fn left_out(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static [&'static str])> + use<> {
        left_out::lists(self.protocol, self.serves)
    }

    /// Whether a value of another type is less than a literal, and an integer literal is widened.
    pub(crate) fn orders_types(&self) -> bool {
        self.serves == Dialect::AzureStorage
    }

    /// Whether the clients read the rows of a query in key order.
    pub(crate) fn has_key_order(&self) -> bool {
        self.protocol.dialect == Dialect::AzureStorage
    }

    /// The status of a create: without a preference, the response contains the entity.
    pub(crate) fn created(&self) -> u16 {
        if self.protocol.version < ServiceVersion::V2013_08_15 { 201 } else { 204 }
    }

    /// Whether to leave out a test, `area::name`, that the protocol does not support.
    pub(crate) fn leaves_out(&self, test: &str) -> bool {
        let why = self.left_out().find_map(|(why, tests)| tests.contains(&test).then_some(why));
        if let Some(why) = why {
            println!("left out: {why}");
        }
        why.is_some()
    }

    /// Whether to leave out a check of a rule that Azurite does not follow. `rule` is a case of the wire, which the list of
    /// Azurite's differences has.
    ///
    /// # Panics
    /// The list does not have the case.
    pub(crate) fn differs_on_azurite(&self, rule: &str) -> bool {
        let is_listed = AZURITE.lines().any(|line| line.split('\t').next() == Some(rule));
        assert!(is_listed, "{rule} is not in differences/azurite.tsv");
        self.skips_on_azurite(rule)
    }

    /// Whether to leave out a check that Azurite is known to fail; `why` names the fault.
    pub(crate) fn skips_on_azurite(&self, why: &str) -> bool {
        let skips = self.server == Server::Azurite;
        if skips {
            println!("skipped on Azurite: {why}");
        }
        skips
    }

    /// Creates a client of the service.
    ///
    /// # Panics
    /// The connection string is invalid.
    pub fn service(&self) -> TableServiceClient {
        self.builder().build().expect("a client")
    }

    /// Creates a client builder.
    pub(crate) fn builder(&self) -> TableServiceClientBuilder {
        self.builder_for(&self.connection_string)
    }

    /// Creates a client that signs with another key than the account's.
    pub(crate) fn with_wrong_key(&self) -> TableServiceClient {
        let wrong = "d3Jvbmcga2V5IHdyb25nIGtleQ==";
        let text = if self.connection_string.eq_ignore_ascii_case("UseDevelopmentStorage=true") {
            format!(
                "AccountName=devstoreaccount1;AccountKey={DEVELOPMENT_KEY};\
                 TableEndpoint=http://127.0.0.1:10002/devstoreaccount1"
            )
        } else {
            self.connection_string.clone()
        };
        let text: Vec<String> = text
            .split(';')
            .map(|pair| match pair.split_once('=') {
                Some((key, _)) if key.eq_ignore_ascii_case("AccountKey") => {
                    format!("{key}={wrong}")
                }
                _ => pair.to_owned(),
            })
            .collect();
        self.builder_for(&text.join(";")).build().expect("a client")
    }

    fn builder_for(&self, connection_string: &str) -> TableServiceClientBuilder {
        let mut builder = TableServiceClient::builder_from_connection_string(connection_string)
            .expect("a connection string")
            .allow_http(true)
            .service_version(self.protocol.version)
            .format(self.protocol.format)
            .dialect(self.protocol.dialect)
            // Lists are split in the dialect of Cosmos DB, too.
            .max_comparisons(15)
            .post_tunneling(self.protocol.post_tunneling);
        if let Some(transport) = &self.transport {
            builder = builder.transport(Arc::clone(transport));
        }
        if let Some(clock) = &self.clock {
            builder = builder.clock(Arc::clone(clock));
        }
        builder
    }

    /// A name that no other test uses.
    pub(crate) fn unique_name(&self) -> String {
        format!("{}{:016x}", self.prefix, fastrand::u64(..))
    }

    /// Creates an empty table with a name that no other test uses.
    ///
    /// # Panics
    /// The service does not create it.
    pub async fn table<T: TableEntity>(&self) -> TableClient<T> {
        let table = self.service().table_named(self.unique_name());
        table.create().await.expect("a new table");
        table
    }
}
