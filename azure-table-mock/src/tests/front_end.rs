//! The headers of refusals by the front end and by operations in XML, as recorded.

use super::*;

const BAD_KEY: (&str, &str) = ("authorization", "SharedKey devstoreaccount1:c2ln");
const VERSION: (&str, &str) = ("x-ms-version", "2019-02-02");
const XML: (&str, &str) = ("accept", "application/xml");

/// The `x-ms-error-code`, the media type and the version of a response.
fn named(response: &HttpResponse) -> [Option<&str>; 3] {
    ["x-ms-error-code", "content-type", "x-ms-version"].map(|name| header(response, name))
}

#[test]
fn refused_xml_operations_name_their_code_in_a_header() {
    let service = loose();
    let policies = "<SignedIdentifier><Id>1</Id></SignedIdentifier>".repeat(6);
    let policies = format!("<SignedIdentifiers>{policies}</SignedIdentifiers>");
    let properties = "/?restype=service&comp=properties";
    let any = ("accept", "*/*");
    for (method, path, accept, body, status, expected) in [
        ("PUT", "/Blogs?comp=acl", XML, &*policies, 400, "InvalidXmlDocument"),
        ("PUT", "/Blogs?comp=acl", any, "", 415, "MediaTypeNotSupported"),
        ("GET", "/Blogs?comp=acl", any, "", 415, "MediaTypeNotSupported"),
        ("PUT", properties, XML, "<", 400, "InvalidXmlDocument"),
        ("PUT", properties, any, "<", 400, "InvalidXmlDocument"),
        ("GET", "/?restype=service&comp=stats", XML, "", 400, "InvalidQueryParameterValue"),
    ] {
        let response = send(&service, method, path, &[VERSION, accept], body);
        assert_eq!(code(&response), (status, expected.to_owned()), "{method} {path}");
        let expected = [Some(expected), Some("application/xml"), Some("2019-02-02")];
        assert_eq!(named(&response), expected, "{method} {path} {accept:?}");
    }
}

#[test]
fn the_front_end_names_its_code_in_a_header_and_does_not_repeat_the_version() {
    let service = TableService::new();
    let (id, date) = (("x-ms-client-request-id", "mine"), ("x-ms-date", DATE));
    for (accept, kind) in [("application/json", "application/json"), ("", "application/xml")] {
        let headers = [BAD_KEY, VERSION, id, date, ("accept", accept)];
        let response = send(&service, "POST", "/$batch", &headers, "");
        assert_eq!(code(&response), (403, "AuthenticationFailed".into()));
        assert_eq!(named(&response), [Some("AuthenticationFailed"), Some(kind), None]);
        // The recorders of these refusals keep no client request id.
        assert_eq!(header(&response, "x-ms-client-request-id"), Some("mine"));
        assert!(header(&response, "x-ms-request-id").is_some());
    }
    let tokens = TableService::builder().tokens(|_| false).build();
    let bearer = ("authorization", "Bearer bad");
    let response = send(&tokens, "GET", "/Tables", &[bearer, VERSION, XML], "");
    assert_eq!(code(&response), (401, "InvalidAuthenticationInfo".into()));
    assert_eq!(named(&response)[0], Some("InvalidAuthenticationInfo"));
}

#[test]
fn other_refusals_do_not_name_their_code_in_a_header() {
    let service = loose();
    let json = ("accept", "application/json;odata=nometadata");
    for (method, path, body, status) in [
        ("GET", "/Blogs(PartitionKey='p',RowKey='none')", "", 404),
        ("POST", "/Tables", r#"{"TableName":"Blogs"}"#, 409),
        ("GET", "/Blogs()?$filter=aaa%20bbb%20ccc", "", 400),
    ] {
        let response = send(&service, method, path, &[VERSION, json], body);
        let kind = "application/json;odata=nometadata;streaming=true;charset=utf-8";
        assert_eq!(response.status, status);
        assert_eq!(named(&response), [None, Some(kind), Some("2019-02-02")], "{method} {path}");
    }
    // A version that cannot be read.
    let properties = "/?restype=service&comp=properties";
    for version in ["12.0.0b1", "now"] {
        let headers = [("x-ms-version", version), XML];
        let response = send(&service, "PUT", properties, &headers, "<StorageServiceProperties />");
        assert_eq!(code(&response), (400, "InvalidHeaderValue".into()));
        assert_eq!(named(&response), [None, Some("application/xml"), None], "{version}");
    }
    // The parts of a batch.
    let batch = changeset(&[("PATCH", "/Blogs(PartitionKey='p',RowKey='none')", "{}")]);
    let response =
        send(&service, "POST", "/$batch", &[VERSION, ("content-type", BATCH_TYPE)], &batch);
    assert!(text(&response).contains("ResourceNotFound"), "{}", text(&response));
    assert!(!text(&response).to_lowercase().contains("x-ms-error-code"), "{}", text(&response));
}

#[test]
fn refused_xml_operations_have_no_headers_against_caches() {
    let service = loose();
    let service_path = "/?restype=service&comp=properties";
    let rule = "<CorsRule><AllowedOrigins>a</AllowedOrigins><AllowedMethods>GET</AllowedMethods>\
                <MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>";
    let cors = format!(
        "<StorageServiceProperties><Cors>{}</Cors></StorageServiceProperties>",
        rule.repeat(6)
    );
    let policy = "<SignedIdentifier><Id>1</Id></SignedIdentifier>".repeat(6);
    let policies = format!("<SignedIdentifiers>{policy}</SignedIdentifiers>");
    for (method, path, body, status) in [
        ("PUT", "/Blogs?comp=acl", &*policies, 400),
        ("PUT", service_path, &*cors, 400),
        ("PUT", service_path, "<", 400),
        ("GET", "/Nothing?comp=acl", "", 404),
    ] {
        let response = send(&service, method, path, &[("accept", "application/xml")], body);
        assert_eq!(response.status, status, "{path} {}", text(&response));
        assert_eq!(header(&response, "cache-control"), None);
        assert_eq!(header(&response, "x-content-type-options"), None);
        assert_eq!(header(&response, "content-type"), Some("application/xml"));
    }
}

#[test]
fn the_front_end_refuses_without_the_headers_of_tables() {
    let service = TableService::new();
    for (headers, status, kind) in [
        (
            &[("authorization", "SharedKey devstoreaccount1:bad"), ("accept", "application/json")]
                [..],
            403,
            "application/json",
        ),
        (
            &[("authorization", "SharedKey devstoreaccount1:bad"), ("accept", "")],
            403,
            "application/xml",
        ),
        (
            &[("x-ms-version", "12.0.0b1"), ("authorization", "SharedKey devstoreaccount1:bad")],
            403,
            "application/xml",
        ),
    ] {
        let version =
            [("x-ms-version", "2019-02-02"), ("x-ms-date", DATE), ("prefer", "return-no-content")];
        let headers: Vec<_> = version.iter().chain(headers).copied().collect();
        let response = send(&service, "POST", "/Tables", &headers, "{}");
        assert_eq!(response.status, status, "{}", text(&response));
        assert_eq!(header(&response, "content-type"), Some(kind));
        for name in ["cache-control", "x-content-type-options", "preference-applied"] {
            assert_eq!(header(&response, name), None, "{name}");
        }
    }
    let version = [("x-ms-version", "12.0.0b1")];
    let response = send(&loose(), "GET", "/Tables", &version, "");
    assert_eq!(code(&response), (400, "InvalidHeaderValue".into()));
    assert_eq!(header(&response, "cache-control"), None);
}
