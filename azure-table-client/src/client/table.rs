mod entities;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Call, Query, Transaction};
use crate::client_core::ClientCore;
use crate::clock::Clock;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::limits::LimitError;
use crate::operation::access_policies::{self, StoredAccessPolicy};
use crate::operation::done;
use crate::operation::{Reply, ResponseInfo, Target, table};

/// One table whose rows are of type `T`. Cheap to clone.
///
/// ```
/// use azure_table_client::{IfMatch, TableEntity, mock::MockTableService};
///
/// #[derive(TableEntity)]
/// #[table(name = "Blogs", rename_all = "PascalCase")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     posted: String,
///     text: String,
///     rating: i32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let service = MockTableService::new().client();
/// let blogs = service.table::<Blog>();
/// blogs.create().await?;
/// let mut blog = Blog {
///     channel: "Channel9".into(),
///     posted: "2009-04-14".into(),
///     text: "Hello".into(),
///     rating: 3,
/// };
/// let inserted = blogs.insert(&blog).await?;
/// blog.rating = 5;
/// blogs.merge(&blog, &inserted.etag).await?;
/// let stored = blogs.get(("Channel9", "2009-04-14")).await?;
/// assert_eq!(stored.rating, 5);
/// blogs.delete(("Channel9", "2009-04-14"), IfMatch::Any).await?;
/// # Ok(())
/// # }
/// ```
///
/// Keys that are too long for a URL (over 15 KiB with the path, for example a thousand Chinese characters in each)
/// are sent in the body: every operation on such a row is sent as a batch of its own, and is reported like any other
/// operation. Such a read goes to the primary, unless the client reads from the [secondary](crate::client::LocationMode)
/// only.
#[doc(alias("CloudTable"))]
pub struct TableClient<T> {
    pub(super) core: Arc<ClientCore>,
    target: Target,
    /// The error in the columns of `T`; every call about an entity returns it.
    fault: Option<LimitError>,
    entity: PhantomData<fn() -> T>,
}

impl<T> Clone for TableClient<T> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            target: self.target.clone(),
            fault: self.fault.clone(),
            entity: PhantomData,
        }
    }
}

impl<T> fmt::Debug for TableClient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableClient").field("name", &self.target.table).finish_non_exhaustive()
    }
}

impl<T: TableEntity> TableClient<T> {
    pub(crate) fn new(core: Arc<ClientCore>, name: String) -> Self {
        let target = core.target(&Arc::from(name));
        Self { core, target, fault: T::check_columns().err(), entity: PhantomData }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.target.table
    }

    /// The client's clock. Code that is built on the client uses it too, so that a test sets the time of both.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.core.clock
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn core(&self) -> &Arc<ClientCore> {
        &self.core
    }

    /// Returns a client of the same table with rows of another type.
    pub fn with_entity<U: TableEntity>(&self) -> TableClient<U> {
        TableClient {
            core: Arc::clone(&self.core),
            target: self.target.clone(),
            fault: U::check_columns().err(),
            entity: PhantomData,
        }
    }

    /// Creates the table. The table exists once this returns.
    ///
    /// If the response is lost and the table exists, the call counts as applied by default, so that two
    /// programs that create the same table can both succeed; where only one may win, call
    /// [`proof(Proof::WriteId)`](crate::Proof).
    ///
    /// # Errors
    /// 409 `TableAlreadyExists`; 409 `TableBeingDeleted` for 40 s or more after a table of that name was
    /// deleted: see [`create_table_and_wait`](super::TableServiceClient::create_table_and_wait).
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn create(&self) -> Call<ResponseInfo> {
        Call::write(&self.core, table::create(self.core.protocol, &self.target.table), done)
    }

    /// Creates the table unless it exists; `true` if this call created it. Sends one request in both cases.
    ///
    /// # Errors
    /// 409 `TableBeingDeleted` for 40 s or more after a table of that name was deleted.
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    #[doc(alias("CreateIfNotExists", "ensure"))]
    pub fn create_if_not_exists(&self) -> Call<bool> {
        Call::write(
            &self.core,
            table::create(self.core.protocol, &self.target.table),
            table::created_if_not_exists,
        )
        .expecting(table::already_exists)
    }

    /// Deletes the table with all its entities; [`truncate`](crate::bulk::Bulk::truncate) keeps the table. The name cannot be used again for 40 s or more; see
    /// [`delete_table_and_wait`](super::TableServiceClient::delete_table_and_wait).
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if there is no such table.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn delete_table(&self) -> Call<ResponseInfo> {
        Call::write(&self.core, table::delete(self.core.protocol, &self.target.table), done)
    }

    /// Deletes the table with all its entities if it exists; `false` if it did not.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn delete_table_if_exists(&self) -> Call<bool> {
        Call::write(
            &self.core,
            table::delete(self.core.protocol, &self.target.table),
            table::deleted_if_exists,
        )
        .expecting(table::not_found)
    }

    /// Returns whether the table exists: requests its name from the list of tables. For an entity, see
    /// [`contains`](Self::contains).
    ///
    /// REST: [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[doc(alias("exists"))]
    pub fn table_exists(&self) -> Call<bool> {
        Call::new(&self.core, table::get(self.core.protocol, &self.target.table), table::exists)
            .expecting(table::not_found)
    }

    /// The stored access policies of the table.
    ///
    /// # Errors
    /// 404 if the table does not exist. Before anything is sent: a
    /// [version](crate::TableServiceClientBuilder::service_version) without access policies, or
    /// [Cosmos DB](crate::Dialect), which does not support them.
    ///
    /// REST: [Get Table ACL](https://learn.microsoft.com/rest/api/storageservices/get-table-acl), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    pub fn access_policies(&self) -> Call<Vec<StoredAccessPolicy>> {
        let request = access_policies::get(&self.target.table);
        Call::new(&self.core, request, access_policies::policies)
    }

    /// Replaces the stored access policies of the table. They take effect within half a minute.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use azure_table_client::auth::{SasProtocol, TablePermissions, TableSas};
    /// use azure_table_client::client::StoredAccessPolicy;
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, TableServiceClient};
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let mock = MockTableService::new();
    ///     let service = mock.client();
    ///     let blogs = service.table_named::<DynamicEntity>("Blogs");
    ///     blogs.create().await?;
    ///     blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    ///     blogs.insert(&DynamicEntity::new("Football", "1")).await?;
    ///
    ///     // The permissions of all visitors are in a policy of the table, which can be removed.
    ///     let visitors = StoredAccessPolicy {
    ///         permissions: Some(TablePermissions::READ),
    ///         ..StoredAccessPolicy::new("visitors")
    ///     };
    ///     blogs.set_access_policies(&[visitors]).await?;
    ///
    ///     // A signature for a visitor of one channel, valid for an hour.
    ///     let sas = TableSas::new("Blogs")
    ///         .policy("visitors")
    ///         .partition_key("Channel9")
    ///         .expires_at(mock.clock().now() + Duration::from_secs(60 * 60));
    ///     let token = service.sign_table_sas(&sas)?;
    ///
    ///     let visitor = TableServiceClient::builder(service.endpoint(), token.clone());
    ///     let visitor = visitor.transport(mock.transport()).clock(mock.clock()).build()?;
    ///     let seen = visitor.table_named::<DynamicEntity>("Blogs");
    ///     assert!(seen.get_if_exists(("Channel9", "1")).await?.is_some());
    ///     let refused = seen.insert(&DynamicEntity::new("Channel9", "2")).await.unwrap_err();
    ///     assert_eq!(refused.status(), Some(403));
    ///     println!("{refused}");
    ///
    ///     // Removes the policy: all signatures that name it are invalid.
    ///     blogs.set_access_policies(&[]).await?;
    ///     assert!(seen.get_if_exists(("Channel9", "1")).await.is_err());
    ///
    ///     // `Debug` shows no secret.
    ///     assert!(!format!("{token:?} {visitor:?} {refused:?}").contains("sig="));
    ///     let https_only = service.sign_table_sas(&sas.protocol(SasProtocol::Https))?;
    ///     assert!(https_only.as_query().contains("spr=https"));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Before anything is sent: more than 5 policies, two of one identifier, or one without an identifier or
    /// with more than 64 UTF-16 code units; a [version](crate::TableServiceClientBuilder::service_version)
    /// without access policies, or [Cosmos DB](crate::Dialect), which does not support them. 404 if the table does
    /// not exist.
    ///
    /// REST: [Set Table ACL](https://learn.microsoft.com/rest/api/storageservices/set-table-acl), `PUT`.
    /// Retries: [repeatable](crate::guide::errors#retry-classes).
    pub fn set_access_policies(&self, policies: &[StoredAccessPolicy]) -> Call<ResponseInfo> {
        let request = access_policies::set(&self.target.table, policies);
        Call::new(&self.core, request, Reply::done)
    }

    /// Returns an empty transaction: up to 100 operations in one partition, applied all or not at all; see
    /// [`Transaction`].
    ///
    /// REST: [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions), `POST`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    #[doc(alias(
        "submit_transaction",
        "SubmitTransaction",
        "batch",
        "ExecuteBatch",
        "TableBatchOperation"
    ))]
    pub fn transaction(&self) -> Transaction<T> {
        Transaction::new(Arc::clone(&self.core), self.target.clone())
    }

    /// Returns a query of all entities of the table, to be narrowed by its methods; see [`Query`].
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[doc(alias("query_entities", "list_entities", "QueryAsync", "CreateQuery"))]
    pub fn query(&self) -> Query<T> {
        let fault = self.fault.clone().map(Error::from);
        Query::new(Arc::clone(&self.core), Arc::clone(&self.target.table), fault)
    }
}
