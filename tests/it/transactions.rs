//! The requests of a transaction, and its result for every response; reads in a batch.

mod bodies;

use std::time::Duration;

use azure_table_client::auth::Credential;
use azure_table_client::client::{Committed, Transaction};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse, TransportErrorKind};
use azure_table_client::{
    DynamicEntity, ETag, EntityKey, Error, ErrorCode, ErrorKind, IfMatch, Outcome, RetryPolicy,
    TableClient, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_write, response};
use proptest::prelude::*;

/// The transport's result of one attempt.
type Attempt = Result<HttpResponse, TransportErrorKind>;

#[expect(clippy::unnecessary_wraps, reason = "other attempts fail")]
fn answer(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Attempt {
    let headers = [("content-type", content_type), ("x-ms-request-id", "id-1")];
    Ok(response(status, &headers, body.into()))
}

const MULTIPART: &str = "multipart/mixed; boundary=batchresponse_1";
const JSON: &str = "application/json;odata=minimalmetadata";
const DONE: &str = "HTTP/1.1 204 No Content\r\nETag: W/\"1\"\r\n\r\n";

/// The body of a response with these results.
fn results(results: &[&str]) -> String {
    let mut body = "--batchresponse_1\r\nContent-Type: multipart/mixed; \
                    boundary=changesetresponse_1\r\n\r\n"
        .to_owned();
    for result in results {
        body += "--changesetresponse_1\r\nContent-Type: application/http\r\n\
                 Content-Transfer-Encoding: binary\r\n\r\n";
        body += result;
        body += "\r\n";
    }
    body + "--changesetresponse_1--\r\n--batchresponse_1--\r\n"
}

/// A failure in the service's format; `headers` include their line ends.
fn failure(status: u16, headers: &str, code: &str, message: &str) -> String {
    let message = format!("{message}\\nRequestId:1\\nTime:2");
    let body = format!(
        r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{message}"}}}}}}"#
    );
    format!("HTTP/1.1 {status} Failed\r\nContent-Type: {JSON}\r\n{headers}\r\n{body}")
}

fn accepted(body: impl Into<Vec<u8>>) -> Attempt {
    answer(202, MULTIPART, body)
}

fn refused(status: u16) -> Attempt {
    let code = if status == 503 { "ServerBusy" } else { "Code" };
    accepted(results(&[&failure(status, "Content-ID: 1\r\n", code, "1:No.")]))
}

fn conflict(headers: &str, message: &str) -> Attempt {
    accepted(results(&[&failure(409, headers, "EntityAlreadyExists", message)]))
}

fn table(attempts: &[Attempt]) -> TableClient<DynamicEntity> {
    let mut writes = in_turn(attempts.to_vec());
    let script = Scripted::alone(move |request| {
        // The outcome of a transaction cannot be read back.
        if is_write(request) { writes(request) } else { Step::fail(TransportErrorKind::Connect) }
    });
    TableServiceClient::builder("https://account.example.com", Credential::Anonymous)
        .transport(script)
        .retry(RetryPolicy::fixed(3, Duration::from_secs(1)))
        .build()
        .unwrap()
        .table_named("Blogs")
}

fn row(row_key: &str) -> DynamicEntity {
    DynamicEntity::new("p", row_key)
}

/// Three operations, on the rows `r0`, `r1` and `r2`.
fn three(table: &TableClient<DynamicEntity>) -> Transaction<DynamicEntity> {
    table
        .transaction()
        .insert(&row("r0"))
        .merge(&row("r1"), IfMatch::Any)
        .delete(("p", "r2"), IfMatch::Any)
}

async fn committed(attempts: &[Attempt]) -> Committed {
    three(&table(attempts)).await.unwrap()
}

async fn failed(attempts: &[Attempt]) -> Error {
    three(&table(attempts)).await.unwrap_err()
}

/// Kind, outcome, index, row and attempts of an error.
type Told<'e> = (ErrorKind, Outcome, Option<usize>, Option<&'e str>, u32);

fn told(error: &Error) -> Told<'_> {
    let row = error.entity_key().map(|key| key.row_key.as_str());
    (error.kind(), error.outcome(), error.batch_index(), row, error.attempts())
}

/// The service accepted it, and the response cannot be read.
const UNREADABLE: Told<'_> = (ErrorKind::UnexpectedReply, Outcome::Unknown, None, None, 1);
/// The service refused it without a readable reason.
const NOT_SAID: Told<'_> = (ErrorKind::Service, Outcome::NotApplied, None, None, 1);
/// The service refused the operation at 0.
const AT_0: Told<'_> = (ErrorKind::Service, Outcome::NotApplied, Some(0), Some("r0"), 1);
/// The service refused the operation at 1.
const AT_1: Told<'_> = (ErrorKind::Service, Outcome::NotApplied, Some(1), Some("r1"), 1);

#[tokio::test(start_paused = true)]
async fn every_form_of_a_commit_is_read() {
    let crlf = results(&[DONE, DONE, "HTTP/1.1 204 No Content\r\nContent-ID: 2\r\n\r\n"]);
    let lf = crlf.replace('\r', "");
    let with_edges = format!("preamble\r\n{crlf}epilogue");
    for body in [crlf, lf, with_edges] {
        let committed = committed(&[accepted(body)]).await;
        assert_eq!((committed.status, committed.request_id.as_deref()), (202, Some("id-1")));
        let tag = Some(ETag::from("W/\"1\""));
        let operations: Vec<_> =
            committed.operations.into_iter().map(|done| (done.status, done.etag)).collect();
        assert_eq!(operations, [(204, tag.clone()), (204, tag), (204, None)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_without_an_etag_is_applied() {
    for done in ["HTTP/1.1 204 No Content\r\n", "HTTP/1.1 204\r\nETag:\r\n", "HTTP/1.1 201 C\r\n"] {
        let committed = committed(&[accepted(results(&[DONE, done, DONE]))]).await;
        let known: Vec<bool> =
            committed.operations.iter().map(|done| done.etag.is_some()).collect();
        assert_eq!(known, [true, false, true], "{done:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_of_a_result_has_one_value() {
    let of = |headers: &str| format!("HTTP/1.1 204 No Content\r\n{headers}\r\n\r\n");
    let same = of("ETag: W/\"1\"\r\nContent-ID: 0\r\nEtag:W/\"1\"\r\nContent-Id: 0");
    let committed = committed(&[accepted(results(&[&same, DONE, DONE]))]).await;
    assert_eq!(committed.operations[0].etag, Some(ETag::from("W/\"1\"")));
    for headers in ["ETag: W/\"1\"\r\nETag: W/\"2\"", "Content-ID: 0\r\nContent-ID: 1"] {
        let error = failed(&[accepted(results(&[&of(headers), DONE, DONE]))]).await;
        assert_eq!(told(&error), UNREADABLE, "{headers}");
    }
    let error = failed(&[conflict("Content-ID: 0\r\nContent-ID: 1\r\n", "No.")]).await;
    assert_eq!(told(&error), UNREADABLE, "a failure of one of two operations");
}

#[tokio::test(start_paused = true)]
async fn a_truncated_response_is_not_a_commit() {
    let whole = results(&[DONE, DONE, DONE]);
    let without = |end: &str| whole.replace(end, "").into_bytes();
    for body in [
        without("--batchresponse_1--\r\n"),
        without("--changesetresponse_1--\r\n"),
        without("--changesetresponse_1--\r\n--batchresponse_1--\r\n"),
    ] {
        assert_eq!(told(&failed(&[accepted(body)]).await), UNREADABLE);
    }
    // Only the last line end may be missing.
    let end = whole.len() - 2;
    for length in 0..end {
        let error = failed(&[accepted(&whole.as_bytes()[..length])]).await;
        assert_eq!(told(&error), UNREADABLE, "{length} bytes");
        assert_eq!((error.status(), error.request_id()), (Some(202), Some("id-1")));
    }
    committed(&[accepted(&whole.as_bytes()[..end])]).await;
}

#[tokio::test(start_paused = true)]
async fn each_operation_has_one_result() {
    for count in [0, 1, 2, 4, 100] {
        let error = failed(&[accepted(results(&vec![DONE; count]))]).await;
        assert_eq!(told(&error), UNREADABLE, "{count}");
        assert!(error.to_string().contains(&format!("{count} results for 3")), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_of_another_server_proves_nothing() {
    let html = "<html><body><h1>It works!</h1></body></html>";
    let nested = "--batchresponse_1\nContent-Type: multipart/mixed; boundary=a\n\n\
                  --a\nContent-Type: multipart/mixed; boundary=b\n\n--b--\n--a--\n\
                  --batchresponse_1--";
    for (kind, body) in [
        ("text/html", html),
        ("multipart/mixed", html),
        (MULTIPART, html),
        (MULTIPART, ""),
        (MULTIPART, nested),
        (JSON, &results(&[DONE, DONE, DONE])),
        ("multipart/mixed; boundary=other", &results(&[DONE, DONE, DONE])),
        (MULTIPART, &results(&[DONE, "HTTP/1.1 2O4 No\r\n", DONE])),
        (MULTIPART, &results(&[DONE, "204 No Content\r\n", DONE])),
        (MULTIPART, &results(&[DONE, "HTTP/1.1 204 No\r\nno header\r\n", DONE])),
    ] {
        let error = failed(&[answer(202, kind, body)]).await;
        assert_eq!(told(&error), UNREADABLE, "{kind} {body}");
    }
    // A page in place of the result of one operation: the outcome is unknown.
    let page = format!("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n{html}");
    let error = failed(&[accepted(results(&[&page]))]).await;
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    assert!(!error.is_not_found() && error.to_string().contains("text/html"), "{error}");
    for status in [200, 201, 204] {
        let error = failed(&[answer(status, "text/html", html)]).await;
        assert_eq!(told(&error), UNREADABLE, "{status}");
        assert_eq!(error.status(), Some(status));
    }
}

#[tokio::test(start_paused = true)]
async fn the_index_of_a_failure_is_never_guessed() {
    for (headers, message, expected) in [
        ("Content-ID: 1\r\n", "1:The specified entity already exists.", AT_1),
        ("", "1:The specified entity already exists.", AT_1),
        // The index in the message takes precedence over that of the part.
        ("Content-ID: 2\r\n", "1:The specified entity already exists.", AT_1),
        ("Content-ID: 0\r\n", "1:The specified entity already exists.", AT_1),
        // Only services that count from 0 have this Content-ID.
        ("Content-ID: 0\r\n", "The specified entity already exists.", AT_0),
        ("Content-ID: 0\r\n", "3:The specified entity already exists.", AT_0),
        // It is the index of another operation if the service counts from 1.
        ("Content-ID: 1\r\n", "The specified entity already exists.", NOT_SAID),
        ("Content-ID: 2\r\n", "The specified entity already exists.", NOT_SAID),
        // There is no operation at 3.
        ("Content-ID: 1\r\n", "3:The specified entity already exists.", NOT_SAID),
        ("Content-ID: 3\r\n", "The specified entity already exists.", NOT_SAID),
        ("Content-ID: 7\r\n", "3:The specified entity already exists.", NOT_SAID),
        ("", "99999999999999999999999:No.", NOT_SAID),
        ("", "The specified entity already exists.", NOT_SAID),
        ("Content-ID: -1\r\n", "-1:No.", NOT_SAID),
        ("Content-ID: one\r\n", "one:No.", NOT_SAID),
        ("Content-ID:\r\n", ":No.", NOT_SAID),
        ("Content-ID: \u{e9}\r\n", "", NOT_SAID),
    ] {
        let error = failed(&[conflict(headers, message)]).await;
        assert_eq!(told(&error), expected, "{headers} {message}");
        assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
        assert!(error.is_conflict());
    }
    // In a transaction of one operation, the failure belongs to that one.
    for (headers, message) in [("", "No."), ("Content-ID: 5\r\n", "5:No."), ("", "0:No.")] {
        let table = table(&[conflict(headers, message)]);
        let error = table.transaction().insert(&row("r0")).await.unwrap_err();
        let expected = (ErrorKind::Service, Outcome::NotApplied, Some(0), Some("r0"), 1);
        assert_eq!(told(&error), expected, "{headers} {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_among_other_results_proves_nothing() {
    for status in [302, 400, 409, 412, 429, 500, 503] {
        let part = failure(status, "Content-ID: 1\r\n", "Code", "1:No.");
        let part = part.as_str();
        for parts in
            [&[DONE, DONE, part] as &[_], &[DONE, part], &[part, DONE], &[part, part, part]]
        {
            let error = failed(&[accepted(results(parts))]).await;
            assert_eq!(told(&error), UNREADABLE, "{status}, {} parts", parts.len());
            assert!(error.to_string().contains("a failure among other results"), "{error}");
        }
        let one = table(&[accepted(results(&[part, DONE]))]);
        let error = one.transaction().insert(&row("r0")).await.unwrap_err();
        assert_eq!(told(&error), UNREADABLE, "{status}, a transaction of one operation");
    }
}

#[tokio::test(start_paused = true)]
async fn both_forms_of_an_error_are_read() {
    let json = failure(412, "", "UpdateConditionNotSatisfied", "1:The update condition.");
    let xml = "HTTP/1.1 412 Precondition Failed\r\nContent-Type: application/xml\r\n\r\n\
               <?xml version=\"1.0\" encoding=\"utf-8\"?>\
               <error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\
               <code>UpdateConditionNotSatisfied</code>\
               <message xml:lang=\"en-US\">1:The update condition.\nRequestId:1</message></error>";
    for failure in [&json, xml] {
        let error = failed(&[accepted(results(&[failure]))]).await;
        assert_eq!(told(&error), AT_1);
        assert!(error.is_precondition_failed());
        assert_eq!(
            error.to_string(),
            "Transaction on Blogs: The update condition. (412 UpdateConditionNotSatisfied, \
             operation 1 of the batch, on (\"p\", \"r1\"), request id id-1)"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_whole_is_the_error() {
    let json = |code: &str, message: &str| {
        let failure = failure(0, "", code, message);
        failure.split_once("\r\n\r\n").unwrap().1.as_bytes().to_vec()
    };
    for (status, code) in
        [(413, "RequestBodyTooLarge"), (403, "AuthenticationFailed"), (400, "InvalidInput")]
    {
        let error = failed(&[answer(status, JSON, json(code, "No."))]).await;
        assert_eq!(told(&error), NOT_SAID);
        assert_eq!(error.status(), Some(status));
        assert_eq!(error.code().map(ErrorCode::as_str), Some(code));
    }
    let said = answer(400, JSON, json("InvalidInput", "1:One of the request inputs is not valid."));
    assert_eq!(told(&failed(&[said]).await), AT_1);
    let beyond = answer(400, JSON, json("InvalidInput", "99:Too many."));
    assert_eq!(told(&failed(&[beyond]).await), NOT_SAID);
    // The response of a proxy proves nothing.
    let error = failed(&[answer(413, "text/html", "<html>")]).await;
    assert_eq!(told(&error), (ErrorKind::UnexpectedReply, Outcome::Unknown, None, None, 1));
}

#[tokio::test(start_paused = true)]
async fn the_inner_status_decides_the_retry() {
    let done = || accepted(results(&[DONE, DONE, DONE]));
    for status in [400, 403, 404, 408, 409, 412, 413, 429, 500, 501, 502, 503, 504] {
        let is_transient = matches!(status, 408 | 429 | 500 | 502 | 503 | 504);
        let result = three(&table(&[refused(status), done()])).await;
        assert_eq!(result.is_ok(), is_transient, "{status}");
        if let Err(error) = result {
            // A server error leaves the outcome of the transaction open.
            let outcome = if status == 501 { Outcome::Unknown } else { Outcome::NotApplied };
            assert_eq!(told(&error), (AT_1.0, outcome, AT_1.2, AT_1.3, AT_1.4), "{status}");
        }
    }
    let at_1 = |outcome, attempts| (ErrorKind::Service, outcome, Some(1), Some("r1"), attempts);
    let lost = || Err(TransportErrorKind::Interrupted);
    let exists = || conflict("Content-ID: 1\r\n", "1:The specified entity already exists.");
    for (steps, expected) in [
        // The 409 may be caused by the first attempt's write.
        (vec![refused(500), exists()], at_1(Outcome::Unknown, 2)),
        (vec![lost(), exists()], at_1(Outcome::Unknown, 2)),
        (vec![lost(), refused(503), exists()], at_1(Outcome::Unknown, 3)),
        (vec![answer(500, "text/html", ""), exists()], at_1(Outcome::Unknown, 2)),
        // Throttling comes before the work.
        (vec![refused(503), exists()], at_1(Outcome::NotApplied, 2)),
        (vec![refused(429), refused(503), exists()], at_1(Outcome::NotApplied, 3)),
        (vec![Err(TransportErrorKind::Connect), exists()], at_1(Outcome::NotApplied, 2)),
        // The last word of all attempts.
        (vec![refused(503); 4], at_1(Outcome::NotApplied, 4)),
        (vec![refused(500); 4], at_1(Outcome::Unknown, 4)),
        (vec![lost(); 4], (ErrorKind::Interrupted, Outcome::Unknown, None, None, 4)),
    ] {
        assert_eq!(told(&failed(&steps).await), expected, "{steps:?}");
    }
}
