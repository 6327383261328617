//! The ways to a client: a connection string, or an endpoint with a credential.

use std::env;

use zeroize::Zeroizing;

use super::TableServiceClientBuilder;
use crate::auth::Credential;
use crate::client::TableServiceClient;
use crate::error::Error;

/// The environment variable that [`TableServiceClient::from_env`] reads.
const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

impl TableServiceClient {
    /// Connects by a connection string, as the portal shows it.
    ///
    /// Keys that are read: `DefaultEndpointsProtocol`, `AccountName`, `AccountKey`,
    /// `EndpointSuffix`, `TableEndpoint`, `TableSecondaryEndpoint`, `SharedAccessSignature`,
    /// `UseDevelopmentStorage`, `DevelopmentStorageProxyUri`; endpoints of other services are
    /// passed over.
    ///
    /// ```
    /// # use azure_table_client::TableServiceClient;
    /// # #[cfg(any(feature = "rustls", feature = "native-tls", not(feature = "rustls-no-provider")))] {
    /// let emulator = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?;
    /// # }
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) that names the key at fault;
    /// values are never shown.
    #[doc(alias("FromConnectionString", "Azurite", "emulator", "UseDevelopmentStorage"))]
    pub fn from_connection_string(text: &str) -> Result<Self, Error> {
        Self::builder_from_connection_string(text)?.build()
    }

    /// Connects by the connection string in `AZURE_STORAGE_CONNECTION_STRING`.
    ///
    /// # Errors
    /// The errors of [`from_connection_string`](Self::from_connection_string), and an error if the variable is
    /// not set.
    pub fn from_env() -> Result<Self, Error> {
        let text = env::var(CONNECTION_STRING).map(Zeroizing::new).map_err(|_| {
            Error::configuration(format!(
                "the environment variable {CONNECTION_STRING} is not set; \
                 it holds the connection string of the storage account"
            ))
        })?;
        Self::from_connection_string(&text)
    }

    /// Sets up a client for an endpoint: `https://account.table.core.windows.net`, a custom
    /// domain, or `http://127.0.0.1:10002/devstoreaccount1` of an emulator.
    pub fn builder(
        endpoint: impl Into<String>,
        credential: impl Into<Credential>,
    ) -> TableServiceClientBuilder {
        TableServiceClientBuilder::new(endpoint, credential.into())
    }

    /// Sets up a client for the endpoint and the credential of a connection string.
    ///
    /// # Errors
    /// The same errors as [`from_connection_string`](Self::from_connection_string).
    pub fn builder_from_connection_string(text: &str) -> Result<TableServiceClientBuilder, Error> {
        TableServiceClientBuilder::from_connection_string(text)
    }
}
