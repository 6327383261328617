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

use std::fmt;
use std::sync::Arc;

pub use azure_core::credentials::TokenCredential;

use crate::clock::SharedClock;
use crate::error::Error;
use audience::{STORAGE, audience_of_endpoint, scope_of_audience};
pub(crate) use cache::Token;
use cache::{Cache, Source};
pub(crate) use challenge::Challenge;

/// Tokens of Microsoft Entra ID, from a credential of `azure_core`: those of the crate
/// [`azure_identity`], or one of your own.
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
/// The identity needs a role on the account or on a table, such as `Storage Table Data Contributor` or
/// `Storage Table Data Reader`; who owns the account does not have it by that.
///
/// Each client keeps a token and has it renewed 5 min before it expires, or after half of its time if that
/// is later. However many calls wait, one renewal is on its way, and it outlives a call that is dropped.
/// While the old token is valid it is used where a renewal fails or takes longer than 5 s, and the next one
/// is tried after 30 s. A token that the service refuses (401) is renewed and the call is sent again, once.
///
/// Tokens are sent over HTTPS only, unless
/// [`allow_http`](crate::client::TableServiceClientBuilder::allow_http) says otherwise; on this machine as
/// well. `Debug` shows no token, and what this crate keeps of one is overwritten when it is dropped.
///
/// [`azure_identity`]: https://docs.rs/azure_identity
#[derive(Clone)]
pub struct BearerTokens {
    /// The audience was set by hand, and the endpoint has no say.
    is_audience_set: bool,
    cache: Arc<Cache>,
}

impl BearerTokens {
    /// The tokens of this credential.
    pub fn new(credential: Arc<dyn TokenCredential>) -> Self {
        Self::of(Source::Credential(credential))
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
        Self::of(Source::Tenant(Arc::new(credential)))
    }

    fn of(source: Source) -> Self {
        let cache = Arc::new(Cache::new(source, scope_of_audience(STORAGE)));
        Self { is_audience_set: false, cache }
    }

    /// For whom the tokens are, instead of what follows from the endpoint:
    ///
    /// | endpoint | audience |
    /// |---|---|
    /// | `….core.usgovcloudapi.net` | `https://storage.azure.us` |
    /// | `….core.chinacloudapi.cn` | `https://storage.azure.cn` |
    /// | `….table.cosmos.azure.com`, `.us`, `.cn` | `https://cosmos.azure.com`, `.us`, `.cn` |
    /// | all others | `https://storage.azure.com` |
    ///
    /// These are the audiences of Azure.Data.Tables for .NET; `https://account.table.core.windows.net`
    /// is one for a single account. What stands after it, `/.default`, may be left out.
    #[must_use]
    pub fn audience(self, audience: &str) -> Self {
        let cache = Arc::new(Cache::new(self.cache.source(), scope_of_audience(audience)));
        Self { is_audience_set: true, cache }
    }

    /// The tokens of one client, which has none yet.
    pub(crate) fn for_endpoint(&self, endpoint: &str) -> Self {
        let scope = if self.is_audience_set {
            self.scope().to_owned()
        } else {
            scope_of_audience(audience_of_endpoint(endpoint))
        };
        Self { cache: Arc::new(Cache::new(self.cache.source(), scope)), ..*self }
    }

    /// What the tokens are asked for.
    pub(crate) fn scope(&self) -> &str {
        self.cache.scope()
    }

    /// A valid token; `None` while it is not known of which tenant it must be.
    pub(crate) async fn token(&self, clock: &SharedClock) -> Result<Option<Token>, Error> {
        self.cache.token(clock).await
    }

    /// The service refuses this token.
    pub(crate) fn reject(&self, token: &Token) {
        self.cache.reject(token);
    }

    /// The service is of this tenant.
    pub(crate) fn adopt(&self, tenant: &str) -> Result<(), Error> {
        self.cache.adopt(tenant)
    }
}

impl fmt::Debug for BearerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerTokens").field("scope", &self.scope()).finish_non_exhaustive()
    }
}
