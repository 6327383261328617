//! The differences between the services that implement the protocol.
//!
//! The rules of Cosmos DB were not tested on an account. Their sources are
//! [the FAQ][faq] of Azure Cosmos DB for Table, its [quotas][quotas], [Azure/azure-sdk-for-net#13555][merge], and
//! the table names that the official Python client accepts (`_COSMOS_VALID_TABLE` in its `_error.py`).
//!
//! [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
//! [quotas]: https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits
//! [merge]: https://github.com/Azure/azure-sdk-for-net/issues/13555

use crate::limits::{self, EntitySize, LimitError, PARTITION_KEY, ROW_KEY};

/// The service behind an endpoint: Azure Storage or Cosmos DB.
///
/// A client recognizes Cosmos DB by hosts such as `….table.cosmos.azure.com`, and treats every other endpoint
/// as Azure Storage, including emulators (Azurite, `azure-table-emulator`). Set the dialect of custom domains and of
/// the emulator of Cosmos DB with `TableServiceClientBuilder::dialect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// Azure Table Storage, and emulators of it.
    #[default]
    AzureStorage,
    /// Azure Cosmos DB for Table.
    CosmosDb,
}

/// The limit on the bytes of a RowKey, which is the item's id ([quotas]). The [FAQ][faq] states 255, so the
/// service decides about keys between the two limits.
///
/// [quotas]: https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits
/// [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
const COSMOS_ROW_KEY_BYTES: usize = 1023;
const COSMOS_PARTITION_KEY_BYTES: usize = 2048;
const COSMOS_TABLE_NAME_CHARS: usize = 254;
/// The limit on the bytes of an item as JSON.
const COSMOS_ENTITY_BYTES: usize = 2 * 1024 * 1024;
const COSMOS_TRANSACTION_BYTES: usize = 2 * 1024 * 1024;
/// The names of Cosmos DB's system properties. The [FAQ][faq] lists `etag`. The recordings have one body with
/// `etag` and then `Etag`, of which the service stores the first one and drops the second one without an error, so
/// either `Etag` is reserved, or only the first of two names that differ by case is stored. Public reports have a 500 for
/// `id` and `ttl` (azure-docs#67880) and for `ETag` (azure-sdk-for-net#21405), and a table that could not be read any more
/// (cosmos-table-dotnet#65). The client refuses all of them.
///
/// [faq]: https://learn.microsoft.com/azure/cosmos-db/table/faq
const COSMOS_PROPERTIES: [&str; 8] =
    ["ID", "rid", "etag", "Etag", "ResourceId", "id", "ttl", "ETag"];

#[doc(hidden)]
impl Dialect {
    /// Returns the dialect of an endpoint with this host.
    pub fn of_host(host: &str) -> Self {
        let is_cosmos = [".table.cosmos.", ".table.cosmosdb."].iter().any(|of| host.contains(of));
        if is_cosmos { Self::CosmosDb } else { Self::AzureStorage }
    }

    /// The name of the service in OpenTelemetry's conventions.
    pub const fn system(self) -> &'static str {
        match self {
            Self::AzureStorage => "azure.table_storage",
            Self::CosmosDb => "azure.cosmosdb",
        }
    }

    /// The name of the service in errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AzureStorage => "Azure Storage",
            Self::CosmosDb => "Cosmos DB",
        }
    }

    /// Whether the service returns rows in key order.
    pub const fn has_key_order(self) -> bool {
        matches!(self, Self::AzureStorage)
    }

    /// The limit on the comparisons of a filter. No source names one for Cosmos DB.
    pub const fn max_comparisons(self) -> Option<usize> {
        match self {
            Self::AzureStorage => Some(limits::COMPARISONS),
            Self::CosmosDb => None,
        }
    }

    /// The limit on the bytes of the body of an entity group transaction.
    pub const fn transaction_bytes(self) -> usize {
        match self {
            Self::AzureStorage => limits::TRANSACTION_BYTES,
            Self::CosmosDb => COSMOS_TRANSACTION_BYTES,
        }
    }

    /// Checks the name of a table.
    pub fn check_table_name(self, name: &str) -> Result<(), LimitError> {
        match self {
            Self::AzureStorage => limits::check_table_name(name),
            Self::CosmosDb => check_cosmos_table_name(name),
        }
    }

    /// Returns the same text for all names of one table.
    pub fn table_identity(self, name: &str) -> String {
        match self {
            Self::AzureStorage => name.to_ascii_lowercase(),
            Self::CosmosDb => name.to_owned(),
        }
    }

    /// Checks the name of a table before it is created or deleted.
    pub fn check_own_table_name(self, name: &str) -> Result<(), LimitError> {
        match self {
            Self::AzureStorage => limits::check_own_table_name(name),
            Self::CosmosDb => check_cosmos_table_name(name),
        }
    }

    /// Checks both keys.
    pub fn check_keys(self, partition_key: &str, row_key: &str) -> Result<(), LimitError> {
        for (property, key, most) in [
            (PARTITION_KEY, partition_key, COSMOS_PARTITION_KEY_BYTES),
            (ROW_KEY, row_key, COSMOS_ROW_KEY_BYTES),
        ] {
            limits::check_key(property, key)?;
            if self == Self::CosmosDb && key.len() > most {
                let bytes = key.len();
                return Err(LimitError::KeyTooLongForCosmos { property, bytes, most });
            }
        }
        Ok(())
    }

    /// Checks that the name of a property does not belong to the service.
    #[inline]
    pub fn check_property(self, name: &str) -> Result<(), LimitError> {
        if self == Self::CosmosDb && COSMOS_PROPERTIES.contains(&name) {
            return Err(LimitError::PropertyNameReserved { property: name.to_owned() });
        }
        Ok(())
    }

    /// Checks the size of an entity by the formula of Azure Storage.
    pub fn check_size(self, size: EntitySize) -> Result<(), LimitError> {
        match self {
            Self::AzureStorage => at_most(size.bytes(), limits::ENTITY_BYTES),
            Self::CosmosDb => Ok(()),
        }
    }

    /// Checks the size of an entity by the bytes of its body, which is the rule of Cosmos DB.
    pub fn check_body(self, bytes: usize) -> Result<(), LimitError> {
        match self {
            Self::AzureStorage => Ok(()),
            Self::CosmosDb => at_most(bytes, COSMOS_ENTITY_BYTES),
        }
    }
}

fn at_most(bytes: usize, most: usize) -> Result<(), LimitError> {
    if bytes > most {
        return Err(LimitError::EntityTooLarge { bytes, most });
    }
    Ok(())
}

fn check_cosmos_table_name(name: &str) -> Result<(), LimitError> {
    match cosmos_name_fault(name) {
        None => Ok(()),
        Some(_) => Err(LimitError::TableNameForCosmos { name: name.to_owned() }),
    }
}

/// The rule of Cosmos DB that the name of a table breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFault {
    /// The first character that no name may have.
    Character(char),
    /// A space at the end.
    LastSpace,
    /// The length, or a name that the service uses itself.
    LengthOrReserved,
}

/// Returns the first rule that the name of a table breaks.
pub fn cosmos_name_fault(name: &str) -> Option<NameFault> {
    let is_length_valid = (1..=COSMOS_TABLE_NAME_CHARS).contains(&name.chars().count());
    // The service uses these names in its own paths.
    let is_reserved = name.eq_ignore_ascii_case("Tables") || matches!(name, "$batch" | "." | "..");
    match name.chars().find(|character| matches!(character, '/' | '\\' | '#' | '?')) {
        Some(character) => Some(NameFault::Character(character)),
        None if name.ends_with(' ') => Some(NameFault::LastSpace),
        None if !is_length_valid || is_reserved => Some(NameFault::LengthOrReserved),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edm::EdmCow;

    #[test]
    fn a_host_determines_the_dialect() {
        for (host, dialect) in [
            ("me.table.core.windows.net", Dialect::AzureStorage),
            ("127.0.0.1", Dialect::AzureStorage),
            ("tables.example.com", Dialect::AzureStorage),
            ("me.table.cosmos.azure.com", Dialect::CosmosDb),
            ("me.table.cosmosdb.azure.com", Dialect::CosmosDb),
            ("me.table.cosmos.azure.cn", Dialect::CosmosDb),
        ] {
            assert_eq!(Dialect::of_host(host), dialect, "{host}");
        }
    }

    #[test]
    fn cosmos_db_has_its_own_limits() {
        let cosmos = Dialect::CosmosDb;
        for good in ["a", "my-table", "Tabelle 1", &"t".repeat(254)] {
            assert_eq!(cosmos.check_table_name(good), Ok(()), "{good}");
        }
        for bad in ["", "a/b", "a ", "a\\b", "a#", "a?", "tables", "..", &"t".repeat(255)] {
            assert!(cosmos.check_table_name(bad).is_err(), "{bad}");
        }
        assert!(Dialect::AzureStorage.check_table_name("my-table").is_err());
        assert_eq!(cosmos.check_keys("p", &"r".repeat(1023)), Ok(()));
        let error = cosmos.check_keys("p", &"r".repeat(1024)).unwrap_err().to_string();
        assert_eq!(error, "RowKey has 1024 bytes; Cosmos DB allows at most 1023");
        assert_eq!(Dialect::AzureStorage.check_keys("p", &"r".repeat(1024)), Ok(()));
        assert!(cosmos.check_keys(&"é".repeat(1024), "r").is_ok());
        assert!(cosmos.check_keys(&"日".repeat(700), "r").is_err());
        assert!(cosmos.check_keys("a/b", "r").is_err());
        for name in ["Etag", "etag", "ETag", "id", "ttl"] {
            assert!(cosmos.check_property(name).is_err(), "{name}");
        }
        assert!(cosmos.check_property("Id").is_ok() && cosmos.check_property("_ts").is_ok());
        assert!(Dialect::AzureStorage.check_property("Etag").is_ok());
        assert_eq!(cosmos.check_body(2 * 1024 * 1024), Ok(()));
        let error = cosmos.check_body(2 * 1024 * 1024 + 1).unwrap_err().to_string();
        assert_eq!(error, "the entity has 2097153 bytes; at most 2097152 are allowed");
        let mut size = EntitySize::of_keys("p", "r");
        for _ in 0..17 {
            size.add("P", &EdmCow::String("x".repeat(32_768).into()));
        }
        assert!(Dialect::AzureStorage.check_size(size).is_err());
        assert_eq!(cosmos.check_size(size), Ok(()));
    }
}
