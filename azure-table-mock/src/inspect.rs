//! Direct access to the stored tables, for assertions in tests and for the page of the emulator.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::ETag;
use crate::edm::EdmCow;
use crate::entity::DynamicEntity;
use crate::key::EntityKey;
use crate::service::TableService;
use crate::store::{StoredEntity, Table};

impl TableService {
    /// Returns the names of the tables, in order.
    pub fn table_names(&self) -> Vec<String> {
        self.deliver_due();
        self.core().store.read().tables().map(|table| table.name().to_string()).collect()
    }

    /// Returns the number of rows of a table, or `None` if the table does not exist.
    pub fn row_count(&self, table: &str) -> Option<usize> {
        self.table(table).map(|table| table.len())
    }

    /// Returns all rows of a table with their ETags, in the service's order, or `None` if the table does not
    /// exist.
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, EntityKey};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// blogs.insert(DynamicEntity::new("Channel9", "1").set("Rating", 3)).await?;
    ///
    /// let rows = mock.rows("Blogs").unwrap();
    /// assert_eq!(rows[0].key(), &EntityKey::new("Channel9", "1"));
    /// assert_eq!(rows[0].get::<i32>("Rating"), Some(Ok(3)));
    /// assert_eq!(mock.row("Blogs", "Channel9", "2"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rows(&self, table: &str) -> Option<Vec<DynamicEntity>> {
        self.rows_from(table, ("", ""), usize::MAX)
    }

    /// Returns at most `limit` rows of a table from this PartitionKey and RowKey on, or `None` if the table
    /// does not exist.
    pub fn rows_from(
        &self,
        table: &str,
        from: (&str, &str),
        limit: usize,
    ) -> Option<Vec<DynamicEntity>> {
        let mut rows = Vec::new();
        self.table(table)?.scan(from, &mut |keys, entity| {
            if rows.len() == limit {
                return ControlFlow::Break(());
            }
            rows.push(dynamic(keys.0, entity));
            ControlFlow::Continue(())
        });
        Some(rows)
    }

    /// Returns a row with its ETag, or `None` if the row or its table does not exist.
    pub fn row(&self, table: &str, partition_key: &str, row_key: &str) -> Option<DynamicEntity> {
        let entity = self.table(table)?.get((partition_key, row_key))?;
        Some(dynamic(partition_key, &entity))
    }

    /// Returns a table, so that its rows are read while the list of the tables is not locked.
    fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.deliver_due();
        self.core().store.read().table(name).cloned()
    }
}

fn dynamic(partition_key: &str, entity: &StoredEntity) -> DynamicEntity {
    let properties = entity.properties().read().into_iter();
    DynamicEntity::stored(
        EntityKey::new(partition_key, entity.row_key()),
        ETag::from(&entity.version.etag()),
        entity.version.time(),
        properties.map(|(name, value)| (name.into_owned(), EdmCow::into_value(value))).collect(),
    )
}
