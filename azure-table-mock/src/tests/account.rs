//! Tests of the account's keys, and of URLs with the account in the host.

use super::*;
use crate::auth::sas_signature::for_account;
use crate::auth::{DEVELOPMENT_KEY, canonicalized_resource, string_to_sign_lite};

const FIRST: &str = "Zmlyc3Q=";
const SECOND: &str = "c2Vjb25k";

/// Reads the tables with this key.
fn status(service: &TableService, key: &str) -> u16 {
    let key = SharedKey::new("devstoreaccount1", key).unwrap();
    let resource = canonicalized_resource("devstoreaccount1", "/devstoreaccount1/Tables", "");
    let signature = key.sign(&string_to_sign_lite(DATE, &resource));
    let value = format!("SharedKeyLite devstoreaccount1:{signature}");
    let headers = [("authorization", &*value), ("x-ms-date", DATE)];
    send(service, "GET", "/Tables", &headers, "").status.as_u16()
}

#[test]
fn either_key_is_valid_until_it_is_replaced() {
    let service = strict();
    assert_eq!((status(&service, DEVELOPMENT_KEY), status(&service, FIRST)), (200, 403));
    service.set_keys(&[FIRST, DEVELOPMENT_KEY]).unwrap();
    assert_eq!((status(&service, DEVELOPMENT_KEY), status(&service, FIRST)), (200, 200));
    service.set_keys(&[FIRST, SECOND]).unwrap();
    assert_eq!((status(&service, DEVELOPMENT_KEY), status(&service, FIRST)), (403, 200));
    assert_eq!(status(&service, SECOND), 200);
    assert!(service.connection_string().contains(FIRST));

    for invalid in [&[][..], &["", FIRST], &["no key"], &[FIRST, SECOND, DEVELOPMENT_KEY]] {
        service.set_keys(invalid).unwrap_err();
        assert_eq!(status(&service, SECOND), 200, "the keys remain");
    }
}

#[test]
fn shared_access_signatures_are_valid_with_either_key() {
    let fields = [("sv", "2019-02-02"), ("ss", "t"), ("srt", "sco"), ("sp", "l"), ("se", EXPIRY)];
    let text = for_account("devstoreaccount1", &|name| field(&fields, name));
    let query = sas_query(&fields, &text);
    let service = strict();
    let read = || send_with(&service, "GET", "/Tables", &query, "").status.as_u16();
    for (keys, expected) in
        [(&[FIRST, DEVELOPMENT_KEY][..], 200), (&[DEVELOPMENT_KEY, FIRST], 200), (&[FIRST], 403)]
    {
        service.set_keys(keys).unwrap();
        assert_eq!(read(), expected, "{keys:?}");
    }
}

fn respond(service: &TableService, url: &str) -> HttpResponse {
    let mut request = HttpRequest::new(Method::GET, url.parse().unwrap());
    request.headers.insert("accept", "application/json;odata=fullmetadata".parse().unwrap());
    service.respond(&request)
}

#[test]
fn urls_in_a_response_have_the_account_where_the_request_has_it() {
    let service = loose();
    for (url, base) in [
        ("http://127.0.0.1/devstoreaccount1/Tables", "http://127.0.0.1/devstoreaccount1/"),
        ("http://devstoreaccount1.localhost/Tables", "http://devstoreaccount1.localhost/"),
        (
            "https://devstoreaccount1-secondary.localhost:1/Tables",
            "https://devstoreaccount1-secondary.localhost:1/",
        ),
        (
            "http://other.localhost/devstoreaccount1/Tables",
            "http://other.localhost/devstoreaccount1/",
        ),
    ] {
        let response = respond(&service, url);
        assert_eq!(response.status, 200, "{url}");
        let expected = format!("\"odata.metadata\":\"{base}$metadata#Tables\"");
        assert!(text(&response).contains(&expected), "{}", text(&response));
    }
    for url in [
        "http://devstoreaccount1/Tables",
        "http://devstoreaccount12.localhost/Tables",
        "http://devstoreaccount1./Tables",
        "http://devstoreaccount1-other.localhost/Tables",
    ] {
        assert_eq!(respond(&service, url).status, 404, "{url}");
    }
}

#[test]
fn the_account_in_the_host_can_be_ignored() {
    let service = TableService::builder().loose(true).account_in_host(false).build();
    let url = "http://devstoreaccount1.localhost/devstoreaccount1/Tables";
    assert_eq!(respond(&service, url).status, 200);
    assert_eq!(respond(&loose(), url).status, 404, "otherwise the path is below a table");
}

#[test]
fn an_address_names_no_account() {
    let service = TableService::builder().loose(true).account("127", FIRST).unwrap().build();
    assert_eq!(respond(&service, "http://127.0.0.1:1/127/Tables").status, 200);
}
