//! Versions, malformed bodies and batches.

use super::*;

#[test]
fn later_versions_add_features() {
    let service = loose();
    let put = |version, headers: &[(&'static str, &str)]| {
        let headers = [&[version, ATOM_BODY], headers].concat();
        send(&service, "PUT", ROW, &headers, &row("1", "<d:A>1</d:A>"))
    };
    assert_eq!(put(V2011, &[]).status, 204, "an upsert");
    let other = "/Blogs(PartitionKey='Channel9',RowKey='2')";
    let differs = send(&service, "PUT", other, &[V2011, ATOM_BODY], &row("1", ""));
    assert_eq!(differs.status, 204, "the keys in the body have no effect");
    let quiet = [V2013, ATOM_BODY, ("prefer", "return-no-content")];
    let quiet = send(&service, "POST", "/Blogs", &quiet, &row("3", ""));
    assert_eq!(
        (quiet.status.as_u16(), header(&quiet, "preference-applied")),
        (204, Some("return-no-content"))
    );
    assert_eq!(header(&quiet, "x-ms-version"), Some("2013-08-15"));
    let patch = send(
        &service,
        "PATCH",
        ROW,
        &[V2013, ATOM_BODY, ("if-match", "*")],
        &row("1", "<d:B>2</d:B>"),
    );
    assert_eq!(patch.status, 204);
    // The formats of request and response may differ.
    let json = [V2013, ("content-type", "application/json"), ("accept", "application/atom+xml")];
    let mixed =
        send(&service, "POST", "/Blogs", &json, r#"{"PartitionKey":"p","RowKey":"r","A":1.5}"#);
    assert_eq!(entity(&mixed).value("A"), Some(&EdmValue::Double(1.5)));
    let json = [V2013, ("accept", "application/json;odata=nometadata")];
    assert_eq!(
        send(&service, "GET", ROW, &json, "").headers["content-type"],
        "application/json;odata=nometadata;streaming=true;charset=utf-8"
    );
    let refusal = send(&service, "GET", "/Nothing()", &json, "");
    assert!(refusal.body.starts_with(b"{\"odata.error\""));

    let old = [V2011, ("accept", "application/json")];
    refused(&send(&service, "GET", ROW, &old, ""), 415, "JsonFormatNotSupported");
    let old = [V2011, ("content-type", "application/json")];
    refused(&send(&service, "POST", "/Blogs", &old, "{}"), 415, "JsonFormatNotSupported");
    let odata = [V2013, ("dataserviceversion", "1.0;NetFx"), ("accept", "application/json")];
    refused(&send(&service, "GET", ROW, &odata, ""), 415, "JsonFormatNotSupported");
    let gone = [("x-ms-version", "2015-12-11"), ATOM_BODY];
    assert_eq!(
        code(&send(&service, "POST", "/Blogs", &gone, &row("4", ""))),
        (415, "AtomFormatNotSupported".into())
    );
}

#[test]
fn bodies_without_an_entity_are_refused() {
    let service = loose();
    let insert = |properties: &str| {
        code(&send(&service, "POST", "/Blogs", &[V2009, ATOM_BODY], &row("1", properties)))
    };
    for (properties, expected) in [
        ("<d:A>1</d:A><d:A>2</d:A>", "DuplicatePropertiesSpecified"),
        ("<d:A m:type='Edm.Int32'>x</d:A>", "InvalidInput"),
        ("<d:A m:type='Edm.Single'>1</d:A>", "InvalidInput"),
        ("<d:A><d:B/></d:A>", "InvalidInput"),
        ("<d:A>&undefined;</d:A>", "InvalidInput"),
        ("<d:A>&#xD800;</d:A>", "InvalidInput"),
        ("<d:A m:type='Edm.DateTime'>0001-01-01T00:00:00</d:A>", "OutOfRangeInput"),
        ("<d:a-b>1</d:a-b>", "PropertyNameInvalid"),
        ("<d:RowKey>2</d:RowKey>", "DuplicatePropertiesSpecified"),
    ] {
        assert_eq!(insert(properties), (400, expected.to_owned()), "{properties}");
    }
    let bomb = format!("<!DOCTYPE x [<!ENTITY a 'b'>]>{}", row("1", "<d:A>&a;</d:A>"));
    refused(&send(&service, "POST", "/Blogs", &[V2009, ATOM_BODY], &bomb), 400, "InvalidInput");
    assert_eq!(service.row_count("Blogs"), Some(0));
}

fn batch(parts: &[(&str, &str, &str)]) -> String {
    let part = |(line, headers, content): &(&str, &str, &str)| {
        format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n{line} \
             HTTP/1.1\r\nContent-ID: 4\r\nContent-Type: application/atom+xml;type=entry\r\n{headers}\
             Content-Length: {}\r\n\r\n{content}\r\n",
            content.len()
        )
    };
    let parts: Vec<_> = parts.iter().map(part).collect();
    let open = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n";
    format!("{open}{}--c--\r\n--b--\r\n", parts.concat())
}

#[test]
fn batch_parts_support_atom() {
    let service = loose();
    let send_batch = |version, body: &str| {
        let headers = [version, ("content-type", "multipart/mixed; boundary=b")];
        send(&service, "POST", "/$batch", &headers, body)
    };
    let base = "http://127.0.0.1:1/devstoreaccount1";
    let insert = format!("POST {base}/Blogs");
    let merge = format!("MERGE {base}{ROW}");
    let rating = row("1", "<d:Rating m:type='Edm.Int32'>3</d:Rating>");
    let done = send_batch(V2009, &batch(&[(&insert, "", &rating), (&insert, "", &row("2", ""))]));
    assert_eq!(done.status, 202);
    assert_eq!(text(&done).matches("HTTP/1.1 201 Created").count(), 2, "{}", text(&done));
    assert_eq!(text(&done).matches("application/atom+xml;charset=utf-8").count(), 2);
    assert_eq!(text(&done).matches("DataServiceVersion: 1.0;").count(), 2);
    assert!(text(&done).contains("<d:Rating m:type=\"Edm.Int32\">3</d:Rating>"));

    // Like in the reference (6.3), the message has the index of the failed operation.
    let other = row("3", "");
    let failed = send_batch(V2009, &batch(&[(&insert, "", &other), (&merge, "", &rating)]));
    assert_eq!(failed.status, 202);
    for part in [
        "HTTP/1.1 400 Bad Request",
        "Content-ID: 4",
        "Content-Type: application/xml",
        "DataServiceVersion: 1.0;",
        "<code>InvalidInput</code><message xml:lang=\"en-US\">1:One of the request inputs is not valid.",
    ] {
        assert!(text(&failed).contains(part), "{part}: {}", text(&failed));
    }
    assert_eq!(service.row_count("Blogs"), Some(2));
    let merged = send_batch(V2009, &batch(&[(&merge, "If-Match: *\r\n", &rating)]));
    assert!(text(&merged).contains("HTTP/1.1 204 No Content"), "{}", text(&merged));

    let query = format!(
        "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET \
         {base}{ROW} HTTP/1.1\r\n\r\n--b--\r\n"
    );
    let found = send_batch(V2009, &query);
    assert!(text(&found).contains("<d:RowKey>1</d:RowKey>"), "{}", text(&found));
    refused(&send_batch(("x-ms-version", "2008-10-27"), &query), 400, "MissingRequiredHeader");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sized(100, 300)))]

    #[test]
    fn atom_bodies_are_returned_in_both_formats(
        text in any::<String>(),
        double in any::<f64>(),
        long in any::<i64>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let service = loose();
        let mut sent = DynamicEntity::new("Channel9", "1");
        sent.set("Text", text).set("D", double).set("L", long).set("B", bytes);
        let mut body = Vec::new();
        wire::atom::entity(&mut body, &sent, "Channel9", "1", None).unwrap();
        let body = String::from_utf8(body).unwrap();
        let echo = send(&service, "POST", "/Blogs", &[V2013, ATOM_BODY], &body);
        prop_assert!(entity(&echo).properties().eq(sent.properties()));
        let headers = [V2013, ("accept", "application/json;odata=minimalmetadata")];
        let json = send(&service, "GET", "/Blogs()", &headers, "");
        let rows: Vec<DynamicEntity> =
            wire::json_read::read_page(&json.body, Form::WHOLE, &Entities).unwrap();
        prop_assert!(rows[0].properties().eq(sent.properties()));
        let again = send(&service, "GET", "/Blogs()", &[V2009], "");
        prop_assert_eq!(&entities(&again)[0], &rows[0]);
    }
}
