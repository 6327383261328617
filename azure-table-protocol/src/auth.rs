//! Shared keys, shared access signatures and the strings that they sign. No credential that is fetched.

mod account_sas;
mod credential_error;
#[doc(hidden)]
pub mod delegation;
mod permissions;
mod sas;
mod sas_error;
#[doc(hidden)]
pub mod sas_signature;
mod sas_terms;
mod sas_time;
mod shared_key;
mod table_sas;
mod user_delegation;
#[cfg(test)]
mod vectors;

pub use account_sas::AccountSas;
pub use credential_error::CredentialError;
pub use permissions::{AccountPermissions, ResourceTypes, TablePermissions};
pub use sas::SasToken;
pub use sas_error::SasError;
pub use sas_terms::SasProtocol;
#[doc(hidden)]
pub use sas_time::read_time;
pub use shared_key::SharedKey;
#[doc(hidden)]
pub use shared_key::{
    canonicalized_resource, is_account_name, string_to_sign, string_to_sign_lite,
};
pub use table_sas::TableSas;
#[doc(hidden)]
pub use user_delegation::KeyInfo;
pub use user_delegation::{UserDelegationKey, UserDelegationKeyRequest};

/// The development account of emulators; public knowledge, and no secret.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// The key of [`DEVELOPMENT_ACCOUNT`].
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
