//! One token at a time, renewed before it expires.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azure_core::credentials::{AccessToken, TokenCredential};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use http::HeaderValue;
use tracing::debug;
use zeroize::Zeroizing;

use crate::clock::SharedClock;
use crate::error::Error;
use crate::lock::lock;

/// The time before its expiry at which a token is renewed.
const MARGIN: Duration = Duration::from_secs(5 * 60);
/// The longest wait for a renewal while there is a valid token.
const RENEWAL_WAIT: Duration = Duration::from_secs(5);
/// The pause after a slow or failed renewal, during which calls use the old token.
const PAUSE: Duration = Duration::from_secs(30);
/// The time limit of a renewal. After it, the next call can request a token again.
const LIMIT: Duration = Duration::from_secs(2 * 60);

type ByTenant = dyn Fn(&str) -> azure_core::Result<Arc<dyn TokenCredential>> + Send + Sync;

/// The origin of the tokens.
#[derive(Clone)]
pub(super) enum TokenSource {
    Credential(Arc<dyn TokenCredential>),
    Tenant(Arc<ByTenant>),
}

/// A token as it is sent. `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct Token {
    /// The id of the renewal that fetched this token.
    id: u64,
    header: HeaderValue,
    expires: SystemTime,
    renew_at: SystemTime,
}

/// The token that a renewal returned.
#[derive(Clone)]
struct NewToken {
    header: HeaderValue,
    expires: SystemTime,
}

/// A renewal in flight. Every caller that waits for it drives it, so that any of them can be dropped.
#[derive(Clone)]
struct Renewal {
    id: u64,
    fetched: Shared<BoxFuture<'static, Result<NewToken, Error>>>,
}

#[derive(Default)]
struct CachedTokens {
    /// The credential of the tenant that was found.
    found: Option<Arc<dyn TokenCredential>>,
    token: Option<Token>,
    renewal: Option<Renewal>,
    renewals: u64,
    /// Until then the token is used, if it is valid, though it should be renewed.
    paused_until: Option<SystemTime>,
}

enum Step {
    Use(Token),
    /// Wait for the renewal; if there is still a valid token, only for a short time.
    Wait(Renewal, Option<Token>),
    TenantUnknown,
}

pub(super) struct Cache {
    source: TokenSource,
    scope: String,
    state: Mutex<CachedTokens>,
}

impl Cache {
    pub(super) fn new(source: TokenSource, scope: String) -> Self {
        Self { source, scope, state: Mutex::default() }
    }

    pub(super) fn source(&self) -> TokenSource {
        self.source.clone()
    }

    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) async fn token(&self, clock: &SharedClock) -> Result<Option<Token>, Error> {
        let (renewal, valid) = match self.step(clock) {
            Step::Use(token) => return Ok(Some(token)),
            Step::Wait(renewal, valid) => (renewal, valid),
            Step::TenantUnknown => return Ok(None),
        };
        let fetched = match valid {
            None => renewal.fetched.await,
            Some(valid) => match clock.timeout(RENEWAL_WAIT, renewal.fetched).await {
                Some(fetched) => fetched,
                None => {
                    lock(&self.state).paused_until = clock.now().checked_add(PAUSE);
                    return Ok(Some(valid));
                }
            },
        };
        self.settle(renewal.id, fetched, clock.now()).map(Some)
    }

    /// A step under the lock; nothing waits in it.
    fn step(&self, clock: &SharedClock) -> Step {
        let now = clock.now();
        let mut state = lock(&self.state);
        let valid = state.valid(now).cloned();
        let is_paused = state.paused_until.is_some_and(|until| now < until);
        if let Some(token) = &valid
            && (now < token.renew_at || is_paused)
        {
            return Step::Use(token.clone());
        }
        if let Some(renewal) = &state.renewal {
            return Step::Wait(renewal.clone(), valid);
        }
        let credential = match (&self.source, &state.found) {
            (TokenSource::Credential(credential), _)
            | (TokenSource::Tenant(_), Some(credential)) => Arc::clone(credential),
            (TokenSource::Tenant(_), None) => return Step::TenantUnknown,
        };
        state.renewals += 1;
        let fetched = fetch(credential, self.scope.clone(), Arc::clone(clock)).boxed().shared();
        let renewal = Renewal { id: state.renewals, fetched };
        state.renewal = Some(renewal.clone());
        Step::Wait(renewal, valid)
    }

    /// Ends a renewal. The first caller that waited for it stores its result.
    fn settle(
        &self,
        id: u64,
        fetched: Result<NewToken, Error>,
        now: SystemTime,
    ) -> Result<Token, Error> {
        let mut state = lock(&self.state);
        let is_first = state.renewal.as_ref().is_some_and(|renewal| renewal.id == id);
        if is_first {
            state.renewal = None;
            state.paused_until = None;
        }
        match fetched {
            Ok(fetched) => {
                let token = Token::new(id, fetched, now);
                if is_first {
                    state.token = Some(token.clone());
                }
                Ok(token)
            }
            Err(error) => {
                let valid = state.valid(now).cloned().ok_or(error)?;
                if is_first {
                    debug!("a token was not renewed; the old one is still valid");
                    state.paused_until = now.checked_add(PAUSE);
                }
                Ok(valid)
            }
        }
    }

    /// Drops this token, which the service refuses although it has not expired. Does nothing if the token has
    /// been renewed since.
    pub(super) fn reject(&self, token: &Token) {
        let mut state = lock(&self.state);
        if state.token.as_ref().is_some_and(|kept| kept.id == token.id) {
            state.token = None;
        }
    }

    /// Has the credential of this tenant made, if that has not been done.
    pub(super) fn adopt(&self, tenant: &str) -> Result<(), Error> {
        let TokenSource::Tenant(by_tenant) = &self.source else { return Ok(()) };
        let mut state = lock(&self.state);
        if state.found.is_none() {
            let found = by_tenant(tenant).map_err(|error| {
                Error::credential(format!("no credential is known for the tenant {tenant}"))
                    .with_source(error)
            })?;
            state.found = Some(found);
        }
        Ok(())
    }
}

impl CachedTokens {
    fn valid(&self, now: SystemTime) -> Option<&Token> {
        self.token.as_ref().filter(|token| now < token.expires)
    }
}

impl Token {
    fn new(id: u64, fetched: NewToken, now: SystemTime) -> Self {
        let NewToken { header, expires } = fetched;
        // A credential with its own cache returns the same token again until shortly before its expiry.
        let left = expires.duration_since(now).unwrap_or_default();
        let renew_at = expires.checked_sub(MARGIN.min(left / 2)).unwrap_or(expires);
        Self { id, header, expires, renew_at }
    }

    /// The value of the `Authorization` header.
    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

opaque_debug!(Token, |it| expires: it.expires);

async fn fetch(
    credential: Arc<dyn TokenCredential>,
    scope: String,
    clock: SharedClock,
) -> Result<NewToken, Error> {
    let scopes = [&*scope];
    let token =
        clock.timeout(LIMIT, credential.get_token(&scopes, None)).await.ok_or_else(|| {
            Error::credential(format!("the credential returned no token within {LIMIT:?}"))
        })?;
    let token = token.map_err(|error| {
        Error::credential(format!("the credential returned no token for {scope}"))
            .with_source(error)
    })?;
    NewToken::new(&token)
}

impl NewToken {
    fn new(token: &AccessToken) -> Result<Self, Error> {
        let text = token.token.secret();
        let mut value = Zeroizing::new(Vec::with_capacity("Bearer ".len() + text.len()));
        value.extend_from_slice(b"Bearer ");
        value.extend_from_slice(text.as_bytes());
        // Clones of the header share these bytes; the last one overwrites them.
        let header = HeaderValue::from_maybe_shared(Bytes::from_owner(value));
        let mut header = header.ok().filter(|_| !text.is_empty()).ok_or_else(|| {
            Error::credential(
                "the credential returned a token with a character that no header allows",
            )
        })?;
        header.set_sensitive(true);
        let seconds = u64::try_from(token.expires_on.unix_timestamp()).unwrap_or_default();
        let expires = UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH);
        Ok(Self { header, expires })
    }
}
