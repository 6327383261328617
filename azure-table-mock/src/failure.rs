//! The service's failures: status, code and message.
//!
//! Source: [Table service error codes][codes]. The messages come from recordings of the service, from its
//! old emulator, or from the documentation, in this order of precedence.
//!
//! [codes]: https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes

use std::borrow::Cow;
use std::net::IpAddr;

use http::StatusCode;

use crate::edm::EdmDateTime;
use crate::limits::{KEY_UTF16_UNITS, LimitError};
use crate::wire::xml_tree::InvalidXml;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) code: Cow<'static, str>,
    pub(super) message: Cow<'static, str>,
    pub(super) stage: Stage,
}

/// The stage of a request at which the service refuses it. The headers of the response depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The version, which decides how everything else is read (recorded in `test_set_logging`).
    Version,
    /// The front end, which authenticates requests (recorded in `test_new_invalid_key`).
    FrontEnd,
    /// The steps before the operation: parsing the filter (recorded in `test_query_invalid_filter`), and finding the
    /// table of a batch (recorded in `test_new_non_existent_table`).
    Preparation,
    /// The operation itself.
    Operation,
}

impl Stage {
    /// Returns `true` before the Table service itself, whose responses repeat the version of the request and state the
    /// level of JSON.
    pub(super) const fn is_before_tables(self) -> bool {
        matches!(self, Self::Version | Self::FrontEnd)
    }
}

macro_rules! failures {
    ($stage:ident: $($name:ident: $status:ident, $code:literal, $message:literal;)*) => {
        impl Failure {
            $(pub(super) const fn $name() -> Self {
                Self {
                    status: StatusCode::$status,
                    code: Cow::Borrowed($code),
                    message: Cow::Borrowed($message),
                    stage: Stage::$stage,
                }
            })*
        }
    };
}

failures! {
    Version:
    invalid_version: BAD_REQUEST, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.";
}

failures! {
    FrontEnd:
    authentication_failed: FORBIDDEN, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    invalid_authentication_info: BAD_REQUEST, "InvalidAuthenticationInfo", "Authentication information is not given in the correct format. Check the value of Authorization header.";
    invalid_token: UNAUTHORIZED, "InvalidAuthenticationInfo", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    no_authentication_information: UNAUTHORIZED, "NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
}

failures! {
    Operation:
    atom_not_supported: UNSUPPORTED_MEDIA_TYPE, "AtomFormatNotSupported", "Atom format is not supported.";
    authorization_failure: FORBIDDEN, "AuthorizationFailure", "This request is not authorized to perform this operation.";
    both_conditions: BAD_REQUEST, "InvalidInput", "Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. Please specify either one of the headers or none of them.";
    body_too_large: PAYLOAD_TOO_LARGE, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.";
    condition_not_met: PRECONDITION_FAILED, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.";
    cors_preflight: FORBIDDEN, "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.";
    different_partitions: BAD_REQUEST, "CommandsInBatchActOnDifferentPartitions", "All commands in a batch must operate on same entity group.";
    duplicate_properties: BAD_REQUEST, "DuplicatePropertiesSpecified", "A property is specified more than once.";
    duplicate_row: BAD_REQUEST, "InvalidDuplicateRow", "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    entity_already_exists: CONFLICT, "EntityAlreadyExists", "The specified entity already exists.";
    entity_too_large: BAD_REQUEST, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).";
    internal_error: INTERNAL_SERVER_ERROR, "InternalError", "Server encountered an internal error. Please try again after some time.";
    invalid_input: BAD_REQUEST, "InvalidInput", "One of the request inputs is not valid.";
    invalid_name: BAD_REQUEST, "InvalidResourceName", "The specifed resource name contains invalid characters.";
    invalid_query_value: BAD_REQUEST, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.";
    invalid_uri: BAD_REQUEST, "InvalidUri", "The requested URI does not represent any resource on the server.";
    invalid_xml: BAD_REQUEST, "InvalidXmlDocument", "XML specified is not syntactically valid.";
    invalid_xml_value: BAD_REQUEST, "InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.";
    json_verbose_not_supported: UNSUPPORTED_MEDIA_TYPE, "JsonVerboseFormatNotSupported", "JSON Verbose format is not supported.";
    json_not_supported: UNSUPPORTED_MEDIA_TYPE, "JsonFormatNotSupported", "JSON format is not supported.";
    media_type_not_supported: UNSUPPORTED_MEDIA_TYPE, "MediaTypeNotSupported", "None of the provided media types are supported";
    missing_cors_header: BAD_REQUEST, "InvalidHeaderValue", "A required CORS header is not present.";
    missing_header: BAD_REQUEST, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.";
    name_length: BAD_REQUEST, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.";
    not_implemented: NOT_IMPLEMENTED, "NotImplemented", "The requested operation is not implemented on the specified resource.";
    operation_timed_out: INTERNAL_SERVER_ERROR, "OperationTimedOut", "Operation could not be completed within the specified time.";
    out_of_range_query_value: BAD_REQUEST, "OutOfRangeQueryParameterValue", "One of the query parameters specified in the request URI is outside the permissible range.";
    out_of_range: BAD_REQUEST, "OutOfRangeInput", "One of the request inputs is out of range.";
    permission_mismatch: FORBIDDEN, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.";
    properties_need_value: BAD_REQUEST, "PropertiesNeedValue", "The values are not specified for all properties in the entity.";
    property_name_invalid: BAD_REQUEST, "PropertyNameInvalid", "The property name is invalid.";
    property_name_too_long: BAD_REQUEST, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).";
    property_too_large: BAD_REQUEST, "PropertyValueTooLarge", "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
    protocol_mismatch: FORBIDDEN, "AuthorizationProtocolMismatch", "This request is not authorized to perform this operation using this protocol.";
    resource_not_found: NOT_FOUND, "ResourceNotFound", "The specified resource does not exist.";
    resource_type_mismatch: FORBIDDEN, "AuthorizationResourceTypeMismatch", "This request is not authorized to perform this operation using this resource type.";
    server_busy: SERVICE_UNAVAILABLE, "ServerBusy", "The server is busy.";
    service_mismatch: FORBIDDEN, "AuthorizationServiceMismatch", "This request is not authorized to perform this operation using this service.";
    table_already_exists: CONFLICT, "TableAlreadyExists", "The table specified already exists.";
    table_being_deleted: CONFLICT, "TableBeingDeleted", "The specified table is being deleted. Try operation later.";
    table_not_found: NOT_FOUND, "TableNotFound", "The table specified does not exist.";
    too_many_changes: BAD_REQUEST, "InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set.";
    too_many_properties: BAD_REQUEST, "TooManyProperties", "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.";
    too_many_requests: TOO_MANY_REQUESTS, "TooManyRequests", "Too many requests were received.";
    unsupported_verb: METHOD_NOT_ALLOWED, "UnsupportedHttpVerb", "The resource doesn't support the specified HTTP verb.";
    update_condition: PRECONDITION_FAILED, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.";
    write_at_secondary: FORBIDDEN, "InsufficientAccountPermissions", "Write operations are not allowed.";
    x_method_count: BAD_REQUEST, "XMethodIncorrectCount", "More than one X-HTTP-Method is specified.";
    x_method_not_post: BAD_REQUEST, "XMethodNotUsingPost", "The request uses X-HTTP-Method with an Http verb other than POST.";
    x_method_value: BAD_REQUEST, "XMethodIncorrectValue", "The specified X-HTTP-Method is invalid.";
}

impl Failure {
    /// The failure of the operation at this index of a batch.
    pub(super) fn at(self, index: usize) -> Self {
        Self { message: format!("{index}:{}", self.message).into(), ..self }
    }

    /// The index in the message of a batch's failure. The message of a changeset with one operation may have none.
    pub(super) fn index(&self) -> Option<usize> {
        self.message.split_once(':').map_or(Some(0), |(index, _)| index.parse().ok().or(Some(0)))
    }

    /// The value of `If-Match` is not an ETag.
    pub(super) fn invalid_etag(value: &str) -> Self {
        let message = format!(
            "The etag value '{value}' specified in one of the request headers is not valid. \
             Please make sure only one etag value is specified and is valid."
        );
        Self { message: message.into(), ..Self::invalid_input() }
    }

    /// The verb cannot have `If-None-Match`.
    pub(super) fn if_none_match(verb: &str) -> Self {
        let message =
            format!("If-None-Match HTTP header cannot be specified for {verb} operations.");
        Self { message: message.into(), ..Self::invalid_input() }
    }

    /// The keys in a path are not those of an entity.
    pub(super) fn other_keys(table: &str) -> Self {
        let message = format!(
            "The number of keys specified in the URI does not match number of key properties for \
             the resource '{table}'."
        );
        Self { message: message.into(), ..Self::invalid_input() }
    }

    /// The same failure, which would not occur if the clock of the service were that of the clients.
    pub(super) fn due_to_clock(self, now: EdmDateTime, of_clients: EdmDateTime) -> Self {
        let message = format!(
            "{} The clock of this service was changed: it shows {now}, and that of the clients {of_clients}.",
            self.message
        );
        Self { message: message.into(), ..self }
    }

    /// The parser of queries refuses the text.
    pub(super) fn syntax(message: String) -> Self {
        Self { message: message.into(), stage: Stage::Preparation, ..Self::invalid_input() }
    }

    /// The signature does not allow this address.
    pub(super) fn source_ip_mismatch(address: IpAddr) -> Self {
        let message = format!(
            "This request is not authorized to perform this operation using this source IP {address}."
        );
        let code = Cow::Borrowed("AuthorizationSourceIPMismatch");
        Self { code, message: message.into(), ..Self::authorization_failure() }
    }

    /// The key has more than this many UTF-16 code units.
    pub(super) fn key_too_large(property: &str, max_units: usize) -> Self {
        let characters = match max_units {
            1024 => "1K".to_owned(),
            units => units.to_string(),
        };
        let message = format!(
            "The '{property}' property exceeds the maximum allowed key size ({}KB). It is a \
             UTF-16 encoded string and the maximum number of characters should be {characters} or less.",
            max_units / 512
        );
        Self { code: "KeyValueTooLarge".into(), message: message.into(), ..Self::invalid_input() }
    }
}

impl From<InvalidXml> for Failure {
    fn from(_: InvalidXml) -> Self {
        Self::invalid_xml()
    }
}

impl From<LimitError> for Failure {
    fn from(error: LimitError) -> Self {
        match error {
            LimitError::TableNameLength { .. } => Self::name_length(),
            LimitError::TableNameCharacter { .. }
            | LimitError::TableNameReserved
            | LimitError::TableOfService { .. }
            | LimitError::TableNameForCosmos { .. } => Self::invalid_name(),
            LimitError::KeyCharacter { .. } => Self::out_of_range(),
            LimitError::KeyTooLong { property, .. }
            | LimitError::KeyTooLongForCosmos { property, .. } => {
                Self::key_too_large(property, KEY_UTF16_UNITS)
            }
            LimitError::StringTooLong { .. } | LimitError::BinaryTooLong { .. } => {
                Self::property_too_large()
            }
            LimitError::PropertyNameTooLong { .. } => Self::property_name_too_long(),
            LimitError::TooManyProperties { .. } => Self::too_many_properties(),
            LimitError::EntityTooLarge { .. } => Self::entity_too_large(),
            LimitError::DuplicateProperty { .. } => Self::duplicate_properties(),
            // The other limits are about the characters of property names.
            _ => Self::property_name_invalid(),
        }
    }
}

#[cfg(test)]
impl Failure {
    /// Returns the code of a failure of the service itself.
    pub(super) fn known_code(self) -> &'static str {
        match self.code {
            Cow::Borrowed(code) => code,
            Cow::Owned(_) => "",
        }
    }
}
