//! Credentials, and how a request is authorized with them. No I/O.

mod connection_string;
mod sas;
#[cfg(feature = "mock")]
mod sas_signature;
mod shared_key;

use std::fmt;

pub(crate) use connection_string::ConnectionString;
pub use sas::SasToken;
#[cfg(feature = "mock")]
pub(crate) use sas_signature::{
    AccountSasFields, HAS_ENCRYPTION_SCOPE, RESTRICTS_ORIGIN, TableSasFields,
};
pub use shared_key::SharedKey;
#[cfg(feature = "mock")]
pub(crate) use shared_key::string_to_sign_lite;
pub(crate) use shared_key::{canonicalized_resource, string_to_sign};

/// The development account of emulators; public knowledge, and no secret.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// The key of [`DEVELOPMENT_ACCOUNT`].
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// How requests prove who sends them. `Debug` shows no secret.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credential {
    /// The account's key; every request is signed with it.
    SharedKey(SharedKey),
    /// A shared access signature, added to every request as it was given.
    Sas(SasToken),
    /// Nothing: for services that ask for nothing.
    Anonymous,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedKey(key) => key.fmt(f),
            Self::Sas(token) => token.fmt(f),
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
