//! Accounts and their credentials.
//!
//! Without an option, the variables of the Azure CLI name the account: `AZURE_STORAGE_CONNECTION_STRING`, or
//! `AZURE_STORAGE_ACCOUNT` with `AZURE_STORAGE_KEY` or `AZURE_STORAGE_SAS_TOKEN`. `AZURE_STORAGE_SERVICE_ENDPOINT` or
//! `--endpoint` replace the address of the public cloud.

mod environment;
mod source;

use azure_table_client::TableServiceClient;
use azure_table_client::auth::Credential;

pub(crate) use source::Source;

use crate::args::{Connection, Globals};
use crate::failure::{Failure, Result};

/// An address and the credential for it.
pub(crate) struct Account {
    pub(crate) endpoint: String,
    pub(crate) credential: Credential,
    /// The place that the credential came from, for `whoami`. It contains no secret.
    pub(crate) origin: String,
}

impl Connection {
    /// Returns the client of the account. Nothing is sent.
    pub(crate) fn service(&self) -> Result<TableServiceClient> {
        self.target()?.service(self.allow_http)
    }

    /// Returns the client of `source`, or of these options without one.
    pub(crate) fn service_of(&self, source: Option<&Source>) -> Result<TableServiceClient> {
        match source {
            Some(source) => source.target()?.service(self.allow_http),
            None => self.service(),
        }
    }

    pub(crate) fn target(&self) -> Result<Target> {
        if let Some(source) = &self.connection_from {
            return source.target();
        }
        if self.emulator {
            return Source::Emulator.target();
        }
        match (self.entra, &self.endpoint) {
            (true, Some(endpoint)) => Source::Entra(endpoint.clone()).target(),
            (true, None) => {
                Err(Failure::usage("--entra needs the address of the account: pass --endpoint URL"))
            }
            (false, endpoint) => {
                environment::target(endpoint.as_deref(), |name| std::env::var(name).ok())
            }
        }
    }
}

impl Globals {
    /// Returns the client of the account. Nothing is sent.
    pub(crate) fn service(&self) -> Result<TableServiceClient> {
        self.connection.service()
    }
}

/// The account that options and variables name.
pub(crate) enum Target {
    /// A connection string, which the client reads.
    Text {
        text: zeroize::Zeroizing<String>,
        origin: String,
    },
    Account(Account),
}

impl Target {
    pub(crate) fn origin(&self) -> &str {
        match self {
            Self::Text { origin, .. } => origin,
            Self::Account(account) => &account.origin,
        }
    }

    pub(crate) fn service(self, allow_http: bool) -> Result<TableServiceClient> {
        let builder = match self {
            Self::Text { text, .. } => TableServiceClient::builder_from_connection_string(&text)?,
            Self::Account(account) => {
                TableServiceClient::builder(account.endpoint, account.credential)
            }
        };
        // The client itself permits plain HTTP to this machine.
        let builder = if allow_http { builder.allow_http(true) } else { builder };
        Ok(builder.build()?)
    }
}
