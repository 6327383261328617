//! The settings of the crate's own transports, which the features `reqwest` and `hyper` add.

use std::sync::Arc;
use std::time::Duration;

use super::TableServiceClientBuilder;
use crate::error::Error;
use crate::pipeline::Endpoint;
#[cfg(feature = "reqwest")]
use crate::transport::{DEFAULT_MAX_RESPONSE_BYTES, HttpTransport};
use crate::transport::{Transport, TransportError};

/// The settings of the crate's own transports. A custom transport cannot honour any of them.
#[derive(Default)]
pub(super) struct HttpSettings {
    #[cfg(feature = "reqwest")]
    client: Option<reqwest::ClientBuilder>,
    connect_timeout: Option<Duration>,
    max_response_bytes: Option<usize>,
}

impl HttpSettings {
    /// Returns an error if one of the settings is present.
    fn check_unused(&self) -> Result<(), Error> {
        let present = [
            #[cfg(feature = "reqwest")]
            ("http_client", self.client.is_some()),
            ("connect_timeout", self.connect_timeout.is_some()),
            ("max_response_bytes", self.max_response_bytes.is_some()),
        ];
        match present.iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(Error::configuration(format!(
                "{name} has no effect on a custom transport: remove it, and configure the transport itself"
            ))),
            None => Ok(()),
        }
    }

    /// `endpoints` are the primary and the secondary.
    #[cfg(feature = "reqwest")]
    fn into_transport(self, endpoints: &[&Endpoint]) -> Result<Arc<dyn Transport>, Error> {
        let max_response_bytes = self.max_response_bytes.unwrap_or(DEFAULT_MAX_RESPONSE_BYTES);
        let transport = match (self.client, self.connect_timeout) {
            (Some(_), Some(_)) => {
                return Err(Error::configuration(
                    "connect_timeout has no effect on an HTTP client of your own: call \
                     reqwest::ClientBuilder::connect_timeout instead",
                ));
            }
            // A proxy of the environment could read the credentials of plain HTTP to this machine.
            (Some(client), None) if endpoints.iter().any(|endpoint| endpoint.is_local()) => {
                HttpTransport::with_client(client, max_response_bytes)
            }
            (Some(client), None) => {
                HttpTransport::with_environment_proxies(client, max_response_bytes)
            }
            (None, Some(timeout)) => HttpTransport::connecting_within(timeout, max_response_bytes),
            (None, None) => HttpTransport::new(max_response_bytes),
        };
        let is_https = endpoints.iter().any(|endpoint| endpoint.is_https());
        let transport = transport.and_then(|transport| {
            transport.prepare(is_https)?;
            Ok(transport)
        });
        Ok(Arc::new(transport.map_err(not_built)?))
    }

    #[cfg(not(feature = "reqwest"))]
    fn into_transport(self, endpoints: &[&Endpoint]) -> Result<Arc<dyn Transport>, Error> {
        let mut transport = crate::transport::HyperTransport::new();
        if let Some(timeout) = self.connect_timeout {
            transport = transport.connect_timeout(timeout);
        }
        if let Some(bytes) = self.max_response_bytes {
            transport = transport.max_response_bytes(bytes);
        }
        let is_https = endpoints.iter().any(|endpoint| endpoint.is_https());
        transport.prepare(is_https).map_err(not_built)?;
        Ok(Arc::new(transport))
    }
}

fn not_built(error: TransportError) -> Error {
    let cause = std::error::Error::source(&error).unwrap_or(&error);
    Error::configuration(format!("the HTTP client could not be built: {cause}")).with_source(error)
}

/// Returns the transport of a client.
pub(super) fn transport(
    custom: Option<Arc<dyn Transport>>,
    settings: HttpSettings,
    endpoints: &[&Endpoint],
) -> Result<Arc<dyn Transport>, Error> {
    let Some(custom) = custom else { return settings.into_transport(endpoints) };
    settings.check_unused()?;
    Ok(custom)
}

impl TableServiceClientBuilder {
    /// Sets the time limit for opening a connection; 10 s by default.
    ///
    /// Together with `http_client` or [`transport`](Self::transport) it is an error of [`build`](Self::build): both
    /// have their own limit.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.http.connect_timeout = Some(timeout);
        self
    }

    /// Sets the largest response that the client accepts; 64 MiB by default.
    ///
    /// Together with [`transport`](Self::transport) it is an error of [`build`](Self::build).
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.http.max_response_bytes = Some(bytes);
        self
    }

    /// Sends through an HTTP client with these settings, for proxies, certificates and connection pools of your own.
    ///
    /// Three settings are replaced, so that no request is sent twice and no credential to another host: redirects are
    /// not followed, no `Referer` is sent, and reqwest does not retry. The proxies of the builder are used for each
    /// endpoint. If an endpoint is this machine by plain HTTP, those of the environment are not used.
    ///
    /// Together with [`transport`](Self::transport) it is an error of [`build`](Self::build).
    #[cfg(feature = "reqwest")]
    pub fn http_client(mut self, client: reqwest::ClientBuilder) -> Self {
        self.http.client = Some(client);
        self
    }
}

#[cfg(all(test, feature = "mock"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::TableServiceClient;
    use crate::auth::Credential;
    use crate::error::ErrorKind;
    use crate::mock::MockTableService;

    fn builder() -> TableServiceClientBuilder {
        TableServiceClient::builder(
            "http://127.0.0.1:10002/devstoreaccount1",
            Credential::Anonymous,
        )
    }

    #[track_caller]
    fn assert_refused(builder: TableServiceClientBuilder, setting: &str) {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().starts_with(&format!("{setting} has no effect")), "{error}");
    }

    #[test]
    fn a_custom_transport_refuses_the_settings_of_the_http_client() {
        let custom = || builder().transport(MockTableService::new().transport());
        assert_refused(custom().connect_timeout(Duration::from_secs(1)), "connect_timeout");
        assert_refused(custom().max_response_bytes(1 << 20), "max_response_bytes");
        custom().build().unwrap();
    }

    #[test]
    #[cfg(not(feature = "reqwest"))]
    fn without_reqwest_the_transport_is_hyper() {
        let timeout = Duration::from_secs(1);
        let client = builder().connect_timeout(timeout).max_response_bytes(1 << 20).build();
        assert!(format!("{:?}", client.unwrap()).contains("HyperTransport"));
    }

    #[test]
    #[cfg(feature = "reqwest")]
    #[cfg(any(feature = "rustls", feature = "native-tls", not(feature = "rustls-no-provider")))]
    fn an_http_client_of_your_own_has_its_own_connect_timeout() {
        let own = || builder().http_client(reqwest::Client::builder());
        assert_refused(own().connect_timeout(Duration::from_secs(1)), "connect_timeout");
        assert_refused(own().transport(MockTableService::new().transport()), "http_client");
        own().max_response_bytes(1 << 20).build().unwrap();
    }
}
