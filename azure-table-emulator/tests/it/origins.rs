//! Tests of requests that web pages of other origins can send.

use reqwest::Method;

use crate::server::Server;

const TABLE: &str = r#"{"TableName":"Stolen"}"#;

/// Sends a request to the account with these headers. Returns the status and the body.
async fn send(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &'static str,
) -> (u16, String) {
    let url = format!("{}/devstoreaccount1{path}", server.origin);
    let mut request = reqwest::Client::new().request(method, url).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn a_foreign_name_gives_no_access() {
    let health = "/-/health";
    for (arguments, host, expected) in [
        (&[][..], "evil.example", (403, 403)),
        (&["--loose"], "evil.example", (403, 403)),
        (&["--loose"], "localhost:10002", (200, 200)),
        (&["--loose", "--allow-host", "evil.example"], "EVIL.example:1", (200, 200)),
        (&["--loose", "--allow-host", "tables"], "evil.example", (403, 403)),
        (&["--loose", "--allow-host", "*"], "evil.example", (200, 200)),
        // A secret key protects the tables, but not the page.
        (&["--account", "devstoreaccount1", "--account-key", "b25l"], "evil.example", (404, 403)),
    ] {
        let server = Server::start(arguments).await;
        let api = send(&server, Method::GET, "/Tables", &[("host", host)], "").await;
        let url = format!("{}{health}", server.origin);
        let health = reqwest::Client::new().get(url).header("host", host).send().await.unwrap();
        let found = (api.0, health.status().as_u16());
        assert_eq!(found, expected, "{arguments:?} {host}");
        assert!(api.0 != 403 || api.1.contains("--allow-host"), "{api:?}");
        assert!(!health.text().await.unwrap().contains("devstoreaccount1"));
    }
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing_without_a_rule() {
    let server = Server::start(&["--loose"]).await;
    let origin = ("origin", "http://evil.example");
    // These need no preflight request: no media type, and those of forms.
    for headers in [
        &[origin][..],
        &[origin, ("content-type", "text/plain")],
        &[("origin", "null"), ("content-type", "application/x-www-form-urlencoded")],
        &[origin, ("content-type", "application/json")],
    ] {
        let (status, text) = send(&server, Method::POST, "/Tables", headers, TABLE).await;
        assert_eq!(status, 403, "{headers:?}: {text}");
        assert!(text.contains("CORS"), "{text}");
    }
    // Some browsers send no Origin.
    let form = [("content-type", "text/plain")];
    assert_eq!(send(&server, Method::POST, "/Tables", &form, TABLE).await.0, 415);
    assert!(server.client().list_tables().await.unwrap().is_empty());

    let rules = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://evil.example\
        </AllowedOrigins><AllowedMethods>POST</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds>\
        <ExposedHeaders/><AllowedHeaders>*</AllowedHeaders></CorsRule></Cors>\
        </StorageServiceProperties>";
    let version = [("x-ms-version", "2019-02-02")];
    let set = send(&server, Method::PUT, "?restype=service&comp=properties", &version, rules).await;
    assert_eq!(set.0, 202, "{}", set.1);
    let (status, text) = send(&server, Method::POST, "/Tables", &[origin], TABLE).await;
    assert_eq!(status, 201, "{text}");
}
