//! The names of tables in Cosmos DB.

use super::*;

const URL: &str = "Request url is invalid.";
const INPUT: &str = "One of the input values is invalid.";
const TOKEN: &str = "The input authorization token can't serve the request. The wrong key is being used or the \
                     expected payload is not built as per the protocol.";

#[test]
fn names_of_tables_are_case_sensitive() {
    let service = cosmos();
    create(&service, "blogs");
    create(&service, "my-table 1");
    assert_eq!(insert(&service, ("p", "r")).status, 201);
    assert_eq!((service.row_count("Blogs"), service.row_count("blogs")), (Some(1), Some(0)));
    assert_eq!(send(&service, "GET", "/BLOGS()", &[], "").status, 404);
    assert_eq!(send(&service, "GET", "/my-table%201()", &[], "").status, 200);
    assert_eq!(send(&service, "DELETE", "/Tables('Blogs')", &[], "").status, 204);
    assert_eq!(service.table_names(), ["blogs", "my-table 1"]);
    let seeded = service.seed_json(r#"{"my-table 2":[{"PartitionKey":"p","RowKey":"r"}]}"#);
    assert_eq!(seeded.map_err(|error| error.to_string()), Ok(()));
    let refused = TableService::new().seed_json(r#"{"my-table":[]}"#).unwrap_err();
    assert!(refused.to_string().contains("the table \"my-table\": "), "{refused}");
}

#[test]
fn names_outside_ascii_are_valid() {
    // `test_create_table_unicode_name`
    let service = cosmos();
    let encoded = "%E5%95%8A%E9%BD%84%E4%B8%82%E7%8B%9B%E7%8B%9C";
    let created = send(&service, "POST", "/Tables", &[], r#"{"TableName":"啊齄丂狛狜"}"#);
    assert_eq!(header(&created, "location"), Some(&*format!("{BASE}/Tables('{encoded}')")));
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let inserted = send(&service, "POST", &format!("/{encoded}"), &[], keys);
    let location = format!("{BASE}/{encoded}(PartitionKey='p',RowKey='r')");
    assert_eq!(header(&inserted, "location"), Some(&*location));
    assert_eq!(row_keys(&send(&service, "GET", &format!("/{encoded}()"), &[], "")), ["r"]);
    assert!(text(&send(&service, "GET", "/Tables", &[], "")).contains("啊齄丂狛狜"));
    assert_eq!(send(&service, "DELETE", &format!("/Tables('{encoded}')"), &[], "").status, 204);
    assert_eq!(service.table_names(), ["Blogs"]);
}

#[test]
fn a_bad_name_of_a_new_table_is_refused() {
    // `test_table_name_errors_bad_chars` and `test_table_name_errors_bad_length` of 2024
    let service = cosmos();
    let bad =
        |character: char| format!("The table name contains an invalid character {character}.");
    let length = "Message: {\"Errors\":[\"The input name is invalid. Ensure to provide a unique non-empty string less \
                  than '255' characters.\",\"The request payload is invalid. Ensure to provide a valid request \
                  payload.\"]}";
    for (name, expected) in [
        (r"\\", (400, "InvalidInput".into(), FULL, bad('\\'))),
        ("a//", (400, "InvalidInput".into(), FULL, bad('/'))),
        ("#", (400, "InvalidInput".into(), FULL, bad('#'))),
        ("?", (400, "InvalidInput".into(), FULL, bad('?'))),
        (
            "- ",
            (400, "InvalidInput".into(), FULL, "Table name cannot end with a space.".to_owned()),
        ),
        (&*"-".repeat(255), (400, "BadRequest".into(), MINIMAL, length.to_owned())),
        ("tables", (400, "BadRequest".into(), MINIMAL, length.to_owned())),
        (r"a\u0007", (400, "BadRequest".into(), MINIMAL, length.to_owned())),
    ] {
        let body = format!(r#"{{"TableName":"{name}"}}"#);
        let refused = send(&service, "POST", "/Tables", &[], &body);
        assert_eq!(refusal(&refused), expected, "{name}");
    }
}

#[test]
fn a_bad_name_in_a_url_has_the_recorded_failures() {
    // `test_table_name_errors_bad_chars` and `test_table_name_errors_bad_length` of 2024
    let service = cosmos();
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let json = ("accept", "application/json");
    let unauthorized = |kind| (401, "Unauthorized", kind, TOKEN);
    let invalid = |message| (400, "InvalidInput", FULL, message);
    let not_allowed = (405, "MethodNotAllowed", FULL, "RequestHandler.Delete");
    let missing = |kind| (404, "ResourceNotFound", kind, "The specified resource does not exist.");
    let long = "-".repeat(255);
    for (name, deleted, inserted, upserted, removed) in [
        ("%5C", not_allowed, unauthorized(MINIMAL), unauthorized(json.1), unauthorized(FULL)),
        ("%23", not_allowed, unauthorized(MINIMAL), unauthorized(json.1), unauthorized(FULL)),
        ("%3F", not_allowed, unauthorized(MINIMAL), unauthorized(json.1), unauthorized(FULL)),
        (
            "-%20",
            unauthorized(FULL),
            unauthorized(MINIMAL),
            unauthorized(json.1),
            unauthorized(FULL),
        ),
        ("%2F%2F", invalid(URL), invalid(URL), invalid(INPUT), invalid(INPUT)),
        (&*long, missing(FULL), missing(MINIMAL), missing(json.1), missing(FULL)),
    ] {
        let entity = format!("/{name}(PartitionKey='p',RowKey='r')");
        let table = format!("/Tables('{name}')");
        let entities = format!("/{name}");
        let merge = [json, ("x-http-method", "MERGE")];
        let requests: [(&str, &str, Headers<'_>, &str, _); 4] = [
            ("DELETE", &table, &[json], "", deleted),
            ("POST", &entities, &[], keys, inserted),
            ("POST", &entity, &merge, keys, upserted),
            ("DELETE", &entity, &[("if-match", "*")], "", removed),
        ];
        for (method, path, headers, body, expected) in requests {
            let response = send(&service, method, path, headers, body);
            let (status, code, kind, message) = refusal(&response);
            assert_eq!((status, &*code, kind, &*message), expected, "{method} {path}");
        }
    }
}

#[test]
fn a_url_below_a_table_is_invalid() {
    // `test_client_with_url_ends_with_table_name` of 2026
    let service = cosmos();
    let json = ("accept", "application/json");
    let multipart = ("content-type", "multipart/mixed; boundary=b");
    for table in ["Blogs", "Posts"] {
        let requests: [(&str, String, Headers<'_>, &str); 3] = [
            ("POST", format!("/{table}/Tables"), &[], r#"{"TableName":"Posts"}"#),
            ("DELETE", format!("/{table}/Tables('Blogs')"), &[json], ""),
            ("POST", format!("/{table}/$batch"), &[json, multipart], "--b--\r\n"),
        ];
        for (method, path, headers, body) in requests {
            let refused = send(&service, method, &path, headers, body);
            assert_eq!(refusal(&refused), (400, "InvalidInput".into(), FULL, URL.into()), "{path}");
        }
    }
}
