use super::TableEntity;

/// A [`TableEntity`] with secondary indexes; the derive implements it.
///
/// It describes the indexes only. Nothing in this crate maintains them: the crate `azure-table-patterns` does.
///
/// | option of `index` | |
/// |---|---|
/// | `by = "email"`, `by = email` | The field, which is a single property: a part of a key needs `also_property`. A `read_only` field and one with `as_json` are refused. |
/// | `unique` | No two entities may have the same value. Write two unique indexes without quotes: with quotes, Clippy reports `duplicated_attributes`. |
/// | `in_partition` | The rows of the index are in the partition of each entity. Lookups then name the partition, and `unique` holds within it. |
///
/// ```
/// use azure_table_client::TableEntity;
/// use azure_table_client::entity::HasIndexes;
///
/// #[derive(TableEntity)]
/// #[table(name = "Users", index(by = "email", unique), index(by = "team", in_partition))]
/// struct User {
///     #[table(partition_key)]
///     tenant: String,
///     #[table(row_key)]
///     id: String,
///     #[table(rename = "Mail")]
///     email: String,
///     team: Option<String>,
/// }
///
/// let indexes = User::INDEXES.iter().map(|index| (index.property, index.unique, index.in_partition));
/// assert!(indexes.eq([("Mail", true, false), ("team", false, true)]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no indexes",
    label = "no index is declared",
    note = "write #[table(index(by = \"field\"))] on the struct, next to #[derive(TableEntity)]"
)]
pub trait HasIndexes: TableEntity {
    /// The indexes, in the order in which they are declared.
    #[doc(hidden)]
    const INDEXES: &'static [IndexDefinition];
}

/// A secondary index by one property; see [`HasIndexes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexDefinition {
    /// The name of the property.
    pub property: &'static str,
    /// Whether no two entities may have the same value.
    pub unique: bool,
    /// Whether the index is in the partition of each entity, and finds entities of one partition. A unique value is then
    /// unique in its partition.
    pub in_partition: bool,
}

impl IndexDefinition {
    #[doc(hidden)]
    pub const fn new(property: &'static str, unique: bool, in_partition: bool) -> Self {
        Self { property, unique, in_partition }
    }
}
