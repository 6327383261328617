//! The differences of Cosmos DB from Azure Storage.
//!
//! Handlers call these methods of the [`ServiceDialect`]; those on requests and responses are in `handlers/cosmos.rs`. The
//! rules follow recordings of Azure Cosmos DB for Table of 2020 to 2026 (`azure-table-emulator/docs/cosmos.md` lists the
//! facts), and the [FAQ][faq] and the [quotas][quotas] where the recordings are silent. Every other rule is that of Azure
//! Storage.
//!
//! [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
//! [quotas]: https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits

mod names;

use std::ops::Deref;

use crate::Dialect;
use crate::edm::EdmCow;
use crate::failure::Failure;
use crate::json::{push_text, push_value};
use crate::limits::{self, LimitError};
use crate::row::{Properties, StoredKey};
use crate::wire::Location;

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

    /// Whether comparisons with the Timestamp work. In Cosmos DB they hold for no row ([azure-sdk-for-net#32468][timestamp]).
    ///
    /// [timestamp]: https://github.com/Azure/azure-sdk-for-net/issues/32468
    pub(super) const fn compares_timestamps(self) -> bool {
        !self.is_cosmos()
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
            Self::CosmosDb => names::check_new_table_name(name),
        }
    }

    /// Checks the name of a table in a URL. Cosmos DB checks only that it is not empty and has no slash, and searches for
    /// the table; a bad name changes the failure of the search.
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
        self.check_new_name(name)?;
        self.check_value(name, value)
    }

    pub(super) fn check_new_name(self, name: &str) -> Result<(), Failure> {
        match limits::check_property_name(name) {
            Err(LimitError::PropertyNameTooLong { .. }) if self.is_cosmos() => {}
            checked => checked?,
        }
        match name {
            // Public reports have this response for these names.
            "id" | "ttl" | "ETag" if self.is_cosmos() => return Err(Failure::internal_error()),
            // The service accepts this name, which the client refuses.
            "etag" => {}
            _ => self.check_property(name)?,
        }
        Ok(())
    }

    pub(super) fn check_value(self, name: &str, value: &EdmCow<'_>) -> Result<(), Failure> {
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

    /// Whether a response repeats the version and the client's id of its request.
    pub(super) const fn repeats_headers(self) -> bool {
        !self.is_cosmos()
    }
}
