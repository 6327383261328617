//! Credentials, and how a request is authorized with them. No I/O but that of a credential for tokens.
//! See the [guide](crate::guide::security).

#[cfg(feature = "entra")]
mod bearer;
mod connection_string;
mod refusal;
#[cfg(all(feature = "entra", feature = "mock"))]
#[cfg(test)]
mod user_delegation_tests;

use std::fmt;
#[cfg(feature = "entra")]
use std::sync::Arc;

#[cfg(feature = "entra")]
pub(crate) use azure_table_protocol::auth::KeyInfo;
#[doc(inline)]
pub use azure_table_protocol::auth::{
    AccountPermissions, AccountSas, CredentialError, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY,
    ResourceTypes, SasError, SasProtocol, SasToken, SharedKey, TablePermissions, TableSas,
};
#[cfg(feature = "entra")]
#[doc(inline)]
pub use azure_table_protocol::auth::{UserDelegationKey, UserDelegationKeyRequest};
pub(crate) use azure_table_protocol::auth::{
    canonicalized_resource, read_time, string_to_sign, string_to_sign_lite,
};
#[cfg(all(test, feature = "entra"))]
pub(crate) use bearer::issuer::Issuer;
#[cfg(feature = "entra")]
pub use bearer::{BearerTokens, TokenCredential};
#[cfg(feature = "entra")]
pub(crate) use bearer::{Challenge, Token};
pub(crate) use connection_string::ConnectionString;
pub(crate) use refusal::{RefusedRequest, hint};

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
