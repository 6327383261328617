//! The rules of batches, and the form of their responses.

use std::time::SystemTime;

use http::{HeaderMap, Method};
use proptest::prelude::*;

use super::*;
use crate::edm::EdmDateTime;
use crate::filter::PlanKind;
use crate::mock::{MockTableService, RecordedRequest};
use crate::transport::{HttpRequest, HttpResponse};
use crate::wire::multipart::{Message, Part, Parts};
use crate::wire::service_error;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;
const BASE: &str = "http://127.0.0.1:1/devstoreaccount1";

/// An operation to send: verb, address below the account, headers, body.
type Sending<'a> = (&'a str, &'a str, &'a [(&'static str, &'a str)], &'a str);

/// One answer: status, headers, code and message of an error, body.
struct PartResponse {
    status: u16,
    headers: HeaderMap,
    error: Option<(String, String)>,
    body: String,
}

impl PartResponse {
    fn of(message: &Message<'_>) -> Self {
        let error = service_error::parse(message.body).map(|error| {
            (error.code, error.message.split('\n').next().unwrap_or_default().to_owned())
        });
        Self {
            status: message.status().unwrap().as_u16(),
            headers: message.headers().unwrap(),
            error,
            body: String::from_utf8(message.body.to_vec()).unwrap(),
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status, code and message.
    fn refusal(&self) -> (u16, &str, &str) {
        let (code, message) = self.error.as_ref().map_or(("", ""), |(code, text)| (code, text));
        (self.status, code, message)
    }
}

fn service() -> MockTableService {
    let service = MockTableService::builder().loose(true).build();
    for table in ["Blogs", "Posts"] {
        service.core().store.write().create(table, NOW).unwrap();
    }
    service
}

fn post(service: &MockTableService, kind: &str, body: impl Into<bytes::Bytes>) -> HttpResponse {
    service.respond(&HttpRequest {
        method: Method::POST,
        url: format!("{BASE}/$batch"),
        headers: [(header::CONTENT_TYPE, kind.parse().unwrap())].into_iter().collect(),
        body: body.into(),
    })
}

fn write(parts: &mut Writer<'_>, operations: &[Sending<'_>]) {
    for (verb, path, headers, body) in operations {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let method = Method::from_bytes(verb.as_bytes()).unwrap();
        parts.request(&method, [BASE, path], None, &headers, body.as_bytes());
    }
}

/// A batch of one changeset.
fn changeset(operations: &[Sending<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut batch = Writer::new(&mut body, "b");
    let mut changeset = batch.parts("c");
    write(&mut changeset, operations);
    changeset.close();
    batch.close();
    body
}

/// The answers in a reply: those of each changeset, and those outside of one.
fn answers(response: &HttpResponse) -> Vec<Vec<PartResponse>> {
    assert_eq!(response.status, 202, "{}", String::from_utf8_lossy(&response.body));
    let kind = response.headers[header::CONTENT_TYPE].to_str().unwrap();
    let parts = Parts::read(kind, &response.body).unwrap();
    parts
        .map(|part| match part.unwrap() {
            Part::Message(message) => vec![PartResponse::of(&message)],
            Part::Parts(parts) => parts
                .map(|part| match part.unwrap() {
                    Part::Message(message) => PartResponse::of(&message),
                    Part::Parts(_) => panic!("nested"),
                })
                .collect(),
        })
        .collect()
}

/// Sends one changeset; the answers to its operations.
fn commit(service: &MockTableService, operations: &[Sending<'_>]) -> Vec<PartResponse> {
    let response = post(service, "multipart/mixed; boundary=b", changeset(operations));
    let mut answers = answers(&response);
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// Sends one changeset that is refused; status, code and message of its only answer.
fn refused(service: &MockTableService, operations: &[Sending<'_>]) -> (u16, String, String) {
    let answers = commit(service, operations);
    assert_eq!(answers.len(), 1);
    let (status, code, message) = answers[0].refusal();
    (status, code.to_owned(), message.to_owned())
}

fn is(status: u16, code: &str, message: &str) -> (u16, String, String) {
    (status, code.to_owned(), message.to_owned())
}

fn entity(row_key: &str) -> String {
    format!("/Blogs(PartitionKey='p',RowKey='{row_key}')")
}

fn keys(row_key: &str) -> String {
    format!(r#"{{"PartitionKey":"p","RowKey":"{row_key}"}}"#)
}

/// All rows with their versions and properties.
fn rows(service: &MockTableService) -> String {
    format!("{:?}", service.core().store.read().table("Blogs").unwrap())
}

fn last(service: &MockTableService) -> RecordedRequest {
    service.requests().last().unwrap()
}

const INVALID: &str = "One of the request inputs is not valid.";

#[test]
fn all_operations_together() {
    let service = service();
    let insert = |row| commit(&service, &[("POST", "/Blogs", &[], &keys(row))]).len();
    assert_eq!(["1", "2", "3", "4"].map(insert), [1; 4]);
    let any = ("if-match", "*");
    let quiet = ("prefer", "return-no-content");
    let answers = commit(
        &service,
        &[
            ("POST", "/Blogs", &[("content-id", "7"), quiet], &keys("new")),
            ("DELETE", &entity("1"), &[("content-id", "8"), any], ""),
            ("PUT", &entity("2"), &[any], r#"{"A":1}"#),
            ("MERGE", &entity("3"), &[any], r#"{"A":1}"#),
            ("PATCH", &entity("5"), &[], r#"{"A":1}"#),
            ("POST", &entity("6"), &[("x-http-method", "PUT")], r#"{"A":1}"#),
            ("POST", &entity("4"), &[("x-http-method", "DELETE"), any], ""),
            ("POST", "/blogs()", &[("prefer", "return-content")], &keys("echo")),
        ],
    );
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [204, 204, 204, 204, 204, 204, 204, 201]);
    let header = |name| answers.iter().map(|answer| answer.header(name)).collect::<Vec<_>>();
    assert_eq!(header("content-id")[..3], [Some("7"), Some("8"), None]);
    let versions: Vec<_> = header("dataserviceversion").into_iter().flatten().collect();
    assert_eq!(versions, ["3.0;", "1.0;", "1.0;", "1.0;", "1.0;", "1.0;", "1.0;", "3.0;"]);
    assert!(header("cache-control").iter().all(|value| *value == Some("no-cache")));
    assert!(header("x-content-type-options").iter().all(|value| *value == Some("nosniff")));
    assert!(header("content-length").iter().all(Option::is_none));
    let address = format!("{BASE}/Blogs(PartitionKey='p',RowKey='new')");
    assert_eq!(answers[0].header("location"), Some(&*address));
    assert_eq!(answers[0].header("dataserviceid"), Some(&*address));
    assert_eq!(header("preference-applied")[0], Some("return-no-content"));
    assert_eq!(header("preference-applied")[7], Some("return-content"));
    let etags = header("etag");
    assert_eq!((etags[1], etags[6]), (None, None), "deleted");
    assert_eq!((etags[0], etags[0]), (etags[4], etags[5]), "new rows share an instant");
    assert!(answers[7].body.contains("\"odata.etag\":"));

    let recorded = last(&service);
    assert_eq!((recorded.operation, recorded.operations), (Operation::Transaction, 8));
    assert_eq!(recorded.operation.to_string(), "Transaction");
    assert_eq!((recorded.table.as_deref(), recorded.status), (Some("Blogs"), 202));
    assert_eq!(service.requests().count(Operation::Transaction), 5);
    assert_eq!((service.requests().total(), service.row_count("Blogs")), (5, Some(6)));
}

#[test]
fn from_none_to_a_hundred() {
    let service = service();
    let bodies: Vec<_> = (0..101).map(|n| keys(&n.to_string())).collect();
    let ids: Vec<_> = (0..101).map(|n| [("content-id", format!("{n}"))]).collect();
    let headers: Vec<_> = ids.iter().map(|[(name, id)]| [(*name, &**id)]).collect();
    let inserts: Vec<Sending<'_>> = bodies
        .iter()
        .zip(&headers)
        .map(|(body, headers)| ("POST", "/Blogs", &headers[..], &**body))
        .collect();
    let too_many = commit(&service, &inserts);
    assert_eq!(too_many.len(), 1);
    let text = "99:The batch request operation exceeds the maximum 100 changes per change set.";
    assert_eq!(too_many[0].refusal(), (400, "InvalidInput", text));
    assert_eq!(too_many[0].header("content-id"), Some("99"));
    assert_eq!((last(&service).operations, service.row_count("Blogs")), (101, Some(0)));
    for count in [0, 1, 99] {
        assert_eq!(commit(&service, &inserts[..count]).len(), count);
        assert_eq!(last(&service).operations, count);
        service.core().store.write().delete("Blogs", NOW).unwrap();
        service.core().store.write().create("Blogs", NOW).unwrap();
    }
    assert_eq!(commit(&service, &inserts[..100]).len(), 100);
    assert_eq!(service.row_count("Blogs"), Some(100));
}

#[test]
fn one_group_and_each_row_once() {
    let service = service();
    let different = "CommandsInBatchActOnDifferentPartitions";
    let text = "1:All commands in a batch must operate on same entity group.";
    let first: Sending<'_> = ("POST", "/Blogs", &[("prefer", "return-no-content")], &keys("1"));
    let elsewhere = r#"{"PartitionKey":"q","RowKey":"1"}"#;
    for second in [
        ("POST", "/Blogs", &[][..], elsewhere),
        ("PUT", "/Blogs(PartitionKey='P',RowKey='2')", &[], "{}"),
        ("PUT", "/Posts(PartitionKey='p',RowKey='2')", &[], "{}"),
    ] {
        assert_eq!(refused(&service, &[first, second]), is(400, different, text));
    }
    let text = "1:The batch request contains multiple changes with same row key. An entity can \
                appear only once in a batch request.";
    let again = ("PUT", &*entity("1"), &[("content-id", "1"), ("prefer", "x")][..], "{}");
    let answers = commit(&service, &[first, again, ("PUT", &entity("2"), &[], "{")]);
    assert_eq!(answers[0].refusal(), (400, "InvalidDuplicateRow", text));
    assert_eq!(answers[0].header("content-id"), Some("1"));
    assert_eq!(answers[0].header("dataserviceversion"), Some("3.0;"));
    assert_eq!(answers[0].header("preference-applied"), None);
    assert_eq!((answers.len(), service.row_count("Blogs")), (1, Some(0)));
    let cases = [first, ("PUT", "/BLOGS(PartitionKey='p',RowKey='2')", &[], "{}")];
    assert_eq!(commit(&service, &cases).len(), 2, "names of tables have no case");
}

#[test]
fn a_refused_operation_is_told_by_its_index() {
    let service = service();
    commit(&service, &[("POST", "/Blogs", &[], &keys("old"))]);
    let first: Sending<'_> = ("PUT", &entity("1"), &[], "{}");
    let old = entity("old");
    let quiet = [("prefer", "return-no-content")];
    let stale = [("if-match", "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"")];
    let exists = keys("old");
    let missing = "An HTTP header that's mandatory for this request is not specified.";
    for (operation, status, code, text) in [
        (
            ("POST", "/Blogs", &quiet[..], &*exists),
            409,
            "EntityAlreadyExists",
            "The specified entity already exists.",
        ),
        (
            ("PUT", &*old, &stale[..], "{}"),
            412,
            "UpdateConditionNotSatisfied",
            "The update condition specified in the request was not satisfied.",
        ),
        (
            ("MERGE", &entity("2"), &[("if-match", "*")], "{}"),
            404,
            "ResourceNotFound",
            "The specified resource does not exist.",
        ),
        (("DELETE", &*old, &[], ""), 400, "MissingRequiredHeader", missing),
        (("POST", "/Blogs", &[], "{"), 400, "InvalidInput", INVALID),
        (("POST", "/Blogs", &[], ""), 400, "InvalidInput", INVALID),
        (("GET", &*old, &[], ""), 400, "InvalidInput", INVALID),
        (("POST", "/Tables", &[], r#"{"TableName":"New"}"#), 400, "InvalidInput", INVALID),
        (("PUT", "/Blogs?comp=acl", &[], ""), 400, "InvalidInput", INVALID),
        (("POST", "/$batch", &[], ""), 400, "InvalidInput", INVALID),
        (
            ("PUT", &*old, &[("accept", "application/atom+xml")], "{}"),
            415,
            "AtomFormatNotSupported",
            "Atom format is not supported.",
        ),
    ] {
        let before = rows(&service);
        assert_eq!(refused(&service, &[operation]), is(status, code, text), "{operation:?}");
        let indexed = format!("1:{text}");
        let third = ("PUT", &*entity("3"), &[][..], "{}");
        let answers = commit(&service, &[first, operation, third]);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].refusal(), (status, code, &*indexed), "{operation:?}");
        let applied = (operation.2 == quiet).then_some("return-no-content");
        assert_eq!(answers[0].header("preference-applied"), applied);
        assert_eq!(rows(&service), before, "no trace: {operation:?}");
    }
    let nothing = |row| format!("/Nothing(PartitionKey='p',RowKey='{row}')");
    let gone = is(404, "TableNotFound", "0:The table specified does not exist.");
    assert_eq!(refused(&service, &[("PUT", &nothing("1"), &[], "{}")]), gone);
    let two = [("PUT", &*nothing("1"), &[][..], "{}"), ("PUT", &*nothing("2"), &[], "{}")];
    assert_eq!(refused(&service, &two), gone);
}

#[test]
fn a_failure_undoes_deletes_and_updates_as_well() {
    let service = service();
    for row in ["1", "2", "3"] {
        commit(&service, &[("PUT", &entity(row), &[], r#"{"A":1}"#)]);
    }
    let before = rows(&service);
    let any = [("if-match", "*")];
    let operations: [Sending<'_>; 4] = [
        ("DELETE", &entity("1"), &any, ""),
        ("PUT", &entity("2"), &any, r#"{"B":2}"#),
        ("MERGE", &entity("3"), &any, r#"{"B":2}"#),
        ("DELETE", &entity("4"), &any, ""),
    ];
    let text = "3:The specified resource does not exist.";
    assert_eq!(refused(&service, &operations), is(404, "ResourceNotFound", text));
    assert_eq!(rows(&service), before);
    assert_eq!(commit(&service, &operations[..3]).len(), 3);
    assert_ne!(rows(&service), before);
}

#[test]
fn versions_advance_though_the_clock_does_not() {
    #[derive(Debug)]
    struct Still;
    impl crate::clock::Clock for Still {
        fn now(&self) -> SystemTime {
            std::time::UNIX_EPOCH
        }
    }
    let service = MockTableService::builder().loose(true).clock(std::sync::Arc::new(Still)).build();
    service.core().store.write().create("Blogs", NOW).unwrap();
    let time = |row: &str| -> EdmDateTime {
        service.core().store.read().table("Blogs").unwrap().get(("p", row)).unwrap().version.time()
    };
    commit(&service, &[("PUT", &entity("1"), &[], "{}")]);
    let old = time("1");
    commit(&service, &[("PUT", &entity("1"), &[], "{}"), ("PUT", &entity("2"), &[], "{}")]);
    assert!(time("1") > old);
    assert_eq!(time("2"), old, "a row that is new");
}

#[test]
fn the_query_of_one_entity() {
    let service = service();
    commit(&service, &[("POST", "/Blogs", &[], &keys("1"))]);
    let batch = |operations: &[Sending<'_>]| {
        let mut body = Vec::new();
        let mut batch = Writer::new(&mut body, "b");
        write(&mut batch, operations);
        batch.close();
        let answers = answers(&post(&service, "multipart/mixed; boundary=\"b\"", body));
        assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [1]);
        answers.into_iter().flatten().next().unwrap()
    };
    let get = |row: &str| {
        let accept = ("accept", "application/json;odata=nometadata");
        batch(&[("GET", &entity(row), &[("content-id", "x"), accept], "")])
    };
    let found = get("1");
    assert_eq!((found.status, found.header("dataserviceversion")), (200, Some("3.0;")));
    assert_eq!(found.header("content-id"), Some("x"));
    assert!(found.header("etag").is_some() && found.body.starts_with("{\"PartitionKey\":\"p\""));
    let recorded = last(&service);
    assert_eq!((recorded.operation, recorded.operations), (Operation::Transaction, 1));
    assert_eq!((recorded.plan, recorded.scanned_rows), (Some(PlanKind::Point), 1));
    let missing = get("2");
    let text = "0:The specified resource does not exist.";
    assert_eq!(missing.refusal(), (404, "ResourceNotFound", text));

    let (one, two) = (entity("1"), entity("2"));
    for (operations, text) in [
        (&[("GET", &*one, &[][..], ""), ("GET", &*two, &[], "")][..], "1:"),
        (&[("GET", "/Blogs()", &[], "")], "0:"),
        (&[("GET", "/Tables", &[], "")], "0:"),
        // A change, but in no changeset.
        (&[("PUT", &*two, &[], "{}")], "0:"),
        (&[("PUT", &*two, &[], "{}"), ("GET", &*one, &[], "")], "1:"),
    ] {
        let text = format!("{text}{INVALID}");
        assert_eq!(batch(operations).refusal(), (400, "InvalidInput", &*text), "{operations:?}");
    }
    assert_eq!(service.row_count("Blogs"), Some(1));
}

#[test]
fn a_query_beside_a_changeset() {
    let service = service();
    let changes: [Sending<'_>; 2] =
        [("PUT", &entity("1"), &[], "{}"), ("PUT", &entity("2"), &[], "{}")];
    let query: [Sending<'_>; 1] = [("GET", &entity("1"), &[("content-id", "q")], "")];
    for query_first in [true, false] {
        let mut body = Vec::new();
        let mut batch = Writer::new(&mut body, "b");
        if query_first {
            write(&mut batch, &query);
        }
        let mut changeset = batch.parts("c");
        write(&mut changeset, &changes);
        changeset.close();
        if !query_first {
            write(&mut batch, &query);
        }
        batch.close();
        let answers = answers(&post(&service, "multipart/mixed; boundary=b", body));
        let [answers] = &answers[..] else { panic!("{}", answers.len()) };
        let text = format!("{}:{INVALID}", if query_first { 1 } else { 2 });
        assert_eq!(answers[0].refusal(), (400, "InvalidInput", &*text));
        assert_eq!(answers[0].header("content-id").is_some(), !query_first);
        assert_eq!((last(&service).operations, service.row_count("Blogs")), (3, Some(0)));
    }
}

#[test]
fn a_second_changeset_is_rejected() {
    let service = service();
    let mut body = Vec::new();
    let mut batch = Writer::new(&mut body, "b");
    for (boundary, row) in [("c", "1"), ("d", "2")] {
        let mut changeset = batch.parts(boundary);
        write(&mut changeset, &[("PUT", &entity(row), &[], "{}")]);
        changeset.close();
    }
    batch.close();
    let answers = answers(&post(&service, "multipart/mixed; boundary=b", body));
    let [first, second] = &answers[..] else { panic!("{}", answers.len()) };
    assert_eq!((first.len(), first[0].status), (1, 204));
    assert_eq!(second[0].refusal(), (400, "InvalidInput", &*format!("0:{INVALID}")));
    let store = service.core().store.read();
    let table = store.table("Blogs").unwrap();
    assert!(table.get(("p", "1")).is_some() && table.get(("p", "2")).is_none());
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let service = service();
    let kind = "multipart/mixed; boundary=b";
    let code = |kind: &str, body: &[u8]| {
        let response = post(&service, kind, body.to_vec());
        let error = service_error::parse(&response.body).map(|error| error.code);
        (response.status.as_u16(), error.unwrap_or_default())
    };
    let invalid = (400, "InvalidInput".to_owned());
    let good = changeset(&[("PUT", &entity("1"), &[], "{}"), ("PUT", &entity("2"), &[], "{}")]);
    let text = String::from_utf8(good.clone()).unwrap();
    let end = text.rfind("--b--").unwrap() + "--b".len();
    for cut in 0..end {
        assert_eq!(code(kind, &good[..cut]), invalid, "{}", &text[..cut]);
    }
    for kind in ["multipart/mixed", "application/json", "multipart/mixed; boundary=x", "text/x"] {
        assert_eq!(code(kind, &good), invalid, "{kind}");
    }
    for (from, to) in [
        ("PUT ", "PUT"),
        (" HTTP/1.1", ""),
        ("application/http", "text/plain"),
        ("Transfer-Encoding: binary", "Transfer-Encoding: base64"),
        ("Content-Length: 2", "Content-Length: two"),
        ("--c--", "--x--"),
        // A changeset in a changeset.
        ("Content-Type: application/http", "Content-Type: multipart/mixed; boundary=d"),
    ] {
        assert!(text.contains(from));
        assert_eq!(code(kind, text.replace(from, to).as_bytes()), invalid, "{from}");
    }
    assert_eq!(code(kind, b"--b--"), invalid, "nothing in it");
    assert_eq!(service.row_count("Blogs"), Some(0));
    // Some clients write the last boundary of the batch so.
    assert_eq!(code(kind, &good[..end]).0, 202);
    assert_eq!(service.row_count("Blogs"), Some(2));
}

#[test]
fn four_mebibytes_for_all() {
    let service = service();
    let kind = "multipart/mixed; boundary=b";
    let mut body = changeset(&[("PUT", &entity("1"), &[], "{}")]);
    body.resize(4 * 1024 * 1024, b' ');
    assert_eq!(post(&service, kind, body.clone()).status, 202);
    body.push(b' ');
    let response = post(&service, kind, body);
    assert_eq!(response.status, 413);
    assert_eq!(service_error::parse(&response.body).unwrap().code, "RequestBodyTooLarge");
}

#[test]
fn a_batch_needs_a_signature_and_its_operations_none() {
    let service = MockTableService::new();
    let response = post(&service, "multipart/mixed; boundary=b", changeset(&[]));
    assert_eq!(response.status, 404);
    assert_eq!(last(&service).operation, Operation::Transaction);
}

#[test]
fn lines_and_addresses_as_clients_write_them() {
    let service = service();
    let body = "--b\nContent-Type: multipart/mixed;charset=\"utf-8\";boundary=c\n\n\n--c\n\
        content-type: application/http\ncontent-transfer-encoding: binary\n\n\
        POST /devstoreaccount1/Blogs?$format=application%2Fjson%3Bodata%3Dfullmetadata HTTP/1.1\n\
        Content-ID: 1\n\n\n{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n--c\n\
        content-type: application/http\n\n\
        MERGE /devstoreaccount1/Blogs(PartitionKey='p',RowKey='a  b') HTTP/1.1\n\
        Content-Length: 7\n\n{\"A\":1}\n\n--c--\n--b--";
    let answers = answers(&post(&service, "multipart/mixed; boundary=b", body));
    let [answers] = &answers[..] else { panic!("{}", answers.len()) };
    assert!(answers[0].body.contains("\"odata.id\""));
    assert_eq!(answers[1].status, 204);
    assert!(service.core().store.read().table("Blogs").unwrap().get(("p", "a  b")).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_batch_panics(pieces in proptest::collection::vec((0..PIECES.len(), "[ -~\\n]{0,5}"), 0..30)) {
        let body: String = pieces
            .iter()
            .flat_map(|(piece, noise)| {
                // Most batches would not be read if there were noise everywhere.
                [PIECES[*piece], if noise.len() > 4 { noise } else { "" }]
            })
            .collect();
        let body = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{body}\n--c--\n--b--");
        let response = post(&service(), "multipart/mixed; boundary=b", body);
        prop_assert!([202, 400].contains(&response.status.as_u16()));
    }
}

const PIECES: [&str; 9] = [
    "--c\nContent-Type: application/http\n\n",
    "--c\nContent-Type: application/http\n\nPOST /devstoreaccount1/Blogs HTTP/1.1\n",
    "--c\nContent-Type: application/http\n\nPUT /devstoreaccount1/Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\n",
    "If-Match: *\n",
    "Accept: application/json\n",
    "Content-Length: 34\n",
    "\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n",
    "\n",
    "--b\n",
];

#[test]
fn readers_see_all_or_nothing() {
    let service = service();
    let paths: Vec<_> = (0..20).map(|n| entity(&n.to_string())).collect();
    let round = |n: usize| {
        let body = format!("{{\"A\":{n}}}");
        let operations: Vec<Sending<'_>> =
            paths.iter().map(|path| ("PUT", &**path, &[][..], &*body)).collect();
        assert_eq!(commit(&service, &operations).len(), 20);
    };
    round(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..100).for_each(round));
        while !writer.is_finished() {
            let response = service.respond(&HttpRequest {
                method: Method::GET,
                url: format!("{BASE}/Blogs()?$select=A"),
                headers: [(header::ACCEPT, "application/json;odata=nometadata".parse().unwrap())]
                    .into_iter()
                    .collect(),
                body: bytes::Bytes::new(),
            });
            let page: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
            let rows = page["value"].as_array().unwrap();
            assert!(rows.len() == 20 && rows.iter().all(|row| row["A"] == rows[0]["A"]), "{page}");
        }
    });
}
