//! Credentials, and how a request is authorized with them. No I/O but that of a credential for tokens.
//! See the [guide](crate::guide::security).

mod account_sas;
#[cfg(feature = "entra")]
mod bearer;
mod connection_string;
#[cfg(any(feature = "entra", feature = "mock"))]
pub(crate) mod delegation;
mod permissions;
mod refusal;
mod sas;
mod sas_error;
pub(crate) mod sas_signature;
mod sas_terms;
mod sas_time;
mod shared_key;
mod table_sas;
#[cfg(feature = "entra")]
mod user_delegation;
#[cfg(test)]
mod vectors;

use std::fmt;
#[cfg(feature = "entra")]
use std::sync::Arc;

pub use account_sas::AccountSas;
#[cfg(all(test, feature = "entra"))]
pub(crate) use bearer::issuer::Issuer;
#[cfg(feature = "entra")]
pub use bearer::{BearerTokens, TokenCredential};
#[cfg(feature = "entra")]
pub(crate) use bearer::{Challenge, Token};
pub(crate) use connection_string::ConnectionString;
pub use permissions::{AccountPermissions, ResourceTypes, TablePermissions};
pub(crate) use refusal::{RefusedRequest, hint};
pub use sas::SasToken;
pub use sas_error::SasError;
pub use sas_terms::SasProtocol;
pub(crate) use sas_time::read_time;
pub use shared_key::SharedKey;
pub(crate) use shared_key::{canonicalized_resource, string_to_sign, string_to_sign_lite};
pub use table_sas::TableSas;
#[cfg(feature = "entra")]
pub(crate) use user_delegation::KeyInfo;
#[cfg(feature = "entra")]
pub use user_delegation::{UserDelegationKey, UserDelegationKeyRequest};

/// The development account of emulators; public knowledge, and no secret.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// The key of [`DEVELOPMENT_ACCOUNT`].
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The credential of requests. `Debug` shows no secret.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credential {
    /// The account's key; every request is signed with it.
    SharedKey(SharedKey),
    /// The account's key, in the shorter form that signs the date and the resource only. For
    /// services and proxies that need it; [`SharedKey`](Self::SharedKey) signs more.
    SharedKeyLite(SharedKey),
    /// A shared access signature, added to every request as it was given.
    Sas(SasToken),
    /// A token of Microsoft Entra ID, renewed before it expires.
    #[cfg(feature = "entra")]
    Token(BearerTokens),
    /// No credential: for services that require none.
    Anonymous,
}

impl Credential {
    /// The credential as a client of this endpoint uses it.
    #[cfg_attr(not(feature = "entra"), allow(unused_variables))]
    pub(crate) fn for_endpoint(self, endpoint: &str) -> Self {
        match self {
            #[cfg(feature = "entra")]
            Self::Token(tokens) => Self::Token(tokens.for_endpoint(endpoint)),
            other => other,
        }
    }

    /// Returns whether the credential itself is sent, so that anyone who reads a request can reuse it.
    pub(crate) const fn is_token(&self) -> bool {
        match self {
            #[cfg(feature = "entra")]
            Self::Token(_) => true,
            _ => false,
        }
    }

    /// Returns whether the credential is a signature with a user delegation key.
    pub(crate) fn is_delegated(&self) -> bool {
        matches!(self, Self::Sas(token) if token.field("skoid").is_some())
    }

    /// The account's key, if requests are signed with it.
    pub(crate) const fn key(&self) -> Option<&SharedKey> {
        match self {
            Self::SharedKey(key) | Self::SharedKeyLite(key) => Some(key),
            _ => None,
        }
    }

    /// Returns whether the credential must not be readable on the network.
    pub(crate) const fn is_secret(&self) -> bool {
        !matches!(self, Self::Anonymous)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedKey(key) => key.fmt(f),
            Self::SharedKeyLite(key) => f.debug_tuple("SharedKeyLite").field(key).finish(),
            Self::Sas(token) => token.fmt(f),
            #[cfg(feature = "entra")]
            Self::Token(tokens) => tokens.fmt(f),
            Self::Anonymous => f.write_str("Anonymous"),
        }
    }
}

impl From<SharedKey> for Credential {
    fn from(key: SharedKey) -> Self {
        Self::SharedKey(key)
    }
}

impl From<SasToken> for Credential {
    fn from(token: SasToken) -> Self {
        Self::Sas(token)
    }
}

#[cfg(feature = "entra")]
impl From<BearerTokens> for Credential {
    fn from(tokens: BearerTokens) -> Self {
        Self::Token(tokens)
    }
}

#[cfg(feature = "entra")]
impl From<Arc<dyn TokenCredential>> for Credential {
    fn from(credential: Arc<dyn TokenCredential>) -> Self {
        BearerTokens::new(credential).into()
    }
}

#[cfg(feature = "entra")]
impl<C: TokenCredential + 'static> From<Arc<C>> for Credential {
    fn from(credential: Arc<C>) -> Self {
        BearerTokens::new(credential).into()
    }
}
