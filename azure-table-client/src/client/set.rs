use std::future::Future;

use super::{TableClient, TableServiceClient};
use crate::entity::DynamicEntity;
use crate::error::Error;

/// The tables of a program, as the fields of a struct.
///
/// Implemented by `#[derive(TableSet)]`. Each field is a [`TableClient`]; its entity names the table,
/// unless the field has a `#[table(name = "…")]` of its own.
///
/// ```
/// use azure_table_client::client::TableSet;
/// use azure_table_client::mock::MockTableService;
/// use azure_table_client::{DynamicEntity, TableClient, TableEntity};
///
/// #[derive(TableEntity)]
/// #[table(name = "Channels")]
/// struct Channel {
///     #[table(partition_key)]
///     name: String,
///     #[table(row_key)]
///     kind: String,
/// }
///
/// #[derive(TableSet)]
/// struct Microblog {
///     channels: TableClient<Channel>,
///     #[table(name = "Audit")]
///     audit: TableClient<DynamicEntity>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let service = MockTableService::new().client();
/// let tables = Microblog::open(&service);
/// assert_eq!(tables.names(), ["Channels", "Audit"]);
/// assert_eq!(tables.create_if_not_exists().await?, ["Channels", "Audit"]);
/// assert!(tables.create_if_not_exists().await?.is_empty());
/// let channel = Channel { name: "Channel9".into(), kind: "channel".into() };
/// tables.channels.insert(&channel).await?;
/// # Ok(())
/// # }
/// ```
pub trait TableSet: Sized + Send + Sync {
    /// Opens the tables. Nothing is sent.
    fn open(service: &TableServiceClient) -> Self;

    /// The tables in the order of the fields.
    fn tables(&self) -> Vec<TableClient<DynamicEntity>>;

    /// The names of the tables in the order of the fields.
    fn names(&self) -> Vec<String> {
        self.tables().iter().map(|table| table.name().to_owned()).collect()
    }

    /// Creates the tables that do not exist, one after the other, and returns their names.
    ///
    /// # Errors
    /// The first table that cannot be created. The tables before it exist.
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), one
    /// request for each table. Retries: [guarded](crate::guide::errors#retry-classes).
    fn create_if_not_exists(&self) -> impl Future<Output = Result<Vec<String>, Error>> + Send {
        async {
            let mut created = Vec::new();
            for table in self.tables() {
                if table.create_if_not_exists().await? {
                    created.push(table.name().to_owned());
                }
            }
            Ok(created)
        }
    }

    /// Deletes the tables that exist, with all their entities, and returns their names.
    ///
    /// # Errors
    /// The first table that cannot be deleted. The tables before it are deleted.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), one
    /// request for each table. Retries: [guarded](crate::guide::errors#retry-classes).
    fn delete_if_exists(&self) -> impl Future<Output = Result<Vec<String>, Error>> + Send {
        async {
            let mut deleted = Vec::new();
            for table in self.tables() {
                if table.delete_table_if_exists().await? {
                    deleted.push(table.name().to_owned());
                }
            }
            Ok(deleted)
        }
    }
}
