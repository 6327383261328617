//! A reset, after which nothing of before counts.

use super::*;

/// The Timestamp of the row `p`, `r` after it was stored by a request.
fn stamp(service: &TableService) -> String {
    let body = r#"{"TableName":"Blogs"}"#;
    assert_eq!(send(service, "POST", "/Tables", &[], body).status, 201);
    let path = "/Blogs(PartitionKey='p',RowKey='r')";
    assert_eq!(send(service, "PUT", path, &[], "{}").status, 204);
    service.row("Blogs", "p", "r").unwrap().timestamp().unwrap().to_string()
}

const FROZEN: &str = "2001-09-09T01:46:40.0000000Z";

fn frozen(builder: TableServiceBuilder) -> TableServiceBuilder {
    builder.loose(true).replication_lag(Duration::from_secs(60))
}

fn freeze(service: &TableService) {
    service.faults().freeze_clock(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
}

#[test]
fn nothing_of_before_a_reset_counts() {
    let service = frozen(TableService::builder()).build();
    service.faults().clock_ahead(Duration::from_secs(1_000_000));
    stamp(&service);
    freeze(&service);
    for _ in 0..3 {
        service.reset();
        assert_eq!(stamp(&service), FROZEN);
        assert_eq!(send(&service, "DELETE", "/Tables('Blogs')", &[], "").status, 204);
        let again = stamp(&service);
        assert_eq!(again, "2001-09-09T01:46:40.0010000Z", "a deleted table repeats no ETag");
    }
    // A table that is removed directly.
    service.reset();
    for _ in 0..3 {
        assert_eq!(stamp(&service), FROZEN);
        assert!(service.remove_table("blogs"));
    }
}

#[test]
fn a_reset_empties_the_secondary_location() {
    let service = frozen(TableService::builder()).build();
    let tables = || {
        let response = send(&service, "GET", "-secondary/Tables", &[], "");
        text(&response).matches("TableName").count()
    };
    let stats = || send(&service, "GET", "-secondary/?restype=service&comp=stats", &[], "");
    stamp(&service);
    service.faults().clock_ahead(Duration::from_secs(120));
    assert_eq!(tables(), 1);
    // With the clock set back, this change would be in flight for four minutes.
    service.seed_json(r#"{"Late":[]}"#).unwrap();
    service.faults().clock_behind(Duration::from_secs(120));
    service.reset();
    assert_eq!(tables(), 0);
    let now = wire::headers::http_date(service.now());
    assert!(text(&stats()).contains(&now), "{}", text(&stats()));
    stamp(&service);
    service.faults().reset_clock();
    assert_eq!(tables(), 1, "later changes arrive");
}

#[tokio::test(start_paused = true)]
async fn a_reset_drops_delayed_requests() {
    let service = loose();
    let delay = Duration::from_secs(5);
    service.faults().add(Fault::delay_request(delay).times(1));
    let client = service.clone();
    let create = tokio::spawn(async move {
        let uri = "http://127.0.0.1:1/devstoreaccount1/Tables".parse().unwrap();
        let body = bytes::Bytes::from_static(br#"{"TableName":"Late"}"#);
        client.receive(HttpRequest { body, ..HttpRequest::new(Method::POST, uri) }).await
    });
    tokio::task::yield_now().await;
    service.reset();
    tokio::time::advance(2 * delay).await;
    assert!(create.await.unwrap().is_err(), "it was lost");
    assert!(service.table_names().is_empty());
}

#[test]
fn a_removed_table_does_not_hold_its_name() {
    let service = TableService::builder().loose(true).build();
    service.faults().add(Fault::table_being_deleted(Duration::from_secs(600)));
    stamp(&service);
    assert_eq!(send(&service, "DELETE", "/Tables('Blogs')", &[], "").status, 204);
    let body = r#"{"TableName":"Blogs"}"#;
    assert_eq!(send(&service, "POST", "/Tables", &[], body).status, 409);
    assert!(!service.remove_table("Blogs"), "it is deleted already");
    stamp(&service);
}

#[test]
fn a_data_file_keeps_a_reset() {
    let name = format!("azure-table-reset-{}", fastrand::u64(..));
    let path = std::env::temp_dir().join(name);
    let open = || {
        let service = frozen(TableService::builder()).open(&path).unwrap();
        freeze(&service);
        service
    };
    let service = open();
    stamp(&service);
    assert_eq!(send(&service, "DELETE", "/Tables('Blogs')", &[], "").status, 204);
    assert_ne!(stamp(&service), FROZEN);
    service.reset();
    drop(service);
    let service = open();
    assert_eq!(stamp(&service), FROZEN);
    assert!(service.remove_table("Blogs"));
    drop(service);
    let service = open();
    assert_eq!(stamp(&service), FROZEN);
    drop(service);
    std::fs::remove_file(&path).unwrap();
}
