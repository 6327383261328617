use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use crate::TableServiceClientBuilder;
use crate::auth::{BearerTokens, Credential, Issuer, TokenCredential};
use crate::error::{Error, ErrorCode, ErrorKind, Outcome};
use crate::mock::{Fault, MockTableService};
use crate::transport::HttpResponse;
use crate::transport::recording::Recording;
use crate::wire::Operation;
use crate::{DynamicEntity, RetryPolicy, TableClient, TableServiceClient};

const ENDPOINT: &str = "https://127.0.0.1:10002/devstoreaccount1";
const TENANT: &str = "00000000-0000-0000-0000-000000000000";
const HOUR: Duration = Duration::from_secs(60 * 60);

fn builder(
    mock: &MockTableService,
    credential: impl Into<Credential>,
) -> TableServiceClientBuilder {
    TableServiceClient::builder(ENDPOINT, credential)
        .transport(mock.transport())
        .clock(mock.clock())
}

fn blogs(mock: &MockTableService, credential: impl Into<Credential>) -> TableClient<DynamicEntity> {
    builder(mock, credential).build().unwrap().table_named("Blogs")
}

/// A service that takes all tokens but these.
fn refusing(tokens: &'static [&str]) -> MockTableService {
    MockTableService::builder()
        .tokens(|token| token.starts_with("secret-") && !tokens.contains(&token))
        .build()
}

fn chain(error: &Error) -> String {
    let mut shown = format!("{error} {error:?}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let _ = write!(shown, " {cause} {cause:?}");
        source = cause.source();
    }
    shown
}

#[tokio::test(start_paused = true)]
async fn all_calls_of_a_client_share_a_token() {
    let mock = refusing(&[]);
    let issuer = Issuer::of(HOUR);
    let blogs = blogs(&mock, issuer.clone());
    blogs.create().await.unwrap();
    let rows: Vec<_> = (0..20).map(|n| DynamicEntity::new("p", n.to_string())).collect();
    for result in join_all(rows.iter().map(async |row| blogs.insert(row).await)).await {
        result.unwrap();
    }
    assert_eq!(blogs.query().await.unwrap().len(), 20);
    assert_eq!(issuer.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_and_the_call_is_sent_again() {
    let mock = refusing(&["secret-1"]);
    let issuer = Issuer::of(HOUR);
    let blogs = blogs(&mock, issuer.clone());
    let results = join_all((0..10).map(async |_| blogs.create_if_not_exists().await)).await;
    for result in results {
        result.unwrap();
    }
    assert_eq!(issuer.requests(), 2);
    assert_eq!(mock.requests().count(Operation::CreateTable), 20);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_stays_refused_is_an_error_that_says_what_to_do() {
    let mock = refusing(&["secret-1", "secret-2"]);
    let issuer = Issuer::of(HOUR);
    let blogs = blogs(&mock, BearerTokens::new(issuer.clone()).audience("https://graph.example"));
    let error = blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Service, Some(401)));
    assert_eq!(error.code(), Some(&ErrorCode::InvalidAuthenticationInfo));
    assert_eq!((error.outcome(), error.attempts()), (Outcome::NotApplied, 2));
    assert_eq!(issuer.requests(), 2);
    let text = error.to_string();
    let hint = format!(
        "The token for https://graph.example/.default was refused, where the service names the audience \
         https://storage.azure.com, and the tenant {TENANT}; see BearerTokens::audience and the tenant \
         of the credential."
    );
    assert_eq!(error.hint(), Some(&*hint));
    assert!(text.contains(&hint), "{text}");
    assert!(!chain(&error).contains("secret"), "{text}");
}

/// A service that refuses every request.
fn refusal(status: StatusCode, code: &str, message: &str) -> Arc<Recording> {
    let body = format!(
        r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{message}"}}}}}}"#
    );
    Recording::always(HttpResponse { status, headers: HeaderMap::new(), body: body.into() })
}

#[tokio::test(start_paused = true)]
async fn a_token_too_many_is_not_renewed() {
    let full = refusal(
        StatusCode::UNAUTHORIZED,
        "Unauthorized",
        "Exceeded allowed aad token limit of 100 that can be used concurrently",
    );
    let mock = MockTableService::new();
    let issuer = Issuer::of(HOUR);
    let service = builder(&mock, issuer.clone()).transport(full).build().unwrap();
    let error = service.create_table("Blogs").await.unwrap_err();
    assert_eq!((issuer.requests(), error.attempts()), (1, 1));
    assert!(error.to_string().contains("only so many"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_credential_without_a_token_is_an_error_before_anything_is_sent() {
    let mock = refusing(&[]);
    let issuer = Issuer::of(HOUR);
    issuer.fails(true);
    let error = blogs(&mock, issuer.clone()).create().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Credential, 0));
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(mock.requests().count(Operation::CreateTable), 0);
    assert!(error.to_string().starts_with("CreateTable on Blogs: "), "{error}");
    assert!(chain(&error).contains("not today"));
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_token_within_its_deadline() {
    let mock = refusing(&[]);
    let issuer = Issuer::of(HOUR);
    issuer.delay(HOUR);
    let deadline = Duration::from_secs(9);
    let service = builder(&mock, issuer.clone()).deadline(deadline).build().unwrap();
    let begun = Instant::now();
    let error = service.create_table("Blogs").await.unwrap_err();
    assert_eq!((error.kind(), begun.elapsed().as_secs()), (ErrorKind::Timeout, 9));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_token_that_is_valid_then() {
    let mock = refusing(&[]);
    let issuer = Issuer::of(Duration::from_secs(10));
    let retry = RetryPolicy::fixed(1, Duration::from_secs(20));
    let service = builder(&mock, issuer.clone()).retry(retry).build().unwrap();
    mock.faults().add(Fault::busy().times(1));
    service.create_table("Blogs").await.unwrap();
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_tenant_is_found_out_once() {
    let mock = refusing(&[]);
    let issuer = Issuer::of(HOUR);
    let tenants = Arc::new(Mutex::new(Vec::new()));
    let tokens = BearerTokens::of_tenant({
        let (issuer, tenants) = (issuer.clone(), Arc::clone(&tenants));
        move |tenant| {
            tenants.lock().unwrap().push(tenant.to_owned());
            Ok(issuer.clone() as Arc<dyn TokenCredential>)
        }
    });
    let first = blogs(&mock, tokens.clone());
    let results = join_all((0..10).map(async |_| first.create_if_not_exists().await)).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(*tenants.lock().unwrap(), [TENANT]);
    assert_eq!(first.get_if_exists(("p", "r")).await.unwrap(), None);
    assert_eq!((issuer.requests(), tenants.lock().unwrap().len()), (1, 1));
    // Another client may be of another tenant.
    blogs(&mock, tokens).query().await.unwrap();
    assert_eq!(tenants.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_names_no_tenant_is_not_taken_at_its_word() {
    // The mock accepts no tokens, and its challenge names no tenant.
    let mock = MockTableService::new();
    let made = Arc::new(AtomicUsize::new(0));
    let tokens = BearerTokens::of_tenant({
        let made = Arc::clone(&made);
        move |_| {
            made.fetch_add(1, Ordering::Relaxed);
            Ok(Issuer::of(HOUR) as Arc<dyn TokenCredential>)
        }
    });
    let error = blogs(&mock, tokens).get_if_exists(("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Credential, Some(404)));
    assert!(!error.is_not_found());
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_without_a_credential_is_an_error_and_asked_for_again() {
    let mock = refusing(&[]);
    let calls = Arc::new(AtomicUsize::new(0));
    let tokens = BearerTokens::of_tenant({
        let calls = Arc::clone(&calls);
        move |_| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => Err(azure_core::Error::with_message(
                azure_core::error::ErrorKind::Credential,
                "unknown here",
            )),
            _ => Ok(Issuer::of(HOUR) as Arc<dyn TokenCredential>),
        }
    });
    let blogs = blogs(&mock, tokens);
    let error = blogs.create().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credential);
    assert!(error.to_string().contains(TENANT) && chain(&error).contains("unknown here"));
    blogs.create().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_missing_role_is_named_and_not_sent_again() {
    let no_role = refusal(
        StatusCode::FORBIDDEN,
        "AuthorizationPermissionMismatch",
        "This request is not authorized to perform this operation using this permission.\\nRequestId:x",
    );
    let service = TableServiceClient::builder(ENDPOINT, Issuer::of(HOUR))
        .transport(no_role.clone())
        .build()
        .unwrap();
    let error = service.table_named::<DynamicEntity>("Blogs").query().await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::AuthorizationPermissionMismatch));
    assert_eq!((error.status(), error.attempts()), (Some(403), 1));
    assert!(error.to_string().contains("Storage Table Data Contributor"), "{error}");
    // Challenges are sent in this version, and the header is marked as sensitive for loggers.
    let [request] = &no_role.take_requests()[..] else { panic!("one request") };
    assert_eq!(request.headers["x-ms-version"], "2020-12-06");
    assert!(request.headers["authorization"].is_sensitive());
}

#[test]
fn plain_http_is_refused_on_this_machine_as_well() {
    let build = |endpoint: &str, allow: bool| {
        TableServiceClient::builder(endpoint, Issuer::of(HOUR)).allow_http(allow)
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        for endpoint in ["http://127.0.0.1:10002/me", "http://me.table.core.windows.net"] {
            let error = build(endpoint, false).build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("allow_http"));
            let mock = MockTableService::new();
            assert!(build(endpoint, true).transport(mock.transport()).build().is_ok());
        }
        let secondary = build(ENDPOINT, false).secondary_endpoint("http://127.0.0.1:1/me");
        assert!(secondary.build().is_err());
    });
}
#[derive(Debug)]
struct LostThenForbidden(Arc<dyn crate::transport::Transport>, AtomicUsize);

impl crate::transport::Transport for LostThenForbidden {
    fn send(&self, request: crate::transport::HttpRequest) -> crate::transport::ResponseFuture<'_> {
        let is_read = request.method == http::Method::GET;
        let is_first = is_read || self.1.fetch_add(1, Ordering::Relaxed) == 0;
        Box::pin(async move {
            if is_read {
                return self.0.send(request).await;
            }
            if is_first {
                self.0.send(request).await?;
                let kind = crate::transport::TransportErrorKind::Interrupted;
                return Err(crate::transport::TransportError::new(kind, "lost"));
            }
            let body = r#"{"odata.error":{"code":"AuthorizationFailure","message":{"lang":"en-US","value":"no role"}}}"#;
            let mut headers = HeaderMap::new();
            headers.insert("x-ms-request-id", "1".parse().unwrap());
            headers.insert("content-type", "application/json".parse().unwrap());
            Ok(HttpResponse { status: StatusCode::FORBIDDEN, headers, body: body.into() })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_does_not_deny_a_bulk_row_whose_first_attempt_was_lost() {
    let mock = refusing(&[]);
    mock.client().table_named::<DynamicEntity>("Blogs").create().await.unwrap();
    let transport = Arc::new(LostThenForbidden(mock.transport(), AtomicUsize::new(0)));
    let service = builder(&mock, Issuer::of(HOUR)).transport(transport).build().unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    let row = crate::bulk::BulkOperation::Insert(DynamicEntity::new("p", "r"));
    // The row is there, as the insert left it.
    let report = blogs.bulk().run([row]).await.unwrap();
    assert_eq!((report.progress.applied, mock.row_count("Blogs")), (1, Some(1)));
}
