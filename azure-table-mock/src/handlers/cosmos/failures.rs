//! The failures of Cosmos DB: their codes, messages and media types.

use std::borrow::Cow;

use super::accepted;
use crate::dialect::ServiceDialect;
use crate::failure::{Failure, Stage};
use crate::json::push_text;
use crate::reply::{Protection, ResponseDraft};
use crate::request::{Headers, ParsedRequest, Resource};
use crate::wire::Operation;
use azure_table_protocol::dialect::{NameFault, cosmos_name_fault};
use http::{HeaderValue, StatusCode, header};

/// The media type of failures that are found before the accepted format is read.
const DEFAULT_MEDIA_TYPE: HeaderValue =
    HeaderValue::from_static("application/json;odata=fullmetadata");

/// The recorded text, without the payload that it repeats.
const FORBIDDEN: &str = "The input authorization token can't serve the request. Please check that the expected payload is \
    built as per the protocol, and check the key being used. Server used the following payload to sign: ''";
const INVALID_URL: &str = "Request url is invalid.";
const UNAUTHORIZED: &str = "The input authorization token can't serve the request. The wrong key is being used or the \
    expected payload is not built as per the protocol.";
const TOO_MANY_REQUESTS: &str = "Message: {\"Errors\":[\"Request rate is large. More Request Units may be needed, \
    so no changes were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429\"]}";

impl ServiceDialect {
    /// The failure of a changeset with `count` operations, which the operation at this index caused.
    pub(crate) fn refuse_changeset(
        self,
        step: BatchStep,
        failure: Failure,
        index: usize,
        count: usize,
    ) -> BatchRefusal {
        use BatchRefusal::{Batch, Operation};
        match (self, step) {
            (Self::AzureStorage, BatchStep::Group) => Operation(failure.at(index)),
            (Self::AzureStorage, BatchStep::Table) => {
                Operation(Failure { stage: Stage::Preparation, ..failure }.at(index))
            }
            // The message of a changeset with one operation has an index only if an input is invalid.
            (Self::AzureStorage, BatchStep::Check) if failure.code == "InvalidInput" => {
                Operation(failure.at(index))
            }
            (Self::AzureStorage, _) if count <= 1 => Operation(failure),
            (Self::AzureStorage, _) => Operation(failure.at(index)),
            // Cosmos DB checks all operations before it accepts the batch (recorded for PATCH).
            (Self::CosmosDb, BatchStep::Group) => Batch(failure.at(index)),
            (Self::CosmosDb, BatchStep::Check) => Batch(failure),
            (Self::CosmosDb, BatchStep::Table) => Operation(failure),
            (Self::CosmosDb, BatchStep::Write) => {
                let failure = failure.at(index);
                Operation(Failure { message: format!("{}\n", failure.message).into(), ..failure })
            }
        }
    }
}

/// The step in which a changeset failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchStep {
    /// The check of a single operation.
    Check,
    /// The check that the operations belong together.
    Group,
    /// The search for the table.
    Table,
    /// The change of the rows.
    Write,
}

/// The effect of a failed operation.
#[derive(Debug)]
pub(crate) enum BatchRefusal {
    /// The service accepts the batch and responds to this operation with the failure.
    Operation(Failure),
    /// The failure is the response to the whole batch.
    Batch(Failure),
}

/// The failure of a request whose URL has the bad name of a table, which therefore does not exist (recorded in
/// `test_table_name_errors_bad_chars`).
fn of_bad_name(name: &str, operation: Operation) -> Option<Failure> {
    let (status, code, message) = match (cosmos_name_fault(name)?, operation) {
        (NameFault::LengthOrReserved, _) => return None,
        (NameFault::Character(_), Operation::DeleteTable) => {
            (StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "RequestHandler.Delete")
        }
        (NameFault::Character(_) | NameFault::LastSpace, _) => {
            (StatusCode::UNAUTHORIZED, "Unauthorized", UNAUTHORIZED)
        }
    };
    let (code, message) = (code.into(), message.into());
    Some(Failure { status, code, message, ..Failure::invalid_input() })
}

/// The reply for a failure.
pub(super) fn refusal(
    request: &ParsedRequest<'_>,
    failure: &Failure,
    request_id: &str,
) -> ResponseDraft {
    let failure = in_cosmos(failure.clone(), request);
    let message = match failure.status {
        // The Table layer responds to these itself, and passes on the others from the layer below it.
        StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
            format!("{}\nRequestID:{request_id}\n", failure.message)
        }
        _ => format!(
            "{}\r\nActivityId: {request_id}, documentdb-dotnet-sdk/2.11.0 Host/64-bit \
             MicrosoftWindowsNT/6.2.9200.0\nRequestID:{request_id}\n",
            failure.message
        ),
    };
    let mut body = b"{\"odata.error\":{\"code\":".to_vec();
    push_text(&mut body, &failure.code);
    body.extend_from_slice(b",\"message\":{\"lang\":\"en-us\",\"value\":");
    push_text(&mut body, &message);
    body.extend_from_slice(b"}}}");
    let mut reply = ResponseDraft::new(failure.status, body);
    let kind = accepted(request).filter(|_| has_accepted_format(request, &failure));
    let kind = kind.and_then(|(kind, _)| HeaderValue::try_from(kind).ok());
    reply.set(header::CONTENT_TYPE, kind.unwrap_or(DEFAULT_MEDIA_TYPE));
    reply.protection = Protection::None;
    reply.failure = Some(failure);
    reply
}

/// Whether a failure has the media type that the request accepts: that of a read, and that of an insert or an upsert
/// whose body is valid.
fn has_accepted_format(request: &ParsedRequest<'_>, failure: &Failure) -> bool {
    if matches!(request.raw.headers, Headers::Operation(_)) {
        return false;
    }
    match request.operation_or_other() {
        Operation::Get | Operation::Query | Operation::ListTables | Operation::GetTable => true,
        Operation::Insert
        | Operation::CreateTable
        | Operation::InsertOrReplace
        | Operation::InsertOrMerge => match failure.status {
            // The layer below refuses the length of a name.
            StatusCode::BAD_REQUEST => failure.code == "BadRequest",
            status => status != StatusCode::UNSUPPORTED_MEDIA_TYPE,
        },
        _ => false,
    }
}

/// The failure of Cosmos DB in place of that of Azure Storage. Other failures were not recorded.
fn in_cosmos(failure: Failure, request: &ParsedRequest<'_>) -> Failure {
    let operation = request.operation_or_other();
    let table = request.resource().ok().and_then(Resource::table);
    if let (StatusCode::NOT_FOUND, Some(name)) = (failure.status, table)
        && let Some(failure) = of_bad_name(name, operation)
    {
        return failure;
    }
    let with = |message: &'static str| Failure { message: message.into(), ..failure.clone() };
    // A URL without an operation is invalid, and a deletion of a table has no other input.
    let is_in_url = matches!(
        operation,
        Operation::Query
            | Operation::ListTables
            | Operation::Get
            | Operation::DeleteTable
            | Operation::Other
    );
    match (failure.status, &*failure.code) {
        (StatusCode::NOT_FOUND, "TableNotFound") => Failure::resource_not_found(),
        // The name of a new table.
        (StatusCode::BAD_REQUEST, "InvalidResourceName") => {
            Failure { code: "InvalidInput".into(), ..failure }
        }
        // Recorded in 2020 and 2021 for a wrong key; a signature without the permission has the same response.
        (StatusCode::FORBIDDEN, "AuthenticationFailed" | "AuthorizationPermissionMismatch") => {
            Failure {
                code: "Forbidden".into(),
                // A sentence about the clock stays.
                message: [Failure::authentication_failed(), Failure::permission_mismatch()]
                    .iter()
                    .fold(failure.message.to_string(), |message, known| {
                        message.replacen(&*known.message, FORBIDDEN, 1)
                    })
                    .into(),
                ..failure
            }
        }
        (StatusCode::CONFLICT, "TableAlreadyExists") => with("The specified table already exists."),
        (StatusCode::BAD_REQUEST, "PropertiesNeedValue") => {
            with("PartitionKey/RowKey cannot be empty")
        }
        (StatusCode::BAD_REQUEST, "InvalidInput") if is_in_url => with(INVALID_URL),
        (StatusCode::BAD_REQUEST, "InvalidInput") => with("One of the input values is invalid."),
        // The status of Azure Cosmos DB for an item that is too large.
        (StatusCode::BAD_REQUEST, "EntityTooLarge") => Failure::body_too_large(),
        (StatusCode::NOT_IMPLEMENTED, "NotImplemented") => {
            with("The requested operation is not supported.")
        }
        (StatusCode::TOO_MANY_REQUESTS, code) => {
            // Both codes were recorded: this one for the creation of a table, and the other one for a query.
            let code = match code {
                "TooManyRequests" if operation == Operation::CreateTable => Cow::Borrowed("429"),
                _ => failure.code.clone(),
            };
            Failure { code, ..with(TOO_MANY_REQUESTS) }
        }
        _ => failure,
    }
}
