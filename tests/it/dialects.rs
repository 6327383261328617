//! The differences of Cosmos DB, and verbs that are sent as POST. `tests/endpoints/formats.rs`
//! runs the conformance list in both ways.

mod cosmos;
mod proxy;
mod refusals;
mod unordered;

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::auth::SharedKey;
use azure_table_client::client::ServiceVersion;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::HttpRequest;
use azure_table_client::{
    Dialect, DynamicEntity, ErrorKind, IfMatch, Operation, PayloadFormat, Proof, RetryPolicy,
    TableServiceClient, TableServiceClientBuilder,
};
use azure_table_tests::scripted::Scripted;

fn builder(mock: &MockTableService, recorder: &Arc<Scripted>) -> TableServiceClientBuilder {
    mock.client_builder().transport(recorder.clone()).retry(RetryPolicy::none())
}

/// The method of each request, with the one that its header names.
fn verbs(requests: &[HttpRequest]) -> Vec<String> {
    let named = |request: &HttpRequest| {
        let header = request.headers.get("x-http-method");
        header.map(|verb| format!(" {}", verb.to_str().unwrap())).unwrap_or_default()
    };
    requests.iter().map(|request| format!("{}{}", request.method, named(request))).collect()
}

#[tokio::test]
async fn verbs_that_are_sent_as_post() {
    for (dialect, tunnelling, expected) in [
        (Dialect::AzureStorage, false, ["MERGE", "PUT", "DELETE"]),
        (Dialect::CosmosDb, false, ["POST MERGE", "PUT", "DELETE"]),
        (Dialect::AzureStorage, true, ["POST MERGE", "POST PUT", "POST DELETE"]),
    ] {
        let mock = MockTableService::new();
        let recorder = Scripted::recorder(mock.transport());
        let service = builder(&mock, &recorder).dialect(dialect).post_tunneling(tunnelling);
        let blogs = service.build().unwrap().table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        let mut blog = DynamicEntity::new("p", "r");
        blogs.insert(&blog).await.unwrap();
        recorder.take_requests();
        blog.set("A", 1);
        blogs.merge(&blog, IfMatch::Any).await.unwrap();
        blogs.insert_or_replace(&blog).await.unwrap();
        blogs.delete(blog.key(), IfMatch::Any).await.unwrap();
        assert_eq!(verbs(&recorder.take_requests()), expected, "{dialect:?} {tunnelling}");

        // Only the service parses the operations of a batch.
        blogs
            .transaction()
            .insert_or_merge(&blog)
            .insert_or_replace(&DynamicEntity::new("p", "s"))
            .await
            .unwrap();
        let requests = recorder.take_requests();
        let body = std::str::from_utf8(&requests[0].body).unwrap();
        let is_cosmos = dialect == Dialect::CosmosDb;
        assert_eq!(body.contains("X-HTTP-Method: MERGE"), is_cosmos);
        assert_eq!(body.contains("\r\nMERGE http"), !is_cosmos);
        assert!(body.contains("\r\nPUT http"));
    }
}

#[tokio::test]
async fn the_endpoint_decides_the_service() {
    let mock = MockTableService::new();
    for (endpoint, verb) in [
        ("https://me.table.cosmos.azure.com:443/", "POST"),
        ("https://me.TABLE.Cosmos.azure.com", "POST"),
        ("https://me.table.core.windows.net", "MERGE"),
        ("https://tables.example.com", "MERGE"),
    ] {
        let recorder = Scripted::recorder(mock.transport());
        let service = TableServiceClient::builder(endpoint, SharedKey::development())
            .transport(recorder.clone())
            .retry(RetryPolicy::none())
            .build()
            .unwrap();
        let blogs = service.table_named::<DynamicEntity>("Blogs");
        blogs.insert_or_merge(&DynamicEntity::new("p", "r")).await.unwrap_err();
        assert_eq!(recorder.take_requests()[0].method.as_str(), verb, "{endpoint}");
    }
}

#[tokio::test]
async fn a_lost_merge_in_a_transaction_is_read_back_on_cosmos() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb);
    let service = service.retry(RetryPolicy::default()).build().unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    let etag =
        blogs.insert(DynamicEntity::new("p", "r").set("A", 1).set("B", 2)).await.unwrap().etag;
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    let mut change = DynamicEntity::new("p", "r");
    change.set("A", 5);
    // If the merge were parsed as an insert, it would look lost: the row has more properties.
    let committed = blogs.transaction().merge(&change, &etag).insert(&DynamicEntity::new("p", "s"));
    let committed = committed.proof(Proof::MatchingUpdate);
    assert!(committed.await.unwrap().confirmation != azure_table_client::Confirmation::Response);
    assert_eq!(blogs.get(("p", "r")).await.unwrap().get::<i32>("B").unwrap(), Ok(2));
}

#[tokio::test]
async fn limits_of_cosmos_are_checked_before_sending() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb).build().unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    let large = |row: &str, properties: usize| {
        let mut large = DynamicEntity::new("p", row);
        for n in 0..properties {
            large.set(format!("P{n}"), "x".repeat(32_000));
        }
        large
    };
    let mut reserved = DynamicEntity::new("p", "r");
    reserved.set("Etag", "x");
    let long = DynamicEntity::new("p", "r".repeat(1024));
    let refused = [
        (blogs.insert(&large("r", 66)).await.unwrap_err(), "at most 2097152 are allowed"),
        (blogs.insert(&reserved).await.unwrap_err(), "\"Etag\" is reserved"),
        (
            blogs.insert(&long).await.unwrap_err(),
            "RowKey has 1024 bytes; Cosmos DB allows at most 1023",
        ),
        (blogs.get(long.key()).await.unwrap_err(), "RowKey has 1024 bytes"),
        (blogs.delete(long.key(), IfMatch::Any).await.unwrap_err(), "RowKey has 1024 bytes"),
        (
            blogs.transaction().insert(&large("1", 40)).insert(&large("2", 40)).await.unwrap_err(),
            "a transaction has at most 2097152 bytes",
        ),
        (service.create_table("a/b").await.unwrap_err(), "Cosmos DB accepts 1 to 254 characters"),
        (service.properties().await.unwrap_err(), "Cosmos DB has no GetServiceProperties"),
        (service.stats().await.unwrap_err(), "Cosmos DB has no GetStats"),
        (blogs.access_policies().await.unwrap_err(), "Cosmos DB has no GetTableAcl"),
        (blogs.set_access_policies(&[]).await.unwrap_err(), "Cosmos DB has no SetTableAcl"),
    ];
    for (error, part) in refused {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(recorder.take_requests().is_empty());

    // Cosmos DB decides about entities that exceed the limits of Azure Storage.
    let larger = large("r", 40);
    assert!(blogs.insert(&larger).await.unwrap_err().status().is_some());
    let storage = builder(&mock, &recorder).build().unwrap().table_named::<DynamicEntity>("Blogs");
    assert_eq!(recorder.take_requests().len(), 1);
    assert_eq!(storage.insert(&larger).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(recorder.take_requests().is_empty());
}

#[tokio::test]
async fn tables_of_cosmos_may_have_odd_names() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb).build().unwrap();
    let odd = service.table_named::<DynamicEntity>("it's 1-é");
    odd.get(("p", "r")).await.unwrap_err();
    odd.query().await.unwrap_err();
    odd.delete_table().await.unwrap_err();
    let urls: Vec<_> =
        recorder.take_requests().into_iter().map(|request| request.uri.to_string()).collect();
    for (url, path) in urls.iter().zip([
        "/it%27s%201-%C3%A9(PartitionKey='p',RowKey='r')",
        "/it%27s%201-%C3%A9()",
        "/Tables('it%27%27s%201-%C3%A9')",
    ]) {
        assert!(url.contains(path), "{url}");
    }
}

#[test]
fn formats_and_versions_that_cosmos_does_not_have() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let builder = || builder(&mock, &recorder).dialect(Dialect::CosmosDb);
    let last_atom = || builder().service_version(ServiceVersion::V2015_07_08);
    assert!(last_atom().build().is_ok());
    for (builder, part) in [
        (last_atom().format(PayloadFormat::Atom), "Cosmos DB has no Atom: use JSON"),
        (
            builder().service_version(ServiceVersion::V2009_04_14),
            "Cosmos DB has no service version 2009-04-14: use 2013-08-15",
        ),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn cosmos_states_retry_waits_in_milliseconds() {
    let mock = MockTableService::new();
    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb);
    let service = service.retry(RetryPolicy::default()).build().unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    let wait = Duration::from_millis(7_400);
    mock.faults().add(Fault::too_many_requests().retry_after_ms(wait).times(1));
    let start = tokio::time::Instant::now();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    let waited = start.elapsed();
    // In whole seconds, the wait would be eight.
    assert!((wait..Duration::from_millis(7_900)).contains(&waited), "{waited:?}");
}
