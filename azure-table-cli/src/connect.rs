//! Accounts and their credentials.
//!
//! Without an option, the variables of the Azure CLI name the account: `AZURE_STORAGE_CONNECTION_STRING`, or
//! `AZURE_STORAGE_ACCOUNT` with `AZURE_STORAGE_KEY` or `AZURE_STORAGE_SAS_TOKEN`. `AZURE_STORAGE_SERVICE_ENDPOINT` or
//! `--endpoint` replace the address of the public cloud.

mod environment;
mod prompt;
mod source;
mod source_parser;

use azure_table_client::TableServiceClient;
use azure_table_client::auth::Credential;
use zeroize::Zeroizing;

pub(crate) use source::Source;
#[cfg(not(feature = "entra"))]
pub(crate) use source::without_entra;

use crate::args::{Connection, DialectName, Globals};
use crate::failure::{Failure, Result};

/// The kind of a credential.
pub(crate) enum Kind {
    /// A key, with the name of the account if it is known.
    Key(Option<String>),
    /// The query string of a shared access signature.
    Signature(Zeroizing<String>),
    Token,
}

impl Connection {
    /// Returns whether an option names the account.
    pub(crate) fn is_given(&self) -> bool {
        self.connection_from.is_some() || self.emulator || self.entra || self.endpoint.is_some()
    }

    /// Returns the client of the account. Nothing is sent.
    pub(crate) fn service(&self) -> Result<TableServiceClient> {
        self.target()?.service(self, self.dialect)
    }

    /// Returns the client for one side of a command with two sides: for `source`, which `option` names, or without a source
    /// for these options.
    pub(crate) fn service_of(
        &self,
        option: &str,
        source: Option<&Source>,
        dialect: Option<DialectName>,
    ) -> Result<TableServiceClient> {
        let (target, dialect) = match source {
            Some(source) => (source.target(option)?, dialect),
            None => (self.target()?, dialect.or(self.dialect)),
        };
        target.service(self, dialect)
    }

    pub(crate) fn target(&self) -> Result<Target> {
        if let Some(source) = &self.connection_from {
            return source.target("--connection-from");
        }
        if self.emulator {
            return Source::Emulator.target("--emulator");
        }
        match (self.entra, &self.endpoint) {
            (true, Some(endpoint)) => Source::Entra(endpoint.clone()).target("--entra"),
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
pub(crate) struct Target {
    access: Access,
    /// The place that the credential came from, without a secret.
    pub(crate) origin: String,
}

enum Access {
    ConnectionString(Zeroizing<String>),
    /// A sign-in with Microsoft Entra ID.
    #[cfg_attr(not(feature = "entra"), expect(dead_code, reason = "built by the feature"))]
    SignIn {
        endpoint: String,
        credential: Credential,
    },
}

impl Target {
    fn of_text(text: impl Into<String>, origin: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self { access: Access::ConnectionString(text), origin: origin.into() }
    }

    pub(crate) fn kind(&self) -> Kind {
        match &self.access {
            Access::ConnectionString(text) => kind_of(text),
            Access::SignIn { .. } => Kind::Token,
        }
    }

    /// Returns the connection string, for another program; `None` for a sign-in.
    pub(crate) fn connection_string(self) -> Option<Zeroizing<String>> {
        match self.access {
            Access::ConnectionString(text) => Some(text),
            Access::SignIn { .. } => None,
        }
    }

    /// Returns the client of the account. Nothing is sent.
    pub(crate) fn service(
        self,
        options: &Connection,
        dialect: Option<DialectName>,
    ) -> Result<TableServiceClient> {
        let builder = match self.access {
            Access::ConnectionString(text) => {
                TableServiceClient::builder_from_connection_string(&text)?
            }
            Access::SignIn { endpoint, credential } => {
                TableServiceClient::builder(endpoint, credential)
            }
        };
        let builder = match dialect {
            Some(dialect) => builder.dialect(dialect.into()),
            None => builder,
        };
        // The client itself permits plain HTTP to this machine.
        let builder = if options.allow_http { builder.allow_http(true) } else { builder };
        Ok(builder.observer(options.requests.clone()).build()?)
    }
}

/// The kind of the credential of a connection string.
fn kind_of(text: &str) -> Kind {
    let value = |name: &str| {
        let mut pairs = text.split(';').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(known, _)| known.trim().eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
    };
    if let Some(token) = value("SharedAccessSignature") {
        return Kind::Signature(Zeroizing::new(token));
    }
    if value("UseDevelopmentStorage").is_some() {
        return Kind::Key(Some("devstoreaccount1".to_owned()));
    }
    Kind::Key(value("AccountName"))
}
