use super::*;

fn last_sync_time(service: &TableService) -> SystemTime {
    service.core().store.last_sync_time(service.core().clock.now())
}

const STATS: &str = "?restype=service&comp=stats";

fn send_to(service: &TableService, method: &str, path: &str, body: &str) -> HttpResponse {
    send(service, method, &format!("-secondary{path}"), &[("if-match", "*")], body)
}

#[test]
fn the_secondary_is_read_only() {
    let service = loose();
    let entity = "/Blogs(PartitionKey='p',RowKey='r')";
    assert_eq!(send(&service, "PUT", entity, &[], r#"{"A":1}"#).status, 204);
    let full = format!("{entity}?$format=application/json;odata=fullmetadata");
    let read = send_to(&service, "GET", &full, "");
    assert_eq!(read.status, 200);
    let id = "\"odata.id\":\"http://127.0.0.1:1/devstoreaccount1-secondary/Blogs(";
    assert!(text(&read).contains(id), "{}", text(&read));
    assert!(text(&read).contains("\"odata.type\":\"devstoreaccount1.Blogs\""), "{}", text(&read));
    for path in ["/Tables", "/Tables('Blogs')", "/Blogs()", "/Blogs?comp=acl"] {
        assert_eq!(send_to(&service, "GET", path, "").status, 200, "{path}");
    }
    assert_eq!(send_to(&service, "GET", "/?restype=service&comp=properties", "").status, 200);

    let refused = (403, "InsufficientAccountPermissions".to_owned());
    for (method, path, body) in [
        ("POST", "/Tables", r#"{"TableName":"More"}"#),
        ("DELETE", "/Tables('Blogs')", ""),
        ("POST", "/Blogs", r#"{"PartitionKey":"p","RowKey":"q"}"#),
        ("PUT", entity, "{}"),
        ("MERGE", entity, "{}"),
        ("DELETE", entity, ""),
        ("PUT", "/Blogs?comp=acl", ""),
        ("PUT", "/?restype=service&comp=properties", "<StorageServiceProperties />"),
    ] {
        assert_eq!(code(&send_to(&service, method, path, body)), refused, "{method} {path}");
    }
    let batch = changeset(&[("PUT", entity, "{}")]);
    let headers = [("content-type", BATCH_TYPE), ("accept", "application/json")];
    let answer = send(&service, "POST", "-secondary/$batch", &headers, &batch);
    assert_eq!(answer.status, 202);
    assert!(text(&answer).contains("InsufficientAccountPermissions"), "{}", text(&answer));
    assert_eq!(service.row_count("Blogs"), Some(1));
}

#[test]
fn the_secondary_may_lag() {
    let lag = Duration::from_secs(60);
    let service =
        TableService::builder().loose(true).clock(Arc::new(Standing)).replication_lag(lag).build();
    assert_eq!(send(&service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#).status, 201);
    assert_eq!(code(&send_to(&service, "GET", "/Blogs()", "")), (404, "TableNotFound".into()));
    assert_eq!(code(&send_to(&service, "GET", "/Tables('Blogs')", "")).0, 404);
    assert!(!text(&send_to(&service, "GET", "/Tables", "")).contains("Blogs"));
    assert_eq!(last_sync_time(&service), Standing.now());
    service.faults().clock_ahead(Duration::from_secs(61));
    assert_eq!(send_to(&service, "GET", "/Blogs()", "").status, 200);
    assert_eq!(last_sync_time(&service), Standing.now() + Duration::from_secs(61));
}

#[test]
fn the_secondary_reports_statistics() {
    let service = TableService::builder().loose(true).clock(Arc::new(Standing)).build();
    let stats = send_to(&service, "GET", &format!("/{STATS}"), "");
    let expected = format!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
         <Status>live</Status><LastSyncTime>{DATE}</LastSyncTime></GeoReplication></StorageServiceStats>"
    );
    assert_eq!((stats.status.as_u16(), text(&stats)), (200, &*expected));
    assert_eq!(service.requests().count(wire::Operation::GetStats), 1);
    let primary = send(&service, "GET", &format!("/{STATS}"), &[], "");
    assert_eq!(code(&primary), (400, "InvalidQueryParameterValue".into()));
}

#[test]
fn the_path_may_be_signed_with_or_without_the_suffix() {
    let service = strict();
    for (signed, expected) in [
        ("/devstoreaccount1/devstoreaccount1-secondary/Tables", 200),
        ("/devstoreaccount1/devstoreaccount1/Tables", 200),
        ("/devstoreaccount1-secondary/devstoreaccount1-secondary/Tables", 403),
        ("/devstoreaccount1/Tables", 403),
    ] {
        let text = auth::string_to_sign("GET", "", "", DATE, signed);
        let value =
            format!("SharedKey devstoreaccount1:{}", service.core().rules.keys.first().sign(&text));
        let headers = [("authorization", &*value), ("x-ms-date", DATE)];
        let response = send(&service, "GET", "-secondary/Tables", &headers, "");
        assert_eq!(response.status, expected, "{signed}");
    }
}
