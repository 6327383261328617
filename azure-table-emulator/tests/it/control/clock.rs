//! The clock of the service, and its effect on the tables and on signatures.

use std::time::{Duration, SystemTime};

use azure_table_client::DynamicEntity;
use azure_table_client::auth::{TablePermissions, TableSas};
use reqwest::Method;
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn the_clock_is_shifted_and_frozen() {
    let server = Server::start(&[]).await;
    let blogs = server.table("Blogs").await;
    let clock = async || server.json("/-/clock").await["accounts"][0].clone();
    let right = clock().await;
    assert_eq!((&right["shift"], &right["frozen"]), (&json!(0.0), &json!(false)));

    server.post("/-/clock", r#"{"freeze":"2001-09-09T01:46:40.5Z"}"#).await;
    assert_eq!(clock().await["now"], "2001-09-09T01:46:40.5000000Z");
    assert_eq!(clock().await["frozen"], true);
    let row = DynamicEntity::new("p", "1");
    blogs.insert(&row).await.unwrap();
    let timestamp = blogs.get(("p", "1")).await.unwrap().timestamp();
    assert_eq!(timestamp, Some("2001-09-09T01:46:40.5Z".parse().unwrap()));

    // The client corrects its date after the first refusal.
    let refused = async || {
        server.client().table_named::<DynamicEntity>("Blogs").get(("p", "1")).await.unwrap();
        let refused = server.json("/-/requests?status=403").await;
        refused["requests"].as_array().unwrap().len()
    };
    assert_eq!(refused().await, 0);
    server.post("/-/clock", r#"{"shift":7200}"#).await;
    assert_eq!(clock().await["shift"], 7200.0);
    assert_eq!(refused().await, 1);
    server.post("/-/clock", r#"{"shift":-7200,"check_dates":false}"#).await;
    assert_eq!(clock().await["check_dates"], false);
    assert_eq!(refused().await, 1);
    server.post("/-/clock", r#"{"set":"1999-12-31T23:59:59Z","check_dates":false}"#).await;
    let now = clock().await["now"].as_str().unwrap().to_owned();
    assert!(
        now.starts_with("1999-12-31T23:59:59") || now.starts_with("2000-01-01T00:00:"),
        "{now}"
    );

    server.control(Method::DELETE, "/-/clock", "").await;
    assert_eq!(clock().await["shift"], 0.0);
    blogs.get(("p", "1")).await.unwrap();
}

#[tokio::test]
async fn nothing_of_before_a_reset_counts_under_a_frozen_clock() {
    let server = Server::start(&[]).await;
    let stamp = async || {
        let blogs = server.table("Blogs").await;
        blogs.insert(&DynamicEntity::new("p", "1")).await.unwrap();
        blogs.get(("p", "1")).await.unwrap().timestamp().unwrap().to_string()
    };
    server.post("/-/clock", r#"{"freeze":"2001-09-09T01:46:40Z"}"#).await;
    for path in ["/-/reset", "/-/reset?account=devstoreaccount1", "/-/reset?table=Blogs"] {
        assert_eq!(stamp().await, "2001-09-09T01:46:40.0000000Z");
        assert_eq!(server.post(path, "").await, json!({ "tables": 1 }), "{path}");
    }
    assert_eq!(stamp().await, "2001-09-09T01:46:40.0000000Z");
    server.client().table_named::<DynamicEntity>("Blogs").delete_table().await.unwrap();
    assert_eq!(stamp().await, "2001-09-09T01:46:40.0010000Z", "an ordinary deletion");
}

#[tokio::test]
async fn a_refusal_that_the_changed_clock_causes_names_the_clock() {
    for (dialect, status) in [("storage", 403), ("cosmos", 403)] {
        let server = Server::start(&["--dialect", dialect]).await;
        server.table("Blogs").await;
        let expiry = SystemTime::now() + Duration::from_secs(3600);
        let sas = TableSas::new("Blogs").permissions(TablePermissions::READ).expires_at(expiry);
        let sas = server.client().sign_table_sas(&sas).unwrap();
        let url = format!("{}/devstoreaccount1/Blogs()?{}", server.origin, sas.as_query());
        let get = async || {
            let request = reqwest::Client::new().get(&url).header("accept", "application/json");
            let response = request.header("x-ms-version", "2019-02-02").send().await.unwrap();
            (response.status().as_u16(), response.text().await.unwrap())
        };
        assert_eq!(get().await.0, 200, "{dialect}");
        server.post("/-/clock", r#"{"shift":7200}"#).await;
        let (refused, body) = get().await;
        assert_eq!(refused, status);
        assert!(body.contains("The clock of this service was changed: it shows "), "{body}");
    }
}
