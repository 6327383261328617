//! No secret is displayed or sent in readable form.

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::sync::Once;

use azure_table_client::auth::{Credential, SasToken, SharedKey};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ErrorKind, RetryPolicy, TableServiceClient};
use azure_table_tests::SocketTransport;
use azure_table_tests::scripted::Scripted;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::hostile_server::{HostileServer, response};

const KEY: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
const SAS: &str = "sv=2019-02-02&sp=r&sig=c2VjcmV0LXNlY3JldC1zZWNyZXQ%3D";
const SECRETS: [&str; 3] = ["c2VjcmV0", "secret-secret", "sig="];

fn assert_hidden(shown: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// The whole chain of an error, as programs print it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut shown = vec![format!("{error} {error:?}")];
    let mut source = error.source();
    while let Some(cause) = source {
        shown.push(format!("{cause} {cause:?}"));
        source = cause.source();
    }
    shown.join(" ")
}

#[test]
fn credentials_and_clients_do_not_show_them() {
    let key = Credential::from(SharedKey::new("me", KEY).unwrap());
    let sas = Credential::from(SasToken::new(SAS).unwrap());
    for credential in [key, sas] {
        assert_hidden(&format!("{credential:?}"));
        let builder = TableServiceClient::builder("https://me.example.com", credential);
        assert_hidden(&format!("{builder:?}"));
    }
}

#[tokio::test]
async fn errors_of_a_broken_connection_do_not_show_them() {
    let credentials = [
        Credential::from(SharedKey::new("me", KEY).unwrap()),
        Credential::from(SasToken::new(SAS).unwrap()),
    ];
    // The reserved port 1 has no listener.
    for (credential, transport) in credentials
        .iter()
        .flat_map(|credential| SocketTransport::ALL.map(|transport| (credential, transport)))
    {
        let builder = TableServiceClient::builder("http://127.0.0.1:1/me", credential.clone())
            .retry(RetryPolicy::none());
        let service = transport.of(builder).build().unwrap();
        let error = service.table_named::<DynamicEntity>("Blogs").query().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert_hidden(&chain(&error));
        assert_hidden(&format!("{service:?}"));
    }
}

#[test]
fn plain_http_to_another_host_is_refused_by_default() {
    let build = |endpoint: &str, credential: Credential, allow: bool| {
        TableServiceClient::builder(endpoint, credential).allow_http(allow).build()
    };
    let key = || Credential::from(SharedKey::new("me", KEY).unwrap());
    let refused = build("http://azurite:10002/me", key(), false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Configuration);
    assert!(refused.to_string().contains("allow_http"));
    assert!(build("http://azurite:10002/me", SasToken::new(SAS).unwrap().into(), false).is_err());
    assert!(build("http://azurite:10002/me", key(), true).is_ok());
    assert!(build("http://azurite:10002/me", Credential::Anonymous, false).is_ok());
    assert!(build("http://127.0.0.1:10002/me", key(), false).is_ok());
}

#[test]
fn an_emulator_on_another_host_may_use_plain_http() {
    let emulator = "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite";
    assert!(TableServiceClient::from_connection_string(emulator).is_ok(), "its key is public");
    let builder = TableServiceClient::builder_from_connection_string(emulator).unwrap();
    assert!(builder.allow_http(false).build().is_err());
    let account = format!("AccountName=me;AccountKey={KEY};TableEndpoint=http://azurite:10002/me");
    assert!(TableServiceClient::from_connection_string(&account).is_err());
}

#[test]
fn a_missing_variable_is_named() {
    if std::env::var_os("AZURE_STORAGE_CONNECTION_STRING").is_none() {
        let error = TableServiceClient::from_env().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("AZURE_STORAGE_CONNECTION_STRING"));
    }
}

thread_local! {
    static TRACED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Records all trace events and log records as text, separately for each thread; each test here runs
/// in its own thread.
#[derive(Debug, Clone, Copy)]
struct Traced;

impl Traced {
    /// For the whole process: the subscriber of one thread can miss events that another one
    /// registers.
    fn start() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tracing::subscriber::set_global_default(Self).unwrap();
            // reqwest uses the `log` crate.
            log::set_logger(&Self).unwrap();
            log::set_max_level(log::LevelFilter::Trace);
        });
    }

    fn take() -> String {
        TRACED.take()
    }
}

impl Visit for Traced {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        TRACED.with_borrow_mut(|text| write!(text, "{}={value:?};", field.name()).unwrap());
    }
}

impl Subscriber for Traced {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Self);
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Self);
    }
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Self);
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl log::Log for Traced {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        TRACED.with_borrow_mut(|text| {
            write!(text, "log {}: {};", record.target(), record.args()).unwrap();
        });
    }
    fn flush(&self) {}
}

#[tokio::test]
async fn a_sas_is_sent_unchanged_and_not_traced() {
    Traced::start();
    let mock = MockTableService::builder().loose(true).build();
    let recorder = Scripted::recorder(mock.transport());
    let connection_string = format!(
        "TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;SharedAccessSignature=?{SAS}"
    );
    let service = TableServiceClient::builder_from_connection_string(&connection_string)
        .unwrap()
        .transport(recorder.clone())
        .build()
        .unwrap();
    service.create_table("Blogs").await.unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    blogs.query().filter_text("RowKey eq 'x'").await.unwrap();
    let sent = recorder.last();
    let url = format!(
        "http://127.0.0.1:10002/devstoreaccount1/Blogs()?$filter=RowKey%20eq%20%27x%27&{SAS}"
    );
    assert_eq!(sent.uri, *url);
    assert!(!sent.headers.contains_key("authorization"));
    assert_hidden(&format!("{sent:?}"));
    let text = Traced::take();
    for expected in [
        "db.operation.name=\"CreateTable\"",
        "db.collection.name=\"Blogs\"",
        "azure_table.attempts=1",
        "http.response.status_code=200",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert_hidden(&text);
}

#[tokio::test(start_paused = true)]
async fn a_key_and_its_signatures_are_not_traced() {
    Traced::start();
    let mock = MockTableService::builder().account("me", KEY).unwrap().build();
    let recorder = Scripted::recorder(mock.transport());
    let service = mock.client_builder().transport(recorder.clone()).build().unwrap();
    service.create_table("Blogs").await.unwrap();
    let sent = recorder.last();
    let signature = sent.headers["authorization"].to_str().unwrap().split(':').nth(1).unwrap();
    let text = format!("{} {sent:?} {:?}", Traced::take(), sent.headers);
    assert!(text.contains("db.operation.name="));
    assert_hidden(&text);
    assert!(!text.contains(signature), "{text}");
}

/// Data of a row: it is not a credential, but it must not appear in logs either.
const PLANTED: [&str; 3] = ["planted-key", "planted-text", "planted-token"];

/// Responses that repeat the secrets of the request.
fn repeating(number: usize, head: &str) -> Vec<u8> {
    let url = head.split_whitespace().nth(1).unwrap_or_default();
    let json = "Content-Type: application/json;odata=minimalmetadata\r\nx-ms-request-id: id\r\n";
    let error = format!(
        r#"{{"odata.error":{{"code":"AuthenticationFailed {url}","message":{{"value":"{url} {SAS}"}}}}}}"#
    );
    let location = format!("{json}Location: http://127.0.0.1:1{url}\r\nETag: {SAS}\r\n");
    let next = format!("{json}x-ms-continuation-NextPartitionKey: planted-token\r\n");
    let row = r#"{"value":[{"PartitionKey":"planted-key","RowKey":"r","Text":"planted-text"}]}"#;
    match number % 7 {
        0 => response("403 Forbidden", json, &error),
        1 => response("307 Temporary Redirect", &location, ""),
        2 => response("200 OK", &next, row),
        3 => response("503 Service Unavailable", json, &error),
        4 => response("200 OK", "Content-Type: text/html\r\n", &format!("<html>{url}</html>")),
        5 => response("204 No Content", &location, ""),
        _ => b"not HTTP".to_vec(),
    }
}

#[tokio::test]
async fn a_run_over_http_traces_no_secret() {
    Traced::start();
    for transport in SocketTransport::ALL {
        for credential in [
            Credential::from(SharedKey::new("me", KEY).unwrap()),
            Credential::from(SasToken::new(SAS).unwrap()),
        ] {
            run_over_http(transport, credential).await;
        }
        let text = Traced::take();
        assert!(text.contains("db.operation.name=\"Query\""));
        assert!(text.contains("azure_table.attempts"));
        assert!(text.contains("url.full="), "spans of attempts are recorded too");
        let has_log = text.contains("log reqwest::connect: starting new connection");
        assert_eq!(has_log, transport == SocketTransport::Reqwest);
        for secret in SECRETS.into_iter().chain(PLANTED) {
            let from = text.find(secret).map(|at| &text[at.saturating_sub(200)..]);
            let shown = from.map(|from| from.chars().take(300).collect::<String>());
            assert_eq!(shown, None, "{secret} by {transport:?}");
        }
    }
}

/// Calls a server that repeats the secrets, in each of its responses.
async fn run_over_http(transport: SocketTransport, credential: Credential) {
    let server = HostileServer::start(repeating).await;
    let retry = RetryPolicy::fixed(1, std::time::Duration::from_millis(1));
    let builder = TableServiceClient::builder(&server.endpoint, credential).retry(retry);
    let service = transport.of(builder).build().unwrap();
    let table = service.table_named::<DynamicEntity>("Blogs");
    let mut row = DynamicEntity::new("planted-key", "r");
    row.set("Text", "planted-text");
    for _ in 0..7 {
        let filter = "PartitionKey ge 'planted-key' and Text eq 'planted-text'";
        let second = DynamicEntity::new("planted-key", "s");
        let errors = [
            table.get(("planted-key", "r")).await.err(),
            table.query().filter_text(filter).await.err(),
            table.insert(&row).await.err(),
            table.insert_or_merge(&row).await.err(),
            table.delete(("planted-key", "r"), azure_table_client::IfMatch::Any).await.err(),
            table.transaction().insert(&row).insert(&second).await.err(),
            service.list_tables().await.err(),
            service.create_table("Blogs").await.err(),
        ];
        assert!(errors.iter().flatten().count() > 3);
    }
}
