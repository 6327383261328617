use super::*;

/// A service with these rules: methods, origins, allowed headers, exposed headers.
fn with_rules(rules: &[(&str, &str, &str, &str)]) -> TableService {
    let service = strict();
    let rules: Vec<String> = rules
        .iter()
        .map(|(methods, origins, allowed, exposed)| {
            format!(
                "<CorsRule><AllowedMethods>{methods}</AllowedMethods>\
                 <AllowedOrigins>{origins}</AllowedOrigins><AllowedHeaders>{allowed}</AllowedHeaders>\
                 <ExposedHeaders>{exposed}</ExposedHeaders><MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule>"
            )
        })
        .collect();
    let rules = rules.concat();
    let body = format!("<StorageServiceProperties><Cors>{rules}</Cors></StorageServiceProperties>");
    let set = send_signed(&service, "PUT", "/?restype=service&comp=properties", &body);
    assert_eq!(set.status, 202);
    service
}

fn preflight(service: &TableService, headers: &[(&'static str, &str)]) -> HttpResponse {
    send(service, "OPTIONS", "/Nothing(PartitionKey='a',RowKey='b')", headers, "")
}

const ORIGIN: &str = "origin";
const METHOD: &str = "access-control-request-method";
const HEADERS: &str = "access-control-request-headers";

#[test]
fn the_first_matching_rule_applies_to_a_preflight() {
    let service = with_rules(&[
        ("GET,PUT", "http://a,http://b", "accept,x-ms-*", ""),
        ("MERGE", "*", "*", ""),
    ]);
    let ask = [(ORIGIN, "http://b"), (METHOD, "PUT"), (HEADERS, "Accept, X-MS-version")];
    let answer = preflight(&service, &ask);
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0));
    for (name, expected) in [
        ("access-control-allow-origin", "http://b"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-allow-headers", "Accept, X-MS-version"),
        ("access-control-max-age", "500"),
        ("access-control-allow-credentials", "true"),
    ] {
        assert_eq!(header(&answer, name), Some(expected), "{name}");
    }
    let without = preflight(&service, &[(ORIGIN, "http://any"), (METHOD, "MERGE")]);
    assert_eq!(header(&without, "access-control-allow-origin"), Some("http://any"));
    assert_eq!(header(&without, "access-control-allow-headers"), None);
    let any = [(ORIGIN, "http://any"), (METHOD, "MERGE"), (HEADERS, "whatever")];
    assert_eq!(preflight(&service, &any).status, 200);
}

#[test]
fn a_preflight_without_a_rule_or_a_header_is_refused() {
    let service = with_rules(&[("GET,PUT", "http://a", "accept", "")]);
    let no_rule = (403, "CorsPreflightFailure");
    let no_header = (400, "InvalidHeaderValue");
    for (headers, expected) in [
        (&[(ORIGIN, "http://c"), (METHOD, "GET")][..], no_rule),
        (&[(ORIGIN, "http://A"), (METHOD, "GET")], no_rule),
        (&[(ORIGIN, "http://a"), (METHOD, "POST")], no_rule),
        (&[(ORIGIN, "http://a"), (METHOD, "get")], no_rule),
        (&[(ORIGIN, "http://a"), (METHOD, "GET"), (HEADERS, "accept,other")], no_rule),
        (&[(METHOD, "GET")], no_header),
        (&[(ORIGIN, ""), (METHOD, "GET")], no_header),
        (&[(ORIGIN, "http://a")], no_header),
    ] {
        let answer = preflight(&service, headers);
        assert_eq!(code(&answer), (expected.0, expected.1.to_owned()), "{headers:?}");
    }
    let none = preflight(&strict(), &[(ORIGIN, "http://a"), (METHOD, "GET")]);
    assert_eq!(code(&none), (403, "CorsPreflightFailure".into()));
}

#[test]
fn responses_are_readable_by_the_origins_of_a_rule() {
    let service = with_rules(&[
        ("GET,PUT", "http://a", "*", "x-ms-*,Location"),
        ("GET", "http://b", "*", ""),
    ]);
    let ask = |service: &TableService, method: &str, origin: Option<&str>| {
        let headers: Vec<_> = origin.map(|origin| (ORIGIN, origin)).into_iter().collect();
        let version = ("x-ms-version", "2019-02-02");
        let response = send(service, method, "/Tables", &[&headers[..], &[version]].concat(), "");
        [
            "access-control-allow-origin",
            "access-control-allow-credentials",
            "vary",
            "access-control-expose-headers",
        ]
        .map(|name| header(&response, name).map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    // Scripts may read error responses too.
    assert_eq!(
        ask(&service, "GET", Some("http://a")),
        [
            some("http://a"),
            some("true"),
            some("Origin"),
            some("x-ms-version,x-ms-request-id,Location")
        ]
    );
    assert_eq!(
        ask(&service, "PUT", Some("http://a")),
        [some("http://a"), some("true"), None, some("x-ms-version,x-ms-request-id,Location")]
    );
    assert_eq!(
        ask(&service, "GET", Some("http://b")),
        [some("http://b"), some("true"), some("Origin"), None]
    );
    assert_eq!(ask(&service, "GET", Some("http://c")), [None, None, some("Origin"), None]);
    assert_eq!(ask(&service, "GET", None), [None, None, some("Origin"), None]);
    assert_eq!(ask(&service, "PUT", Some("http://c")), [None, None, None, None]);
    assert_eq!(ask(&service, "PUT", None), [None, None, None, None]);
    assert_eq!(ask(&strict(), "GET", Some("http://a")), [None, None, None, None]);

    let open = with_rules(&[("GET", "*", "*", "*")]);
    let [origin, credentials, vary, exposed] = ask(&open, "GET", Some("http://a"));
    assert_eq!([origin, credentials, vary], [some("*"), None, None]);
    let exposed = exposed.unwrap();
    for name in ["x-ms-request-id", "date", "content-length", "transfer-encoding", "content-type"] {
        assert_eq!(
            exposed.split(',').filter(|other| *other == name).count(),
            1,
            "{name}: {exposed}"
        );
    }
}

#[test]
fn media_types_that_need_no_preflight_change_nothing() {
    let service = loose();
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let batch = changeset(&[("PUT", "/Blogs(PartitionKey='p',RowKey='r')", "{}")]);
    for kind in [
        "text/plain",
        "text/plain;charset=UTF-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
    ] {
        let headers = [("content-type", kind), ("x-ms-version", "2019-02-02")];
        for (method, path, body) in [
            ("POST", "/Tables", r#"{"TableName":"Others"}"#),
            ("POST", "/Blogs", row),
            ("PUT", "/Blogs(PartitionKey='p',RowKey='r')", row),
            ("MERGE", "/Blogs(PartitionKey='p',RowKey='r')", row),
            ("PATCH", "/Blogs(PartitionKey='p',RowKey='r')", row),
            ("POST", "/$batch", &*batch),
            ("PUT", "/Blogs?comp=acl", "<SignedIdentifiers/>"),
            ("PUT", "/?restype=service&comp=properties", "<StorageServiceProperties/>"),
        ] {
            let refused = code(&send(&service, method, path, &headers, body));
            assert_eq!(refused, (415, "MediaTypeNotSupported".into()), "{method} {path} {kind}");
        }
    }
    assert_eq!(service.table_names(), ["Blogs"]);
    assert_eq!(service.row_count("Blogs"), Some(0));
}

#[test]
fn a_rule_allows_an_origin_for_its_methods() {
    assert!(!strict().allows_origin("http://a.example", &Method::POST));
    let service = with_rules(&[("POST", "http://a.example", "", "")]);
    for (origin, method, expected) in [
        ("http://a.example", Method::POST, true),
        ("http://a.example", Method::PUT, false),
        ("http://b.example", Method::POST, false),
        ("null", Method::POST, false),
    ] {
        assert_eq!(service.allows_origin(origin, &method), expected, "{origin} {method}");
    }
}
