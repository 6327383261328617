use std::sync::Arc;

use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::clock::Clock;
use azure_table_client::entity::TableEntity;
use azure_table_client::mock::{MockTableServer, MockTableService};
use azure_table_client::transport::{HttpRequest, Transport};
use azure_table_client::{
    Dialect, Metadata, PayloadFormat, ServiceVersion, TableClient, TableServiceClient,
    TableServiceClientBuilder,
};
use azure_table_tests::SocketTransport;
use azure_table_tests::scripted::{Scripted, Step, response};

use crate::left_out;

/// The server of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// The official emulator.
    Azurite,
    /// The mock, an account, or another emulator.
    Other,
}

/// The protocol of a test's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// The version of the service.
    pub(crate) version: ServiceVersion,
    /// The format of requests and responses.
    pub(crate) format: PayloadFormat,
    /// The dialect of the service.
    pub(crate) dialect: Dialect,
    /// Whether verbs are sent as a POST that names them.
    pub(crate) post_tunneling: bool,
}

impl Spoken {
    /// The default protocol.
    pub(crate) const USUAL: Self = Self::json(Metadata::Minimal);
    /// The protocol of the paper.
    pub(crate) const FIRST: Self = Self::atom(ServiceVersion::V2009_04_14);
    /// The last version with Atom.
    pub(crate) const LAST_ATOM: Self = Self::atom(ServiceVersion::V2015_07_08);

    /// JSON without types and ETags.
    pub(crate) const NO_METADATA: Self = Self::json(Metadata::None);
    /// JSON with full metadata.
    pub(crate) const FULL_METADATA: Self = Self::json(Metadata::Full);

    /// The dialect of Cosmos DB.
    pub(crate) const COSMOS: Self = Self { dialect: Dialect::CosmosDb, ..Self::USUAL };
    /// Through a proxy that lets only GET and POST pass.
    pub(crate) const TUNNELLED: Self = Self { post_tunneling: true, ..Self::USUAL };

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

impl Spoken {
    /// Whether the service, and a proxy before it, support the verbs of a request.
    fn supports(self, request: &HttpRequest) -> bool {
        let has_merge = || request.body.windows(6).any(|bytes| bytes == b"MERGE ");
        let is_plain = matches!(request.method.as_str(), "GET" | "POST");
        let is_cosmos = self.dialect == Dialect::CosmosDb;
        (is_plain || !self.post_tunneling)
            && (!is_cosmos || request.method.as_str() != "MERGE" && !has_merge())
    }
}

/// A service to test, and the way to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    server: Server,
    connection_string: String,
    in_process: Option<(Arc<dyn Transport>, Arc<dyn Clock>)>,
    socket: SocketTransport,
    spoken: Spoken,
    /// The service that the server follows.
    serves: Dialect,
    /// Stops when it is dropped.
    _mock_server: Option<Arc<MockTableServer>>,
}

impl Target {
    /// The mock in this process.
    pub(crate) fn mock(mock: &MockTableService) -> Self {
        Self {
            server: Server::Other,
            connection_string: mock.connection_string(),
            in_process: Some((mock.transport(), mock.clock())),
            socket: SocketTransport::Reqwest,
            spoken: Spoken::USUAL,
            serves: Dialect::AzureStorage,
            _mock_server: None,
        }
    }

    /// A service behind a socket, which this transport reaches.
    pub(crate) fn over_http(
        server: Server,
        connection_string: impl Into<String>,
        socket: SocketTransport,
    ) -> Self {
        Self {
            server,
            connection_string: connection_string.into(),
            in_process: None,
            socket,
            spoken: Spoken::USUAL,
            serves: Dialect::AzureStorage,
            _mock_server: None,
        }
    }

    /// A mock behind a loopback port, which this transport reaches.
    pub(crate) async fn mock_server(socket: SocketTransport) -> Self {
        let server = MockTableServer::start().await;
        let target = Self::over_http(Server::Other, server.connection_string(), socket);
        Self { _mock_server: Some(Arc::new(server)), ..target }
    }

    /// Whether the clients read the rows of a query in key order.
    pub(crate) fn has_key_order(&self) -> bool {
        self.spoken.dialect == Dialect::AzureStorage
    }

    /// The same service, which follows this dialect.
    #[must_use]
    pub(crate) fn serving(self, serves: Dialect) -> Self {
        Self { serves, ..self }
    }

    /// The same service, with this protocol.
    #[must_use]
    pub(crate) fn speaking(self, spoken: Spoken) -> Self {
        Self { spoken, ..self }
    }

    /// The status of a create: without a preference, the response contains the entity.
    pub(crate) fn created(&self) -> u16 {
        if self.spoken.version < ServiceVersion::V2013_08_15 { 201 } else { 204 }
    }

    /// Whether to leave out a test, `area::name`, that the protocol does not support.
    pub(crate) fn leaves_out(&self, test: &str) -> bool {
        let why = left_out::reason(self.spoken, self.serves, test);
        if let Some(why) = why {
            println!("left out: {why}");
        }
        why.is_some()
    }

    /// Whether to leave out a check that Azurite is known to fail; `why` names the fault.
    pub(crate) fn skips_on_azurite(&self, why: &str) -> bool {
        let skips = self.server == Server::Azurite;
        if skips {
            println!("skipped on Azurite: {why}");
        }
        skips
    }

    /// A client of the service.
    pub(crate) fn service(&self) -> TableServiceClient {
        self.builder().build().expect("a client")
    }

    /// A client builder.
    pub(crate) fn builder(&self) -> TableServiceClientBuilder {
        self.builder_for(&self.connection_string)
    }

    /// A client that signs with another key than the account's.
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
        let builder = TableServiceClient::builder_from_connection_string(connection_string)
            .expect("a connection string")
            .allow_http(true)
            .service_version(self.spoken.version)
            .format(self.spoken.format)
            .dialect(self.spoken.dialect)
            // Lists are split in the dialect of Cosmos DB, too.
            .max_comparisons(15)
            .post_tunneling(self.spoken.post_tunneling);
        match &self.in_process {
            Some((transport, clock)) => {
                let spoken = self.spoken;
                let supported = Scripted::new(Arc::clone(transport), move |request| {
                    if spoken.supports(request) {
                        Step::pass()
                    } else {
                        response(405, &[], "").into()
                    }
                });
                builder.transport(supported).clock(Arc::clone(clock))
            }
            None => self.socket.of(builder),
        }
    }

    /// A name that no other test uses.
    pub(crate) fn unique_name() -> String {
        format!("t{:016x}", fastrand::u64(..))
    }

    /// A new, empty table of its own for a test.
    pub(crate) async fn table<T: TableEntity>(&self) -> TableClient<T> {
        let table = self.service().table_named(Self::unique_name());
        table.create().await.expect("a new table");
        table
    }
}
