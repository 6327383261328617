//! The failures of Cosmos DB.

use super::*;

const MISSING: &str = "The specified resource does not exist.";
const CONDITION: &str = "The update condition specified in the request was not satisfied.";
const INPUT: &str = "One of the input values is invalid.";
const UNSUPPORTED: &str = "The requested operation is not supported.";
const CONDITION_CODE: &str = "UpdateConditionNotSatisfied";
const MEDIA: &str = "None of the provided media types are supported";

/// The status, code, media type and the first line of the message.
type Refusal<'a> = (u16, &'a str, &'a str, &'a str);

/// The verb, path, headers and body of a request, and its refusal.
type Case<'a> = (&'a str, &'a str, Headers<'a>, &'a str, Refusal<'a>);

#[test]
fn failures_have_the_codes_messages_and_media_types_of_cosmos_db() {
    let service = cosmos();
    insert(&service, ("p", "r"));
    let entity = "/Blogs(PartitionKey='p',RowKey='r')";
    let none = "/Blogs(PartitionKey='p',RowKey='none')";
    let stale = ("if-match", "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"");
    let any = ("if-match", "*");
    let json = ("accept", "application/json");
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let cases: [Case<'_>; 17] = [
        ("GET", none, &[], "", (404, "ResourceNotFound", MINIMAL, MISSING)),
        ("GET", "/Posts()", &[], "", (404, "ResourceNotFound", MINIMAL, MISSING)),
        ("POST", "/Posts", &[], keys, (404, "ResourceNotFound", MINIMAL, MISSING)),
        ("DELETE", none, &[any], "", (404, "ResourceNotFound", FULL, MISSING)),
        ("DELETE", entity, &[stale], "", (412, CONDITION_CODE, FULL, CONDITION)),
        ("PUT", entity, &[stale, json], "{}", (412, CONDITION_CODE, FULL, CONDITION)),
        ("PUT", none, &[any, json], "{}", (404, "ResourceNotFound", FULL, MISSING)),
        ("DELETE", "/Tables('Posts')", &[json], "", (404, "ResourceNotFound", FULL, MISSING)),
        (
            "POST",
            "/Blogs",
            &[],
            keys,
            (409, "EntityAlreadyExists", MINIMAL, "The specified entity already exists."),
        ),
        (
            "POST",
            "/Tables",
            &[],
            r#"{"TableName":"Blogs"}"#,
            (409, "TableAlreadyExists", MINIMAL, "The specified table already exists."),
        ),
        (
            "POST",
            "/Blogs",
            &[],
            r#"{"PartitionKey":"","RowKey":"r"}"#,
            (400, "PropertiesNeedValue", FULL, "PartitionKey/RowKey cannot be empty"),
        ),
        (
            "GET",
            "/Blogs()?$filter=aaa%20bbb%20ccc",
            &[],
            "",
            (400, "InvalidInput", MINIMAL, "Request url is invalid."),
        ),
        ("PATCH", entity, &[any, ("accept", "*/*")], "{}", (400, "InvalidInput", FULL, INPUT)),
        ("MERGE", entity, &[any, json], "{}", (400, "InvalidInput", FULL, INPUT)),
        ("PUT", entity, &[("accept", "*/*")], "{}", (415, "MediaTypeNotSupported", FULL, MEDIA)),
        (
            "GET",
            "/?restype=service&comp=stats",
            &[],
            "",
            (501, "NotImplemented", FULL, UNSUPPORTED),
        ),
        ("PUT", "/Blogs?comp=acl", &[], "", (501, "NotImplemented", FULL, UNSUPPORTED)),
    ];
    for (method, path, headers, body, expected) in cases {
        let response = send(&service, method, path, headers, body);
        let (status, code, kind, message) = refusal(&response);
        assert_eq!((status, &*code, kind, &*message), expected, "{method} {path}");
        let id = header(&response, "x-ms-request-id").unwrap();
        assert!(text(&response).contains(r#""lang":"en-us""#));
        assert!(text(&response).contains(&format!(r"\nRequestID:{id}\n")), "{}", text(&response));
        let is_of_layer_below = !matches!(status, 404 | 409 | 412);
        let activity = format!(r"\r\nActivityId: {id}, documentdb-dotnet-sdk");
        assert_eq!(text(&response).contains(&activity), is_of_layer_below, "{method} {path}");
    }
    assert_eq!(send(&service, "OPTIONS", "/Blogs", &[("origin", "http://a")], "").status, 501);
}

#[test]
fn a_wrong_signature_is_forbidden() {
    let service = TableService::builder().dialect(Dialect::CosmosDb).build();
    let headers =
        [("authorization", "SharedKey devstoreaccount1:AAAA"), ("x-ms-version", "2019-02-02")];
    let response = send(&service, "GET", "/Tables", &headers, "");
    let (status, code, _, message) = refusal(&response);
    assert_eq!((status, &*code), (403, "Forbidden"), "{message}");
}

#[test]
fn throttled_requests_have_both_recorded_codes() {
    let service = cosmos();
    insert(&service, ("p", "r"));
    service.faults().add(Fault::too_many_requests().times(2));
    let message = "Message: {\"Errors\":[\"Request rate is large. More Request Units may be needed, so no changes \
                   were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429\"]}";
    let table = send(&service, "POST", "/Tables", &[], r#"{"TableName":"Posts"}"#);
    assert_eq!(refusal(&table), (429, "429".into(), MINIMAL, message.into()));
    let rows = send(&service, "GET", "/Blogs()", &[], "");
    assert_eq!(refusal(&rows), (429, "TooManyRequests".into(), MINIMAL, message.into()));
    service.faults().add(Fault::too_many_requests().times(1));
    let deleted = send(&service, "DELETE", "/Tables('Blogs')", &[], "");
    assert_eq!(refusal(&deleted).1, "TooManyRequests", "not recorded");
    service.faults().add(Fault::error(429, "429").times(1));
    let rows = send(&service, "GET", "/Blogs()", &[], "");
    assert_eq!(refusal(&rows), (429, "429".into(), MINIMAL, message.into()));
    service.faults().add(Fault::throttle(0));
    assert_eq!(refusal(&insert(&service, ("p", "s"))).1, "TooManyRequests");
}
