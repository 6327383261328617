//! Server texts that try to mislead the people who read logs, or one of two readers of the same response.

use azure_table_client::auth::{Credential, SasToken};
use azure_table_client::client::ServiceVersion;
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Outcome, PayloadFormat, TableServiceClient,
};

use crate::hostile_server::{HostileServer, response};

const SERVICE: &str = "x-ms-request-id: id\r\n";
const JSON: &str = "Content-Type: application/json;odata=minimalmetadata\r\n";
/// A line end, an escape sequence, a line separator and changes of direction.
const EVIL: &str = "x\\r\\n[ERROR] forged \\u001b[31m\\u0085\\u2028\\u202e\\u200f\\t";

async fn failing(status: &'static str, headers: String, body: String) -> HostileServer {
    HostileServer::start(move |_, _| response(status, &headers, &body)).await
}

/// Everything that programs print of an error.
fn shown(error: &Error) -> String {
    let mut shown = vec![format!("{error}"), format!("{error:?}"), format!("{error:#?}")];
    shown.extend(error.code().map(ToString::to_string));
    shown.extend(error.code().map(|code| code.as_str().to_owned()));
    shown.extend(error.request_id().map(str::to_owned));
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        shown.extend([cause.to_string(), format!("{cause:?}")]);
        source = cause.source();
    }
    // The alternate form of Debug has lines of its own.
    shown.join("").replace("\n    ", "").replace("\n}", "").replace("\n]", "").replace('\n', "")
}

#[track_caller]
fn assert_printable(error: &Error) {
    let lines = [format!("{error}"), format!("{error:?}")];
    assert!(lines.iter().all(|text| !text.contains('\n')), "{lines:?}");
    let is_evil = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}' | '\u{200f}');
    let text = shown(error);
    assert!(!text.contains(is_evil), "{text:?}");
}

#[tokio::test]
async fn control_characters_of_errors_are_escaped() {
    let json = format!(
        r#"{{"odata.error":{{"code":"{EVIL}","message":{{"lang":"en-US","value":"{EVIL}"}}}}}}"#
    );
    let xml = "<error><code>x&#13;&#10;[ERROR]&#27;[31m</code><message>y&#27;[31m&#x202e;</message></error>";
    let cut = "<feed><\u{1b}[31m\u{202e}></x></feed>";
    for (status, body) in [
        ("400 Bad Request", json.as_str()),
        ("400 Bad Request", xml),
        ("200 OK", "{\"value\":\"\\u001b[31m\"}"),
        ("200 OK", "{\"\\u001b[31m\":"),
        ("200 OK", cut),
    ] {
        let kind = if body == cut { "Content-Type: application/atom+xml\r\n" } else { JSON };
        let headers = format!("{kind}x-ms-request-id: a\tb\r\n");
        let server = failing(status, headers, body.to_owned()).await;
        let atom = server.builder().service_version(ServiceVersion::V2013_08_15);
        let atom = atom.format(PayloadFormat::Atom).build().unwrap();
        let service = if body == cut { atom } else { server.client() };
        let table = service.table_named::<DynamicEntity>("Blogs");
        for error in [
            table.get(("p", "r")).await.unwrap_err(),
            table.query().await.unwrap_err(),
            table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err(),
            service.list_tables().await.unwrap_err(),
        ] {
            assert_printable(&error);
            assert!(error.to_string().contains("on "), "{error}");
        }
    }
}

#[tokio::test]
async fn control_characters_of_rows_are_escaped_in_errors() {
    let row = format!(
        r#"{{"PartitionKey":"{EVIL}","RowKey":"{EVIL}","{EVIL}":"{EVIL}","{EVIL}@odata.type":"Edm.Int32"}}"#
    );
    let headers = format!("{JSON}ETag: W/\"1\"\r\n");
    let server = failing("200 OK", headers, format!("{{\"value\":[{row}]}}")).await;
    let table = server.client().table_named::<DynamicEntity>("Blogs");
    let error = table.query().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_printable(&error);
}

#[tokio::test]
async fn an_error_with_repeated_members_is_not_from_the_service() {
    let nested = "[".repeat(70) + &"]".repeat(70);
    for body in [
        r#"{"odata.error":{"code":"ResourceNotFound","code":"EntityAlreadyExists"}}"#.to_owned(),
        r#"{"odata.error":{"code":"ResourceNotFound"},"odata.error":{"code":"X"}}"#.to_owned(),
        format!(r#"{{"odata.error":{{"code":"ResourceNotFound"}},"x":{nested}}}"#),
    ] {
        let server = failing("404 Not Found", format!("{SERVICE}{JSON}"), body).await;
        let table = server.client().table_named::<DynamicEntity>("Blogs");
        let error = table.get_if_exists(("p", "r")).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::UnexpectedReply, None), "{error}");
        let error = table.delete_if_exists(("p", "r"), IfMatch::Any).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "another server may have sent it");
    }
}

#[tokio::test]
async fn different_headers_of_one_name_are_unexpected() {
    let headers = |etags: &str| format!("{SERVICE}{JSON}{etags}");
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let (same, other) = ("ETag: W/\"1\"\r\n", "etag: W/\"2\"\r\n");
    let table = |server: &HostileServer| server.client().table_named::<DynamicEntity>("Blogs");

    let server = failing("200 OK", headers(&[same, same].concat()), row.to_owned()).await;
    table(&server).get(("p", "r")).await.unwrap();
    let server = failing("200 OK", headers(&[same, other].concat()), row.to_owned()).await;
    let error = table(&server).get(("p", "r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    assert!(error.to_string().contains("two different ETag headers"), "{error}");
    let row_url = "Location: http://h/Blogs(PartitionKey='p',RowKey='r')\r\n";
    let both = headers(&[same, other, row_url].concat());
    let server = failing("204 No Content", both, String::new()).await;
    let error = table(&server).insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnexpectedReply, Outcome::Applied));

    for name in ["NextPartitionKey", "NextRowKey"] {
        let first = "x-ms-continuation-NextPartitionKey: 1!4!cGs-\r\n";
        let tokens =
            format!("{first}x-ms-continuation-{name}: a\r\nx-ms-continuation-{name}: b\r\n");
        let server = failing("200 OK", headers(&tokens), format!("{{\"value\":[{row}]}}")).await;
        let error = table(&server).query().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
    }
}

/// The response to a transaction whose parts have these headers.
fn batch(parts: &[&str]) -> Vec<u8> {
    let mut body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
    for headers in parts {
        body.push_str(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n",
        );
        body.push_str(&["HTTP/1.1 204 No Content\r\n", headers, "\r\n\r\n"].concat());
    }
    body.push_str("--c--\r\n--b--\r\n");
    let headers = format!("{SERVICE}Content-Type: multipart/mixed; boundary=b\r\n");
    response("202 Accepted", &headers, &body)
}

#[tokio::test]
async fn contradictory_parts_of_a_batch_are_unexpected() {
    let (a, b) = ("ETag: W/\"1\"\r\n", "ETag: W/\"2\"\r\n");
    let with = |id: &str, etag: &str| format!("Content-ID: {id}\r\n{etag}");
    for (parts, is_accepted) in [
        (vec![with("0", a), with("1", b)], true),
        (vec![with("1", a), with("2", b)], true),
        (vec![a.to_owned(), b.to_owned()], true),
        (vec![with("0", a), b.to_owned()], true),
        (vec![with("1", a), with("0", b)], false),
        (vec![with("0", a), with("0", b)], false),
        (vec![with("0", a), with("7", b)], false),
        (vec![with("x", a), with("y", b)], false),
        (vec![with("0", a), with("1", &with("2", b))], false),
        (vec![[a, b].concat(), a.to_owned()], false),
        (vec![[a, a].concat(), a.to_owned()], true),
        (vec!["ETag: \u{1b}[31m\r\n".to_owned(), a.to_owned()], false),
    ] {
        let bytes = batch(&parts.iter().map(String::as_str).collect::<Vec<_>>());
        let server = HostileServer::start(move |_, head| {
            // The client reads the rows back after a response that it cannot use.
            if head.starts_with("POST") {
                bytes.clone()
            } else {
                response("500 Error", SERVICE, "")
            }
        })
        .await;
        let table = server.client().table_named::<DynamicEntity>("Blogs");
        let rows = [DynamicEntity::new("p", "1"), DynamicEntity::new("p", "2")];
        let result = table.transaction().insert(&rows[0]).insert(&rows[1]).await;
        match result {
            Ok(done) => assert!(is_accepted && done.operations.len() == 2, "{parts:?}"),
            Err(error) => {
                assert!(!is_accepted, "{parts:?}: {error}");
                assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
                assert_eq!(error.outcome(), Outcome::Unknown);
                assert_printable(&error);
            }
        }
    }
}

#[test]
fn an_endpoint_that_lost_its_question_mark_is_refused_and_not_shown() {
    let secret = "c2VjcmV0LXNlY3JldA";
    let sas = format!("sv=2019-02-02&sp=r&sig={secret}%3D");
    let assert_refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        let text = shown(&error);
        assert!(
            !text.contains(secret) && !text.contains("sig=") && !text.contains("sv="),
            "{text}"
        );
    };
    let good = "https://me.table.core.windows.net";
    for url in [format!("{good}/{sas}"), format!("{good}{sas}"), format!("{good}/me/{sas}")] {
        let builder = |endpoint: &str| TableServiceClient::builder(endpoint, Credential::Anonymous);
        assert_refused(builder(&url).build().unwrap_err());
        assert_refused(builder(good).secondary_endpoint(&url).build().unwrap_err());
        assert_refused(SasToken::new(&url).unwrap_err().into());
        let key = "AccountName=me;AccountKey=c2VjcmV0";
        for text in [
            format!("TableEndpoint={url};SharedAccessSignature={sas}"),
            format!("{key};TableEndpoint={url}"),
            format!("{key};TableEndpoint={good};TableSecondaryEndpoint={url}"),
            format!("{key};EndpointSuffix=core.windows.net/{sas}"),
            format!("UseDevelopmentStorage=true;DevelopmentStorageProxyUri={url}"),
            format!("TableEndpoint={good};SharedAccessSignature={url}"),
        ] {
            match TableServiceClient::from_connection_string(&text) {
                // Of the proxy's address, only scheme and host are used.
                Ok(built) if text.contains("ProxyUri") => {
                    assert!(!format!("{built:?}").contains(secret));
                }
                Ok(_) => panic!("accepted: {text}"),
                Err(error) => assert_refused(error),
            }
        }
    }
}
