//! Rules that recordings of the service show. `azure-table-emulator/docs/fidelity.md` lists them, with the sources of the
//! other rules. The recordings are these; `front_end.rs` tests the last three rows.
//!
//! | rule | recordings |
//! |---|---|
//! | keys in the body of an update | Python 2021, `test_operations_on_entity_with_partition_key_having_single_quote` |
//! | digits of a time below 100 ns | Go 2021, `TestAddAnnotatedEntity` |
//! | a Double as text | JavaScript 2022, `should_createentity_with_double_number_in_scientific_notation` |
//! | a filter that cannot be parsed | Python 2020, `test_query_invalid_filter` |
//! | the client's request id | all of JavaScript 2022, all of Python 2017 |
//! | the context URL | Python 2021, `test_query_entities_with_select` |
//! | the part of a batch for a missing table | JavaScript 2022, `should_handle_sub_request_error`; Go 2022, `TestBatchErrorHandleResponse`; Python 2020, `test_batch_too_many_ops` |
//! | `Accept: */*` and XML | Python 2020 and 2021 in the sets of Cosmos DB, `test_set_table_acl_with_signed_identifiers` and `test_set_table_acl_with_empty_signed_identifiers`, whose `Server` is Azure Storage |
//! | refused requests for access policies and settings | Go 2021, `TestSetTooManyAccessPolicies`; Python 2020, `test_retention_too_long` |
//! | requests refused for their signature or version | Python 2021, `test_new_invalid_key`; Python 2020, `test_set_logging` |
//! | `x-ms-error-code` | the same; Go 2022, `TestSetTooManyCors`; every other refusal lacks it |

use super::*;

const ENTITY: &str = "/Blogs(PartitionKey='p',RowKey='r')";

#[test]
fn the_keys_in_the_body_of_an_update_have_no_effect() {
    let service = loose();
    let bodies = [
        r#"{"PartitionKey":"other","RowKey":"x/y","A":1}"#,
        r#"{"PartitionKey@odata.type":"Edm.DateTime","PartitionKey":"2020-01-01T00:00:00Z","A":1}"#,
        r#"{"RowKey@odata.type":"Edm.Guid","RowKey":"c9da6455-213d-42c9-9a79-3e9149a57833","A":1}"#,
        r#"{"RowKey@odata.type":"Edm.Binary","RowKey":"YmluYXJ5","A":1}"#,
        r#"{"PartitionKey":5,"RowKey":null,"A":1}"#,
    ];
    for headers in [&[][..], &[("if-match", "*")]] {
        for verb in ["PUT", "PATCH", "MERGE"] {
            for body in bodies {
                let response = send(&service, verb, ENTITY, headers, body);
                assert_eq!(code(&response), (204, String::new()), "{verb} {body}");
            }
        }
    }
    // A malformed value is refused in any property, the keys included.
    for body in [
        r#"{"PartitionKey":{"a":1}}"#,
        r#"{"RowKey":[1]}"#,
        r#"{"PartitionKey@odata.type":"Edm.Nope","PartitionKey":"p"}"#,
        r#"{"RowKey@odata.type":"Edm.Guid","RowKey":"r"}"#,
        r#"{"RowKey@odata.type":"Edm.DateTime","RowKey":"r"}"#,
    ] {
        let response = send(&service, "PATCH", ENTITY, &[], body);
        assert_eq!(code(&response), (400, "InvalidInput".into()), "{body}");
    }
    let batch = changeset(&[
        ("PATCH", ENTITY, bodies[0]),
        ("PUT", "/Blogs(PartitionKey='p',RowKey='s')", bodies[0]),
    ]);
    let kind = ("content-type", BATCH_TYPE);
    send(&service, "PUT", "/Blogs(PartitionKey='p',RowKey='s')", &[], "{}");
    let response = send(&service, "POST", "/$batch", &[kind], &batch);
    assert_eq!(text(&response).matches("204 No Content").count(), 2, "{}", text(&response));
    let rows = send(&service, "GET", "/Blogs()?$select=PartitionKey,RowKey,A", &[], "");
    for row in ["r", "s"] {
        let row = format!(r#""PartitionKey":"p","RowKey":"{row}","A":1"#);
        assert!(text(&rows).contains(&row), "{}", text(&rows));
    }
    assert_eq!(service.row_count("Blogs"), Some(2));
}

#[test]
fn a_boolean_is_a_filter_of_entities_and_tables() {
    let service = loose();
    send(&service, "PUT", ENTITY, &[], "{}");
    for (path, member) in [("/Blogs()", "PartitionKey"), ("/Tables", "TableName")] {
        for (filter, found) in [("true", 1), ("false", 0), ("not%20false", 1), ("(false)", 0)] {
            let response = send(&service, "GET", &format!("{path}?$filter={filter}"), &[], "");
            assert_eq!(response.status, 200);
            assert_eq!(text(&response).matches(member).count(), found, "{path} {filter}");
        }
    }
}

#[test]
fn values_as_text_are_stored_with_their_type() {
    let service = loose();
    let body = r#"{"B@odata.type":"Edm.Boolean","B":"False","I@odata.type":"Edm.Int32","I":"5",
        "D@odata.type":"Edm.Double","D":"5","T@odata.type":"Edm.DateTime","T":"2021-04-01T01:01:01.000000001Z"}"#;
    assert_eq!(send(&service, "PUT", ENTITY, &[], body).status, 204);
    let row = send(&service, "GET", ENTITY, &[], "");
    let expected =
        r#""B":false,"D":5.0,"I":5,"T@odata.type":"Edm.DateTime","T":"2021-04-01T01:01:01Z""#;
    assert!(text(&row).contains(expected), "{}", text(&row));
}

#[test]
fn a_bad_filter_is_reported_with_its_position_and_may_be_cached() {
    let service = loose();
    for path in ["/Blogs()", "/Tables"] {
        let path = format!("{path}?$filter=aaa%20bbb%20ccc");
        let response = send(&service, "GET", &path, &[], "");
        assert_eq!(code(&response), (400, "InvalidInput".into()));
        assert!(text(&response).contains("\"Syntax error at position 7 in 'aaa bbb ccc'.\\n"));
        assert_eq!(header(&response, "cache-control"), None);
        assert_eq!(header(&response, "x-content-type-options"), Some("nosniff"));
    }
}

#[test]
fn a_path_below_a_table_names_no_resource() {
    let service = loose();
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let multipart = ("content-type", BATCH_TYPE);
    for (method, path, headers, body, expected) in [
        ("POST", "/Blogs/$batch", &[multipart][..], "--b--", (415, "MediaTypeNotSupported")),
        ("POST", "/Nothing/$batch", &[multipart], "--b--", (415, "MediaTypeNotSupported")),
        ("POST", "/Nothing/Tables", &[], r#"{"TableName":"New"}"#, (404, "TableNotFound")),
        ("POST", "/Blogs/Tables", &[], r#"{"TableName":"New"}"#, (400, "PropertiesNeedValue")),
        ("POST", "/Blogs/Posts", &[], keys, (404, "TableNotFound")),
        ("GET", "/Blogs/Tables", &[], "", (501, "NotImplemented")),
        ("GET", "/Blogs/Posts()", &[], "", (501, "NotImplemented")),
        ("GET", "/Blogs/Posts(PartitionKey='p',RowKey='r')", &[], "", (501, "NotImplemented")),
        ("GET", "/Nothing/Posts()", &[], "", (404, "TableNotFound")),
        ("DELETE", "/Nothing/Tables('Nothing')", &[], "", (404, "TableNotFound")),
        ("DELETE", "/Blogs/Tables('Blogs')", &[], "", (400, "InvalidInput")),
        ("PATCH", "/a//(PartitionKey='p',RowKey='r')", &[], "{}", (400, "OutOfRangeInput")),
        ("GET", "/Blogs/Posts?comp=acl", &[], "", (404, "TableNotFound")),
        ("GET", "/Blogs/", &[], "", (200, "")),
    ] {
        let response = send(&service, method, path, headers, body);
        assert_eq!(code(&response), (expected.0, expected.1.to_owned()), "{method} {path}");
    }
    let operation = "PATCH /devstoreaccount1/a//(PartitionKey='p',RowKey='r') HTTP/1.1\r\n\
                     Content-Type: application/json\r\n\r\n{}";
    let body = format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\
         Content-Type: application/http\r\n\r\n{operation}\r\n--c--\r\n--b--\r\n"
    );
    let response = send(
        &service,
        "POST",
        "/$batch",
        &[("content-type", "multipart/mixed; boundary=b")],
        &body,
    );
    assert!(text(&response).contains("OutOfRangeInput"), "{}", text(&response));
    let response = send(&service, "DELETE", "/Blogs/Tables('Blogs')", &[], "");
    assert!(text(&response).contains("The number of keys specified in the URI does not match"));
}

#[test]
fn refused_parts_of_a_batch_have_the_headers_of_the_service() {
    let service = loose();
    let batch = |operations: &[(&str, &str)]| {
        let parts = operations.iter().map(|(path, row)| {
            format!(
                "--c\r\nContent-Type: application/http\r\n\r\nPOST http://h{path} HTTP/1.1\r\n\
                 Accept: application/json\r\nPrefer: return-no-content\r\n\r\n\
                 {{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"}}\r\n"
            )
        });
        let body = format!(
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{}--c--\r\n--b--\r\n",
            parts.collect::<String>()
        );
        let response = send(&service, "POST", "/$batch", &[("content-type", BATCH_TYPE)], &body);
        let text = text(&response).to_owned();
        let has = |header: &str| text.contains(&format!("\r\n{header}\r\n"));
        assert!(has("X-Content-Type-Options: nosniff"), "{text}");
        (has("Cache-Control: no-cache"), has("Preference-Applied: return-no-content"))
    };
    let blogs = "/devstoreaccount1/Blogs";
    let rows: Vec<_> = (0..101).map(|n| n.to_string()).collect();
    let too_many: Vec<_> = rows.iter().map(|row| (blogs, &**row)).collect();
    assert_eq!(batch(&too_many), (true, true));
    assert_eq!(batch(&[(blogs, "1"), (blogs, "1")]), (true, true), "InvalidDuplicateRow");
    assert_eq!(batch(&[("/devstoreaccount1/Nothing", "1")]), (false, false), "TableNotFound");
}

/// Sends a signed request without `Accept`.
fn send_without_accept(
    service: &TableService,
    method: &str,
    path: &str,
    body: &str,
) -> HttpResponse {
    let resource =
        auth::canonicalized_resource("devstoreaccount1", &format!("/devstoreaccount1{path}"), "");
    let kind = if path == "/$batch" { BATCH_TYPE } else { "" };
    let text = auth::string_to_sign(method, "", kind, DATE, &resource);
    let value = format!("SharedKey devstoreaccount1:{}", SharedKey::development().sign(&text));
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", &*value),
        ("x-ms-date", DATE),
        ("x-ms-version", "2019-02-02"),
        ("if-match", "*"),
        ("content-type", kind),
    ] {
        if !value.is_empty() {
            headers.insert(name, value.parse().unwrap());
        }
    }
    service.respond(&HttpRequest {
        headers,
        body: body.to_owned().into(),
        ..HttpRequest::new(
            Method::from_bytes(method.as_bytes()).unwrap(),
            format!("http://127.0.0.1:1/devstoreaccount1{path}").parse().unwrap(),
        )
    })
}

/// The 204 that Python 2020, `test_get_entity_with_select`, recorded for a DELETE shows nothing else: the recorder of the
/// asynchronous client sees requests before the HTTP library adds `Accept: */*`, which the synchronous client records.
#[test]
fn no_request_for_rows_or_tables_may_omit_accept() {
    let service = strict();
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    assert_eq!(send_signed(&service, "POST", "/Blogs", row).status, 201);
    for (method, path) in [
        ("GET", "/Tables"),
        ("GET", ENTITY),
        ("PUT", ENTITY),
        ("DELETE", ENTITY),
        ("DELETE", "/Tables('Blogs')"),
    ] {
        let response = send_without_accept(&service, method, path, "");
        assert_eq!(code(&response), (415, "AtomFormatNotSupported".into()), "{method}");
    }
    let batch = changeset(&[("DELETE", ENTITY, "")]).replace("Accept: application/json\r\n", "");
    let response = send_without_accept(&service, "POST", "/$batch", &batch);
    assert!(text(&response).contains("AtomFormatNotSupported"), "{}", text(&response));
}

#[test]
fn a_page_with_a_limit_of_0_is_empty_and_the_last_one() {
    let service = loose();
    send(&service, "PUT", ENTITY, &[], "{}");
    for (path, next) in [
        ("/Blogs()", "x-ms-continuation-nextrowkey"),
        ("/Tables", "x-ms-continuation-nexttablename"),
    ] {
        let response = send(&service, "GET", &format!("{path}?$top=0"), &[], "");
        assert_eq!(response.status, 200);
        assert!(text(&response).contains("\"value\":[]"), "{}", text(&response));
        assert_eq!(header(&response, next), None);
    }
}

#[test]
fn etags_are_compared_as_text_and_unquoted_text_is_refused() {
    let service = loose();
    let written = send(&service, "PUT", ENTITY, &[], "{}");
    let etag = header(&written, "etag").unwrap().to_owned();
    let strong = etag.trim_start_matches("W/").to_owned();
    let lower = etag.replacen("W/", "w/", 1);
    let unquoted = etag.replace('"', "");
    for (condition, status) in [
        (&*strong, 412),
        ("W/\"wrong\"", 412),
        ("\"0x8D8A1\"", 412),
        (&*lower, 400),
        (&*unquoted, 400),
        ("MalformedETag", 400),
        (&*etag, 204),
    ] {
        let response = send(&service, "PUT", ENTITY, &[("if-match", condition)], "{}");
        assert_eq!(response.status, status, "{condition}");
    }
}

#[test]
fn a_literal_finds_properties_of_its_own_type_and_of_wider_ones() {
    let service = loose();
    let body = r#"{"L@odata.type":"Edm.Int64","L":"5","I":5,"D":5.0,"S":"5"}"#;
    send(&service, "PUT", ENTITY, &[], body);
    for (filter, found) in [
        ("L eq 5L", 1),
        ("L eq 5", 1),
        ("I eq 5L", 0),
        ("D eq 5d", 1),
        ("D eq 5", 1),
        ("I eq 5d", 0),
        ("S eq 5", 0),
        ("S ne 5", 1),
        ("I ne '5'", 1),
        ("Timestamp ne ''", 1),
        ("Missing ne 5", 0),
        ("S ne '6'", 1),
        ("Timestamp ge datetime'2000-01-01'", 1),
        ("Timestamp lt datetime'2000-01-01'", 0),
        ("Timestamp ge datetime'2000-01-01T00:00:00'", 1),
    ] {
        let path = format!("/Blogs()?$filter={}", filter.replace(' ', "%20"));
        let response = send(&service, "GET", &path, &[], "");
        assert_eq!(text(&response).matches("RowKey").count(), found, "{filter}");
    }
    for filter in ["D%20eq%205f", "D%20eq%205m"] {
        let response = send(&service, "GET", &format!("/Blogs()?$filter={filter}"), &[], "");
        assert_eq!(code(&response), (400, "InvalidInput".into()), "{filter}");
    }
}

#[test]
fn keys_have_up_to_1024_characters() {
    let service = loose();
    let insert = |key: &str| {
        let body = format!(r#"{{"PartitionKey":"{key}","RowKey":"{key}"}}"#);
        code(&send(&service, "POST", "/Blogs", &[], &body))
    };
    assert_eq!(insert(&"k".repeat(1024)).0, 201);
    assert_eq!(insert(&"\u{1f600}".repeat(512)).0, 201);
    assert_eq!(insert(&"k".repeat(1025)), (400, "KeyValueTooLarge".into()));
    assert_eq!(insert(&"\u{1f600}".repeat(513)), (400, "KeyValueTooLarge".into()));
}

#[test]
fn a_repeated_signature_and_a_signature_beside_a_header_are_refused() {
    let service = strict();
    let fields = [("sv", "2019-02-02"), ("se", EXPIRY), ("sp", "r"), ("tn", "Blogs")];
    let signed = format!("r\n\n{EXPIRY}\n/table/devstoreaccount1/blogs\n\n\n\n2019-02-02\n\n\n\n");
    let query = sas_query(&fields, &signed);
    let version = ("x-ms-version", "2019-02-02");
    let get = |query: &str, headers: &[(&'static str, &str)]| {
        code(&send(&service, "GET", &format!("/Blogs()?{query}"), headers, ""))
    };
    assert_eq!(get(&query, &[version]), (200, String::new()));
    let twice = format!("{query}&{query}");
    assert_eq!(get(&twice, &[version]), (403, "AuthenticationFailed".into()));
    let lite = ("authorization", "SharedKeyLite devstoreaccount1:c2ln");
    let both = get(&query, &[version, lite, ("x-ms-date", DATE)]);
    assert_eq!(both, (400, "InvalidAuthenticationInfo".into()));
}

#[test]
fn puts_and_deletions_have_no_if_none_match() {
    let service = loose();
    send(&service, "PUT", ENTITY, &[], r#"{"A":1}"#);
    let (any, none) = (("if-match", "*"), ("if-none-match", "*"));
    let put = "If-None-Match HTTP header cannot be specified for PUT operations.";
    let delete = "If-None-Match HTTP header cannot be specified for DELETE operations.";
    let both = "Both If-Match and If-None-Match HTTP headers cannot be specified at the same time.";
    for (verb, headers, message) in [
        ("PUT", &[none][..], put),
        ("DELETE", &[none], delete),
        ("PUT", &[any, none], both),
        ("MERGE", &[any, none], both),
        ("DELETE", &[any, none], both),
    ] {
        let response = send(&service, verb, ENTITY, headers, "{}");
        assert_eq!(code(&response), (400, "InvalidInput".into()), "{verb} {headers:?}");
        assert!(text(&response).contains(message), "{}", text(&response));
    }
    let read = send(&service, "GET", ENTITY, &[none], "");
    assert!(text(&read).contains(r#""A":1"#), "{}", text(&read));
}
