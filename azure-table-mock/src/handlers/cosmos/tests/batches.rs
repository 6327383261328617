//! Batches of Cosmos DB.

use std::fmt::Write as _;

use super::*;

/// An operation: its first line below the account, its headers and its body.
type Operation<'a> = (&'a str, &'a str, &'a str, &'a str);

fn batch(service: &TableService, operations: &[Operation<'_>]) -> HttpResponse {
    let mut body = String::from("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
    for (at, (verb, path, headers, content)) in operations.iter().enumerate() {
        write!(
            body,
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: {at}\r\n\r\n\
             {verb} http://127.0.0.1:1/devstoreaccount1{path} HTTP/1.1\r\nAccept: application/json\r\n\
             Content-Type: application/json\r\n{headers}\r\n{content}\r\n"
        )
        .unwrap();
    }
    body += "--c--\r\n--b--\r\n";
    send(service, "POST", "/$batch", &[("content-type", "multipart/mixed; boundary=b")], &body)
}

/// The parts without the delimiters and the lines that every part has.
fn parts(response: &HttpResponse) -> Vec<String> {
    assert_eq!(response.status, 202, "{}", text(response));
    let all = text(response).replace("\r\n", "\n");
    all.split("HTTP/1.1 ")
        .skip(1)
        .map(|part| part.split("\n--").next().unwrap().to_owned())
        .collect()
}

const ROW: &str = "/Blogs(PartitionKey='p',RowKey='r')";
const MERGE: &str = "X-HTTP-Method: MERGE\r\n";
const ANY: &str = "If-Match: *\r\n";

#[test]
fn parts_are_numbered_and_have_few_headers() {
    let service = cosmos();
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let response = batch(
        &service,
        &[
            ("POST", "/Blogs", "Prefer: return-no-content\r\n", keys),
            ("POST", "/Blogs(PartitionKey='p',RowKey='s')", MERGE, r#"{"A":1}"#),
            ("PUT", "/Blogs(PartitionKey='p',RowKey='s')", ANY, r#"{"B":1}"#),
            ("DELETE", ROW, ANY, ""),
        ],
    );
    let parts = parts(&response);
    let names = |part: &str| {
        let lines = part
            .lines()
            .skip(1)
            .filter_map(|line| Some(line.split_once(':')?.0.to_ascii_lowercase()));
        lines.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&parts[0]), "etag preference-applied location content-id");
    assert_eq!(names(&parts[1]), "etag content-type content-id");
    assert_eq!(names(&parts[2]), "etag content-id");
    assert_eq!(names(&parts[3]), "content-id");
    for (at, part) in parts.iter().enumerate() {
        assert!(part.starts_with("204 No Content\n"), "{part}");
        assert!(part.to_ascii_lowercase().contains(&format!("content-id: {}\n", at + 1)), "{part}");
    }
    assert_eq!(service.row_count("Blogs"), Some(1), "each operation sees those before it");
}

#[test]
fn a_row_may_occur_again() {
    // `test_batch_same_row_operations_fail`
    let service = cosmos();
    insert(&service, ("p", "r"));
    let response = batch(
        &service,
        &[
            ("POST", ROW, &format!("{MERGE}{ANY}"), r#"{"A":1}"#),
            ("POST", ROW, MERGE, r#"{"B":2}"#),
        ],
    );
    assert_eq!(parts(&response).len(), 2);
    let row = service.row("Blogs", "p", "r").unwrap();
    assert_eq!((row.get::<i32>("A"), row.get::<i32>("B")), (Some(Ok(1)), Some(Ok(2))));

    // A row that is deleted and inserted again does not repeat its ETag, and a failure undoes all.
    let etag = |service: &TableService| service.row("Blogs", "p", "r").unwrap().etag().cloned();
    let before = etag(&service);
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    batch(&service, &[("DELETE", ROW, ANY, ""), ("POST", "/Blogs", "", keys)]);
    assert_ne!(etag(&service), before);
    let before = etag(&service);
    let failed = batch(&service, &[("DELETE", ROW, ANY, ""), ("DELETE", ROW, ANY, "")]);
    assert!(
        parts(&failed)[0]
            .contains(r#""value":"1:The specified resource does not exist.\n\nRequestID:"#)
    );
    assert_eq!(etag(&service), before);
}

#[test]
fn a_failed_operation_has_its_index_and_the_other_failures_do_not() {
    let service = cosmos();
    let failed = parts(&batch(&service, &[("DELETE", ROW, ANY, "")]));
    assert_eq!(failed.len(), 1);
    assert!(
        failed[0]
            .starts_with("404 Not Found\nContent-Type: application/json;odata=fullmetadata\n\n{"),
        "{}",
        failed[0]
    );
    assert!(
        failed[0].contains(r#""value":"0:The specified resource does not exist.\n\nRequestID:"#),
        "{}",
        failed[0]
    );
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let missing = parts(&batch(&service, &[("POST", "/Posts", "", keys)]));
    assert!(missing[0].contains(r#"{"code":"ResourceNotFound","message":{"lang":"en-us","value":"The specified resource does not exist.\nRequestID:"#), "{}", missing[0]);
    let stale = "If-Match: W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"\r\n";
    insert(&service, ("p", "r"));
    let failed = parts(&batch(&service, &[("PUT", ROW, stale, "{}")]));
    assert!(failed[0].starts_with("412 Precondition Failed\n"), "{}", failed[0]);
}

#[test]
fn an_invalid_operation_refuses_the_batch() {
    let service = cosmos();
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    for (operation, code) in [
        (("PATCH", ROW, ANY, "{}"), "InvalidInput"),
        (("POST", "/Blogs", "", r#"{"PartitionKey":"p","RowKey":""}"#), "PropertiesNeedValue"),
        (
            ("POST", "/Blogs", "", r#"{"PartitionKey":"q","RowKey":"s"}"#),
            "CommandsInBatchActOnDifferentPartitions",
        ),
    ] {
        let response = batch(&service, &[("POST", "/Blogs", "", keys), operation]);
        let (status, found, kind, _) = refusal(&response);
        assert_eq!((status, &*found, kind), (400, code, FULL));
    }
    assert_eq!(service.row_count("Blogs"), Some(0));
    let large = format!(r#"{{"PartitionKey":"p","RowKey":"r","A":"{}"}}"#, "x".repeat(2 << 20));
    assert_eq!(batch(&service, &[("POST", "/Blogs", "", &large)]).status, 413);
}

/// `Microsoft.Azure.Cosmos.Table` 1.0.8 sends it.
#[test]
fn a_merge_in_a_batch_is_applied() {
    let service = cosmos();
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(send(&service, "POST", "/Blogs", &[], keys).status, 201);
    assert_eq!(batch(&service, &[("MERGE", ROW, ANY, r#"{"A":1}"#)]).status, 202);
    let row = send(&service, "GET", ROW, &[], "");
    assert!(text(&row).contains(r#""A":1"#), "{}", text(&row));
}

#[test]
fn a_batch_may_have_more_than_a_hundred_operations() {
    // `test_batch_too_many_ops` of April 2021 for 101 operations. The limit is one of the mock.
    let service = cosmos();
    let bodies: Vec<_> =
        (0..1001).map(|n| format!(r#"{{"PartitionKey":"p","RowKey":"{n}"}}"#)).collect();
    let inserts: Vec<_> = bodies.iter().map(|body| ("POST", "/Blogs", "", &**body)).collect();
    assert_eq!(parts(&batch(&service, &inserts[..101])).len(), 101);
    assert_eq!(service.row_count("Blogs"), Some(101));
    service.remove_table("Blogs");
    create(&service, "Blogs");
    assert_eq!(refusal(&batch(&service, &inserts)).0, 400);
    assert_eq!(service.row_count("Blogs"), Some(0));
    assert_eq!(parts(&batch(&service, &inserts[1..])).len(), 1000);
}

#[test]
fn a_bad_name_of_a_table_fails_the_operation() {
    // `test_table_name_errors_bad_chars` and `test_table_name_errors_bad_length` of 2024
    let service = cosmos();
    let upsert = |table: &str| {
        let path = format!("/{table}(PartitionKey='p',RowKey='r')");
        batch(&service, &[("POST", &path, MERGE, "{}")])
    };
    for (table, status, code) in [
        (
            "%5C",
            "401 Unauthorized\nContent-Type: application/json;odata=fullmetadata\n",
            "Unauthorized",
        ),
        ("-%20", "401 Unauthorized\n", "Unauthorized"),
        (&*"-".repeat(255), "404 Not Found\n", "ResourceNotFound"),
    ] {
        let found = parts(&upsert(table));
        assert!(found[0].starts_with(status), "{}", found[0]);
        assert!(found[0].contains(&format!(r#"{{"code":"{code}""#)), "{}", found[0]);
    }
    let refused = upsert("%2F%2F");
    let (status, code, kind, message) = refusal(&refused);
    let expected = (400, "InvalidInput", FULL, "One of the input values is invalid.");
    assert_eq!((status, &*code, kind, &*message), expected);
}
