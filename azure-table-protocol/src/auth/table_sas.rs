//! Building shared access signatures for one table.

use super::delegation::is_part;
use super::sas_terms::{TermTexts, Terms, signed, terms_setters};
use super::user_delegation::UserDelegationKey;
use super::{SasError, SasToken, SharedKey, TablePermissions, sas_signature};
use crate::edm::EdmDateTime;
use crate::key::ordinal;
use crate::limits::{check_key, check_table_name};

/// The first version with signatures for tables.
const FIRST_VERSION: &str = "2012-02-12";
/// The longest identifier of a stored access policy, in UTF-16 code units.
const POLICY_IDENTIFIER_UNITS: usize = 64;

/// A shared access signature for one table (a service SAS): set what it permits, then sign it with the
/// account's key, or with a user delegation key (feature `entra`).
///
/// Anyone who has the token can use it, until it expires, the key is regenerated, or the stored access policy
/// that it names is removed.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use azure_table_client::auth::{SasProtocol, SharedKey, TablePermissions, TableSas};
///
/// let key = SharedKey::development();
/// let token = TableSas::new("Blogs")
///     .permissions(TablePermissions::READ | TablePermissions::ADD)
///     .expires_at(SystemTime::now() + Duration::from_secs(60 * 60))
///     .partition_key("Channel9")
///     .protocol(SasProtocol::Https)
///     .sign(&key)?;
/// assert!(token.as_query().contains("tn=Blogs"));
/// # Ok::<(), azure_table_client::auth::SasError>(())
/// ```
///
/// REST: [Create a service SAS](https://learn.microsoft.com/rest/api/storageservices/create-service-sas)
#[doc(alias("SharedAccessSignature", "SAS", "GenerateSasUri"))]
#[derive(Debug, Clone)]
#[must_use = "it is signed by sign"]
pub struct TableSas {
    table: String,
    permissions: TablePermissions,
    policy: Option<String>,
    user: Option<String>,
    terms: Terms,
    first: Bound,
    last: Bound,
}

/// One end of a range of keys.
#[derive(Debug, Clone, Default)]
struct Bound {
    partition_key: Option<String>,
    row_key: Option<String>,
}

impl TableSas {
    /// A signature for this table that permits nothing yet.
    pub fn new(table: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            permissions: TablePermissions::default(),
            policy: None,
            user: None,
            terms: Terms::default(),
            first: Bound::default(),
            last: Bound::default(),
        }
    }

    /// Sets the permissions. Omit them if the stored access policy has them.
    pub fn permissions(mut self, permissions: TablePermissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Sets the identifier of the table's stored access policy, which has the fields that the signature omits.
    /// The service refuses fields that both have. Without the policy the signature is invalid, which is how it
    /// can be withdrawn.
    pub fn policy(mut self, identifier: impl Into<String>) -> Self {
        self.policy = Some(identifier.into());
        self
    }

    /// Binds the signature to the user with this object id in Microsoft Entra ID (`sduoid`). It needs a user
    /// delegation key.
    ///
    /// The service accepts such a signature only with a token of that user in the same request. This client signs
    /// the field, but sends one credential only, so it cannot use the signature.
    pub fn delegated_user(mut self, object_id: impl Into<String>) -> Self {
        self.user = Some(object_id.into());
        self
    }

    terms_setters!();

    /// Limits the signature to this partition.
    pub fn partition_key(self, key: impl Into<String>) -> Self {
        let key = key.into();
        self.start_partition_key(key.clone()).end_partition_key(key)
    }

    /// The first PartitionKey that it reaches.
    pub fn start_partition_key(mut self, key: impl Into<String>) -> Self {
        self.first.partition_key = Some(key.into());
        self
    }

    /// The first RowKey that it reaches in the first partition.
    pub fn start_row_key(mut self, key: impl Into<String>) -> Self {
        self.first.row_key = Some(key.into());
        self
    }

    /// The last PartitionKey that it reaches.
    pub fn end_partition_key(mut self, key: impl Into<String>) -> Self {
        self.last.partition_key = Some(key.into());
        self
    }

    /// The last RowKey that it reaches in the last partition.
    pub fn end_row_key(mut self, key: impl Into<String>) -> Self {
        self.last.row_key = Some(key.into());
        self
    }

    /// The token, signed with the key of the table's account.
    ///
    /// # Errors
    /// The service would refuse the signature. Nothing is sent.
    pub fn sign(&self, key: &SharedKey) -> Result<SasToken, SasError> {
        if self.user.is_some() {
            return Err(SasError::UserWithoutUserDelegation);
        }
        let terms = self.checked(FIRST_VERSION)?;
        let permissions = self.permissions.to_string();
        let fields = self.fields(&terms, &permissions);
        Ok(signed(key, &fields, sas_signature::for_table))
    }

    /// The token, signed with a user delegation key: see [`UserDelegationKey`] for an example.
    ///
    /// # Errors
    /// The service would refuse the signature: besides the errors of [`sign`](Self::sign), it names a stored access
    /// policy, expires after the key, has a [`version`](Self::version) before 2025-07-05, or is bound to a user whose
    /// id is empty, longer than 64 bytes or not plain ASCII. Nothing is sent.
    ///
    /// REST: [Create a user delegation SAS](https://learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas)
    pub fn sign_delegated(&self, key: &UserDelegationKey) -> Result<SasToken, SasError> {
        if self.policy.is_some() {
            return Err(SasError::PolicyWithUserDelegation);
        }
        if self.user.as_deref().is_some_and(|user| !is_part(user)) {
            return Err(SasError::DelegatedId { of: "user" });
        }
        let terms = self.checked(sas_signature::HAS_USER_DELEGATION)?;
        key.check_expiry(self.terms.expiry)?;
        let permissions = self.permissions.to_string();
        let mut fields = self.fields(&terms, &permissions).to_vec();
        fields.extend(key.fields());
        fields.push(("sduoid", self.user.as_deref()));
        Ok(signed(key.shared(), &fields, sas_signature::for_user_delegation))
    }

    /// Returns the checked terms of a signature that there is from version `first` on.
    fn checked(&self, first: &'static str) -> Result<TermTexts<'_>, SasError> {
        check_table_name(&self.table)?;
        self.check_policy()?;
        self.check_keys()?;
        self.terms.checked(first)
    }

    /// The fields of all signatures.
    fn fields<'a>(
        &'a self,
        terms: &'a TermTexts<'_>,
        permissions: &'a str,
    ) -> [(&'static str, Option<&'a str>); 12] {
        [
            ("sv", Some(terms.version)),
            ("tn", Some(&self.table)),
            ("st", terms.start.as_deref()),
            ("se", terms.expiry.as_deref()),
            ("sp", Some(permissions).filter(|letters| !letters.is_empty())),
            ("spk", self.first.partition_key.as_deref()),
            ("srk", self.first.row_key.as_deref()),
            ("epk", self.last.partition_key.as_deref()),
            ("erk", self.last.row_key.as_deref()),
            ("sip", terms.ip.as_deref()),
            ("spr", terms.protocol),
            ("si", self.policy.as_deref()),
        ]
    }

    /// Without a policy the signature needs permissions and an expiry.
    fn check_policy(&self) -> Result<(), SasError> {
        let Some(policy) = &self.policy else {
            return match (self.permissions.is_empty(), &self.terms.expiry) {
                (true, _) => Err(SasError::NoPermissions),
                (_, None) => Err(SasError::NoExpiry),
                _ => Ok(()),
            };
        };
        if policy.is_empty() || policy.encode_utf16().count() > POLICY_IDENTIFIER_UNITS {
            return Err(SasError::PolicyIdentifier);
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), SasError> {
        for bound in [&self.first, &self.last] {
            if bound.row_key.is_some() && bound.partition_key.is_none() {
                return Err(SasError::RowKeyWithoutPartitionKey);
            }
            check_key("PartitionKey", bound.partition_key.as_deref().unwrap_or_default())?;
            check_key("RowKey", bound.row_key.as_deref().unwrap_or_default())?;
        }
        let (Some(first), Some(last)) = (&self.first.partition_key, &self.last.partition_key)
        else {
            return Ok(());
        };
        let rows = match (&self.first.row_key, &self.last.row_key) {
            (Some(first), Some(last)) => ordinal(first, last),
            _ => std::cmp::Ordering::Equal,
        };
        if ordinal(first, last).then(rows).is_gt() {
            return Err(SasError::EmptyKeyRange);
        }
        Ok(())
    }
}
