//! Tokens of Microsoft Entra ID.
//!
//! Source: [Authorize with Microsoft Entra ID][authorize].
//!
//! [authorize]: https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory

mod audience;
mod cache;
mod challenge;
#[cfg(test)]
pub(crate) mod issuer;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use azure_core::credentials::TokenCredential;

use crate::clock::SharedClock;
use crate::error::Error;
use audience::{STORAGE, audience_of_endpoint, scope_of_audience};
pub(crate) use cache::Token;
use cache::{Cache, TokenSource};
pub(crate) use challenge::Challenge;

/// Tokens of Microsoft Entra ID from a credential of `azure_core`: one of the crate [`azure_identity`], or your
/// own.
///
/// ```
/// use std::sync::Arc;
///
/// use azure_table_client::auth::{BearerTokens, TokenCredential};
/// use azure_table_client::{Error, TableServiceClient};
///
/// // With azure_identity for example `ManagedIdentityCredential::new(None)?`, or
/// // `DeveloperToolsCredential::new(None)?` for who is logged in with `az login`.
/// fn client(credential: Arc<dyn TokenCredential>) -> Result<TableServiceClient, Error> {
///     TableServiceClient::builder("https://account.table.core.windows.net", credential).build()
/// }
///
/// // For an endpoint by which the audience cannot be known.
/// fn of_custom_domain(credential: Arc<dyn TokenCredential>) -> Result<TableServiceClient, Error> {
///     let tokens = BearerTokens::new(credential).audience("https://storage.azure.us");
///     TableServiceClient::builder("https://tables.example.com", tokens).build()
/// }
/// ```
///
/// The identity needs a role on the account or on a table, such as `Storage Table Data Contributor` or `Storage
/// Table Data Reader`. The owner of the account does not have these roles automatically.
///
/// Each client keeps a token and renews it 5 min before it expires, or after half of its time if that is later.
/// All calls that wait share one renewal, which outlives a dropped call. If a renewal fails or takes longer
/// than 5 s, the old token is used while it is valid, and the next renewal follows after 30 s. A token that the
/// service refuses (401) is renewed and the call is sent again, once.
///
/// Tokens are sent over HTTPS only, even on this machine, unless
/// [`allow_http`](crate::TableServiceClientBuilder::allow_http) permits HTTP. `Debug` shows no token,
/// and the copies in this crate are overwritten when they are dropped.
///
/// [`azure_identity`]: https://docs.rs/azure_identity
#[derive(Clone)]
pub struct BearerTokens {
    /// The program set the audience, so the endpoint does not determine it.
    is_audience_set: bool,
    cache: Arc<Cache>,
}

impl BearerTokens {
    /// The tokens of this credential.
    pub fn new(credential: Arc<dyn TokenCredential>) -> Self {
        Self::of(TokenSource::Credential(credential))
    }

    /// The tokens of a credential of the tenant that the account belongs to, where that is not known
    /// beforehand. `credential` makes it, once for each client.
    ///
    /// The first request goes without a token; the service refuses it and names the tenant. Services and
    /// emulators that do not do so cannot be used in this way.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use azure_table_client::auth::{BearerTokens, TokenCredential};
    ///
    /// fn tokens(
    ///     log_in: impl Fn(&str) -> Result<Arc<dyn TokenCredential>, azure_core::Error>
    ///         + Send
    ///         + Sync
    ///         + 'static,
    /// ) -> BearerTokens {
    ///     // With azure_identity: `ClientSecretCredential::new(tenant, id, secret, None)`.
    ///     BearerTokens::of_tenant(move |tenant| log_in(tenant))
    /// }
    /// ```
    pub fn of_tenant<F>(credential: F) -> Self
    where
        F: Fn(&str) -> azure_core::Result<Arc<dyn TokenCredential>> + Send + Sync + 'static,
    {
        Self::of(TokenSource::Tenant(Arc::new(credential)))
    }

    fn of(source: TokenSource) -> Self {
        let cache = Arc::new(Cache::new(source, scope_of_audience(STORAGE)));
        Self { is_audience_set: false, cache }
    }

    /// Sets the audience of the tokens. By default it follows from the endpoint:
    ///
    /// | endpoint | audience |
    /// |---|---|
    /// | `….table.cosmos.azure.com`, `.us`, `.cn` | `https://cosmos.azure.com`, `.us`, `.cn` |
    /// | all others, in every cloud | `https://storage.azure.com` |
    ///
    /// Those of Cosmos DB are the audiences of Azure.Data.Tables for .NET; `https://account.table.core.windows.net` is the
    /// audience of a single account. The suffix `/.default` is optional.
    #[must_use]
    pub fn audience(self, audience: &str) -> Self {
        let cache = Arc::new(Cache::new(self.cache.source(), scope_of_audience(audience)));
        Self { is_audience_set: true, cache }
    }

    /// Returns the tokens of one client, with an empty cache.
    pub(crate) fn for_endpoint(&self, endpoint: &str) -> Self {
        let scope = if self.is_audience_set {
            self.scope().to_owned()
        } else {
            scope_of_audience(audience_of_endpoint(endpoint))
        };
        Self { cache: Arc::new(Cache::new(self.cache.source(), scope)), ..*self }
    }

    /// Returns the scope of the tokens.
    pub(crate) fn scope(&self) -> &str {
        self.cache.scope()
    }

    /// Returns a valid token; `None` while its tenant is unknown.
    pub(crate) async fn token(&self, clock: &SharedClock) -> Result<Option<Token>, Error> {
        self.cache.token(clock).await
    }

    /// The service refuses this token.
    pub(crate) fn reject(&self, token: &Token) {
        self.cache.reject(token);
    }

    /// The service belongs to this tenant.
    pub(crate) fn adopt(&self, tenant: &str) -> Result<(), Error> {
        self.cache.adopt(tenant)
    }
}

opaque_debug!(BearerTokens, |it| scope: it.scope());
