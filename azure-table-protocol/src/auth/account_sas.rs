//! Building shared access signatures for the tables of an account.

use super::sas_signature::{self, RESTRICTS_ORIGIN};
use super::sas_terms::{Terms, signed, terms_setters};
use super::{AccountPermissions, ResourceTypes, SasError, SasToken, SharedKey};
use crate::edm::EdmDateTime;

/// The table service among those of an account.
const TABLES: &str = "t";

/// A shared access signature for the table service of an account (an account SAS): set what it permits,
/// then sign it with the account's key. It reaches no blobs, queues and files.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use azure_table_client::auth::{AccountPermissions, AccountSas, ResourceTypes, SharedKey};
///
/// let key = SharedKey::development();
/// let token = AccountSas::new(
///     AccountPermissions::LIST | AccountPermissions::READ,
///     ResourceTypes::TABLE | ResourceTypes::ENTITY,
/// )
/// .expires_at(SystemTime::now() + Duration::from_secs(60 * 60))
/// .sign(&key)?;
/// assert!(token.as_query().contains("ss=t&srt=co"));
/// # Ok::<(), azure_table_client::auth::SasError>(())
/// ```
///
/// REST: [Create an account SAS](https://learn.microsoft.com/rest/api/storageservices/create-account-sas)
#[derive(Debug, Clone)]
#[must_use = "it is signed by sign"]
pub struct AccountSas {
    permissions: AccountPermissions,
    resource_types: ResourceTypes,
    terms: Terms,
}

impl AccountSas {
    /// A signature that permits this with resources of these types.
    pub fn new(permissions: AccountPermissions, resource_types: ResourceTypes) -> Self {
        Self { permissions, resource_types, terms: Terms::default() }
    }

    terms_setters!();

    /// The token, signed with the key of the account.
    ///
    /// # Errors
    /// The service would refuse the signature. Nothing is sent.
    pub fn sign(&self, key: &SharedKey) -> Result<SasToken, SasError> {
        if self.permissions.is_empty() {
            return Err(SasError::NoPermissions);
        }
        if self.resource_types.is_empty() {
            return Err(SasError::NoResourceTypes);
        }
        if self.terms.expiry.is_none() {
            return Err(SasError::NoExpiry);
        }
        // The first version with signatures for accounts as well.
        let terms = self.terms.checked(RESTRICTS_ORIGIN)?;
        let (permissions, resource_types) =
            (self.permissions.to_string(), self.resource_types.to_string());
        let fields = [
            ("sv", Some(terms.version)),
            ("ss", Some(TABLES)),
            ("srt", Some(&resource_types)),
            ("st", terms.start.as_deref()),
            ("se", terms.expiry.as_deref()),
            ("sp", Some(&permissions)),
            ("sip", terms.ip.as_deref()),
            ("spr", terms.protocol),
        ];
        Ok(signed(key, &fields, sas_signature::for_account))
    }
}
