//! The rows that a table may hold, as the versions of a program so far have written them.

use azure_table_client::TableEntity;
use azure_table_client::entity::schema::{Kinds, Layout, Others, PropertySchema, Schema};

/// The stored form of the rows of a table: the current entity's, and the properties that earlier versions had.
///
/// `Display` writes the text of the snapshot file, and `FromStr` reads it.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The current form, without its kinds.
    pub(super) schema: Schema,
    /// The properties of earlier versions, which rows may still have.
    pub(super) removed: Vec<PropertySchema>,
    pub(super) kinds: Option<KindList>,
}

/// The entity kinds of an enum.
#[derive(Debug, Clone, Default)]
pub(super) struct KindList {
    pub(super) property: Option<String>,
    pub(super) list: Vec<(String, Snapshot)>,
    pub(super) has_other: bool,
}

impl Snapshot {
    /// Returns the snapshot of an entity without earlier versions.
    pub fn of<E: TableEntity>() -> Self {
        Self::from(E::schema())
    }

    /// Returns the snapshot after a change to `current`. It remembers the properties that `current` does not read, because
    /// rows may still have them, unless `current` refuses such rows.
    #[must_use]
    pub fn updated(&self, current: &Self) -> Self {
        let properties = &current.schema.properties;
        let is_read =
            |former: &&PropertySchema| properties.iter().any(|property| reads(property, former));
        // Such a change is incompatible: the rows were rewritten without the properties.
        let forgets = current.schema.others == Others::Refused;
        let former = self.schema.properties.iter().chain(&self.removed);
        let removed = former.filter(|former| !forgets && !is_read(former)).cloned();
        let mut updated = Self { removed: removed.collect(), ..current.clone() };
        // A version that does not describe its table or its keys leaves them as they were.
        let schema = &mut updated.schema;
        schema.table = schema.table.take().or_else(|| self.schema.table.clone());
        for (before, after) in [
            (&self.schema.partition_key, &mut schema.partition_key),
            (&self.schema.row_key, &mut schema.row_key),
        ] {
            if after.is_empty() {
                after.clone_from(before);
            }
        }
        if let (Some(before), Some(after)) = (&self.kinds, &mut updated.kinds) {
            for (name, kind) in &mut after.list {
                if let Some((_, before)) = before.list.iter().find(|(former, _)| former == name) {
                    *kind = before.updated(kind);
                }
            }
        }
        updated
    }
}

/// Whether a field reads the rows of a property of an earlier version.
fn reads(property: &PropertySchema, former: &PropertySchema) -> bool {
    let is_series = |property: &PropertySchema| matches!(property.layout, Layout::Series { .. });
    reads_name(property, &former.name)
        || property.name == former.name && is_series(property) && is_series(former)
}

/// Whether a field reads the property with this name.
pub(super) fn reads_name(property: &PropertySchema, name: &str) -> bool {
    property.name == name && property.layout == Layout::One
        || property.aliases.iter().any(|alias| alias == name)
        || claims(property, name)
}

/// Whether a name is one of the properties of a field that has several.
pub(super) fn claims(property: &PropertySchema, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(property.name.as_str()) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match property.layout {
        Layout::Series { .. } => is_number(rest),
        Layout::Split => {
            rest.is_empty() || rest == "_Parts" || rest.strip_prefix('_').is_some_and(is_number)
        }
        _ => false,
    }
}

impl From<Schema> for Snapshot {
    fn from(mut schema: Schema) -> Self {
        let kinds = schema.kinds.take().map(KindList::from);
        Self { schema, removed: Vec::new(), kinds }
    }
}

/// The current form, without the properties of earlier versions.
impl From<Snapshot> for Schema {
    fn from(snapshot: Snapshot) -> Self {
        let mut schema = snapshot.schema;
        schema.kinds = snapshot.kinds.map(|list| {
            let mut kinds = Kinds::default();
            kinds.property = list.property;
            kinds.list = list.list.into_iter().map(|(name, kind)| (name, kind.into())).collect();
            kinds.has_other = list.has_other;
            kinds
        });
        schema
    }
}

impl From<Kinds> for KindList {
    fn from(kinds: Kinds) -> Self {
        let list = kinds.list.into_iter().map(|(name, schema)| (name, schema.into()));
        Self { property: kinds.property, list: list.collect(), has_other: kinds.has_other }
    }
}
