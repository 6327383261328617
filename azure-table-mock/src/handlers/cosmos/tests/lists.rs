//! Lists of rows and tables in Cosmos DB: their order, their tokens and their data file.

use std::path::PathBuf;

use super::*;

const OF_PARTITION: &str = "/Blogs()?$filter=PartitionKey%20eq%20'p'";

/// A data file, which is removed on drop.
struct DataFile(PathBuf);

impl DataFile {
    fn new() -> Self {
        let name = format!("mock-dialect-{}.tables", uuid::Uuid::from_u128(fastrand::u128(..)));
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self) -> TableService {
        let builder = TableService::builder().dialect(Dialect::CosmosDb).loose(true);
        builder.open(&self.0).unwrap()
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn get(service: &TableService, path: &str) -> HttpResponse {
    send(service, "GET", path, &[], "")
}

fn encoded(token: &str) -> String {
    percent_encoding::utf8_percent_encode(token, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The path of the page after a response, if it has a token.
fn next_page(path: &str, response: &HttpResponse) -> Option<String> {
    let token = encoded(header(response, "x-ms-continuation-nextpartitionkey")?);
    Some(format!("{path}&NextPartitionKey={token}&NextRowKey=NA"))
}

/// The names of a page of tables, and the token of the next page as it is in a URL.
fn tables(service: &TableService, path: &str) -> (String, Option<String>) {
    let page = get(service, path);
    let body: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
    let listed = body["value"].as_array().unwrap();
    let names: Vec<_> = listed.iter().map(|it| it["TableName"].as_str().unwrap()).collect();
    (names.join(" "), header(&page, "x-ms-continuation-nexttablename").map(encoded))
}

#[test]
fn pages_of_rows_have_tokens_of_cosmos_db() {
    let service = cosmos();
    for keys in [("q", "1"), ("p", "3"), ("p", "1"), ("p", "2")] {
        insert(&service, keys);
    }
    assert_eq!(row_keys(&get(&service, "/Blogs()")), ["1", "2", "3", "1"]);
    let path = format!("{OF_PARTITION}&$top=2");
    let first = get(&service, &path);
    assert_eq!(row_keys(&first), ["1", "2"]);
    let token = header(&first, "x-ms-continuation-nextpartitionkey").unwrap();
    assert!(token.starts_with(r#"{"token":""#), "{token}");
    assert!(token.ends_with(r#"","range":{"min":"","max":"FF"}}"#), "{token}");
    assert_eq!(header(&first, "x-ms-continuation-nextrowkey"), Some("NA"));
    let last = get(&service, &next_page(&path, &first).unwrap());
    assert_eq!(row_keys(&last), ["3"]);
    assert_eq!(next_page(&path, &last), None);
    let foreign = get(&service, &format!("{path}&NextPartitionKey=1!4!cGs4&NextRowKey=NA"));
    assert_eq!(refusal(&foreign).3, "Request url is invalid.");

    // The fault plan ends pages early, and a list nevertheless advances.
    service.faults().add(Fault::page_of(0));
    let empty = get(&service, OF_PARTITION);
    assert_eq!(row_keys(&empty).len(), 0);
    let next = next_page(OF_PARTITION, &empty).unwrap();
    assert_eq!(row_keys(&get(&service, &next)), ["1"]);
}

#[test]
fn a_comparison_with_the_timestamp_holds_for_no_row() {
    let service = cosmos();
    insert(&service, ("p", "1"));
    for (filter, keys) in [
        ("Timestamp%20ge%20datetime'2001-01-01T00:00:00Z'", &[][..]),
        ("Timestamp%20lt%20datetime'2999-01-01T00:00:00Z'", &[]),
        ("PartitionKey%20eq%20'p'%20and%20Timestamp%20ne%20datetime'2001-01-01T00:00:00Z'", &[]),
        ("PartitionKey%20eq%20'p'", &["1"]),
    ] {
        assert_eq!(
            row_keys(&get(&service, &format!("/Blogs()?$filter={filter}"))),
            keys,
            "{filter}"
        );
    }
}

#[test]
fn tables_are_in_the_order_of_their_creation() {
    let service = cosmos();
    for name in ["b", "a"] {
        create(&service, name);
    }
    let tables = |path: &str| tables(&service, path);
    assert_eq!(tables("/Tables"), ("Blogs b a".into(), None));
    let (names, token) = tables("/Tables?$top=2");
    assert_eq!(names, "Blogs b");
    let next = format!("/Tables?$top=2&NextTableName={}", token.unwrap());
    assert_eq!(tables(&next), ("a".into(), None));
    // The next page does not depend on the table at which it began.
    service.remove_table("a");
    create(&service, "c");
    assert_eq!(tables(&next), ("c".into(), None));
    assert_eq!(get(&service, "/Tables?NextTableName=YQ%3D%3D").status, 400);
    service.faults().add(Fault::page_of(0));
    let (names, token) = tables("/Tables");
    assert_eq!(names, "");
    assert_eq!(tables(&format!("/Tables?NextTableName={}", token.unwrap())).0, "Blogs");
}

#[test]
fn tables_whose_names_differ_by_case_and_tokens_outlast_a_restart() {
    let file = DataFile::new();
    let service = file.open();
    for name in ["gone", "blogs", "Blogs", "a"] {
        create(&service, name);
    }
    for row_key in ["c", "a", "b"] {
        insert(&service, ("p", row_key));
    }
    assert!(service.remove_table("gone"));
    let path = format!("{OF_PARTITION}&$top=1");
    let next = next_page(&path, &get(&service, &path)).unwrap();
    let (first, token) = tables(&service, "/Tables?$top=1");
    assert_eq!(first, "blogs");
    let next_table = format!("/Tables?$top=2&NextTableName={}", token.unwrap());
    drop(service);

    let service = file.open();
    assert_eq!((service.row_count("Blogs"), service.row_count("blogs")), (Some(3), Some(0)));
    assert_eq!(row_keys(&get(&service, &next)), ["b"]);
    assert_eq!(row_keys(&get(&service, "/Blogs()")), ["a", "b", "c"]);
    assert_eq!(tables(&service, &next_table), ("Blogs a".into(), None));
    create(&service, "0");
    assert_eq!(tables(&service, "/Tables").0, "blogs Blogs a 0");
}

#[test]
fn the_secondary_location_has_the_order_and_the_tokens_of_the_primary() {
    let builder = TableService::builder().dialect(Dialect::CosmosDb).loose(true);
    let lag = std::time::Duration::from_secs(10);
    let service = builder.replication_lag(lag).build();
    let start = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
    service.faults().freeze_clock(start);
    for name in ["b", "a"] {
        create(&service, name);
    }
    service.faults().freeze_clock(start + lag);
    create(&service, "0");
    let page = secondary(&service, "/Tables?$top=1");
    assert!(text(&page).contains(r#""TableName":"b""#), "{}", text(&page));
    let token = encoded(header(&page, "x-ms-continuation-nexttablename").unwrap());
    let page = secondary(&service, &format!("/Tables?NextTableName={token}"));
    assert!(text(&page).contains(r#""TableName":"a""#), "{}", text(&page));
    assert_eq!(header(&page, "x-ms-continuation-nexttablename"), None);
    assert!(!text(&page).contains(r#""TableName":"0""#), "{}", text(&page));
}

fn secondary(service: &TableService, path: &str) -> HttpResponse {
    let uri = format!("http://127.0.0.1:1/devstoreaccount1-secondary{path}").parse().unwrap();
    let mut request = HttpRequest::new(Method::GET, uri);
    request.headers.insert("accept", http::HeaderValue::from_static(MINIMAL));
    service.respond(&request)
}
