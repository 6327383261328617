//! A credential for tests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::ErrorKind;
use azure_core::time::OffsetDateTime;
use tokio::time::sleep;

use crate::clock::{SharedClock, TokioClock};

/// Issues `secret-1`, `secret-2` …
#[derive(Debug)]
pub(crate) struct Issuer {
    pub(crate) clock: SharedClock,
    requests: AtomicU64,
    life: Duration,
    delay: Mutex<Duration>,
    fails: AtomicBool,
    scopes: Mutex<Vec<String>>,
}

impl Issuer {
    /// Returns an issuer whose tokens are valid for `life`.
    pub(crate) fn of(life: Duration) -> Arc<Self> {
        Arc::new(Self {
            clock: Arc::new(TokioClock::starting_at(SystemTime::now())),
            requests: AtomicU64::new(0),
            life,
            delay: Mutex::default(),
            fails: AtomicBool::new(false),
            scopes: Mutex::default(),
        })
    }

    pub(crate) fn delay(&self, time: Duration) {
        *self.delay.lock().unwrap() = time;
    }

    pub(crate) fn fails(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }

    /// Returns the number of requests for a token.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the scope of the last request.
    pub(crate) fn scope(&self) -> String {
        self.scopes.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

#[async_trait::async_trait]
impl TokenCredential for Issuer {
    async fn get_token(
        &self,
        scopes: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.scopes.lock().unwrap().push(scopes.join(" "));
        let delay = *self.delay.lock().unwrap();
        sleep(delay).await;
        if self.fails.load(Ordering::Relaxed) {
            return Err(azure_core::Error::with_message(ErrorKind::Credential, "not today"));
        }
        let expires = OffsetDateTime::from(self.clock.now() + self.life);
        Ok(AccessToken::new(format!("secret-{number}"), expires))
    }
}
