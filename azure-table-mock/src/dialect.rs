//! The differences of Cosmos DB from Azure Storage.
//!
//! Handlers call these methods of the [`ServiceDialect`]. The rules follow recordings of Azure Cosmos DB for Table of 2020
//! to 2026 (`azure-table-emulator/docs/cosmos.md` lists the facts), and the [FAQ][faq] and the [quotas][quotas] where
//! the recordings are silent. Every other rule is that of Azure Storage.
//!
//! [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
//! [quotas]: https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits

mod failures;

use std::ops::Deref;

use http::header::{self, HeaderName};
use http::{Method, StatusCode};

pub(super) use self::failures::{BatchRefusal, BatchStep};
use super::core::ServiceClock;
use super::failure::Failure;
use super::json::{push_text, push_value};
use super::reply::{Protection, Reply};
use super::request::{EntityBody, Location, Request, Resource};
use super::store::{Condition, Properties, StoredKey, Version};
use crate::Dialect;
use crate::edm::{EdmCow, EdmDateTime};
use crate::limits::{self, LimitError};
use crate::wire::{Metadata, Operation, PayloadFormat};

/// The headers of the response to an operation in a batch, in their order.
static PART_HEADERS: [HeaderName; 4] = [
    header::ETAG,
    HeaderName::from_static("preference-applied"),
    header::LOCATION,
    header::CONTENT_TYPE,
];

/// The service that the mock imitates, with the rules that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ServiceDialect {
    #[default]
    AzureStorage,
    CosmosDb,
}

impl From<Dialect> for ServiceDialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::CosmosDb => Self::CosmosDb,
            _ => Self::AzureStorage,
        }
    }
}

/// The limits that clients check, too.
impl Deref for ServiceDialect {
    type Target = Dialect;

    fn deref(&self) -> &Dialect {
        match self {
            Self::AzureStorage => &Dialect::AzureStorage,
            Self::CosmosDb => &Dialect::CosmosDb,
        }
    }
}

impl ServiceDialect {
    pub(super) const fn is_cosmos(self) -> bool {
        matches!(self, Self::CosmosDb)
    }

    /// Checks what Cosmos DB refuses before it reads the resource.
    pub(super) fn check_request(self, request: &Request<'_>) -> Result<(), Failure> {
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
        // A merge must be a POST with `X-HTTP-Method`. One other merge refuses its whole batch.
        let is_merge =
            |request: &Request<'_>| matches!(request.raw.method.as_str(), "PATCH" | "MERGE");
        if is_merge(request) || request.batch_operations().any(is_merge) {
            return Err(Failure::invalid_input());
        }
        Ok(())
    }

    /// The format of a response of Cosmos DB. It must be JSON, and `*/*` is not JSON. Deletions have no format.
    pub(super) fn format(self, request: &Request<'_>) -> Option<Result<PayloadFormat, Failure>> {
        if !self.is_cosmos() {
            return None;
        }
        if request.verb() == Ok("DELETE") {
            return Some(Ok(PayloadFormat::Json(Metadata::Minimal)));
        }
        let level = accepted(request).map(|(_, level)| PayloadFormat::Json(level));
        Some(level.ok_or_else(Failure::media_type_not_supported))
    }

    /// Whether the service has shared access signatures with a user delegation key. Cosmos DB does not.
    pub(super) const fn has_user_delegation(self) -> bool {
        !self.is_cosmos()
    }

    /// The largest `$top`. Cosmos DB has [no limit][faq].
    ///
    /// [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
    pub(super) const fn max_top(self) -> usize {
        match self {
            Self::AzureStorage => 1000,
            Self::CosmosDb => usize::MAX,
        }
    }

    /// The largest number of changes in a batch. Cosmos DB applied 101 (recorded in `test_batch_too_many_ops` in April 2021);
    /// its own limit is not known, and this one bounds the memory of a batch.
    pub(super) const fn max_changes(self) -> usize {
        match self {
            Self::AzureStorage => 100,
            Self::CosmosDb => 1000,
        }
    }

    /// Whether a location refuses writes. Cosmos DB accepts them at both (recorded in `test_table_client_location_mode`).
    pub(super) fn is_read_only(self, location: Location) -> bool {
        !self.is_cosmos() && location == Location::Secondary
    }

    /// Whether a batch may have several changes of one row. Cosmos DB applies them in their order (recorded for
    /// merges in `test_batch_same_row_operations_fail`).
    pub(super) const fn repeats_rows(self) -> bool {
        self.is_cosmos()
    }

    /// Checks the name of a table before it is created.
    pub(super) fn check_new_table_name(self, name: &str) -> Result<(), Failure> {
        match self {
            Self::AzureStorage => Ok(self.check_own_table_name(name)?),
            Self::CosmosDb => failures::check_new_table_name(name),
        }
    }

    /// Checks the name of a table in a URL. Cosmos DB checks only that it is not empty and has no slash, and searches for
    /// the table; a bad name changes the failure of the search (`failures::of_bad_name`).
    pub(super) fn check_table_name_in_url(self, name: &str) -> Result<(), Failure> {
        match self {
            Self::AzureStorage => Ok(self.check_table_name(name)?),
            Self::CosmosDb if name.is_empty() || name.contains('/') => {
                Err(Failure::invalid_input())
            }
            Self::CosmosDb => Ok(()),
        }
    }

    /// Like [`check_table_name_in_url`](Self::check_table_name_in_url), without the tables of the service itself.
    pub(super) fn check_own_table_name_in_url(self, name: &str) -> Result<(), Failure> {
        match self {
            Self::AzureStorage => Ok(self.check_own_table_name(name)?),
            Self::CosmosDb => self.check_table_name_in_url(name),
        }
    }

    /// Checks the keys in the body of an update, which must be text in Cosmos DB (recorded in
    /// `test_encoder_update_entity_complex_keys`) and have no effect.
    pub(super) fn check_keys_of_update(self, body: &EntityBody<'_>) -> Result<(), Failure> {
        if self.is_cosmos() && body.has_typed_keys() {
            return Err(Failure::invalid_input());
        }
        Ok(())
    }

    /// Checks the keys of a new row by the rules that only Cosmos DB has.
    pub(super) fn check_new_key(self, key: &StoredKey) -> Result<(), Failure> {
        if !self.is_cosmos() {
            return Ok(());
        }
        if key.partition.is_empty() || key.row.is_empty() {
            return Err(Failure::properties_need_value());
        }
        Ok(self.check_keys(&key.partition, &key.row)?)
    }

    /// Checks a property. In Cosmos DB only the whole entity has a limit ([quotas]; recorded in
    /// `test_insert_entity_property_name_too_long`).
    ///
    /// [quotas]: https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits
    pub(super) fn check_new_property(self, name: &str, value: &EdmCow<'_>) -> Result<(), Failure> {
        match limits::check_property_name(name) {
            Err(LimitError::PropertyNameTooLong { .. }) if self.is_cosmos() => {}
            checked => checked?,
        }
        // The service accepts this name, which the client refuses.
        if name != "etag" {
            self.check_property(name)?;
        }
        match self {
            Self::AzureStorage => Ok(limits::check_value(name, value)?),
            Self::CosmosDb => Ok(()),
        }
    }

    /// The largest number of properties (recorded in `test_insert_entity_too_many_properties`).
    pub(super) const fn max_properties(self) -> usize {
        match self {
            Self::AzureStorage => limits::PROPERTIES,
            Self::CosmosDb => usize::MAX,
        }
    }

    /// Checks the size of an entity as JSON, by which Cosmos DB limits it.
    pub(super) fn check_json(
        self,
        key: &StoredKey,
        properties: &Properties<'_>,
    ) -> Result<(), Failure> {
        if !self.is_cosmos() {
            return Ok(());
        }
        let mut text = Vec::new();
        for (name, value) in properties {
            push_text(&mut text, name);
            push_value(&mut text, value);
            // The colon and the comma.
            text.extend_from_slice(b":,");
        }
        Ok(self.check_body(text.len() + key.partition.len() + key.row.len())?)
    }

    /// Removes the property that Cosmos DB does not store. The recorded bodies (`test_etag_duplicate_field`) have
    /// `etag` and then `Etag`, and only `etag` is stored. The mock drops every `Etag`; the service may instead store
    /// the first of two names that differ by case.
    pub(super) fn remove_system_properties(self, properties: &mut Properties<'_>) {
        if self.is_cosmos() {
            properties.retain(|(name, _)| name != "Etag");
        }
    }

    /// The condition of a write. The ETags of Cosmos DB have trailing zeros.
    pub(super) fn condition(self, condition: Condition<'_>) -> Condition<'_> {
        match condition {
            Condition::ETag(tag) if self.is_cosmos() => {
                time_of_etag(tag).map_or(condition, Condition::Time)
            }
            condition => condition,
        }
    }

    /// Whether a response repeats the version and the client's id of its request.
    pub(super) const fn repeats_headers(self) -> bool {
        !self.is_cosmos()
    }

    /// The reply for a failure in the form of Cosmos DB.
    pub(super) fn refusal(
        self,
        request: &Request<'_>,
        failure: &Failure,
        request_id: &str,
    ) -> Option<Reply> {
        self.is_cosmos().then(|| failures::refusal(request, failure, request_id))
    }

    /// Sets the headers of Cosmos DB in a response.
    pub(super) fn finish_reply(
        self,
        request: &Request<'_>,
        reply: &mut Reply,
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
    pub(super) fn part_headers(reply: &Reply, number: usize) -> Vec<(&str, Vec<u8>)> {
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
fn accepted(request: &Request<'_>) -> Option<(String, Metadata)> {
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
