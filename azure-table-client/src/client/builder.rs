mod connect;
#[cfg(any(feature = "reqwest", feature = "hyper"))]
mod http;
#[cfg(not(any(feature = "reqwest", feature = "hyper")))]
#[path = "builder/no_http.rs"]
mod http;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::TableServiceClient;
use crate::Dialect;
use crate::auth::{ConnectionString, Credential};
use crate::client_core::Settings;
use crate::clock::{Clock, SharedClock, SystemClock};
use crate::error::Error;
use crate::limits;
use crate::operation::Proof;
use crate::operation::query::ScanPolicy;
use crate::pipeline::{
    AcceptedCredentials, Budget, CurrentCredential, DEFAULT_TOKENS, Endpoint, LocationMode,
    Pipeline, RetryPolicy,
};
use crate::telemetry::Observer;
use crate::transport::Transport;
use crate::wire::{Metadata, PayloadFormat, Protocol, ServiceVersion};
use http::HttpSettings;

/// Sets up a [`TableServiceClient`].
#[must_use]
pub struct TableServiceClientBuilder {
    endpoint: String,
    credential: Credential,
    allow_http: bool,
    transport: Option<Arc<dyn Transport>>,
    http: HttpSettings,
    clock: SharedClock,
    secondary: Option<String>,
    locations: LocationMode,
    retry: Option<RetryPolicy>,
    retry_budget: Option<u32>,
    max_in_flight: Option<usize>,
    try_timeout: Option<Duration>,
    deadline: Option<Duration>,
    version: ServiceVersion,
    format: Option<PayloadFormat>,
    dialect: Option<Dialect>,
    post_tunneling: bool,
    settings: Settings,
    observers: Vec<Arc<dyn Observer>>,
}

impl TableServiceClientBuilder {
    pub(super) fn new(endpoint: impl Into<String>, credential: Credential) -> Self {
        Self {
            endpoint: endpoint.into(),
            credential,
            allow_http: false,
            transport: None,
            http: HttpSettings::default(),
            clock: Arc::new(SystemClock),
            secondary: None,
            locations: LocationMode::default(),
            retry: None,
            retry_budget: Some(DEFAULT_TOKENS),
            max_in_flight: None,
            try_timeout: None,
            deadline: None,
            version: ServiceVersion::default(),
            format: None,
            dialect: None,
            post_tunneling: false,
            settings: Settings::default(),
            observers: Vec::new(),
        }
    }

    pub(super) fn from_connection_string(text: &str) -> Result<Self, Error> {
        let ConnectionString { endpoint, secondary, credential, is_development } =
            ConnectionString::parse(text)?;
        let builder = Self::new(endpoint, credential).allow_http(is_development);
        Ok(Self { secondary, ..builder })
    }

    /// Allows sending a key or a signature over plain HTTP to a host other than this machine, for example to an
    /// emulator in a container, and a token of Entra ID to any host. Without it, building such a client is an
    /// error. `UseDevelopmentStorage` is exempt, because its key is public.
    ///
    /// ```
    /// use azure_table_client::TableServiceClient;
    /// fn main() -> Result<(), azure_table_client::Error> {
    ///     let service = TableServiceClient::builder_from_connection_string(
    ///         "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite",
    ///     )?
    ///     .build()?; // the development key is public, so this requires no permission
    ///
    ///     let text = "AccountName=mine;AccountKey=c2VjcmV0;TableEndpoint=http://azurite:10002/mine";
    ///     let service =
    ///         TableServiceClient::builder_from_connection_string(text)?.allow_http(true).build()?;
    ///     Ok(())
    /// }
    /// ```
    pub fn allow_http(mut self, allow: bool) -> Self {
        self.allow_http = allow;
        self
    }

    /// Signs with SharedKeyLite where the credential is an account's key; the same as
    /// [`Credential::SharedKeyLite`], for connection strings.
    pub fn shared_key_lite(mut self) -> Self {
        if let Credential::SharedKey(key) = self.credential {
            self.credential = Credential::SharedKeyLite(key);
        }
        self
    }

    /// Sets when and how often a failed attempt is retried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Sets the number of tokens that all calls of this client share for their retries, 500 by default; `None`
    /// is unlimited.
    ///
    /// A retry costs 5 tokens, after a timeout 10. A call that then succeeds returns the cost of its last retry,
    /// and a call that succeeds at the first attempt returns one token. Without enough tokens, a call is not retried,
    /// so that retries do not multiply the load of an outage.
    pub fn retry_budget(mut self, tokens: Option<u32>) -> Self {
        self.retry_budget = tokens;
        self
    }

    /// Limits the requests of this client in flight, which are unlimited by default. Other requests wait for a
    /// permit, as long as their deadline allows.
    pub fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = Some(requests.clamp(1, Semaphore::MAX_PERMITS));
        self
    }

    /// Sets the endpoint of the account's copy in another region, for accounts with read access to it (RA-GRS,
    /// RA-GZRS): `https://account-secondary.table.core.windows.net`. A connection string sets it too, by
    /// `TableSecondaryEndpoint`, or by `AccountName` if it has no `TableEndpoint`.
    /// [`locations`](Self::locations) determines which requests use it.
    pub fn secondary_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.secondary = Some(endpoint.into());
        self
    }

    /// Sets whether reads use the primary, the secondary, or both alternately.
    pub fn locations(mut self, mode: LocationMode) -> Self {
        self.locations = mode;
        self
    }

    /// Sets the time limit of one attempt, from connecting to the last byte of the response; 60 s by default.
    /// The service receives a limit below its own maximum of 30 s
    /// ([`timeout`](https://learn.microsoft.com/rest/api/storageservices/setting-timeouts-for-table-service-operations)).
    pub fn try_timeout(mut self, timeout: Duration) -> Self {
        self.try_timeout = Some(timeout);
        self
    }

    /// Sets the time limit of a whole call with its attempts and waits; 5 minutes by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the proof that the program accepts for the outcome of a write whose response is lost or ambiguous;
    /// [`Proof::MatchingState`] by default. A call, a transaction, a save and a bulk run can each replace it;
    /// calls in rounds, such as [`update_with`](crate::TableClient::update_with), accept at most a write id unless their
    /// change is idempotent.
    ///
    /// A retry after a timeout or a broken connection may fail because the first attempt was applied: an insert
    /// finds its own row (409), an update another ETag (412), a delete no row (404). Unless the proof is
    /// [`Response`](Proof::Response), the client then reads the rows at the primary, within the deadline of the call.
    /// The guide on [outcomes](crate::guide::outcomes#proof) has the rules by which it decides.
    pub fn proof(mut self, proof: Proof) -> Self {
        self.settings.proof = proof;
        self
    }

    /// Writes an id (`Edm.Guid`) into this column of each entity that is inserted or updated: a random one, or the
    /// one of [`Call::write_id`](super::Call::write_id). A row with the id proves that the write was applied; see
    /// [`Proof::WriteId`]. The entity's own value of that column is not sent.
    ///
    /// With ids, a 409 or 412 leads to a read-back even after a single attempt, because a proxy may have delivered
    /// the request twice. Without ids, for deletes, and if another program writes the row between the two deliveries, the
    /// client cannot detect that.
    pub fn write_id_column(mut self, name: impl Into<String>) -> Self {
        self.settings.write_id = Some(Arc::from(name.into()));
        self
    }

    /// Sets the [format](Self::format) to JSON with this level of metadata; [`Metadata::Minimal`] by default.
    pub fn metadata(self, metadata: Metadata) -> Self {
        self.format(metadata)
    }

    /// Sets the format of requests and responses; by default JSON if the version has it, otherwise Atom. A
    /// query and a point read can request responses in another format.
    ///
    /// ```
    /// use azure_table_client::client::ServiceVersion;
    /// use azure_table_client::PayloadFormat;
    /// # use azure_table_client::{DynamicEntity, TableServiceClient, mock::MockTableService};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let mock = MockTableService::new();
    /// # let text = mock.connection_string();
    /// # let builder = || TableServiceClient::builder_from_connection_string(&text);
    /// # let builder = || builder().map(|it| it.transport(mock.transport()).clock(mock.clock()));
    /// let service = builder()?
    ///     .service_version(ServiceVersion::V2013_08_15)
    ///     .format(PayloadFormat::Atom)
    ///     .build()?;
    /// let blogs = service.table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// assert_eq!(blogs.query().await?.len(), 1);
    ///
    /// // Its last version is 2015-07-08.
    /// assert!(builder()?.format(PayloadFormat::Atom).build().is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn format(mut self, format: impl Into<PayloadFormat>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Sets the version of the service that requests name; 2019-02-02 by default, and 2020-12-06 with tokens of Entra ID.
    /// [`ServiceVersion`] lists the features that older versions lack.
    pub fn service_version(mut self, version: ServiceVersion) -> Self {
        self.version = version;
        self
    }

    /// Sets the service, which is normally recognized by the endpoint. Set it for Cosmos DB under a custom
    /// domain, and for its emulator.
    ///
    /// ```
    /// use azure_table_client::auth::SharedKey;
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{Dialect, TableServiceClient};
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), azure_table_client::Error> {
    ///     let mock = MockTableService::builder().dialect(Dialect::CosmosDb).build();
    ///     let key = SharedKey::development();
    ///
    /// // The emulator of Cosmos DB: the host name does not identify it.
    ///     let service = TableServiceClient::builder("http://localhost:8902", key)
    ///         .dialect(Dialect::CosmosDb)
    ///         .transport(mock.transport())
    ///         .build()?;
    ///     let error = service.properties().await.unwrap_err();
    ///     assert!(error.to_string().contains("Cosmos DB has no GetServiceProperties"));
    ///     Ok(())
    /// }
    /// ```
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sends MERGE, PUT and DELETE as a POST that names the verb (`X-HTTP-Method`), for networks whose
    /// proxies let only GET and POST pass; `UsePostTunneling` of `DataServiceContext`. To Cosmos DB merges go
    /// like that in any case.
    ///
    /// Source: [X-HTTP-Method](https://learn.microsoft.com/openspecs/windows_protocols/ms-odata/bdbabfa6-8c4a-4741-85a9-8d93ffd66c41)
    pub fn post_tunneling(mut self, tunnel: bool) -> Self {
        self.post_tunneling = tunnel;
        self
    }

    /// Sets the treatment of queries that scan a whole table. They are sent by default.
    pub fn scans(mut self, policy: ScanPolicy) -> Self {
        self.settings.scans = policy;
        self
    }

    /// Sets the largest number of comparisons in the filter of one request. A longer list of alternatives, such as
    /// `is_in`, is split into several requests. The default is 15, the documented limit of Azure Storage. Clients
    /// of Cosmos DB have no limit unless it is set.
    pub fn max_comparisons(mut self, comparisons: usize) -> Self {
        self.settings.max_comparisons = Some(comparisons);
        self
    }

    /// Sets the time limit of each whole query, list of tables and [`get_many`](super::TableClient::get_many). Its own
    /// `total_deadline` replaces this limit. By default, neither is set.
    pub fn total_deadline(mut self, deadline: Duration) -> Self {
        self.settings.limits.deadline = Some(deadline);
        self
    }

    /// Sets the number of rows above which the result of a query, or of a list of tables, is an error of kind
    /// [`TooManyRows`](crate::ErrorKind::TooManyRows). Its own `max_rows` replaces this limit. By default, neither is
    /// set.
    pub fn max_rows(mut self, rows: u64) -> Self {
        self.settings.limits.max_rows = Some(rows);
        self
    }

    /// Sends through a custom transport, such as the in-process mock's.
    ///
    /// The transport makes its own connections, so settings of the HTTP client are an error of
    /// [`build`](Self::build). Without it, a client sends through `HttpTransport` (feature `reqwest`), otherwise
    /// through `HyperTransport` (feature `hyper`); without both features, it needs a transport.
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Tells `observer` of every attempt and every call, for example a
    /// [`ClientStats`](crate::telemetry::ClientStats). There can be several.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Dates requests by another clock, such as the mock's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration): the endpoint is not the URL of a service,
    /// a secret would be sent over plain HTTP, Cosmos DB does not accept the credential, the version or the dialect of the service does not have the
    /// format, a setting has no effect on the [transport](Self::transport), or the HTTP client cannot be built.
    /// Without the features `reqwest` and `hyper`, a builder without a transport is an error too.
    pub fn build(self) -> Result<TableServiceClient, Error> {
        let endpoint = Endpoint::parse(&self.endpoint)?;
        let dialect = self.dialect.unwrap_or_else(|| Dialect::of_host(endpoint.host()));
        let check = |name| limits::check_property_name(name).and(dialect.check_property(name));
        if let Some(Err(error)) = self.settings.write_id.as_deref().map(check) {
            return Err(Error::configuration("no property can have the name of the write id")
                .with_source(error));
        }
        let protocol = Protocol::new(self.version, self.format)
            .and_then(|protocol| protocol.to(dialect))
            .map_err(|what| Error::configuration(what.to_string()))?
            .tunnelling(self.post_tunneling);
        let secondary = self.secondary.as_deref().map(Endpoint::parse).transpose()?;
        if secondary.is_none() && self.locations.uses_secondary() {
            return Err(Error::configuration(
                "locations use the secondary, but its endpoint is missing: call secondary_endpoint(..)",
            ));
        }
        let everywhere = |is: fn(&Endpoint) -> bool| {
            self.allow_http || (is(&endpoint) && secondary.as_ref().is_none_or(is))
        };
        let accepted = AcceptedCredentials {
            keys: everywhere(Endpoint::is_private),
            tokens: everywhere(Endpoint::is_https),
            delegated: dialect != Dialect::CosmosDb,
        };
        let credential = CurrentCredential::new(self.credential, endpoint.base(), accepted)?;
        let endpoints: Vec<_> = std::iter::once(&endpoint).chain(&secondary).collect();
        let transport = http::transport(self.transport, self.http, &endpoints)?;
        let mut pipeline = Pipeline::new(endpoint, credential, transport, self.clock);
        pipeline.secondary = secondary;
        pipeline.locations = self.locations;
        pipeline.retry = self.retry.unwrap_or(pipeline.retry);
        pipeline.budget = Budget::new(self.retry_budget);
        pipeline.permits = self.max_in_flight.map(Semaphore::new);
        pipeline.try_timeout = self.try_timeout.unwrap_or(pipeline.try_timeout);
        pipeline.deadline = self.deadline.unwrap_or(pipeline.deadline);
        pipeline.set_protocol(protocol);
        pipeline.observers = self.observers;
        Ok(TableServiceClient::new(pipeline, self.settings))
    }
}

opaque_debug!(TableServiceClientBuilder, |it|
    credential: it.credential,
    retry: it.retry,
    try_timeout: it.try_timeout,
    deadline: it.deadline,
    version: it.version,
    format: it.format,
);
