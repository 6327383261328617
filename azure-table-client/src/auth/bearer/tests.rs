use std::time::Duration;

use azure_core::credentials::{AccessToken, TokenRequestOptions};
use azure_core::time::OffsetDateTime;
use futures_util::future::join_all;
use http::{HeaderMap, header};
use tokio::time::{Instant, advance, timeout};

use super::issuer::Issuer;
use super::*;
use crate::error::ErrorKind;

const HOUR: Duration = Duration::from_secs(60 * 60);
const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

struct Setup {
    issuer: Arc<Issuer>,
    tokens: BearerTokens,
}

impl Setup {
    fn of(life: Duration) -> Self {
        let issuer = Issuer::of(life);
        Self { tokens: BearerTokens::new(issuer.clone()), issuer }
    }

    async fn try_get(&self) -> Result<String, Error> {
        let token = self.tokens.token(&self.issuer.clock).await?.expect("the tenant is known");
        Ok(token.header().to_str().unwrap().to_owned())
    }

    async fn get(&self) -> String {
        self.try_get().await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_until_five_minutes_before_its_end() {
    let setup = Setup::of(HOUR);
    assert_eq!(setup.get().await, "Bearer secret-1");
    advance(Duration::from_secs(55 * 60 - 1)).await;
    assert_eq!(setup.get().await, "Bearer secret-1");
    assert_eq!(setup.issuer.requests(), 1);
    advance(SECOND).await;
    assert_eq!(setup.get().await, "Bearer secret-2");
    advance(54 * MINUTE).await;
    assert_eq!(setup.get().await, "Bearer secret-2");
}

#[tokio::test(start_paused = true)]
async fn a_short_token_is_kept_for_half_of_its_time() {
    let setup = Setup::of(4 * MINUTE);
    setup.get().await;
    advance(Duration::from_secs(2 * 60 - 1)).await;
    assert_eq!(setup.get().await, "Bearer secret-1");
    advance(SECOND).await;
    assert_eq!(setup.get().await, "Bearer secret-2");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_wait_for_one_renewal() {
    let setup = Setup::of(HOUR);
    setup.issuer.delay(SECOND);
    let tokens = join_all((0..100).map(|_| setup.get())).await;
    assert!(tokens.iter().all(|token| token == "Bearer secret-1"));
    advance(2 * HOUR).await;
    let tokens = join_all((0..100).map(|_| setup.get())).await;
    assert!(tokens.iter().all(|token| token == "Bearer secret-2"));
    assert_eq!(setup.issuer.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_are_told_of_one_failure_and_the_next_one_asks_anew() {
    let setup = Setup::of(HOUR);
    setup.issuer.delay(SECOND);
    setup.issuer.fails(true);
    let results = join_all((0..100).map(|_| setup.try_get())).await;
    for result in results {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Credential);
    }
    assert_eq!(setup.issuer.requests(), 1);
    setup.issuer.fails(false);
    assert_eq!(setup.get().await, "Bearer secret-2");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_outlives_the_call_that_began_it() {
    let setup = Arc::new(Setup::of(HOUR));
    setup.issuer.delay(10 * SECOND);
    let begun = Instant::now();
    let first = tokio::spawn({
        let setup = Arc::clone(&setup);
        async move { setup.get().await }
    });
    tokio::task::yield_now().await;
    assert_eq!(setup.issuer.requests(), 1);
    let others: Vec<_> = (0..5)
        .map(|_| {
            let setup = Arc::clone(&setup);
            tokio::spawn(async move { setup.get().await })
        })
        .collect();
    tokio::time::sleep(3 * SECOND).await;
    first.abort();
    for other in others {
        assert_eq!(other.await.unwrap(), "Bearer secret-1");
    }
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(setup.issuer.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_next_call_goes_on_with_a_renewal_that_nobody_waits_for() {
    let setup = Setup::of(HOUR);
    setup.issuer.delay(10 * SECOND);
    assert!(timeout(3 * SECOND, setup.get()).await.is_err());
    advance(20 * SECOND).await;
    let begun = Instant::now();
    assert_eq!(setup.get().await, "Bearer secret-1");
    assert!(begun.elapsed() < SECOND, "it was done meanwhile");
    assert_eq!(setup.issuer.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_old_token_is_used_while_renewals_fail_and_it_is_valid() {
    let setup = Setup::of(HOUR);
    setup.get().await;
    setup.issuer.fails(true);
    advance(56 * MINUTE).await;
    for _ in 0..10 {
        assert_eq!(setup.get().await, "Bearer secret-1");
    }
    assert_eq!(setup.issuer.requests(), 2, "no immediate second request");
    advance(30 * SECOND).await;
    assert_eq!(setup.get().await, "Bearer secret-1");
    assert_eq!(setup.issuer.requests(), 3);
    advance(4 * MINUTE).await;
    let error = setup.try_get().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credential);
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("not today"));
    setup.issuer.fails(false);
    assert_eq!(setup.get().await, "Bearer secret-5");
}

#[tokio::test(start_paused = true)]
async fn a_slow_renewal_is_not_waited_for_while_the_old_token_is_valid() {
    let setup = Setup::of(HOUR);
    setup.get().await;
    setup.issuer.delay(MINUTE);
    advance(56 * MINUTE).await;
    let begun = Instant::now();
    assert_eq!(setup.get().await, "Bearer secret-1");
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(setup.get().await, "Bearer secret-1");
    assert_eq!(begun.elapsed().as_secs(), 5, "the next ones do not wait at all");
    advance(MINUTE).await;
    assert_eq!(setup.get().await, "Bearer secret-2", "the same renewal is done");
    assert_eq!(setup.issuer.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_never_answers_is_given_up() {
    let setup = Setup::of(HOUR);
    setup.issuer.delay(1000 * HOUR);
    let begun = Instant::now();
    let error = setup.try_get().await.unwrap_err();
    assert_eq!((error.kind(), begun.elapsed().as_secs()), (ErrorKind::Credential, 120));
    setup.issuer.delay(Duration::ZERO);
    assert_eq!(setup.get().await, "Bearer secret-2");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_refused_is_renewed_once() {
    let setup = Setup::of(HOUR);
    let refused = setup.tokens.token(&setup.issuer.clock).await.unwrap().unwrap();
    for _ in 0..5 {
        // Five calls were sent with it, and the first one has had it renewed.
        setup.tokens.reject(&refused);
        assert_eq!(setup.get().await, "Bearer secret-2");
    }
    assert_eq!(setup.issuer.requests(), 2);
}

#[derive(Debug)]
struct Odd(&'static str, OffsetDateTime);

#[async_trait::async_trait]
impl TokenCredential for Odd {
    async fn get_token(
        &self,
        _: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        Ok(AccessToken::new(self.0, self.1))
    }
}

#[tokio::test(start_paused = true)]
async fn odd_tokens_are_an_error_that_does_not_show_them() {
    let clock = Issuer::of(HOUR).clock.clone();
    for token in ["", "secret\n", "sec\u{0}ret", "secret\r\nx-ms-date: now"] {
        let tokens = BearerTokens::new(Arc::new(Odd(token, OffsetDateTime::now_utc())));
        let error = tokens.token(&clock).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Credential);
        assert!(!format!("{error} {error:?}").contains("sec"), "{error:?}");
    }
    // No date of expiry overflows.
    for days in [-3_000_000, 0, 2_000_000] {
        let expires = OffsetDateTime::UNIX_EPOCH + azure_core::time::Duration::days(days);
        let tokens = BearerTokens::new(Arc::new(Odd("secret", expires)));
        assert!(tokens.token(&clock).await.unwrap().is_some(), "{days}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_shows_a_token() {
    let setup = Setup::of(HOUR);
    let token = setup.tokens.token(&setup.issuer.clock).await.unwrap().unwrap();
    let credential = crate::auth::Credential::from(setup.tokens.clone());
    let shown = format!("{token:?} {:?} {:?} {credential:?}", token.header(), setup.tokens);
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn the_audience_follows_from_the_endpoint_or_is_set() {
    for (endpoint, audience) in [
        ("https://me.table.core.windows.net", "https://storage.azure.com"),
        ("https://me-secondary.table.core.windows.net", "https://storage.azure.com"),
        ("https://me.z01.table.storage.azure.net", "https://storage.azure.com"),
        ("https://me.table.core.usgovcloudapi.net", "https://storage.azure.com"),
        ("https://me.table.core.chinacloudapi.cn", "https://storage.azure.com"),
        ("https://me.table.cosmos.azure.com:443", "https://cosmos.azure.com"),
        ("https://me.table.cosmosdb.azure.com", "https://cosmos.azure.com"),
        ("https://me.table.cosmos.azure.us", "https://cosmos.azure.us"),
        ("https://me.table.cosmos.azure.cn", "https://cosmos.azure.cn"),
        ("https://tables.example.com/me", "https://storage.azure.com"),
        ("https://127.0.0.1:10002/me.table.cosmos.azure.com", "https://storage.azure.com"),
    ] {
        let Setup { issuer, tokens } = Setup::of(HOUR);
        tokens.for_endpoint(endpoint).token(&issuer.clock).await.unwrap();
        assert_eq!(issuer.scope(), format!("{audience}/.default"), "{endpoint}");
        let own = tokens.audience("https://me.table.core.windows.net");
        own.for_endpoint(endpoint).token(&issuer.clock).await.unwrap();
        assert_eq!(issuer.scope(), "https://me.table.core.windows.net/.default");
    }
    for audience in ["https://a", "https://a/", "https://a/.default", " https://a//.default "] {
        let tokens = Setup::of(HOUR).tokens.audience(audience);
        assert_eq!(tokens.scope(), "https://a/.default");
    }
}

#[test]
fn challenges_are_read_in_all_their_forms() {
    let of = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::of(&headers)
    };
    let found = |tenant: Option<&str>, resource: Option<&str>| {
        let (tenant, resource) = (tenant.map(str::to_owned), resource.map(str::to_owned));
        Some(Challenge { tenant, resource })
    };
    let storage = Some("https://storage.azure.com");
    for value in [
        "Bearer authorization_uri=https://login.microsoftonline.com/a-1/oauth2/authorize resource_id=https://storage.azure.com",
        "bearer authorization=\"https://login.windows.net/a-1\", resource=\"https://storage.azure.com\"",
        "Bearer x,authorization_uri=https://login.microsoftonline.us/a-1/,resource_id=https://storage.azure.com,=,y=",
    ] {
        assert_eq!(of(&["Basic realm=x", value]), found(Some("a-1"), storage), "{value}");
    }
    for uri in [
        "",
        "https://login.microsoftonline.com",
        "https://login.microsoftonline.com/",
        "https://login.microsoftonline.com//a",
        "https://login.microsoftonline.com/a%2F..%2Fb/x",
        "https://login.microsoftonline.com/a@b",
        "http://login.microsoftonline.com/a",
        "javascript:a",
        "a/b",
    ] {
        assert_eq!(of(&[&format!("Bearer authorization_uri={uri}")]), found(None, None), "{uri}");
    }
    for none in [&[][..], &["Bearer"], &["Basic a=b"], &[""]] {
        assert_eq!(of(none), None);
    }
}
