//! Credentials that are refused and responses that cannot be read: each is a typed error, whose
//! text names the remedy. Tests of refused Entra ID tokens are next to the token code.

use std::error::Error as _;
use std::time::Duration;

use azure_table_client::auth::{Credential, SasToken, SharedKey, TablePermissions, TableSas};
use azure_table_client::client::ServiceVersion;
use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, Error, ErrorKind, RetryPolicy, TableServiceClient};
use azure_table_tests::scripted::{Scripted, response};

const ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";

/// This error names the request id too.
#[track_caller]
fn assert_says(error: &Error, kind: ErrorKind, expected: &str) {
    let id = error.request_id().map(|id| format!(", request id {id}")).unwrap_or_default();
    assert_eq!((error.kind(), &*error.to_string().replace(&id, "")), (kind, expected));
}

fn client(mock: &MockTableService, credential: impl Into<Credential>) -> TableServiceClient {
    TableServiceClient::builder(ENDPOINT, credential)
        .transport(mock.transport())
        .clock(mock.clock())
        .build()
        .unwrap()
}

async fn with_blogs() -> MockTableService {
    let mock = MockTableService::new();
    mock.client().create_table("Blogs").await.unwrap();
    mock
}

fn signed(sas: TableSas, expiry: &str) -> SasToken {
    sas.expires_at(expiry.parse::<azure_table_client::edm::EdmDateTime>().unwrap())
        .sign(&SharedKey::development())
        .unwrap()
}

#[tokio::test]
async fn expired_and_insufficient_signatures() {
    let mock = with_blogs().await;
    let read = || TableSas::new("Blogs").permissions(TablePermissions::READ);
    let far = "2999-01-01T00:00:00Z";
    let not_authentic = "Server failed to authenticate the request. Make sure the value of \
                         Authorization header is formed correctly including the signature.";
    let not_authorized = "This request is not authorized to perform this operation";
    let changed = SasToken::new(&signed(read(), far).as_query().replace("sp=r", "sp=ra")).unwrap();
    for (token, expected) in [
        (
            signed(read(), "2017-11-10T12:00:00Z"),
            format!(
                "Insert on Blogs: {not_authentic} The shared access signature expired at \
                 2017-11-10T12:00:00Z; get a new one. (403 AuthenticationFailed, entity (\"p\", \"r\"))"
            ),
        ),
        (
            changed,
            format!(
                "Insert on Blogs: {not_authentic} The shared access signature was changed after it \
                 was signed, or the account's key was regenerated: get a new one. (403 \
                 AuthenticationFailed, entity (\"p\", \"r\"))"
            ),
        ),
        (
            signed(read(), far),
            format!(
                "Insert on Blogs: {not_authorized} using this permission. The shared access \
                 signature permits \"r\", and Insert needs \"a\". (403 \
                 AuthorizationPermissionMismatch, entity (\"p\", \"r\"))"
            ),
        ),
        (
            signed(TableSas::new("Other").permissions(TablePermissions::ADD), far),
            format!(
                "Insert on Blogs: {not_authorized}. The shared access signature is for the table \
                 \"Other\" only. (403 AuthorizationFailure, entity (\"p\", \"r\"))"
            ),
        ),
        (
            signed(
                TableSas::new("Blogs").permissions(TablePermissions::ADD).partition_key("q"),
                far,
            ),
            format!(
                "Insert on Blogs: {not_authorized}. The shared access signature covers a range of \
                 keys only: check that these keys are in it. (403 AuthorizationFailure, entity (\"p\", \"r\"))"
            ),
        ),
    ] {
        let blogs = client(&mock, token).table_named::<DynamicEntity>("Blogs");
        let error = blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_says(&error, ErrorKind::Service, &expected);
    }
}

#[test]
fn malformed_signatures() {
    for (token, expected) in [
        ("", "has no sig parameter: it is truncated, or is another text"),
        ("sv=2019-02-02&sp=r", "has no sig parameter: it is truncated, or is another text"),
        (
            "https://me.table.core.windows.net/?sv=2019-02-02&sig=c2Vj",
            "is a whole URL; pass only its query, which is the part after the question mark",
        ),
        ("sv=2019-02-02&amp;sig=c2Vj", "was copied from HTML: it has &amp; instead of &"),
        (
            "sv=2019-02-02&sig=c2Vj IA",
            "has the character ' ', which is not allowed in a URL; it must be percent-encoded",
        ),
        ("sv=2019-02-02&sig=c2Vj%252F", "was percent-encoded twice; pass it unchanged"),
        (
            "se=tomorrow&sig=c2Vj",
            "has a time in se that does not begin with a date like 2026-01-31",
        ),
    ] {
        let error = Error::from(SasToken::new(token).unwrap_err());
        let expected = format!("the shared access signature {expected}");
        assert_says(&error, ErrorKind::Configuration, &expected);
        assert!(!format!("{error:?}").contains("c2Vj"));
    }
}

#[tokio::test(start_paused = true)]
async fn clock_skew_in_the_error() {
    let mock = with_blogs().await;
    mock.faults().clock_ahead(Duration::from_secs(90 * 60 + 30));
    // With the right key, the client repeats the request with the date of the service's clock.
    let exists = client(&mock, SharedKey::development()).table_exists("Blogs");
    assert!(exists.await.unwrap());
    let wrong = SharedKey::new("devstoreaccount1", "d3Jvbmcta2V5LXdyb25nLWtleQ==").unwrap();
    let error = client(&mock, wrong).table_exists("Blogs").await.unwrap_err();
    assert_says(
        &error,
        ErrorKind::Service,
        "GetTable on Blogs: Server failed to authenticate the request. Make sure the value of \
         Authorization header is formed correctly including the signature. This machine's clock is \
         90 min behind the service's, and a request dated by the service's clock was refused as \
         well: check the account's key, and set the clock. (403 AuthenticationFailed, 2 attempts)",
    );
}

fn answering(version: ServiceVersion, kind: &'static str, body: &str) -> TableServiceClient {
    TableServiceClient::builder("https://me.example.com", Credential::Anonymous)
        .service_version(version)
        .retry(RetryPolicy::none())
        .transport(Scripted::always(response(
            200,
            &[("content-type", kind), ("etag", "W/\"1\"")],
            body.to_owned(),
        )))
        .build()
        .unwrap()
}

const BOMB: &str = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>";

#[tokio::test]
async fn unexpected_formats() {
    let (atom, json) = ("application/atom+xml", "application/json;odata=minimalmetadata");
    let feed = |inner: &str| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' \
             xmlns:d='http://schemas.microsoft.com/ado/2007/08/dataservices' \
             xmlns:m='http://schemas.microsoft.com/ado/2007/08/dataservices/metadata'>{inner}</feed>"
        )
    };
    let entry =
        |row: &str| format!("<entry><content><m:properties>{row}</m:properties></content></entry>");
    let (first, latest) = (ServiceVersion::V2009_04_14, ServiceVersion::default());
    for (version, kind, body, expected) in [
        (latest, "text/csv", "p,r".to_owned(), "text/csv instead of JSON"),
        (latest, atom, feed(""), "application/atom+xml instead of JSON"),
        (latest, json, feed(""), "not valid JSON"),
        (latest, json, "[".repeat(100_000), "not valid JSON"),
        (
            latest,
            json,
            format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            "not a result of the Table service",
        ),
        (first, json, "{}".to_owned(), "application/json;odata=minimalmetadata instead of Atom"),
        (first, atom, "{}".to_owned(), "not valid Atom"),
        // The root element is in another namespace.
        (first, atom, "<feed xmlns='urn:x'/>".to_owned(), "not valid Atom"),
        (first, atom, format!("{BOMB}{}", feed("&b;")), "not valid Atom"),
        (first, atom, feed(&entry("<d:Text>&b;</d:Text>")), "not valid Atom"),
        (first, atom, feed(&"<a>".repeat(100_000)), "not valid Atom"),
        (
            first,
            atom,
            feed(&format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000))),
            "not valid Atom",
        ),
    ] {
        let table = answering(version, kind, &body).table_named::<DynamicEntity>("Blogs");
        let error = table.query().await.unwrap_err();
        let expected = format!(
            "Query on Blogs: the response is {expected}; a proxy or another server may have sent it (200)"
        );
        assert_says(&error, ErrorKind::UnexpectedReply, &expected);
    }
}

#[tokio::test]
async fn invalid_access_policies() {
    let mock = with_blogs().await;
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    let six: Vec<_> = (0..6).map(|n| StoredAccessPolicy::new(n.to_string())).collect();
    let error = blogs.set_access_policies(&six).await.unwrap_err();
    assert_says(&error, ErrorKind::InvalidInput, "too many stored access policies (6, at most 5)");
    assert_eq!(error.attempts(), 0);
    blogs.set_access_policies(&six[..5]).await.unwrap();

    let many = "<SignedIdentifier>".repeat(100_000);
    for (body, expected) in [
        (format!("{BOMB}<SignedIdentifiers>&b;</SignedIdentifiers>"), "valid XML"),
        (format!("<SignedIdentifiers>{many}</SignedIdentifiers>"), "valid XML"),
        ("<html/>".to_owned(), "a list of stored access policies"),
    ] {
        let service = answering(ServiceVersion::default(), "application/xml", &body);
        let error = service.table_named::<DynamicEntity>("Blogs").access_policies().await;
        let expected = format!(
            "GetTableAcl on Blogs: the response is not {expected}; a proxy or another server may \
             have sent it (200)"
        );
        assert_says(&error.unwrap_err(), ErrorKind::UnexpectedReply, &expected);
    }
}

#[tokio::test]
async fn invalid_filters() {
    let mock = with_blogs().await;
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    let before = mock.requests().total();
    for (text, wrong) in [
        ("Rating = 3", "expected eq, ne, gt, ge, lt or le at position 7, found = 3"),
        ("Rating eq 3 && true", "expected and, or or the end at position 12, found && true"),
        ("Rating eq", "expected a literal at position 9, found the end"),
        (
            "Posted ge 2026-11-01T00:00:00Z",
            "expected and, or or the end at position 14, found -11-01T00:00:00Z; write datetime'…'",
        ),
        (
            "(Id eq 12345678-213d-42c9-9a79-3e9149a57833)",
            "expected and, or or ) at position 15, found -213d-42c9-9a79-3e9149a57833); write guid'…'",
        ),
    ] {
        let expected = format!("the filter is not valid: {wrong}");
        let error = blogs.query().filter_text(text).await.unwrap_err();
        assert_says(&error, ErrorKind::InvalidInput, &expected);
        assert!(error.source().is_some());
    }
    assert_eq!(mock.requests().total(), before);
}
