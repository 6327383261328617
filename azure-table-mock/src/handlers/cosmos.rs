//! The requests and responses of Cosmos DB that differ from those of Azure Storage, as methods of the service's dialect.
//!
//! `azure-table-emulator/docs/cosmos.md` lists the rules that users meet, with their sources. The recordings also show the
//! form of the responses:
//!
//! | subject | form |
//! |---|---|
//! | headers | `Content-Type`, `ETag`, `Location`, `Preference-Applied`, `x-ms-request-id`, `Date`; none of `x-ms-version`, `Cache-Control`, `X-Content-Type-Options`, `DataServiceId` or `x-ms-client-request-id` |
//! | media type of a response | the accepted one as the request writes it: `application/json;odata=minimalmetadata`, without `streaming` and `charset`. The service of 2024 writes a space: `application/json; odata=fullmetadata`. |
//! | media type of an error | the accepted one for reads, and for inserts and creations with a valid body; otherwise `application/json;odata=fullmetadata` |
//! | PUT that accepts `*/*` | 415 `MediaTypeNotSupported`; a DELETE and a batch may accept anything |
//! | metadata of an entity | `…/Blogs/$metadata#Blogs/@Element`; a selection is not repeated |
//! | metadata of a page or table | `…/$metadata#Blogs`, after the rows or the name |
//! | order of members | `odata.type`, `odata.id`, `odata.editLink`, `odata.metadata`, `odata.etag`, PartitionKey, RowKey, the properties, Timestamp |
//! | times in bodies | seven digits: `2020-12-18T15:42:52.0000000Z` |
//! | upserts | 204 with `Content-Type`, which updates with `If-Match` do not have |
//! | error body | `{"odata.error":{"code":…,"message":{"lang":"en-us","value":"…\nRequestID:…\n"}}}`; statuses other than 404, 409 and 412 have a line with an `ActivityId` in the message |
//! | parts of a batch | `ETag`, `Preference-Applied`, `Location`, `Content-Type`, and a `Content-ID` that counts from 1 regardless of the request |
//! | a failed operation of a batch | one part without `Content-ID`. Its message always begins with the index: `0:The specified …`, except if the table is missing (recorded for merges and deletions). |

mod failures;

use http::header::{self, HeaderName};
use http::{Method, StatusCode};

pub(super) use self::failures::{BatchRefusal, BatchStep};
use crate::core::ServiceClock;
use crate::dialect::ServiceDialect;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::reply::{Protection, ResponseDraft};
use crate::request::{EntityBody, ParsedRequest, Resource};
use crate::store::{Precondition, Version};
use crate::wire::{Metadata, Operation, PayloadFormat};

/// The headers of the response to an operation in a batch, in their order.
static PART_HEADERS: [HeaderName; 4] = [
    header::ETAG,
    HeaderName::from_static("preference-applied"),
    header::LOCATION,
    header::CONTENT_TYPE,
];

impl ServiceDialect {
    /// Checks what Cosmos DB refuses before it reads the resource.
    pub(crate) fn check_request(self, request: &ParsedRequest<'_>) -> Result<(), Failure> {
        if !self.is_cosmos() {
            return Ok(());
        }
        let is_preflight = request.raw.method == Method::OPTIONS;
        // Recorded in `test_client_with_url_ends_with_table_name`, and for `/%2F%2F` in `test_table_name_errors_bad_chars`.
        let names_nothing = match request.resource() {
            Ok(Resource::BelowTable(_)) => true,
            Ok(Resource::Service) => request.raw.comp().is_none(),
            _ => false,
        };
        if names_nothing && !is_preflight {
            return Err(Failure::invalid_input());
        }
        // Access policies, and the properties and the statistics of the service.
        if request.is_xml() || is_preflight {
            return Err(Failure::not_implemented());
        }
        if request.operation() == Ok(Operation::Transaction)
            && request.raw.body.len() > self.transaction_bytes()
        {
            return Err(Failure::body_too_large());
        }
        // A merge must be a POST with `X-HTTP-Method`; in a batch, `Microsoft.Azure.Cosmos.Table` sends MERGE. One PATCH
        // refuses its whole batch.
        let is_patch = |request: &ParsedRequest<'_>| request.raw.method == "PATCH";
        let is_merge = request.raw.method == "MERGE";
        if is_merge || is_patch(request) || request.batch_operations().any(is_patch) {
            return Err(Failure::invalid_input());
        }
        Ok(())
    }

    /// The format of a response of Cosmos DB. It must be JSON, and `*/*` is not JSON. Deletions have no format.
    pub(crate) fn format(
        self,
        request: &ParsedRequest<'_>,
    ) -> Option<Result<PayloadFormat, Failure>> {
        if !self.is_cosmos() {
            return None;
        }
        if request.verb() == Ok("DELETE") {
            return Some(Ok(PayloadFormat::Json(Metadata::Minimal)));
        }
        let level = accepted(request).map(|(_, level)| PayloadFormat::Json(level));
        Some(level.ok_or_else(Failure::media_type_not_supported))
    }

    /// Checks the keys in the body of an update, which must be text in Cosmos DB (recorded in
    /// `test_encoder_update_entity_complex_keys`) and have no effect.
    pub(crate) fn check_keys_of_update(self, body: &EntityBody<'_>) -> Result<(), Failure> {
        if self.is_cosmos() && body.has_typed_keys() {
            return Err(Failure::invalid_input());
        }
        Ok(())
    }

    /// The URL of a resource in a header, in which Cosmos DB does not escape `@` (recorded in `test_url_encoding_at_symbol`).
    pub(crate) fn url_in_header(self, url: String) -> String {
        if self.is_cosmos() { url.replace("%40", "@") } else { url }
    }

    /// The condition of a write. The ETags of Cosmos DB have trailing zeros.
    pub(crate) fn condition(self, condition: Precondition<'_>) -> Precondition<'_> {
        match condition {
            Precondition::ETag(tag) if self.is_cosmos() => {
                time_of_etag(tag).map_or(condition, Precondition::Time)
            }
            condition => condition,
        }
    }

    /// The reply for a failure in the form of Cosmos DB.
    pub(crate) fn refusal(
        self,
        request: &ParsedRequest<'_>,
        failure: &Failure,
        request_id: &str,
    ) -> Option<ResponseDraft> {
        self.is_cosmos().then(|| failures::refusal(request, failure, request_id))
    }

    /// Sets the headers of Cosmos DB in a response.
    pub(crate) fn finish_reply(
        self,
        request: &ParsedRequest<'_>,
        reply: &mut ResponseDraft,
        clock: &ServiceClock,
    ) {
        if !self.is_cosmos() {
            return;
        }
        reply.protection = Protection::None;
        reply.remove(&HeaderName::from_static("dataserviceid"));
        let operation = request.operation_or_other();
        let is_upsert = matches!(operation, Operation::InsertOrReplace | Operation::InsertOrMerge)
            && reply.status == StatusCode::NO_CONTENT;
        let is_json = reply.header(&header::CONTENT_TYPE).is_some_and(|kind| {
            kind.as_bytes().starts_with(b"application/json") && reply.failure.is_none()
        });
        if (is_json || is_upsert)
            && let Some((kind, _)) = accepted(request)
        {
            reply.text_header(header::CONTENT_TYPE, kind);
        }
        if operation == Operation::CreateTable && reply.status.is_success() {
            reply.text_header(header::ETAG, Version::at(clock.edm_now()).etag_in(self));
        }
    }

    /// The headers of the response to an operation in a batch, with its number from 1 on.
    pub(crate) fn part_headers(reply: &ResponseDraft, number: usize) -> Vec<(&str, Vec<u8>)> {
        let named = |name: &'static HeaderName| {
            reply.header(name).map(|value| (name.as_str(), value.as_bytes().to_vec()))
        };
        let mut headers: Vec<_> = PART_HEADERS.iter().filter_map(named).collect();
        if reply.failure.is_none() {
            headers.push(("content-id", number.to_string().into_bytes()));
        }
        headers
    }
}

/// The media type of the response and its level: the first JSON type in `$format`, or else in `Accept`, as the
/// request writes it.
fn accepted(request: &ParsedRequest<'_>) -> Option<(String, Metadata)> {
    let option = request.raw.option("$format");
    let Some(accept) = option.as_deref().or_else(|| request.raw.header(&header::ACCEPT)) else {
        return Some((Metadata::Minimal.media_type().to_owned(), Metadata::Minimal));
    };
    let mut kinds = accept.split(',').map(str::trim);
    kinds.find_map(|kind| Some((kind.to_owned(), Metadata::of_media_type(kind)?)))
}

/// Reads the time in `W/"datetime'2017-11-10T02%3A43%3A55.7662660Z'"`.
fn time_of_etag(tag: &str) -> Option<EdmDateTime> {
    let quoted = tag.strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?;
    quoted.replace("%3A", ":").replace("%3a", ":").parse().ok()
}

#[cfg(test)]
mod tests;
