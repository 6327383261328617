mod responses;

use std::fmt::Write as _;

use crate::TableServiceClientBuilder;
use crate::auth::{
    BearerTokens, Credential, Issuer, SasError, SasProtocol, SasToken, SharedKey, TablePermissions,
    TableSas, UserDelegationKey, UserDelegationKeyRequest,
};
use crate::error::{Error, ErrorCode, ErrorKind, Outcome};
use crate::mock::{Fault, MockTableService};
use crate::transport::recording::Recording;
use crate::wire::Operation;
use crate::{Dialect, DynamicEntity, TableClient, TableServiceClient};
use std::time::{Duration, SystemTime};

const ENDPOINT: &str = "https://127.0.0.1:10002/devstoreaccount1";
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn with_tokens() -> MockTableService {
    MockTableService::builder().tokens(|token| token.starts_with("secret-")).build()
}

fn builder(
    mock: &MockTableService,
    credential: impl Into<Credential>,
) -> TableServiceClientBuilder {
    TableServiceClient::builder(ENDPOINT, credential)
        .transport(mock.transport())
        .clock(mock.clock())
}

fn delegator(mock: &MockTableService) -> TableServiceClient {
    builder(mock, Issuer::of(30 * DAY)).build().unwrap()
}

fn holder(mock: &MockTableService, token: SasToken) -> TableClient<DynamicEntity> {
    builder(mock, token).build().unwrap().table_named("Blogs")
}

fn now(mock: &MockTableService) -> SystemTime {
    mock.clock().now()
}

/// A key for a day.
async fn key(mock: &MockTableService) -> UserDelegationKey {
    let request = UserDelegationKeyRequest::until(now(mock) + DAY);
    delegator(mock).user_delegation_key(&request).await.unwrap()
}

/// A signature that reads the table for an hour.
fn reading(mock: &MockTableService) -> TableSas {
    TableSas::new("Blogs").permissions(TablePermissions::READ).expires_at(now(mock) + HOUR)
}

async fn filled() -> MockTableService {
    let mock = with_tokens();
    let blogs = delegator(&mock).table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    for partition in ["1", "2", "3"] {
        blogs.insert(&DynamicEntity::new(partition, "1")).await.unwrap();
    }
    mock
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

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().code().unwrap().to_string()
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_response_is_cut_is_requested_again() {
    let mock = with_tokens();
    let cut = mock.faults().add(Fault::truncate_reply().times(2));
    assert_eq!(key(&mock).await.account(), "devstoreaccount1");
    assert_eq!((cut.struck(), mock.requests().total()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn a_signature_with_a_user_delegation_key_gives_what_it_permits() {
    let mock = filled().await;
    let key = key(&mock).await;
    assert_eq!(key.account(), "devstoreaccount1");
    assert_eq!(key.object_id(), "00000000-0000-0000-0000-000000000000");
    assert_eq!(key.delegated_tenant(), None);
    let reader = holder(&mock, reading(&mock).sign_delegated(&key).unwrap());
    assert_eq!(reader.query().await.unwrap().len(), 3);
    let row = DynamicEntity::new("2", "2");
    assert_eq!(code(reader.insert(&row).await), "AuthorizationPermissionMismatch");
    assert_eq!(code(reader.create().await), "AuthorizationFailure", "no table management");
    assert_eq!(code(reader.access_policies().await), "AuthorizationFailure");

    let all = reading(&mock).permissions(TablePermissions::ALL).partition_key("2");
    let writer = holder(&mock, all.sign_delegated(&key).unwrap());
    writer.insert(&row).await.unwrap();
    writer.insert_or_replace(&row).await.unwrap();
    assert_eq!(writer.query().await.unwrap().len(), 2);
    assert_eq!(code(writer.insert(&DynamicEntity::new("3", "2")).await), "AuthorizationFailure");
    writer.transaction().delete(("2", "2"), crate::IfMatch::Any).await.unwrap();

    let other = TableSas::new("Others")
        .permissions(TablePermissions::READ)
        .expires_at(now(&mock) + HOUR)
        .sign_delegated(&key)
        .unwrap();
    let refused = holder(&mock, other).query().await.unwrap_err();
    assert_eq!(refused.code(), Some(&ErrorCode::AuthorizationFailure));
    assert!(refused.to_string().contains("for the table \"Others\" only"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn signatures_end_with_their_expiry_and_start_with_their_start() {
    let mock = filled().await;
    let key = key(&mock).await;
    let later = reading(&mock).starts_at(now(&mock) + HOUR).expires_at(now(&mock) + 2 * HOUR);
    let later = holder(&mock, later.sign_delegated(&key).unwrap());
    let reader = holder(&mock, reading(&mock).sign_delegated(&key).unwrap());
    let error = later.query().await.unwrap_err();
    assert!(error.to_string().contains("is not valid before"), "{error}");
    reader.query().await.unwrap();
    tokio::time::advance(HOUR).await;
    let error = reader.query().await.unwrap_err();
    assert_eq!((error.status(), error.outcome()), (Some(403), Outcome::NotApplied));
    assert!(error.to_string().contains("expired at"), "{error}");
    later.query().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_the_request_for_a_key_has_the_late_version() {
    let mock = filled().await;
    let service = delegator(&mock);
    let recording = Recording::of(mock.transport());
    let service_of = |version: &str| {
        let version = version.parse().unwrap();
        let builder = builder(&mock, Issuer::of(DAY)).transport(recording.clone());
        builder.service_version(version).build().unwrap()
    };
    let request = UserDelegationKeyRequest::until(now(&mock) + DAY);
    for (version, sent) in [("2019-02-02", "2020-12-06"), ("2017-11-09", "2017-11-09")] {
        let service = service_of(version);
        service.user_delegation_key(&request).await.unwrap();
        service.table_exists("Blogs").await.unwrap();
        let requests = recording.take_requests();
        let versions: Vec<_> =
            requests.iter().map(|request| request.headers["x-ms-version"].clone()).collect();
        assert_eq!(versions, ["2025-07-05", sent]);
        let request = &requests[0];
        assert_eq!(request.method, "POST");
        assert_eq!(
            request.uri.path_and_query().unwrap(),
            "/devstoreaccount1/?restype=service&comp=userdelegationkey"
        );
        assert_eq!(request.headers["content-type"], "application/xml");
        assert_eq!(request.headers["accept"], "application/xml");
        let body = std::str::from_utf8(&request.body).unwrap();
        let start = body.find("<KeyInfo><Start>").unwrap();
        assert!(body[start..].contains("Z</Start><Expiry>"), "{body}");
        assert!(!body.contains('.') || body.starts_with("<?xml version=\"1.0\""), "{body}");
        assert_eq!(request.operation, Operation::GetUserDelegationKey);
    }
    // A retry sends the same version.
    mock.faults().add(Fault::busy().times(1));
    service.user_delegation_key(&request).await.unwrap();
    assert_eq!(mock.requests().count(Operation::GetUserDelegationKey), 4);
}

#[tokio::test(start_paused = true)]
async fn signatures_that_cannot_be_are_refused_before_they_are_signed() {
    let mock = filled().await;
    let key = key(&mock).await;
    let all = || reading(&mock);
    let account = SharedKey::development();
    let beyond = all().expires_at(now(&mock) + 2 * DAY).sign_delegated(&key);
    assert!(
        matches!(beyond, Err(SasError::ExpiresAfterKey { key_expiry, .. }) if key_expiry == key.expires_at())
    );
    assert!(all().expires_at(key.expires_at()).sign_delegated(&key).is_ok());
    for (result, expected) in [
        (all().policy("p").sign_delegated(&key), SasError::PolicyWithUserDelegation),
        (all().delegated_user("u").sign(&account), SasError::UserWithoutUserDelegation),
        (
            all().version("2019-02-02").sign_delegated(&key),
            SasError::VersionTooEarly { first: "2025-07-05" },
        ),
        (
            all().version("2019-02-02").protocol(SasProtocol::Https).sign_delegated(&key),
            SasError::VersionTooEarly { first: "2025-07-05" },
        ),
        (all().start_row_key("r").sign_delegated(&key), SasError::RowKeyWithoutPartitionKey),
        (
            all().permissions(TablePermissions::default()).sign_delegated(&key),
            SasError::NoPermissions,
        ),
        (
            TableSas::new("Blogs").permissions(TablePermissions::READ).sign_delegated(&key),
            SasError::NoExpiry,
        ),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error, expected);
        assert!(!error.to_string().is_empty());
    }
    // A line break would move the lines of the string to sign.
    for user in ["", "a\n1.2.3.4", "a b", "é", &"a".repeat(65)] {
        let error = all().delegated_user(user).sign_delegated(&key).unwrap_err();
        assert_eq!(error, SasError::DelegatedId { of: "user" }, "{user:?}");
        assert!(error.to_string().starts_with("the delegated user "), "{error}");
    }
    all().delegated_user("a".repeat(64)).sign_delegated(&key).unwrap();
    let newer = all().version("2026-04-06").sign_delegated(&key).unwrap();
    holder(&mock, newer).query().await.unwrap();
    let error = delegator(&mock).sign_table_sas(&all()).unwrap_err();
    assert!(error.to_string().contains("user delegation key"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn keys_that_cannot_be_are_refused_before_anything_is_sent() {
    let mock = filled().await;
    let service = delegator(&mock);
    let now = now(&mock);
    let until = |time| UserDelegationKeyRequest::until(time);
    for (request, expected) in [
        (
            until(now + 7 * DAY + Duration::from_secs(1)),
            "the user delegation key would be valid for more than 7 days (",
        ),
        (
            until(now + 9 * DAY).starts_at(now + DAY),
            "the user delegation key would be valid for more than 7 days (",
        ),
        (until(now), "the user delegation key would expire at "),
        (until(now + HOUR).starts_at(now + 2 * HOUR), "the user delegation key would expire at "),
        (until(now + DAY).account(""), "the user delegation key needs the name of the account"),
        (until(now + DAY).account("a:b"), "the user delegation key needs the name of the account"),
        (
            UserDelegationKeyRequest::until(SystemTime::UNIX_EPOCH - 400 * 365 * DAY),
            "is outside of 1601 to 9999",
        ),
        (until(now + DAY).delegated_tenant(""), "the delegated tenant "),
        (until(now + DAY).delegated_tenant("a\nb"), "the delegated tenant "),
    ] {
        let error = service.user_delegation_key(&request).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.downcast_ref::<SasError>().is_some(), "{source}");
    }
    let domain = TableServiceClient::builder("https://tables.example.com", Issuer::of(DAY))
        .transport(mock.transport())
        .clock(mock.clock())
        .build()
        .unwrap();
    let error = domain.user_delegation_key(&until(now + DAY)).await.unwrap_err();
    assert!(error.to_string().contains("UserDelegationKeyRequest::account"), "{error}");
    let cosmos = builder(&mock, Issuer::of(DAY)).dialect(Dialect::CosmosDb).build().unwrap();
    let error = cosmos.user_delegation_key(&until(now + DAY)).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    assert!(error.to_string().contains("Cosmos DB has no GetUserDelegationKey"), "{error}");
    let token = reading(&mock).sign_delegated(&key(&mock).await).unwrap();
    let error = builder(&mock, token).dialect(Dialect::CosmosDb).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert_eq!(mock.requests().count(Operation::GetUserDelegationKey), 1, "of this test itself");

    // The longest key, and the limits of a key with a start.
    for request in [
        until(now + 7 * DAY),
        until(now + 7 * DAY - HOUR / 2),
        until(now + 2 * DAY).starts_at(now - 5 * DAY),
        until(now + DAY).account("devstoreaccount1"),
    ] {
        let key = service.user_delegation_key(&request).await.unwrap();
        let sas = reading(&mock).sign_delegated(&key).unwrap();
        holder(&mock, sas).query().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_needs_a_token() {
    let mock = filled().await;
    let request = UserDelegationKeyRequest::until(now(&mock) + DAY);
    let sas = reading(&mock).sign_delegated(&key(&mock).await).unwrap();
    for (credential, expected) in [
        (Credential::from(SharedKey::development()), "AuthenticationFailed"),
        (Credential::from(sas), "AuthorizationFailure"),
    ] {
        let service = builder(&mock, credential).build().unwrap();
        let error = service.user_delegation_key(&request).await.unwrap_err();
        assert_eq!(error.code().unwrap().as_str(), expected, "{error}");
    }
    // Without the role.
    mock.faults().add(Fault::error(403, "AuthorizationPermissionMismatch"));
    let error = delegator(&mock).user_delegation_key(&request).await.unwrap_err();
    assert!(error.to_string().contains("Storage Table Delegator"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn fields_that_bind_a_signature_to_a_user_are_signed() {
    let mock = filled().await;
    let tenant = "66666666-7777-8888-9999-aaaaaaaaaaaa";
    let request = UserDelegationKeyRequest::until(now(&mock) + DAY).delegated_tenant(tenant);
    let key = delegator(&mock).user_delegation_key(&request).await.unwrap();
    assert_eq!(key.delegated_tenant(), Some(tenant));
    let sas = reading(&mock).sign_delegated(&key).unwrap();
    assert_eq!(sas.field("skdutid").as_deref(), Some(tenant));
    holder(&mock, sas).query().await.unwrap();
    let bound = reading(&mock).delegated_user("user").sign_delegated(&key).unwrap();
    assert_eq!(bound.field("sduoid").as_deref(), Some("user"));
    let error = holder(&mock, bound).query().await.unwrap_err();
    assert!(error.to_string().contains("bound to a user"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_shown() {
    let mock = filled().await;
    let key = key(&mock).await;
    let token = reading(&mock).sign_delegated(&key).unwrap();
    let signature = token.field("sig").unwrap();
    let reader = holder(&mock, token.clone());
    let error = reader.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    let shown = format!(
        "{key:?} {token:?} {reader:?} {:?} {} {:?}",
        delegator(&mock),
        chain(&error),
        mock.requests()
    );
    for secret in [&*signature, "secret-", "sig="] {
        let kept = shown.replace("sig=...", "");
        assert!(!kept.contains(secret), "{secret}: {kept}");
    }
    assert!(shown.contains("expiry: "), "{shown}");
}
