//! The paths of operations.

use super::*;

/// A batch with one changeset, whose operations have these verbs, targets and bodies.
fn changeset(operations: &[(&str, &str, &str)]) -> String {
    let parts = operations.iter().map(|(verb, target, body)| {
        format!(
            "--c\r\nContent-Type: application/http\r\n\r\n{verb} {target} HTTP/1.1\r\n\
             Content-Type: application/json\r\nAccept: application/json\r\nIf-Match: *\r\n\r\n{body}\r\n"
        )
    });
    let parts: String = parts.collect();
    format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
}

fn send(service: &TableService, base: &str, operations: &[(&str, &str, &str)]) -> String {
    let kind = "multipart/mixed; boundary=b";
    let response = service.respond(&HttpRequest {
        headers: [(header::CONTENT_TYPE, kind.parse().unwrap())].into_iter().collect(),
        body: changeset(operations).into(),
        ..HttpRequest::new(Method::POST, format!("{base}/$batch").parse().unwrap())
    });
    assert_eq!(response.status, 202);
    String::from_utf8(response.body.to_vec()).unwrap()
}

const KEYS: &str = r#"{"PartitionKey":"p","RowKey":"1"}"#;

#[test]
fn operations_may_omit_the_account() {
    let service = service();
    let other = KEYS.replace('1', "2");
    let inserts = [("POST", "/Blogs", KEYS), ("POST", "http://127.0.0.1:1/Blogs()", &other)];
    let text = send(&service, BASE, &inserts);
    assert_eq!(text.matches("201 Created").count(), 2, "{text}");
    let location = format!("Location: {BASE}/Blogs(PartitionKey='p',RowKey='1')");
    assert!(text.contains(&location), "{text}");
    let changes = [
        ("PUT", "/Blogs(PartitionKey='p',RowKey='1')?timeout=5", "{}"),
        ("DELETE", "/Blogs(PartitionKey='p',RowKey='2')", ""),
    ];
    let text = send(&service, BASE, &changes);
    assert_eq!(text.matches("204 No Content").count(), 2, "{text}");
    assert_eq!(service.row_count("Blogs"), Some(1));
    let secondary = format!("{BASE}-secondary");
    let text = send(&service, &secondary, &[("POST", "/Blogs", KEYS)]);
    assert!(text.contains("InsufficientAccountPermissions"), "{text}");
}

#[test]
fn other_paths_outside_of_the_account_are_refused() {
    let service = service();
    for target in [
        "/another/Blogs",
        "/Tables",
        "/Tables('Blogs')",
        "/$batch",
        "/",
        "/Blogs/Posts()",
        "/Blogs(",
    ] {
        let text = send(&service, BASE, &[("POST", target, KEYS)]);
        assert!(!text.contains("201 Created"), "{target} {text}");
        assert!(text.contains("HTTP/1.1 4"), "{target} {text}");
    }
    let direct = service.respond(&HttpRequest {
        body: KEYS.into(),
        ..HttpRequest::new(Method::POST, http::Uri::from_static("http://127.0.0.1:1/Blogs"))
    });
    assert_eq!(direct.status, 404, "a request of its own names the account");
    assert_eq!(service.row_count("Blogs"), Some(0));
}
