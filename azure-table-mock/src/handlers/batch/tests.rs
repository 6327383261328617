//! The rules of batches, and the form of their responses.

mod malformed;
mod paths;

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method};
use proptest::prelude::*;

use super::*;
use crate::edm::EdmDateTime;
use crate::filter::PlanKind;
use crate::transport::{HttpRequest, HttpResponse};
use crate::wire::multipart::{Message, Part, Parts};
use crate::wire::service_error;
use crate::{RecordedRequest, TableService};

const NOW: SystemTime = SystemTime::UNIX_EPOCH;
const BASE: &str = "http://127.0.0.1:1/devstoreaccount1";

/// The verb, path below the account, headers and body of an operation.
type Sending<'a> = (&'a str, &'a str, &'a [(&'static str, &'a str)], &'a str);

/// The response to one operation.
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

fn service() -> TableService {
    let service = TableService::builder().loose(true).build();
    for table in ["Blogs", "Posts"] {
        service.core().store.write().create(table, NOW).unwrap();
    }
    service
}

fn post(service: &TableService, kind: &str, body: impl Into<bytes::Bytes>) -> HttpResponse {
    service.respond(&HttpRequest {
        headers: [(header::CONTENT_TYPE, kind.parse().unwrap())].into_iter().collect(),
        body: body.into(),
        ..HttpRequest::new(Method::POST, format!("{BASE}/$batch").parse().unwrap())
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

/// Returns the responses of each part: all of a changeset, or the one of a query.
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

/// Sends one changeset and returns the responses to its operations.
fn commit(service: &TableService, operations: &[Sending<'_>]) -> Vec<PartResponse> {
    let response = post(service, "multipart/mixed; boundary=b", changeset(operations));
    let mut answers = answers(&response);
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// Sends one changeset that fails. Returns the status, code and message of its only response.
fn refused(service: &TableService, operations: &[Sending<'_>]) -> (u16, String, String) {
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
fn rows(service: &TableService) -> String {
    format!("{:?}", service.core().store.read().table("Blogs").unwrap())
}

fn last(service: &TableService) -> RecordedRequest {
    service.requests().last().unwrap()
}

const INVALID: &str = "One of the request inputs is not valid.";

#[test]
fn a_changeset_may_have_all_operations() {
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
fn a_changeset_has_up_to_a_hundred_operations() {
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
        service.core().store.write().delete("Blogs", NOW, Duration::ZERO).unwrap();
        service.core().store.write().create("Blogs", NOW).unwrap();
    }
    assert_eq!(commit(&service, &inserts[..100]).len(), 100);
    assert_eq!(service.row_count("Blogs"), Some(100));
}

#[test]
fn a_changeset_has_one_entity_group_and_each_row_once() {
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
fn a_failure_has_the_index_of_its_operation() {
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
        // Alone, only an invalid input has an index.
        let alone = if code == "InvalidInput" { format!("0:{text}") } else { text.to_owned() };
        assert_eq!(refused(&service, &[operation]), is(status, code, &alone), "{operation:?}");
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
fn a_failure_also_undoes_deletes_and_updates() {
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
fn versions_advance_even_if_the_clock_does_not() {
    #[derive(Debug)]
    struct Still;
    impl crate::clock::Clock for Still {
        fn now(&self) -> SystemTime {
            std::time::UNIX_EPOCH
        }
    }
    let service = TableService::builder().loose(true).clock(std::sync::Arc::new(Still)).build();
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
fn parts_without_a_body_have_all_headers() {
    let (path, row) =
        ("/Blogs(PartitionKey='p',RowKey='r')", r#"{"PartitionKey":"p","RowKey":"o'r"}"#);
    let headers =
        [("prefer", "return-no-content"), ("content-id", "7"), ("dataserviceversion", "3.0")];
    let operations = [("POST", "/Blogs", &headers[..], row), ("PUT", path, &[], r#"{"A":1}"#)];
    let reply = post(&service(), "multipart/mixed; boundary=b", changeset(&operations));
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    let parts: Vec<_> = text.split("HTTP/1.1 ").skip(1).collect();
    let created = format!("{BASE}/Blogs(PartitionKey='p',RowKey='o''r')");
    let rest = |id, version| {
        format!(
            "{id}X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: {version};\r\n\r\n\r\n--"
        )
    };
    let etag =
        |text: &str| text.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap().to_owned();
    let inserted = format!(
        "204 No Content\r\nPreference-Applied: return-no-content\r\nDataServiceId: {created}\r\nLocation: {created}\r\nETag: {}\r\n{}",
        etag(parts[0]),
        rest("Content-ID: 7\r\n", "3.0"),
    );
    assert!(parts[0].starts_with(&inserted), "{}", parts[0]);
    let replaced = format!("204 No Content\r\nETag: {}\r\n{}", etag(parts[1]), rest("", "1.0"));
    assert!(parts[1].starts_with(&replaced), "{}", parts[1]);
}
