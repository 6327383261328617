//! Accounts and their credentials.
//!
//! Without an option, the variables of the Azure CLI name the account: `AZURE_STORAGE_CONNECTION_STRING`, or
//! `AZURE_STORAGE_ACCOUNT` with `AZURE_STORAGE_KEY` or `AZURE_STORAGE_SAS_TOKEN`. `AZURE_STORAGE_SERVICE_ENDPOINT` or
//! `--endpoint` replace the address of the public cloud.

mod environment;
mod options;
mod prompt;
mod source;
mod source_parser;

use std::fmt;

use azure_table_client::auth::Credential;
use azure_table_client::{TableServiceClient, TableServiceClientBuilder};
use url::form_urlencoded;
use zeroize::Zeroizing;

pub use options::{Connection, DialectName};
pub use source::Source;
#[cfg(not(feature = "entra"))]
pub use source::without_entra;
pub use source_parser::SourceParser;

use crate::failure::{Failure, Result};

/// The kind of a credential.
#[expect(missing_debug_implementations, reason = "it contains secrets")]
pub enum Kind {
    /// A key, with the name of the account if it is known.
    Key(Option<String>),
    /// The query string of a shared access signature.
    Signature(Zeroizing<String>),
    /// A token of Microsoft Entra ID.
    Token,
}

impl Connection {
    /// Returns whether an option names the account.
    pub fn is_given(&self) -> bool {
        let names = self.account.is_some() || self.endpoint.is_some();
        self.connection_from.is_some() || self.emulator || self.entra || names
    }

    /// Returns the address of the account, if the options request a sign-in with Microsoft Entra ID.
    ///
    /// # Errors
    /// `--entra` without an account, or with an invalid one.
    pub fn sign_in(&self) -> Result<Option<String>> {
        match (&self.connection_from, &self.endpoint, &self.account) {
            (Some(Source::Entra(endpoint)), ..) => Ok(Some(endpoint.clone())),
            _ if !self.entra => Ok(None),
            (_, Some(endpoint), _) => Ok(Some(endpoint.clone())),
            (_, None, Some(account)) => {
                environment::public_endpoint(account, "--account").map(Some)
            }
            (_, None, None) => Err(Failure::usage(
                "--entra needs the account: pass --account NAME or --endpoint URL",
            )),
        }
    }

    /// Returns the client of the account. Nothing is sent.
    pub fn service(&self) -> Result<TableServiceClient> {
        self.target()?.service(self, self.dialect)
    }

    /// Returns the client for one side of a command with two sides: for `source`, which `option` names, or without a source
    /// for these options.
    pub fn service_of(
        &self,
        option: &str,
        source: Option<&Source>,
        dialect: Option<DialectName>,
    ) -> Result<TableServiceClient> {
        let (target, dialect) = self.target_of(option, source, dialect)?;
        target.service(self, dialect)
    }

    /// Returns the account of one side, like [`service_of`](Self::service_of), and its dialect.
    pub fn target_of(
        &self,
        option: &str,
        source: Option<&Source>,
        dialect: Option<DialectName>,
    ) -> Result<(Target, Option<DialectName>)> {
        Ok(match source {
            Some(source) => (source.target(option)?, dialect),
            None => (self.target()?, dialect.or(self.dialect)),
        })
    }

    /// Returns the account that the options or the variables name.
    pub fn target(&self) -> Result<Target> {
        if let Some(source) = &self.connection_from {
            return source.target("--connection-from");
        }
        if self.emulator {
            return Source::Emulator.target("--emulator");
        }
        if let Some(endpoint) = self.sign_in()? {
            return Source::Entra(endpoint).target("--entra");
        }
        let (account, endpoint) = (self.account.as_deref(), self.endpoint.as_deref());
        environment::target(account, endpoint, |name| std::env::var(name).ok())
    }
}

/// The account that options and variables name. Its `Debug` has no secret.
pub struct Target {
    access: Access,
    /// The place that the credential came from, without a secret.
    pub origin: String,
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

    /// The kind of the credential.
    pub fn kind(&self) -> Kind {
        match &self.access {
            Access::ConnectionString(text) => kind_of(text),
            Access::SignIn { .. } => Kind::Token,
        }
    }

    /// Returns the connection string, for another program; `None` for a sign-in.
    pub fn connection_string(self) -> Option<Zeroizing<String>> {
        match self.access {
            Access::ConnectionString(text) => Some(text),
            Access::SignIn { .. } => None,
        }
    }

    /// Returns the client of the account. Nothing is sent.
    pub fn service(
        self,
        options: &Connection,
        dialect: Option<DialectName>,
    ) -> Result<TableServiceClient> {
        Ok(self.builder(options, dialect)?.build()?)
    }

    /// Returns the client of the account before it is built, for another observer.
    pub fn builder(
        self,
        options: &Connection,
        dialect: Option<DialectName>,
    ) -> Result<TableServiceClientBuilder> {
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
        Ok(builder.observer(options.requests.clone()))
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Returns the table that a shared access signature is for; `None` if it is for the account.
pub fn table_of(signature: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(signature.trim_start_matches('?').as_bytes());
    let table = fields.find(|(name, _)| name.eq_ignore_ascii_case("tn"));
    table.map(|(_, table)| table.into_owned())
}

/// Returns whether a shared access signature permits only a range of keys, so that a scan shows a part of the table.
pub fn is_limited_to_keys(signature: &str) -> bool {
    let mut fields = form_urlencoded::parse(signature.trim_start_matches('?').as_bytes());
    fields.any(|(name, _)| {
        ["spk", "srk", "epk", "erk"].iter().any(|field| name.eq_ignore_ascii_case(field))
    })
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
