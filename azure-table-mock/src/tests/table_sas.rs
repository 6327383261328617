mod policies;

use std::net::Ipv6Addr;

use super::*;
use crate::auth::sas_signature::for_table;

const ENTITY: &str = "/Blogs(PartitionKey='b',RowKey='2')";
const KEYS: &str = r#"{"PartitionKey":"b","RowKey":"2"}"#;

fn signed(fields: &[(&str, &str)]) -> String {
    sas_query(fields, &for_table("devstoreaccount1", &|name| field(fields, name)))
}

/// A signature with these permissions for an hour, and more fields.
fn sas(permissions: &str, more: &[(&str, &str)]) -> String {
    let fields = [("sv", "2019-02-02"), ("tn", "Blogs"), ("sp", permissions), ("se", EXPIRY)];
    signed(&[&fields, more].concat())
}

fn filled() -> TableService {
    let service = strict();
    for partition in ["a", "b", "c"] {
        for row in ["1", "2", "3"] {
            let path = format!("/Blogs(PartitionKey='{partition}',RowKey='{row}')");
            assert_eq!(send_signed(&service, "PUT", &path, "{}").status, 204);
        }
    }
    service
}

fn status(service: &TableService, method: &str, path: &str, query: &str, body: &str) -> u16 {
    send_with(service, method, path, query, body).status.as_u16()
}

#[test]
fn each_operation_needs_its_permissions() {
    let put_if_match = ("if-match", "*");
    for (method, path, headers, needed, body) in [
        ("GET", ENTITY, &[][..], "r", ""),
        ("GET", "/Blogs()", &[], "r", ""),
        ("POST", "/Blogs", &[], "a", r#"{"PartitionKey":"b","RowKey":"new"}"#),
        ("PUT", ENTITY, &[put_if_match], "u", "{}"),
        ("MERGE", ENTITY, &[put_if_match], "u", "{}"),
        ("PUT", ENTITY, &[], "au", "{}"),
        ("MERGE", ENTITY, &[], "au", "{}"),
        ("DELETE", ENTITY, &[put_if_match], "d", ""),
    ] {
        for permissions in ["r", "a", "u", "d", "au", "raud", "rad", "rud"] {
            let service = filled();
            let separated = format!("{path}?{}", sas(permissions, &[]));
            let response = send(&service, method, &separated, headers, body);
            if needed.chars().all(|letter| permissions.contains(letter)) {
                assert!(response.status.is_success(), "{method} {path} {permissions}");
            } else {
                let mismatch = (403, "AuthorizationPermissionMismatch".to_owned());
                assert_eq!(code(&response), mismatch, "{method} {path} {permissions}");
            }
        }
    }
}

#[test]
fn a_signature_allows_the_entities_of_one_table() {
    let service = filled();
    service.core().store.write().create("Others", service.core().clock.now()).unwrap();
    let query = sas("raud", &[]);
    let failure = (403, "AuthorizationFailure".to_owned());
    for (method, path, body) in [
        ("GET", "/Tables", ""),
        ("GET", "/Tables('Blogs')", ""),
        ("POST", "/Tables", r#"{"TableName":"More"}"#),
        ("DELETE", "/Tables('Blogs')", ""),
        ("GET", "/Blogs?comp=acl", ""),
        ("PUT", "/Blogs?comp=acl", ""),
        ("GET", "/?restype=service&comp=properties", ""),
        ("PUT", "/?restype=service&comp=properties", ""),
        ("GET", "/Others()", ""),
        ("POST", "/Others", KEYS),
        ("GET", "/Nothing()", ""),
    ] {
        let response = send_with(&service, method, path, &query, body);
        assert_eq!(code(&response), failure, "{method} {path}");
    }
    assert_eq!(status(&service, "GET", "/bLOGS()", &query, ""), 200, "names have no case");
    let other_case = signed(&[("sv", "2019-02-02"), ("tn", "BLOGS"), ("sp", "r"), ("se", EXPIRY)]);
    assert_eq!(status(&service, "GET", "/Blogs()", &other_case, ""), 200);
    assert_eq!(service.table_names(), ["Blogs", "Others"]);
}

#[test]
fn invalid_signatures_are_refused_without_a_reason() {
    let service = filled();
    let base = [("sv", "2019-02-02"), ("tn", "Blogs"), ("sp", "r"), ("se", EXPIRY)];
    assert_eq!(status(&service, "GET", "/Blogs()", &signed(&base), ""), 200);
    let with = |name: &'static str, value: &'static str| {
        let others = base.iter().filter(|(known, _)| *known != name).copied();
        signed(&others.chain([(name, value)]).collect::<Vec<_>>())
    };
    let without = |name: &str| {
        signed(&base.iter().filter(|(known, _)| *known != name).copied().collect::<Vec<_>>())
    };
    let mut queries: Vec<String> = ["sv", "tn", "sp", "se"].map(without).into();
    queries.extend([
        with("sv", "2011-08-18"),
        with("sv", "now"),
        with("sv", ""),
        with("sp", ""),
        with("sp", "ar"),
        with("sp", "rr"),
        with("sp", "rl"),
        with("se", "2017-11-10T12:00:00Z"),
        with("se", "tomorrow"),
        with("se", ""),
        with("st", "2017-11-10T12:00:01Z"),
        with("st", EXPIRY),
        with("st", ""),
        with("sip", "me"),
        with("sip", ""),
        with("spr", "http"),
        with("spr", "ftp"),
        with("spr", ""),
        with("si", ""),
        with("si", "nothing"),
        with("srk", "1"),
        with("erk", "1"),
        signed(&base).replace("sp=r", "sp=raud"),
        signed(&base).replace("tn=Blogs", "tn=Others"),
        signed(&base).replace("sig=", "sig=A"),
        signed(&base).replace("sig=", "sig=&x="),
        signed(&base) + "&spk=a",
    ]);
    for query in queries {
        let response = send_with(&service, "GET", "/Blogs()", &query, "");
        assert_eq!(code(&response), (403, "AuthenticationFailed".into()), "{query}");
        assert!(!text(&response).contains(&query[query.len() - 20..]), "no part of it is shown");
    }
}

#[test]
fn each_version_signs_its_own_text() {
    let service = filled();
    for version in [
        "2012-02-12",
        "2013-08-15",
        "2014-02-14",
        "2015-02-21",
        "2015-04-05",
        "2017-04-17",
        "2020-12-06",
        "2024-11-04",
    ] {
        let query = signed(&[
            ("sv", version),
            ("tn", "Blogs"),
            ("sp", "r"),
            ("st", "2017-11-10"),
            ("se", EXPIRY),
            ("spk", "a"),
            ("srk", ""),
            ("epk", "z"),
            ("erk", "z"),
        ]);
        let path = format!("{ENTITY}?{query}");
        let headers = [("x-ms-version", "2019-02-02")];
        assert_eq!(send(&service, "GET", &path, &headers, "").status, 200, "{version}");
    }
    // This version does not sign addresses, so they are ignored.
    let old =
        [("sv", "2014-02-14"), ("tn", "Blogs"), ("sp", "r"), ("se", EXPIRY), ("sip", "1.2.3.4")];
    let path = format!("{ENTITY}?{}", signed(&old));
    assert_eq!(send(&service, "GET", &path, &[("x-ms-version", "2019-02-02")], "").status, 200);
}

#[test]
fn before_version_2015_04_05_denied_operations_report_not_found() {
    let service = filled();
    let not_found = (404, "ResourceNotFound".to_owned());
    let ranged = sas("raud", &[("spk", "b")]);
    for (query, version, expected) in [
        (sas("a", &[]), Some("2014-02-14"), not_found.clone()),
        (sas("a", &[]), None, (403, "AuthorizationPermissionMismatch".into())),
        (sas("a", &[]), Some("2015-04-05"), (403, "AuthorizationPermissionMismatch".into())),
    ] {
        let mut headers = vec![("accept", "application/json")];
        headers.extend(version.map(|version| ("x-ms-version", version)));
        let response = send(&service, "GET", &format!("/Blogs()?{query}"), &headers, "");
        assert_eq!(code(&response), expected, "{version:?}");
    }
    let headers = [("x-ms-version", "2014-02-14"), ("accept", "application/json")];
    let body = r#"{"PartitionKey":"a","RowKey":"new"}"#;
    let outside = send(&service, "POST", &format!("/Blogs?{ranged}"), &headers, body);
    assert_eq!(code(&outside), not_found);
}

#[test]
fn reads_are_limited_to_the_key_range() {
    let service = filled();
    let rows = |query: &str, path: &str| {
        let response = send_with(&service, "GET", path, query, "");
        assert_eq!(response.status, 200, "{path}");
        text(&response).matches("\"RowKey\"").count()
    };
    let scanned = || service.requests().last().unwrap().scanned_rows;
    let bounds = [("spk", "b"), ("srk", "2"), ("epk", "c"), ("erk", "1")];
    let query = sas("raud", &bounds);
    assert_eq!((rows(&query, "/Blogs()"), scanned()), (3, 3), "b2 b3 c1");
    assert_eq!(rows(&query, "/Blogs()?$filter=PartitionKey%20eq%20'b'"), 2);
    assert_eq!(rows(&query, "/Blogs()?$filter=PartitionKey%20eq%20'a'"), 0);
    assert_eq!(rows(&query, "/Blogs()?$filter=RowKey%20eq%20'1'"), 1);
    assert_eq!(rows(&sas("r", &[("spk", "b")]), "/Blogs()"), 6);
    assert_eq!(rows(&sas("r", &[("epk", "b")]), "/Blogs()"), 6);
    assert_eq!(rows(&sas("r", &[("spk", "b"), ("epk", "b")]), "/Blogs()"), 3);

    // A continuation token does not leave the range.
    let page = send_with(&service, "GET", "/Blogs()?$top=2", &query, "");
    assert_eq!(header(&page, "x-ms-continuation-nextrowkey"), Some(&*page_token::encode("1")));
    let token = format!("/Blogs()?NextPartitionKey={}", page_token::encode("a"));
    assert_eq!(rows(&query, &token), 3);
    let last = send_with(&service, "GET", "/Blogs()?$top=3", &query, "");
    assert_eq!(header(&last, "x-ms-continuation-nextrowkey"), None);

    for (keys, expected) in
        [("'b',RowKey='2'", 200), ("'b',RowKey='1'", 404), ("'c',RowKey='2'", 404)]
    {
        let path = format!("/Blogs(PartitionKey={keys})");
        assert_eq!(status(&service, "GET", &path, &query, ""), expected, "{keys}");
    }
}

#[test]
fn writes_outside_the_key_range_are_refused() {
    let service = filled();
    let query = sas("raud", &[("spk", "b"), ("srk", "2"), ("epk", "b"), ("erk", "2")]);
    for (row, is_in) in [("1", false), ("2", true), ("3", false)] {
        let path = format!("/Blogs(PartitionKey='b',RowKey='{row}')");
        for (method, expected) in [("PUT", 204), ("MERGE", 204), ("DELETE", 204)] {
            let response = send_with(&service, method, &path, &query, "{}");
            if is_in {
                assert_eq!(response.status, expected, "{method} {row}");
            } else {
                let failure = (403, "AuthorizationFailure".to_owned());
                assert_eq!(code(&response), failure, "{method} {row}");
            }
        }
    }
    assert_eq!(status(&service, "POST", "/Blogs", &query, KEYS), 201);
    let elsewhere = r#"{"PartitionKey":"b","RowKey":"21"}"#;
    assert_eq!(status(&service, "POST", "/Blogs", &query, elsewhere), 403);
}

#[test]
fn each_operation_of_a_batch_is_authorized() {
    let service = filled();
    let send_batch = |query: &str, batch: &str| {
        let headers = [("content-type", BATCH_TYPE), ("accept", "application/json")];
        let response = send(&service, "POST", &format!("/$batch?{query}"), &headers, batch);
        assert_eq!(response.status, 202);
        text(&response).to_owned()
    };
    let row = |row: &str| format!("/Blogs(PartitionKey='b',RowKey='{row}')");
    let ranged = sas("u", &[("spk", "b"), ("srk", "2")]);
    let answer =
        send_batch(&ranged, &changeset(&[("PUT", &row("2"), "{}"), ("PUT", &row("3"), "{}")]));
    assert_eq!(answer.matches("HTTP/1.1 204").count(), 2, "{answer}");
    let answer =
        send_batch(&ranged, &changeset(&[("PUT", &row("2"), "{}"), ("PUT", &row("1"), "{}")]));
    assert!(
        answer.contains("HTTP/1.1 403") && answer.contains("\"AuthorizationFailure\""),
        "{answer}"
    );
    assert!(answer.contains("\"1:This request"), "{answer}");
    let answer = send_batch(&ranged, &changeset(&[("DELETE", &row("2"), "")]));
    assert!(answer.contains("AuthorizationPermissionMismatch"), "{answer}");
    let answer =
        send_batch(&ranged, &changeset(&[("PUT", "/Others(PartitionKey='b',RowKey='2')", "{}")]));
    assert!(answer.contains("\"AuthorizationFailure\""), "{answer}");

    let get = |row: &str| {
        format!(
            "--b\r\nContent-Type: application/http\r\n\r\nGET http://127.0.0.1/devstoreaccount1\
             /Blogs(PartitionKey='b',RowKey='{row}') HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--b--\r\n"
        )
    };
    let reads = sas("r", &[("spk", "b"), ("srk", "2")]);
    assert!(send_batch(&reads, &get("2")).contains("HTTP/1.1 200"));
    assert!(send_batch(&reads, &get("1")).contains("HTTP/1.1 404"));
    assert!(send_batch(&ranged, &get("2")).contains("AuthorizationPermissionMismatch"));
}
