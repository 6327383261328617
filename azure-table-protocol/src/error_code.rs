use std::fmt;

macro_rules! codes {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// An error code of the service, such as `EntityAlreadyExists`.
        ///
        /// ```
        /// # use azure_table_client::ErrorCode;
        /// fn advice(code: &ErrorCode) -> &str {
        ///     match code {
        ///         ErrorCode::EntityAlreadyExists => "choose another key",
        ///         ErrorCode::TableNotFound => "create the table",
        ///         other => other.as_str(),
        ///     }
        /// }
        /// # assert_eq!(advice(&ErrorCode::from("TableNotFound")), "create the table");
        /// # assert_eq!(advice(&ErrorCode::from("NewCode")), "NewCode");
        /// ```
        ///
        /// | code | status | meaning |
        /// |---|---|---|
        /// | `ResourceNotFound` | 404 | the entity, or the table itself, does not exist |
        /// | `TableNotFound` | 404 | the table of the entity does not exist |
        /// | `EntityAlreadyExists`, `TableAlreadyExists` | 409 | the keys or the name are in use |
        /// | `TableBeingDeleted` | 409 | a table of that name is being removed, which takes 40 s or more; `create_table_and_wait` waits for it |
        /// | `UpdateConditionNotSatisfied` | 412 | another program wrote the entity |
        /// | `ConditionNotMet` | 412 | the ETag is not one of the service |
        /// | `ServerBusy`, `OperationTimedOut` | 503, 500 | the load is too high, or the table is being moved; the client has already retried |
        /// | `AuthenticationFailed` | 403 | the signature or its date is wrong, or the signature has expired; see `Error::hint` |
        /// | `AuthorizationFailure`, `AuthorizationPermissionMismatch` | 403 | a firewall blocks the request, or the signature or the role does not permit it |
        ///
        /// Source: [Table service error codes](https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes).
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(#[doc = concat!("`", $text, "`")] $name,)*
            /// A code that has no variant; [`as_str`](Self::as_str) returns it. Later versions of this crate may add a
            /// variant.
            Other(OtherCode),
        }

        impl ErrorCode {
            /// Returns the code as the service writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(OtherCode(code)) => code,
                }
            }

            /// Returns the variant of a known code.
            fn known(code: &str) -> Option<Self> {
                match code {
                    $($text => Some(Self::$name),)*
                    // Cosmos DB also sends the bare status as the code.
                    "429" => Some(Self::TooManyRequests),
                    _ => None,
                }
            }

            #[cfg(test)]
            const KNOWN: &[(Self, &'static str)] = &[$((Self::$name, $text)),*];
        }
    };
}

codes! {
    AuthenticationFailed = "AuthenticationFailed",
    AuthorizationFailure = "AuthorizationFailure",
    AuthorizationPermissionMismatch = "AuthorizationPermissionMismatch",
    AuthorizationProtocolMismatch = "AuthorizationProtocolMismatch",
    AuthorizationResourceTypeMismatch = "AuthorizationResourceTypeMismatch",
    AuthorizationServiceMismatch = "AuthorizationServiceMismatch",
    AuthorizationSourceIpMismatch = "AuthorizationSourceIPMismatch",
    CommandsInBatchActOnDifferentPartitions = "CommandsInBatchActOnDifferentPartitions",
    ContentLengthExceeded = "ContentLengthExceeded",
    DuplicatePropertiesSpecified = "DuplicatePropertiesSpecified",
    ConditionNotMet = "ConditionNotMet",
    EntityAlreadyExists = "EntityAlreadyExists",
    EntityNotFound = "EntityNotFound",
    EntityTooLarge = "EntityTooLarge",
    InternalError = "InternalError",
    InvalidAuthenticationInfo = "InvalidAuthenticationInfo",
    InvalidDuplicateRow = "InvalidDuplicateRow",
    InvalidInput = "InvalidInput",
    InvalidResourceName = "InvalidResourceName",
    KeyValueTooLarge = "KeyValueTooLarge",
    NotImplemented = "NotImplemented",
    OperationTimedOut = "OperationTimedOut",
    OutOfRangeInput = "OutOfRangeInput",
    PropertiesNeedValue = "PropertiesNeedValue",
    PropertyNameInvalid = "PropertyNameInvalid",
    PropertyNameTooLong = "PropertyNameTooLong",
    PropertyValueTooLarge = "PropertyValueTooLarge",
    RequestBodyTooLarge = "RequestBodyTooLarge",
    ResourceNotFound = "ResourceNotFound",
    ServerBusy = "ServerBusy",
    TableAlreadyExists = "TableAlreadyExists",
    TableBeingDeleted = "TableBeingDeleted",
    TableNotFound = "TableNotFound",
    TooManyProperties = "TooManyProperties",
    TooManyRequests = "TooManyRequests",
    UpdateConditionNotSatisfied = "UpdateConditionNotSatisfied",
}

/// The text of an [`ErrorCode`] that has no variant; [`ErrorCode::as_str`] returns it.
// Only this module creates values of this type, so a code with a variant is never `Other`. No other code names the type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OtherCode(Box<str>);

#[doc(hidden)]
impl ErrorCode {
    /// Returns whether the code reports a missing entity, or a missing table that was itself
    /// requested.
    pub fn is_missing_entity(&self) -> bool {
        matches!(self, Self::ResourceNotFound | Self::EntityNotFound)
    }

    /// Returns whether the service requests less load.
    pub fn is_throttling(&self) -> bool {
        matches!(self, Self::ServerBusy | Self::TooManyRequests)
    }
}

impl From<&str> for ErrorCode {
    fn from(code: &str) -> Self {
        Self::known(code).unwrap_or_else(|| Self::Other(OtherCode(code.into())))
    }
}

impl From<String> for ErrorCode {
    fn from(code: String) -> Self {
        Self::known(&code).unwrap_or_else(|| Self::Other(OtherCode(code.into_boxed_str())))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<str> for ErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_are_variants_and_others_keep_their_text() {
        for (code, text) in ErrorCode::KNOWN {
            assert_eq!(ErrorCode::from(*text), *code);
            assert_eq!(ErrorCode::from((*text).to_owned()), *code);
            assert_eq!(code.as_str(), *text);
            assert!(code == *text && !matches!(code, ErrorCode::Other(_)));
        }
        let code = ErrorCode::from("NewCode");
        assert_eq!((code.as_str(), code.to_string().as_str()), ("NewCode", "NewCode"));
        assert!(matches!(code, ErrorCode::Other(_)));
        assert_eq!(code, ErrorCode::from("NewCode".to_owned()));
        assert_ne!(code, ErrorCode::from("newcode"));
    }

    #[test]
    fn throttling_includes_the_bare_status_of_cosmos_db() {
        for code in ["ServerBusy", "TooManyRequests", "429"] {
            assert!(ErrorCode::from(code).is_throttling(), "{code}");
        }
        assert!(!ErrorCode::from("430").is_throttling());
        assert_eq!(ErrorCode::from("429"), ErrorCode::TooManyRequests);
    }
}
