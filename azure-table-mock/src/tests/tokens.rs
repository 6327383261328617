use super::*;

fn with_tokens() -> TableService {
    TableService::builder().tokens(|token| token == "good").build()
}

#[test]
fn tokens_are_accepted_if_the_test_says_so() {
    for value in ["Bearer good", "bearer  good "] {
        let headers = [("authorization", value), ("x-ms-version", "2020-12-06")];
        let response = send(&with_tokens(), "GET", "/Tables", &headers, "");
        assert_eq!(response.status, 200, "{value}");
    }
}

#[test]
fn requests_without_a_valid_token_receive_a_challenge() {
    let service = with_tokens();
    let version = ("x-ms-version", "2020-12-06");
    for (headers, expected) in [
        (vec![version, ("authorization", "Bearer bad")], "InvalidAuthenticationInfo"),
        (vec![version, ("authorization", "Bearer ")], "InvalidAuthenticationInfo"),
        (vec![version], "NoAuthenticationInformation"),
    ] {
        let response = send(&service, "GET", "/Tables", &headers, "");
        assert_eq!(code(&response), (401, expected.into()));
        let challenge = response.headers["www-authenticate"].to_str().unwrap();
        assert_eq!(
            challenge,
            "Bearer authorization_uri=https://login.microsoftonline.com/\
             00000000-0000-0000-0000-000000000000/oauth2/authorize \
             resource_id=https://storage.azure.com"
        );
    }
}

#[test]
fn older_versions_send_no_challenge_and_keys_stay_valid() {
    let service = with_tokens();
    let old = send(&service, "GET", "/Tables", &[("x-ms-version", "2019-02-02")], "");
    assert_eq!(code(&old), (404, "ResourceNotFound".into()));
    let twice = {
        let mut map = HeaderMap::new();
        map.append("authorization", "Bearer good".parse().unwrap());
        map.append("authorization", "Bearer good".parse().unwrap());
        service.respond(&HttpRequest {
            headers: map,
            ..HttpRequest::new(
                Method::GET,
                http::Uri::from_static("http://127.0.0.1/devstoreaccount1/Tables"),
            )
        })
    };
    assert_eq!(code(&twice), (400, "InvalidAuthenticationInfo".into()));
    let none = send(&strict(), "GET", "/Tables", &[("authorization", "Bearer good")], "");
    assert_eq!(code(&none), (403, "AuthenticationFailed".into()), "unless tokens are allowed");
}

#[test]
fn a_token_reads_and_sets_access_policies() {
    let service = with_tokens();
    service.seed_json(r#"{"Blogs":[]}"#).unwrap();
    for version in ["2019-02-02", "2020-12-06"] {
        let headers = [("authorization", "Bearer good"), ("x-ms-version", version)];
        for (method, status) in [("PUT", 204), ("GET", 200)] {
            let response = send(&service, method, "/Blogs?comp=acl", &headers, "");
            assert_eq!(response.status, status, "{method} {version} {}", text(&response));
        }
    }
}
