use std::borrow::Cow;
use std::fmt;

/// An error code of the service, such as `EntityAlreadyExists`.
///
/// The service adds codes over time, so this is text with constants for those that programs ask
/// about.
///
/// Source: [Table service error codes](https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ErrorCode(Cow<'static, str>);

macro_rules! codes {
    ($($name:ident = $text:literal),* $(,)?) => {
        impl ErrorCode {
            $(#[doc = concat!("`", $text, "`")] pub const $name: Self = Self(Cow::Borrowed($text));)*
        }
    };
}

codes! {
    AUTHENTICATION_FAILED = "AuthenticationFailed",
    AUTHORIZATION_FAILURE = "AuthorizationFailure",
    AUTHORIZATION_PERMISSION_MISMATCH = "AuthorizationPermissionMismatch",
    AUTHORIZATION_PROTOCOL_MISMATCH = "AuthorizationProtocolMismatch",
    AUTHORIZATION_RESOURCE_TYPE_MISMATCH = "AuthorizationResourceTypeMismatch",
    AUTHORIZATION_SERVICE_MISMATCH = "AuthorizationServiceMismatch",
    AUTHORIZATION_SOURCE_IP_MISMATCH = "AuthorizationSourceIPMismatch",
    COMMANDS_IN_BATCH_ACT_ON_DIFFERENT_PARTITIONS = "CommandsInBatchActOnDifferentPartitions",
    CONTENT_LENGTH_EXCEEDED = "ContentLengthExceeded",
    DUPLICATE_PROPERTIES_SPECIFIED = "DuplicatePropertiesSpecified",
    ENTITY_ALREADY_EXISTS = "EntityAlreadyExists",
    ENTITY_NOT_FOUND = "EntityNotFound",
    ENTITY_TOO_LARGE = "EntityTooLarge",
    INTERNAL_ERROR = "InternalError",
    INVALID_AUTHENTICATION_INFO = "InvalidAuthenticationInfo",
    INVALID_DUPLICATE_ROW = "InvalidDuplicateRow",
    INVALID_INPUT = "InvalidInput",
    INVALID_RESOURCE_NAME = "InvalidResourceName",
    KEY_VALUE_TOO_LARGE = "KeyValueTooLarge",
    NOT_IMPLEMENTED = "NotImplemented",
    OPERATION_TIMED_OUT = "OperationTimedOut",
    OUT_OF_RANGE_INPUT = "OutOfRangeInput",
    PROPERTIES_NEED_VALUE = "PropertiesNeedValue",
    PROPERTY_NAME_INVALID = "PropertyNameInvalid",
    PROPERTY_NAME_TOO_LONG = "PropertyNameTooLong",
    PROPERTY_VALUE_TOO_LARGE = "PropertyValueTooLarge",
    REQUEST_BODY_TOO_LARGE = "RequestBodyTooLarge",
    RESOURCE_NOT_FOUND = "ResourceNotFound",
    SERVER_BUSY = "ServerBusy",
    TABLE_ALREADY_EXISTS = "TableAlreadyExists",
    TABLE_BEING_DELETED = "TableBeingDeleted",
    TABLE_NOT_FOUND = "TableNotFound",
    TOO_MANY_PROPERTIES = "TooManyProperties",
    TOO_MANY_REQUESTS = "TooManyRequests",
    UPDATE_CONDITION_NOT_SATISFIED = "UpdateConditionNotSatisfied",
}

impl ErrorCode {
    /// Whether it says that an entity, or a table that was asked for itself, is not there.
    pub(crate) fn is_missing_entity(&self) -> bool {
        *self == Self::RESOURCE_NOT_FOUND || *self == Self::ENTITY_NOT_FOUND
    }

    /// Whether it asks for less load.
    pub(crate) fn is_throttling(&self) -> bool {
        *self == Self::SERVER_BUSY
            || *self == Self::TOO_MANY_REQUESTS
            // Cosmos DB names the status only.
            || *self == *"429"
    }

    /// The code as the service writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ErrorCode {
    fn from(code: String) -> Self {
        Self(Cow::Owned(code))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for ErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}
