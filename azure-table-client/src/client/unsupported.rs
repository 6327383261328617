//! Methods that callers expect of a table or a transaction, and that have other names.
//!
//! They hold `&mut self`, so that a method `&self` of the same name in a trait of the program is found first.

use super::{Call, TableClient, Transaction};
use crate::entity::TableEntity;
use crate::operation::Written;

unsupported!(
    Upserts: "there is no `upsert`: an upsert either merges or replaces",
    "not a method of this type",
    "`insert_or_merge(&entity)` keeps the other properties of an existing row; `insert_or_replace(&entity)` removes them"
);
unsupported!(
    Updates: "there is no `update`: an update either merges or replaces, and has a condition",
    "not a method of this type",
    "`merge(&entity, &etag)` keeps the other properties of the row; `replace(&entity, &etag)` removes them; `IfMatch::Any` in place of the ETag accepts any version",
    "`update_with(key, |entity| …)` of a table reads the entity, changes it and writes it back by its version"
);
unsupported!(
    Exists: "there is no `exists`: a table has it for its rows and for itself",
    "not a method of this type",
    "`contains(key)` finds a row; `table_exists()` finds the table"
);
unsupported!(
    WritesMany: "a table writes many rows by a bulk run or by a transaction",
    "not a method of this type",
    "any number of rows: `table.bulk().run(rows.into_iter().map(BulkOperation::InsertOrReplace))`, with azure_table_client::bulk::BulkOperation",
    "up to 100 rows of one partition, all or none: `table.transaction().insert_or_replace(&a).insert_or_replace(&b)`"
);
unsupported!(
    DeletesMany: "a table deletes many rows by a bulk run or by a transaction",
    "not a method of this type",
    "rows that a query finds: `table.bulk().delete_found(query)`; a whole partition: `table.bulk().delete_partition(key)`; all rows: `table.bulk().truncate()`",
    "rows by their keys: `table.bulk().run(keys.map(|key| BulkOperation::DeleteIfExists(key, IfMatch::Any)))`, or `table.transaction().delete(key, &etag)` for up to 100 of one partition"
);

#[doc(hidden)]
impl<T: TableEntity> TableClient<T> {
    pub fn upsert<V>(&mut self, _: V) -> Call<Written>
    where
        T: Upserts,
    {
        T::unsupported()
    }

    pub fn update<V, M>(&mut self, _: V, _: M) -> Call<Written>
    where
        T: Updates,
    {
        T::unsupported()
    }

    pub fn exists<K>(&mut self, _: K) -> Call<bool>
    where
        T: Exists,
    {
        T::unsupported()
    }

    pub fn insert_many<V>(&mut self, _: V) -> Call<()>
    where
        T: WritesMany,
    {
        T::unsupported()
    }

    pub fn insert_or_merge_many<V>(&mut self, _: V) -> Call<()>
    where
        T: WritesMany,
    {
        T::unsupported()
    }

    pub fn insert_or_replace_many<V>(&mut self, _: V) -> Call<()>
    where
        T: WritesMany,
    {
        T::unsupported()
    }

    pub fn upsert_many<V>(&mut self, _: V) -> Call<()>
    where
        T: WritesMany,
    {
        T::unsupported()
    }

    pub fn delete_many<K>(&mut self, _: K) -> Call<()>
    where
        T: DeletesMany,
    {
        T::unsupported()
    }
}

#[doc(hidden)]
impl<T: TableEntity> Transaction<T> {
    pub fn upsert<V>(&mut self, _: V) -> Self
    where
        T: Upserts,
    {
        T::unsupported()
    }

    pub fn update<V, M>(&mut self, _: V, _: M) -> Self
    where
        T: Updates,
    {
        T::unsupported()
    }
}
