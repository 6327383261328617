use std::fmt;
use std::net::Ipv4Addr;

use crate::edm::EdmDateTime;
use crate::limits::LimitError;

/// The reason why the service would refuse a shared access signature, or the request for a user delegation key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SasError {
    /// The signature has no expiry, and no stored access policy that could have one.
    NoExpiry,
    /// The signature permits nothing, and names no stored access policy that could.
    NoPermissions,
    /// The signature has no resource types.
    NoResourceTypes,
    /// The time is before 1601 or after 9999.
    TimeOutOfRange,
    /// The signature expires at its start or before it.
    EndsBeforeStart {
        /// The start.
        start: EdmDateTime,
        /// The expiry.
        expiry: EdmDateTime,
    },
    /// The name of the table, or a key.
    Limit(LimitError),
    /// The signature has a bound on the RowKey without one on the PartitionKey.
    RowKeyWithoutPartitionKey,
    /// The first keys of the range come after the last ones.
    EmptyKeyRange,
    /// The first address comes after the last one.
    EmptyAddressRange {
        /// The first address.
        first: Ipv4Addr,
        /// The last address.
        last: Ipv4Addr,
    },
    /// The identifier of a stored access policy is empty or has more than 64 characters.
    PolicyIdentifier,
    /// The version is not a date of the form `2019-02-02`.
    MalformedVersion,
    /// The version has no such signatures, or cannot restrict addresses or protocols.
    VersionTooEarly {
        /// The first version that can.
        first: &'static str,
    },
    /// The client does not have the account's key, with which it would be signed.
    NoKey,
    /// The signature names a stored access policy, and is signed with a user delegation key.
    PolicyWithUserDelegation,
    /// The signature is bound to a user, and is signed with the account's key.
    UserWithoutUserDelegation,
    /// The signature expires after the user delegation key that signs it.
    ExpiresAfterKey {
        /// The expiry of the signature.
        expiry: EdmDateTime,
        /// The expiry of the key.
        key_expiry: EdmDateTime,
    },
    /// The user delegation key would be valid for more than 7 days, or expire at its start or before it.
    KeyLifetime {
        /// The start of the key, or the current time if the request has no start.
        start: EdmDateTime,
        /// The expiry of the key.
        expiry: EdmDateTime,
    },
    /// The id of a delegated user or tenant is empty, is longer than 64 bytes, or has other characters than visible
    /// ASCII ones.
    DelegatedId {
        /// `user` or `tenant`.
        of: &'static str,
    },
    /// The endpoint does not name the account, which a user delegation key belongs to.
    NoAccount,
}

impl fmt::Display for SasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other errors may be those of a request for a key.
        let is_of_signature = !matches!(
            self,
            Self::TimeOutOfRange
                | Self::KeyLifetime { .. }
                | Self::DelegatedId { .. }
                | Self::NoAccount
        );
        f.write_str(if is_of_signature { "the shared access signature " } else { "" })?;
        match self {
            Self::NoExpiry => {
                f.write_str("needs an expiry, or a stored access policy that has one")
            }
            Self::NoPermissions => {
                f.write_str("needs permissions, or a stored access policy that has them")
            }
            Self::NoResourceTypes => f.write_str("needs a resource type"),
            Self::EndsBeforeStart { start, expiry } => write!(
                f,
                "expires at {}, which is not after its start at {}",
                expiry.trimmed(),
                start.trimmed()
            ),
            Self::Limit(error) => write!(f, "is not valid: {error}"),
            Self::RowKeyWithoutPartitionKey => {
                f.write_str("has a bound on the RowKey without one on the PartitionKey")
            }
            Self::EmptyKeyRange => {
                f.write_str("has an empty key range: its start is after its end")
            }
            Self::EmptyAddressRange { first, last } => {
                write!(f, "has an empty address range: {first} to {last}")
            }
            Self::PolicyIdentifier => f.write_str(
                "names a stored access policy by an identifier that is empty or has more than 64 \
                 characters",
            ),
            Self::MalformedVersion => {
                f.write_str("has a version that is not a date like 2019-02-02")
            }
            Self::VersionTooEarly { first } => {
                write!(f, "needs version {first} or a later one for its fields")
            }
            Self::NoKey => f.write_str(
                "is signed with the account's key, which this client does not have; a client with \
                 a token of Entra ID can request a user delegation key (feature entra)",
            ),
            Self::PolicyWithUserDelegation => f.write_str(
                "names a stored access policy, but a signature with a user delegation key cannot",
            ),
            Self::UserWithoutUserDelegation => {
                f.write_str("is bound to a user, so it must be signed with a user delegation key")
            }
            Self::ExpiresAfterKey { expiry, key_expiry } => write!(
                f,
                "expires at {}, after the user delegation key at {}",
                expiry.trimmed(),
                key_expiry.trimmed()
            ),
            Self::TimeOutOfRange => f.write_str(
                "a time of the shared access signature or of the user delegation key is outside of 1601 to 9999",
            ),
            Self::KeyLifetime { start, expiry } if expiry <= start => write!(
                f,
                "the user delegation key would expire at {}, which is not after its start at {}",
                expiry.trimmed(),
                start.trimmed()
            ),
            Self::KeyLifetime { start, expiry } => write!(
                f,
                "the user delegation key would be valid for more than 7 days ({} to {})",
                start.trimmed(),
                expiry.trimmed()
            ),
            Self::DelegatedId { of } => {
                write!(f, "the delegated {of} is not an id of 1 to 64 visible ASCII characters")
            }
            Self::NoAccount => f.write_str(
                "the user delegation key needs the name of the account, which the endpoint does not \
                 have: set it with UserDelegationKeyRequest::account",
            ),
        }
    }
}

impl std::error::Error for SasError {}

impl From<LimitError> for SasError {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}
