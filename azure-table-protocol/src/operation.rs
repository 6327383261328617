//! The operations of the Table service, and the facts about each of them in one table.
//!
//! Sources, besides the page that each row links: [Create an account SAS][account] and [Create a service
//! SAS][service] for permissions, [Versioning for Azure Storage][versions] for the first versions.
//!
//! [account]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas
//! [service]: https://learn.microsoft.com/rest/api/storageservices/create-service-sas
//! [versions]: https://learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services

use std::fmt;

use Document::{Payload, Xml};
use Permissions::{AccountKey, AnyOf, PerMember};
use RetryClass::{Guarded, Read, Repeatable};
use Subject::{Entities, Entity, Service, Table, Tables};

use crate::version::ServiceVersion;

/// The effect of a second attempt of an operation whose first attempt was applied. The client's guide to errors explains the
/// classes to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryClass {
    /// The operation changes nothing.
    Read,
    /// A second attempt may be refused because the first one was applied.
    Guarded,
    /// A second attempt has the same effect as the first one.
    Repeatable,
}

/// The resource that an operation addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The service: its settings and statistics.
    Service,
    /// The list of tables.
    Tables,
    /// One table.
    Table,
    /// Entities of one table.
    Entities,
    /// One entity.
    Entity,
}

/// The format of the documents that an operation sends and receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// The payload format of the client or of the call.
    Payload,
    /// XML, regardless of the payload format.
    Xml,
}

/// The permissions that a shared access signature needs for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permissions {
    /// All letters of any one of these sets.
    AnyOf(&'static [&'static str]),
    /// The permissions of each operation in the batch.
    PerMember,
    /// No signature permits the operation. It needs the account's key, or a token of Entra ID.
    AccountKey,
}

/// The facts about one operation.
#[derive(Debug)]
struct Facts {
    name: &'static str,
    retry_class: RetryClass,
    subject: Subject,
    document: Document,
    since: ServiceVersion,
    permissions: Permissions,
}

/// Defines `Operation` and the facts about each variant. The last column is the page of the REST reference,
/// which the documentation of the variant links.
macro_rules! operations {
    ($(
        #[doc = $doc:literal]
        $name:ident: $retry_class:ident, $subject:ident, $document:ident, $since:ident, $permissions:expr
        $(, $reference:literal)?;
    )*) => {
        /// An operation of the Table service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Operation {
            $(
                #[doc = $doc]
                $(
                    #[doc = concat!(
                        "\n[REST reference](https://learn.microsoft.com/rest/api/storageservices/", $reference, ")"
                    )]
                )?
                $name,
            )*
        }

        /// In the order of the variants.
        const FACTS: &[Facts] = &[$(
            Facts {
                name: stringify!($name),
                retry_class: $retry_class,
                subject: $subject,
                document: $document,
                since: ServiceVersion::$since,
                permissions: $permissions,
            },
        )*];

        impl Operation {
            /// All operations, in the order of the variants.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        /// The page of the REST reference for each operation.
        #[cfg(test)]
        const REFERENCES: &[&[&str]] = &[$(&[$($reference)?]),*];
    };
}

operations! {
    /// Creates a table.
    CreateTable:          Guarded,    Table,    Payload, V2009_04_14, AnyOf(&["c", "w"]), "create-table";
    /// Deletes a table.
    DeleteTable:          Guarded,    Table,    Payload, V2009_04_14, AnyOf(&["d"]), "delete-table";
    /// Requests one table by name.
    GetTable:             Read,       Table,    Payload, V2009_04_14, AnyOf(&["l"]), "query-tables";
    /// Lists the tables.
    ListTables:           Read,       Tables,   Payload, V2009_04_14, AnyOf(&["l"]), "query-tables";
    /// Inserts an entity (POST).
    Insert:               Guarded,    Entity,   Payload, V2009_04_14, AnyOf(&["a"]), "insert-entity";
    /// Reads one entity by its keys.
    Get:                  Read,       Entity,   Payload, V2009_04_14, AnyOf(&["r"]), "query-entities";
    /// Queries the entities of a table.
    Query:                Read,       Entities, Payload, V2009_04_14, AnyOf(&["r"]), "query-entities";
    /// Changes the named properties of an entity that exists (MERGE with `If-Match`).
    Merge:                Guarded,    Entity,   Payload, V2009_04_14, AnyOf(&["u"]), "merge-entity";
    /// Replaces an entity that exists (PUT with `If-Match`).
    Replace:              Guarded,    Entity,   Payload, V2009_04_14, AnyOf(&["u"]), "update-entity2";
    /// Upserts an entity: MERGE without a condition.
    InsertOrMerge:        Repeatable, Entity,   Payload, V2011_08_18, AnyOf(&["au"]), "insert-or-merge-entity";
    /// Upserts an entity: PUT without a condition.
    InsertOrReplace:      Repeatable, Entity,   Payload, V2011_08_18, AnyOf(&["au"]), "insert-or-replace-entity";
    /// Deletes an entity.
    Delete:               Guarded,    Entity,   Payload, V2009_04_14, AnyOf(&["d"]), "delete-entity1";
    /// Commits an entity group transaction (`$batch`).
    Transaction:          Guarded,    Entities, Payload, V2009_04_14, PerMember, "performing-entity-group-transactions";
    /// Reads the replication status of the secondary.
    GetStats:             Read,       Service,  Xml,     V2013_08_15, AnyOf(&["r"]), "get-table-service-stats";
    /// Reads the stored access policies of a table.
    GetTableAcl:          Read,       Table,    Xml,     V2012_02_12, AccountKey, "get-table-acl";
    /// Sets the stored access policies of a table.
    SetTableAcl:          Repeatable, Table,    Xml,     V2012_02_12, AccountKey, "set-table-acl";
    /// Reads the settings of the service: logging, metrics, CORS.
    GetServiceProperties: Read,       Service,  Xml,     V2013_08_15, AnyOf(&["r"]), "get-table-service-properties";
    /// Sets the settings of the service.
    SetServiceProperties: Repeatable, Service,  Xml,     V2013_08_15, AnyOf(&["w"]), "set-table-service-properties";
    /// Requests a user delegation key, which signs shared access signatures for tables.
    GetUserDelegationKey: Read,       Service,  Xml,     V2025_07_05, AccountKey, "get-user-delegation-key";
    // The last row; a new operation is added before it.
    /// Any other request that a server receives; the client sends none.
    Other:                Guarded,    Service,  Payload, V2009_04_14, AccountKey;
}

impl Operation {
    const fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The name in errors, logs and traces.
    pub const fn as_str(self) -> &'static str {
        self.facts().name
    }
}

#[doc(hidden)]
impl Operation {
    /// Whether it changes anything.
    pub const fn is_write(self) -> bool {
        !matches!(self.retry_class(), Read)
    }

    pub const fn retry_class(self) -> RetryClass {
        self.facts().retry_class
    }

    pub const fn subject(self) -> Subject {
        self.facts().subject
    }

    /// Whether it writes one entity.
    pub const fn is_entity_write(self) -> bool {
        matches!(self.subject(), Entity) && self.is_write()
    }

    /// Whether it reads one entity.
    pub const fn is_entity_read(self) -> bool {
        matches!(self.subject(), Entity) && !self.is_write()
    }

    /// Whether it addresses one table or entities in it.
    pub const fn has_table(self) -> bool {
        matches!(self.subject(), Table | Entities | Entity)
    }

    pub const fn document(self) -> Document {
        self.facts().document
    }

    /// The first version of the service that has it.
    pub const fn since(self) -> ServiceVersion {
        self.facts().since
    }

    /// The version of its requests, if it is not the client's: no client has a default version that is as late.
    pub fn own_version(self) -> Option<ServiceVersion> {
        (self == Self::GetUserDelegationKey).then_some(self.since())
    }

    pub const fn permissions(self) -> Permissions {
        self.facts().permissions
    }

    /// The resource type that a shared access signature for an account needs; `None` if no signature
    /// permits the operation.
    pub fn resource_type(self) -> Option<&'static str> {
        (self.permissions() != AccountKey).then_some(match self.subject() {
            Service => "s",
            Tables | Table => "c",
            Entities | Entity => "o",
        })
    }

    /// Whether a shared access signature for a table can permit it. Such a signature reaches the entities of
    /// the table only.
    pub const fn is_on_entities(self) -> bool {
        matches!(self.subject(), Entities | Entity)
    }

    /// Returns whether only the secondary can respond: the primary does not know the replication status.
    pub const fn is_secondary_only(self) -> bool {
        matches!(self, Self::GetStats)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::auth::TablePermissions;

    #[test]
    fn the_table_is_complete() {
        assert_eq!(Operation::ALL.last(), Some(&Operation::Other));
        for (index, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(*operation as usize, index);
            assert_eq!(operation.as_str(), format!("{operation:?}"));
            let has_reference = !REFERENCES[index].is_empty();
            assert_eq!(has_reference, *operation != Operation::Other, "{operation}");
        }
        let names: HashSet<_> = Operation::ALL.iter().map(|operation| operation.as_str()).collect();
        assert_eq!(names.len(), FACTS.len());
    }

    #[test]
    fn permissions_on_entities_are_those_of_table_signatures() {
        for operation in Operation::ALL.iter().filter(|operation| operation.is_on_entities()) {
            let AnyOf(sets) = operation.permissions() else {
                assert_eq!(*operation, Operation::Transaction);
                continue;
            };
            for letters in sets {
                assert!(TablePermissions::from_letters(letters).is_some(), "{operation}");
            }
        }
    }
}
