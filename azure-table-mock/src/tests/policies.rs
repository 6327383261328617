use super::*;

const ACL: &str = "/Blogs?comp=acl";
const ONE: &str =
    "<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>";

#[test]
fn policies_are_set_read_and_cleared() {
    let service = loose();
    let set = send(&service, "PUT", ACL, &[("x-ms-version", "2017-04-17")], ONE);
    assert_eq!((set.status.as_u16(), set.body.len()), (204, 0));
    assert_eq!(header(&set, "content-length"), Some("0"));
    assert_eq!(header(&set, "x-ms-version"), Some("2017-04-17"));
    let get = send(&service, "GET", ACL, &[], "");
    assert_eq!(header(&get, "content-type"), Some("application/xml"));
    assert!(text(&get).ends_with(ONE) && text(&get).starts_with('\u{feff}'), "{}", text(&get));
    for response in [&set, &get] {
        assert_eq!(header(response, "cache-control"), None);
        assert_eq!(header(response, "x-content-type-options"), None);
        assert!(header(response, "x-ms-request-id").is_some());
    }
    let head = send(&service, "HEAD", ACL, &[], "");
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    assert_eq!(header(&head, "content-type"), Some("application/xml"));
    assert_eq!(send(&service, "PUT", ACL, &[], "").status, 204);
    assert!(text(&send(&service, "GET", ACL, &[], "")).ends_with("<SignedIdentifiers />"));
}

#[test]
fn invalid_policies_change_nothing() {
    let service = loose();
    send(&service, "PUT", ACL, &[], ONE);
    let large = format!("{ONE}{}", " ".repeat(10_000));
    for (path, headers, body, expected) in [
        (ACL, &[][..], "<SignedIdentifiers>", (400, "InvalidXmlDocument")),
        (ACL, &[], &*large, (413, "RequestBodyTooLarge")),
        (ACL, &[("content-type", "application/json")], ONE, (415, "MediaTypeNotSupported")),
        (ACL, &[("accept", "application/json")], ONE, (415, "MediaTypeNotSupported")),
        (ACL, &[("accept", "*/*")], ONE, (415, "MediaTypeNotSupported")),
        ("/Nothing?comp=acl", &[], ONE, (404, "TableNotFound")),
        ("/a?comp=acl", &[], ONE, (400, "OutOfRangeInput")),
    ] {
        let response = send(&service, "PUT", path, headers, body);
        assert_eq!(code(&response), (expected.0, expected.1.to_owned()), "{path} {headers:?}");
        let is_xml = headers.first() != Some(&("accept", "application/json"));
        assert_eq!(response.body.starts_with(b"<?xml"), is_xml, "{headers:?}");
    }
    assert!(text(&send(&service, "GET", ACL, &[], "")).ends_with(ONE));
    for accept in ["application/xml", "application/atom+xml,application/xml;q=1", ""] {
        assert_eq!(send(&service, "GET", ACL, &[("accept", accept)], "").status, 200, "{accept}");
    }
    let kind = ("content-type", "application/xml; charset=utf-8");
    assert_eq!(send(&service, "PUT", ACL, &[kind], ONE).status, 204);
}

#[test]
fn policies_are_deleted_with_their_table() {
    let service = loose();
    send(&service, "PUT", ACL, &[], ONE);
    assert_eq!(send(&service, "DELETE", "/Tables('Blogs')", &[], "").status, 204);
    assert_eq!(code(&send(&service, "GET", ACL, &[], "")), (404, "TableNotFound".into()));
    assert_eq!(send(&service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#).status, 201);
    assert!(text(&send(&service, "GET", ACL, &[], "")).ends_with("<SignedIdentifiers />"));
}

#[test]
fn the_recorder_distinguishes_acl_operations_from_queries() {
    let service = loose();
    send(&service, "PUT", ACL, &[], ONE);
    send(&service, "GET", ACL, &[], "");
    let record = service.requests();
    assert_eq!(record.count(wire::Operation::SetTableAcl), 1);
    assert_eq!(record.count(wire::Operation::GetTableAcl), 1);
    assert_eq!(record.count(wire::Operation::Query), 0);
    assert_eq!(record.last().unwrap().table.as_deref(), Some("Blogs"));
}
