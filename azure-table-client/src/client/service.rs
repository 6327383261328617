use std::sync::Arc;

use super::{Call, ListTables, TableClient};
use crate::Dialect;
use crate::auth::{AccountSas, Credential, SasError, SasToken, SharedKey, TableSas};
#[cfg(feature = "entra")]
use crate::auth::{UserDelegationKey, UserDelegationKeyRequest};
use crate::client_core::{ClientCore, Settings};
use crate::clock::Clock;
use crate::entity::{NamedTable, TableEntity};
use crate::error::Error;
use crate::operation::done;
use crate::operation::service_properties::{self, ServiceProperties};
use crate::operation::stats::{self, ServiceStats};
#[cfg(feature = "entra")]
use crate::operation::user_delegation_key;
use crate::operation::{Reply, ResponseInfo, table};
use crate::pipeline::Pipeline;

/// A storage account's table service. Cheap to clone; clones share the connection pool.
#[doc(alias("CloudTableClient", "CloudStorageAccount", "account"))]
#[derive(Debug, Clone)]
pub struct TableServiceClient {
    core: Arc<ClientCore>,
}

impl TableServiceClient {
    pub(crate) fn new(pipeline: Pipeline, settings: Settings) -> Self {
        Self { core: Arc::new(ClientCore::new(pipeline, settings)) }
    }

    pub(crate) const fn of(core: Arc<ClientCore>) -> Self {
        Self { core }
    }

    pub(crate) const fn core(&self) -> &Arc<ClientCore> {
        &self.core
    }

    /// The endpoint of the service, without a slash at its end: `https://account.table.core.windows.net`.
    ///
    /// ```
    /// # use azure_table_client::TableServiceClient;
    /// # use azure_table_client::mock::MockTableService;
    /// # let service = MockTableService::new().client();
    /// // For a program that has a signature only.
    /// let blogs = format!("{}/Blogs()", service.endpoint());
    /// assert_eq!(blogs, "http://127.0.0.1:10002/devstoreaccount1/Blogs()");
    /// ```
    pub fn endpoint(&self) -> &str {
        self.core.endpoint.base()
    }

    /// The service behind the endpoint: the one that the [builder](crate::TableServiceClientBuilder::dialect) sets, otherwise the
    /// one that the host names.
    ///
    /// ```
    /// use azure_table_client::{Dialect, TableServiceClient, auth::SharedKey};
    ///
    /// let key = SharedKey::development();
    /// let service = TableServiceClient::builder("https://me.table.cosmos.azure.com", key).build()?;
    /// assert_eq!(service.dialect(), Dialect::CosmosDb);
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    pub fn dialect(&self) -> Dialect {
        self.core.protocol.dialect()
    }

    /// The client's clock: the machine's clock, or the one that the [builder](crate::TableServiceClientBuilder::clock) sets. Code
    /// that is built on the client uses it too, so that a test sets the time of both.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.core.clock
    }

    /// Replaces the credential of this client, of its clones and of their tables.
    ///
    /// Later requests use the new credential. A request in flight that is refused as not authentic (403
    /// `AuthenticationFailed`) is signed again with it, once. This rotates an account's key while a program
    /// runs: pass the other key, then regenerate the first.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// use azure_table_client::auth::SharedKey;
    /// # fn read_new_key() -> String { azure_table_client::auth::DEVELOPMENT_KEY.into() }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let service = MockTableService::new().client();
    /// let blogs = service.table_named::<DynamicEntity>("Blogs");
    /// service.set_credential(SharedKey::new("devstoreaccount1", &read_new_key())?)?;
    /// blogs.create().await?; // with the new key
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the credential would be sent over plain
    /// HTTP. Building a client checks the same.
    pub fn set_credential(&self, credential: impl Into<Credential>) -> Result<(), Error> {
        self.core.credential.replace(credential.into())
    }

    /// Signs a shared access signature for a table with the key of this client.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, TableServiceClient, mock::MockTableService};
    /// use azure_table_client::auth::{TablePermissions, TableSas};
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let mock = MockTableService::new();
    /// # let service = mock.client();
    /// # let endpoint = "http://127.0.0.1:10002/devstoreaccount1";
    /// # service.create_table("Blogs").await?;
    /// let token = service.sign_table_sas(
    ///     &TableSas::new("Blogs")
    ///         .permissions(TablePermissions::READ)
    ///         .expires_at(mock.clock().now() + Duration::from_secs(60 * 60)),
    /// )?;
    /// let reader = TableServiceClient::builder(endpoint, token) // elsewhere
    /// #   .transport(mock.transport()).clock(mock.clock())
    ///     .build()?;
    /// let blogs = reader.table_named::<DynamicEntity>("Blogs");
    /// assert!(blogs.query().await?.is_empty());
    /// assert!(blogs.insert(&DynamicEntity::new("Channel9", "1")).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SasError`] as the source: the service would refuse it, or the client does not have the key.
    pub fn sign_table_sas(&self, sas: &TableSas) -> Result<SasToken, Error> {
        Ok(sas.sign(&self.key()?)?)
    }

    /// Signs a shared access signature for the account with the key of this client.
    ///
    /// # Errors
    /// The same errors as [`sign_table_sas`](Self::sign_table_sas).
    pub fn sign_account_sas(&self, sas: &AccountSas) -> Result<SasToken, Error> {
        Ok(sas.sign(&self.key()?)?)
    }

    /// Requests a key that signs shared access signatures for tables in the name of the client's identity; see
    /// [`UserDelegationKey`] for an example. Not tried on a live account.
    ///
    /// The request needs a [token](crate::auth::BearerTokens). The identity needs a role with the action
    /// `Microsoft.Storage/storageAccounts/tableServices/generateUserDelegationKey` on the account, such as
    /// `Storage Table Delegator`, besides the roles for what its signatures permit.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use azure_table_client::auth::{
    ///     BearerTokens, TablePermissions, TableSas, TokenCredential, UserDelegationKeyRequest,
    /// };
    /// use azure_table_client::{DynamicEntity, TableServiceClient};
    ///
    /// # use azure_table_client::mock::MockTableService;
    /// # #[derive(Debug)]
    /// # struct Token;
    /// # #[async_trait::async_trait]
    /// # impl TokenCredential for Token {
    /// #     async fn get_token(
    /// #         &self,
    /// #         _: &[&str],
    /// #         _: Option<azure_core::credentials::TokenRequestOptions<'_>>,
    /// #     ) -> azure_core::Result<azure_core::credentials::AccessToken> {
    /// #         let expires = azure_core::time::OffsetDateTime::now_utc() + Duration::from_secs(3600);
    /// #         Ok(azure_core::credentials::AccessToken::new("token", expires))
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let mock = MockTableService::builder().tokens(|token| token == "token").build();
    /// # let builder = |credential: azure_table_client::auth::Credential| {
    /// #     TableServiceClient::builder("https://127.0.0.1:10002/devstoreaccount1", credential)
    /// #         .transport(mock.transport())
    /// #         .clock(mock.clock())
    /// # };
    /// # let clock = mock.clock();
    /// # let credential = BearerTokens::new(Arc::new(Token));
    /// let service = builder(credential.into()).build()?;
    /// # service.create_table("Blogs").await?;
    /// let tomorrow = clock.now() + Duration::from_secs(24 * 60 * 60);
    /// let key = service.user_delegation_key(&UserDelegationKeyRequest::until(tomorrow)).await?;
    ///
    /// let token = TableSas::new("Blogs")
    ///     .permissions(TablePermissions::READ)
    ///     .partition_key("Channel9")
    ///     .expires_at(clock.now() + Duration::from_secs(60 * 60))
    ///     .sign_delegated(&key)?;
    /// let reader = builder(token.into()).build()?; // elsewhere
    /// let blogs = reader.table_named::<DynamicEntity>("Blogs");
    /// assert!(blogs.query().await?.is_empty());
    /// assert!(blogs.insert(&DynamicEntity::new("Channel9", "1")).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Before anything is sent: a lifetime of more than 7 days, an expiry before the start, an endpoint that does not
    /// name the account ([`SasError`] as the source), or [Cosmos DB](crate::Dialect), which does not support it. 403
    /// `AuthenticationFailed` for a client without tokens; 403 without the role.
    ///
    /// The request is sent with version 2025-07-05, regardless of the client's.
    ///
    /// REST: [Get User Delegation Key](https://learn.microsoft.com/rest/api/storageservices/get-user-delegation-key), `POST`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[cfg(feature = "entra")]
    pub fn user_delegation_key(&self, key: &UserDelegationKeyRequest) -> Call<UserDelegationKey> {
        let info = key.checked(self.core.now(), self.core.endpoint.account());
        let request = info.map(user_delegation_key::get).map_err(Error::from);
        Call::new(&self.core, request, user_delegation_key::key)
    }

    fn key(&self) -> Result<SharedKey, SasError> {
        self.core.credential.get().key().cloned().ok_or(SasError::NoKey)
    }

    /// The table that `T` names in `#[table(name = "…")]`. Nothing is sent.
    pub fn table<T: NamedTable>(&self) -> TableClient<T> {
        self.table_named(T::TABLE_NAME)
    }

    /// A table by name, with rows of type `T`; [`DynamicEntity`](crate::DynamicEntity) accepts rows
    /// of any shape. Nothing is sent; a bad name is an error of the calls.
    pub fn table_named<T: TableEntity>(&self, name: impl Into<String>) -> TableClient<T> {
        TableClient::new(Arc::clone(&self.core), name.into())
    }

    /// Creates a table. The table exists once this returns.
    ///
    /// If the response is lost and the table exists, the call counts as applied by default, so that two
    /// programs that create the same table can both succeed; where only one may win, call
    /// [`proof(Proof::WriteId)`](crate::Proof).
    ///
    /// # Errors
    /// 409 `TableAlreadyExists`; 409 `TableBeingDeleted` for 40 s or more after a table of that name was
    /// deleted: see [`create_table_and_wait`](Self::create_table_and_wait).
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn create_table(&self, name: &str) -> Call<ResponseInfo> {
        Call::write(&self.core, table::create(self.core.protocol, name), done)
    }

    /// Creates a table unless it exists, with one request; `true` if this call created it.
    ///
    /// # Errors
    /// 409 `TableBeingDeleted` for 40 s or more after a table of that name was deleted.
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn create_table_if_not_exists(&self, name: &str) -> Call<bool> {
        Call::write(
            &self.core,
            table::create(self.core.protocol, name),
            table::created_if_not_exists,
        )
        .expecting(table::already_exists)
    }

    /// Deletes a table with all its entities. The name cannot be used again for 40 s or more; see
    /// [`delete_table_and_wait`](Self::delete_table_and_wait).
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if there is no such table.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn delete_table(&self, name: &str) -> Call<ResponseInfo> {
        Call::write(&self.core, table::delete(self.core.protocol, name), done)
    }

    /// Deletes a table with all its entities if it exists; `false` if it did not.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn delete_table_if_exists(&self, name: &str) -> Call<bool> {
        Call::write(&self.core, table::delete(self.core.protocol, name), table::deleted_if_exists)
            .expecting(table::not_found)
    }

    /// Returns whether a table of this name exists, by a query of the list of tables.
    ///
    /// REST: [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    pub fn table_exists(&self, name: &str) -> Call<bool> {
        Call::new(&self.core, table::get(self.core.protocol, name), table::exists)
            .expecting(table::not_found)
    }

    /// The settings of the account's table service: logging, metrics and CORS.
    ///
    /// # Errors
    /// Before anything is sent: a [version](crate::TableServiceClientBuilder::service_version) before 2013-08-15, or
    /// [Cosmos DB](crate::Dialect), which does not support it.
    ///
    /// REST: [Get Table Service Properties](https://learn.microsoft.com/rest/api/storageservices/get-table-service-properties), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    pub fn properties(&self) -> Call<ServiceProperties> {
        let request = service_properties::get();
        Call::new(&self.core, Ok(request), service_properties::properties)
    }

    /// Sets the settings of the account's table service that are not `None`; it can take half a minute
    /// until they hold.
    ///
    /// # Errors
    /// Before anything is sent: more than 5 CORS rules, a rule without an origin or a method, or with a comma
    /// in a name; a retention of 0 or more than 365 days; a
    /// [version](crate::TableServiceClientBuilder::service_version) before 2013-08-15, or [Cosmos DB](crate::Dialect),
    /// which does not support it.
    ///
    /// REST: [Set Table Service Properties](https://learn.microsoft.com/rest/api/storageservices/set-table-service-properties), `PUT`.
    /// Retries: [repeatable](crate::guide::errors#retry-classes).
    pub fn set_properties(&self, properties: &ServiceProperties) -> Call<ResponseInfo> {
        let request = service_properties::set(properties);
        Call::new(&self.core, request, Reply::accepted)
    }

    /// Returns the replication lag of the account's copy in another region. Only the secondary knows it, so the
    /// client needs its [endpoint](crate::TableServiceClientBuilder::secondary_endpoint).
    ///
    /// # Errors
    /// Before anything is sent: the endpoint of the secondary is missing, a
    /// [version](crate::TableServiceClientBuilder::service_version) before 2013-08-15, or [Cosmos DB](crate::Dialect),
    /// which does not support it.
    ///
    /// REST: [Get Table Service Stats](https://learn.microsoft.com/rest/api/storageservices/get-table-service-stats), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    pub fn stats(&self) -> Call<ServiceStats> {
        Call::new(&self.core, Ok(stats::get()), stats::stats)
    }

    /// Lists the tables by name; see [`ListTables`].
    ///
    /// REST: [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[doc(alias("query_tables", "ListTables"))]
    pub fn list_tables(&self) -> ListTables {
        ListTables::new(Arc::clone(&self.core))
    }
}
