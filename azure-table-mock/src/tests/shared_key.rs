use super::*;
use crate::auth::{canonicalized_resource, string_to_sign, string_to_sign_lite};
use crate::service::LOCAL;

fn signatures() -> (String, String) {
    let resource = canonicalized_resource("devstoreaccount1", "/devstoreaccount1/Tables", "");
    let key = SharedKey::development();
    let full = key.sign(&string_to_sign("GET", "", "", DATE, &resource));
    (full, key.sign(&string_to_sign_lite(DATE, &resource)))
}

#[test]
fn both_schemes_are_accepted_in_any_case() {
    let service = strict();
    let (full, lite) = signatures();
    for (scheme, signature) in
        [("SharedKey", &full), ("sharedkey", &full), ("SharedKeyLite", &lite)]
    {
        for date in ["x-ms-date", "date"] {
            let value = format!("{scheme} devstoreaccount1:{signature}");
            let headers = [("authorization", &*value), (date, DATE)];
            assert_eq!(send(&service, "GET", "/Tables", &headers, "").status, 200, "{scheme}");
        }
    }
}

#[test]
fn invalid_signatures_have_the_codes_of_the_service() {
    let service = strict();
    let (full, lite) = signatures();
    let malformed = (400, "InvalidAuthenticationInfo");
    let failed = (403, "AuthenticationFailed");
    let old = "Fri, 10 Nov 2017 11:44:59 GMT";
    for (value, date, expected) in [
        ("SharedKey".to_owned(), Some(DATE), malformed),
        (String::new(), Some(DATE), malformed),
        (format!("SharedKey {full}"), Some(DATE), malformed),
        (format!("SharedKey :{full}"), Some(DATE), malformed),
        ("SharedKey devstoreaccount1:".into(), Some(DATE), malformed),
        ("SharedKey devstoreaccount1:no base64".into(), Some(DATE), malformed),
        (format!("SharedKey devstoreaccount1:{full}"), None, failed),
        (format!("SharedKey devstoreaccount1:{full}"), Some("now"), failed),
        (format!("SharedKey devstoreaccount1:{full}"), Some(old), failed),
        (format!("SharedKey another:{full}"), Some(DATE), failed),
        (format!("SharedKey devstoreaccount1:{lite}"), Some(DATE), failed),
        (format!("SharedKeyLite devstoreaccount1:{full}"), Some(DATE), failed),
        ("SharedKey devstoreaccount1:AAAA".into(), Some(DATE), failed),
        ("Bearer x".into(), Some(DATE), failed),
        (format!("Basic devstoreaccount1:{full}"), Some(DATE), failed),
    ] {
        let mut headers = vec![("authorization", &*value)];
        headers.extend(date.map(|date| ("x-ms-date", date)));
        let response = send(&service, "GET", "/Tables", &headers, "");
        assert_eq!(code(&response), (expected.0, expected.1.to_owned()), "{value} {date:?}");
    }
}

#[test]
fn two_kinds_of_authorization_are_refused() {
    let service = strict();
    let value = format!("SharedKey devstoreaccount1:{}", signatures().0);
    let headers = [("authorization", &*value), ("x-ms-date", DATE)];
    let malformed = (400, "InvalidAuthenticationInfo".to_owned());
    assert_eq!(code(&send(&service, "GET", "/Tables?sig=x", &headers, "")), malformed);

    let mut map = HeaderMap::new();
    map.append("authorization", value.parse().unwrap());
    map.append("authorization", value.parse().unwrap());
    map.append("x-ms-date", DATE.parse().unwrap());
    let twice = service.respond(&HttpRequest {
        headers: map,
        ..HttpRequest::new(
            Method::GET,
            http::Uri::from_static("http://127.0.0.1/devstoreaccount1/Tables"),
        )
    });
    assert_eq!(code(&twice), malformed);
    // An anonymous request receives 404 for every resource.
    for (method, path) in [("GET", "/Tables"), ("PUT", "/Blogs?comp=acl"), ("POST", "/$batch")] {
        let nobody = send(&service, method, path, &[], "");
        assert_eq!(code(&nobody), (404, "ResourceNotFound".into()), "{path}");
    }
}

#[test]
fn every_spelling_of_comp_is_signed_as_comp() {
    let key = SharedKey::development();
    let signed_by = |method: &str, canonical: &str, sent: &str| {
        let path = "/devstoreaccount1/Blogs";
        let resource = canonicalized_resource("devstoreaccount1", path, canonical);
        let text = string_to_sign(method, "", "", DATE, &resource);
        let value = format!("SharedKey devstoreaccount1:{}", key.sign(&text));
        let version = ("x-ms-version", "2019-02-02");
        let headers = [("authorization", &*value), ("x-ms-date", DATE), version];
        send(&strict(), method, &format!("/Blogs?{sent}"), &headers, "").status.as_u16()
    };
    for sent in
        ["comp=acl", "Comp=acl", "%63omp=acl", "COMP=acl", "comp=%61cl", "timeout=5&comp=acl"]
    {
        for (method, status) in [("GET", 200), ("PUT", 204)] {
            assert_eq!(signed_by(method, "comp=acl", sent), status, "{method} {sent}");
            // The signature of a query must not give access to the policies.
            assert_eq!(signed_by(method, "", sent), 403, "{method} {sent}");
        }
    }
    for (canonical, sent) in [
        ("comp=acl", "comp=acl%26x"),
        ("comp=acl", "comp=&comp=acl"),
        ("comp=%61cl", "comp=%61cl"),
        ("comp=acl", "$top=1"),
    ] {
        assert_eq!(signed_by("GET", canonical, sent), 403, "{sent}");
    }
}

#[test]
fn a_host_can_refuse_a_request_by_its_head() {
    let service = strict();
    let head = |method: &str, path: &str, headers: &[(&'static str, &str)]| {
        let uri = format!("http://127.0.0.1/devstoreaccount1{path}").parse().unwrap();
        let mut head = HttpRequest::new(Method::from_bytes(method.as_bytes()).unwrap(), uri);
        for (name, value) in headers {
            head.headers.insert(*name, value.parse().unwrap());
        }
        head
    };
    let signed = format!("SharedKey devstoreaccount1:{}", signatures().0);
    let signed = [("authorization", &*signed), ("x-ms-date", DATE)];
    let long = format!("/Tables?x={}", "x".repeat(20_000));
    for (method, path, headers, expected) in [
        ("GET", "/Tables", &signed[..], true),
        ("GET", "/Blogs", &signed, false),
        ("POST", "/Tables", &signed, false),
        ("POST", "/Tables", &[], false),
        ("OPTIONS", "/Tables", &signed, false),
        ("GET", &*long, &signed, false),
    ] {
        let head = head(method, path, headers);
        assert_eq!(service.needs_body(&head, LOCAL), expected, "{method} {path}");
        if !expected {
            let body = br#"{"TableName":"Others"}"#.as_slice().into();
            let whole = HttpRequest { body, ..head.clone() };
            let responses = [head, whole].map(|request| service.respond(&request).status);
            assert_eq!(responses[0], responses[1], "{method} {path}");
        }
    }
    assert!(loose().needs_body(&head("POST", "/Tables", &[]), LOCAL));
}
