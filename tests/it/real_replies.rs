//! Replies of the real service, recorded in 2017, as the client reads them. They are not part of
//! the repository; where they are not beside it, the test says so and checks nothing.

use std::path::Path;
use std::sync::{Arc, Mutex};

use azure_table_client::auth::Credential;
use azure_table_client::edm::{EdmType, EdmValue};
use azure_table_client::transport::{HttpRequest, HttpResponse, ResponseFuture, Transport};
use azure_table_client::{DynamicEntity, ErrorKind, RetryPolicy, TableServiceClient};
use serde_json::Value;

const REPLIES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/recordings/replies/real_replies.jsonl");

/// Answers every request with the reply of the day.
#[derive(Debug, Default)]
struct Canned(Mutex<Option<HttpResponse>>);

impl Transport for Canned {
    fn send(&self, _: HttpRequest) -> ResponseFuture<'_> {
        let reply = self.0.lock().unwrap().clone().unwrap();
        Box::pin(async { Ok(reply) })
    }
}

fn response(reply: &Value) -> HttpResponse {
    let mut response = HttpResponse {
        status: u16::try_from(reply["status"].as_u64().unwrap()).unwrap().try_into().unwrap(),
        headers: Default::default(),
        body: reply["body"].as_str().unwrap_or_default().to_owned().into(),
    };
    for (name, value) in reply["headers"].as_object().unwrap() {
        let name: http::HeaderName = name.parse().unwrap();
        response.headers.insert(name, value.as_str().unwrap().parse().unwrap());
    }
    response
}

#[tokio::test]
async fn all_of_them_are_understood() {
    if !Path::new(REPLIES).exists() {
        println!("skipped: the recorded replies are not here");
        return;
    }
    let canned = Arc::new(Canned::default());
    let service = TableServiceClient::builder("https://account.example.com", Credential::Anonymous)
        .transport(canned.clone())
        .retry(RetryPolicy::none())
        .build()
        .unwrap();
    let table = service.table_named::<DynamicEntity>("Blogs");
    let (mut pages, mut points, mut writes, mut errors, mut values) = (0, 0, 0, 0, 0);
    let mut batches = 0;
    for line in std::fs::read_to_string(REPLIES).unwrap().lines() {
        let reply: Value = serde_json::from_str(line).unwrap();
        let (method, url) = (reply["method"].as_str().unwrap(), reply["url"].as_str().unwrap());
        let response = response(&reply);
        let (status, headers) = (response.status, response.headers.clone());
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        *canned.0.lock().unwrap() = Some(response);
        if !status.is_success() {
            let error = table.get(("p", "r")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Service, "{url}");
            assert_eq!(error.code().unwrap().as_str(), body["odata.error"]["code"], "{url}");
            errors += 1;
            continue;
        }
        if url.ends_with("/$batch") {
            let text = reply["body"].as_str().unwrap();
            let results = text.matches("HTTP/1.1 ").count();
            let operations = (0..results).map(|n| DynamicEntity::new("p", n.to_string()));
            let transaction = operations.fold(table.transaction(), |t, row| t.insert(&row));
            match transaction.await {
                Ok(committed) => assert_eq!(committed.operations.len(), results, "{url}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Service, "{error}: {text}");
                    assert!(text.contains(error.code().unwrap().as_str()), "{error}");
                }
            }
            batches += 1;
            continue;
        }
        let kind = headers.get("content-type").map(|kind| kind.to_str().unwrap());
        if method == "GET" && url.contains("/Tables") {
            let listed = service.list_tables().pages().next().await.unwrap();
            match body["value"].as_array() {
                Some(tables) => assert_eq!(listed.unwrap().len(), tables.len(), "{url}"),
                None => assert!(service.table_exists("Blogs").await.unwrap(), "{url}"),
            }
            pages += 1;
        } else if let (Some(rows), "GET") = (body["value"].as_array(), method) {
            let page = table.query().pages().next().await.unwrap();
            let has_types = !kind.unwrap().contains("nometadata");
            match page {
                Ok(page) => {
                    assert!(has_types || rows.is_empty());
                    assert_eq!(page.entities.len(), rows.len(), "{url}");
                    let more = headers.contains_key("x-ms-continuation-nextpartitionkey");
                    assert_eq!(page.continuation.is_some(), more, "{url}");
                    for (entity, row) in page.entities.iter().zip(rows) {
                        values += check(entity, row);
                    }
                }
                Err(error) => assert!(!has_types, "{url}: {error:?}"),
            }
            pages += 1;
        } else if method == "GET" {
            match table.get(("p", "r")).await {
                Ok(entity) => values += check(&entity, &body),
                Err(error) => assert!(kind.unwrap().contains("nometadata"), "{url}: {error:?}"),
            }
            points += 1;
        } else if headers.contains_key("etag") {
            let written = table.insert(&DynamicEntity::new("p", "r")).await.unwrap();
            assert_eq!(written.etag.as_str(), headers["etag"].to_str().unwrap(), "{url}");
            writes += 1;
        }
    }
    println!(
        "{pages} pages, {points} entities, {writes} writes, {batches} batches, {errors} errors, \
         {values} values"
    );
    assert!(pages > 40 && points > 20 && writes > 50 && errors > 30 && values > 200);
    assert!(batches > 5);
}

/// Every property of the reply is there with the type that it is annotated with.
fn check(entity: &DynamicEntity, row: &Value) -> usize {
    let mut checked = 0;
    for (name, value) in row.as_object().unwrap() {
        let is_property = !name.contains(['@', '.'])
            && !["PartitionKey", "RowKey", "Timestamp"].contains(&name.as_str());
        if !is_property || value.is_null() {
            continue;
        }
        let expected = match row.get(format!("{name}@odata.type")) {
            Some(annotation) => EdmType::from_name(annotation.as_str().unwrap()).unwrap(),
            None if value.is_boolean() => EdmType::Boolean,
            None if value.is_f64() => EdmType::Double,
            None if value.is_number() => EdmType::Int32,
            None => EdmType::String,
        };
        assert_eq!(entity.value(name).map(EdmValue::edm_type), Some(expected), "{name}");
        checked += 1;
    }
    if let Some(etag) = row.get("odata.etag") {
        assert_eq!(entity.etag().unwrap().as_str(), etag);
    }
    checked
}
