//! SharedKeyLite, and credentials that are replaced while requests run.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use azure_table_client::auth::{
    Credential, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey, TablePermissions, TableSas,
};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, ErrorKind, Operation, Outcome, TableServiceClient};
use azure_table_tests::scripted::{Scripted, Step};
use futures_util::future::join_all;
use tokio::task::yield_now;

const ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";
const NEW_KEY: &str = "bmV3LWtleS1uZXcta2V5LW5ldy1rZXk=";
const WRONG_KEY: &str = "d3Jvbmcta2V5LXdyb25nLWtleQ==";

#[tokio::test]
async fn a_client_can_sign_with_shared_key_lite() {
    let mock = MockTableService::new();
    let lite = Credential::SharedKeyLite(SharedKey::development());
    for (builder, scheme) in [
        (TableServiceClient::builder(ENDPOINT, lite), "SharedKeyLite"),
        (TableServiceClient::builder(ENDPOINT, SharedKey::development()), "SharedKey"),
        (
            TableServiceClient::builder_from_connection_string(&mock.connection_string())
                .unwrap()
                .shared_key_lite(),
            "SharedKeyLite",
        ),
    ] {
        let recorder = Scripted::recorder(mock.transport());
        let service = builder.transport(recorder.clone()).clock(mock.clock()).build().unwrap();
        let blogs = service.table_named::<DynamicEntity>("Blogs");
        blogs.create_if_not_exists().await.unwrap();
        blogs.insert_or_replace(DynamicEntity::new("it's", "100% + é").set("A", 1)).await.unwrap();
        blogs.get(("it's", "100% + é")).await.unwrap();
        assert_eq!(blogs.query().filter_text("A eq 1").await.unwrap().len(), 1);
        let rows = blogs.transaction().insert_or_replace(&DynamicEntity::new("p", "1"));
        rows.await.unwrap();
        blogs.delete_table().await.unwrap();
        let requests = recorder.requests();
        let schemes = requests.iter().map(|request| {
            let value = request.headers["authorization"].to_str().unwrap();
            value.split_once(' ').unwrap().0
        });
        assert_eq!(schemes.collect::<Vec<_>>(), [scheme; 6]);
    }
    let shown = format!("{:?}", Credential::SharedKeyLite(SharedKey::development()));
    assert_eq!(shown, "SharedKeyLite(SharedKey { account: \"devstoreaccount1\", .. })");
}

fn key(key: &str) -> SharedKey {
    SharedKey::new(DEVELOPMENT_ACCOUNT, key).unwrap()
}

/// An account with a table of ten rows, whose key is regenerated at this request. The client learns the new
/// credential at the same time, so that requests signed before arrive too late.
async fn rotating(at: usize, learned: Option<Credential>) -> (Arc<Scripted>, TableServiceClient) {
    let services = [DEVELOPMENT_KEY, NEW_KEY]
        .map(|key| MockTableService::builder().account(DEVELOPMENT_ACCOUNT, key).unwrap().build());
    for service in &services {
        let blogs = service.client().table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        for row in 0..10 {
            blogs.insert(&DynamicEntity::new("p", row.to_string())).await.unwrap();
        }
    }
    let [before, after] = services.map(|service| service.transport());
    let client = Arc::new(OnceLock::<TableServiceClient>::new());
    let (learning, mut numbers) = (Arc::clone(&client), 0..);
    let account = Scripted::new(before, move |_| {
        let number = numbers.next().unwrap();
        if number == at
            && let Some(credential) = &learned
        {
            learning.get().unwrap().set_credential(credential.clone()).unwrap();
        }
        if number < at { Step::pass() } else { Step::send_to(Arc::clone(&after)) }
    });
    // Each request is in flight while others are signed.
    let rotation = Scripted::new(account, |_| Step::pass().after(yield_now()));
    let builder = TableServiceClient::builder(ENDPOINT, key(DEVELOPMENT_KEY));
    let client =
        client.get_or_init(|| builder.transport(rotation.clone()).build().unwrap()).clone();
    (rotation, client)
}

#[tokio::test]
async fn requests_survive_a_key_rotation() {
    let (rotation, client) = rotating(25, Some(key(NEW_KEY).into())).await;
    // Created before the rotation: clones and tables share the credential.
    let blogs = client.clone().table_named::<DynamicEntity>("Blogs");
    let reads = join_all((0..50).map(|at| {
        let blogs = &blogs;
        async move { blogs.get(("p", (at % 10).to_string().as_str())).await }
    }))
    .await;
    let errors: Vec<_> = reads.into_iter().filter_map(Result::err).collect();
    assert!(errors.is_empty(), "{errors:?}");
    // All requests were signed before the first response: the later half was sent again.
    assert_eq!(rotation.requests().len(), 75);
    blogs.insert(&DynamicEntity::new("p", "new")).await.unwrap();
    assert_eq!(rotation.requests().len(), 76, "nothing is sent twice any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_survive_a_key_rotation() {
    let (rotation, client) = rotating(200, Some(key(NEW_KEY).into())).await;
    let tasks = (0..8).map(|task| {
        let blogs = client.table_named::<DynamicEntity>("Blogs");
        tokio::spawn(async move {
            for row in 0..50 {
                blogs.insert(&DynamicEntity::new(format!("t{task}"), row.to_string())).await?;
            }
            Ok::<_, azure_table_client::Error>(())
        })
    });
    for task in join_all(tasks).await {
        task.unwrap().unwrap();
    }
    assert!(rotation.requests().len() >= 400);
}

#[tokio::test]
async fn a_request_is_signed_again_once_if_the_credential_changed() {
    // The client keeps the old key.
    let (_, client) = rotating(0, None).await;
    let blogs = client.table_named::<DynamicEntity>("Blogs");
    let error = blogs.get(("p", "1")).await.unwrap_err();
    assert_eq!((error.code().unwrap().as_str(), error.attempts()), ("AuthenticationFailed", 1));
    assert!(error.hint().unwrap().contains("key was not regenerated"), "{error}");
    client.set_credential(key(NEW_KEY)).unwrap();
    blogs.get(("p", "1")).await.unwrap();

    // The client gets a wrong key.
    let (_, client) = rotating(0, Some(key(WRONG_KEY).into())).await;
    let error = client.table_named::<DynamicEntity>("Blogs").get(("p", "1")).await.unwrap_err();
    assert_eq!((error.code().unwrap().as_str(), error.attempts()), ("AuthenticationFailed", 2));
    assert!(!format!("{error} {error:?}").contains(WRONG_KEY), "{error}");
}

#[tokio::test]
async fn the_kind_of_a_credential_can_change() {
    let expiry = std::time::SystemTime::now() + Duration::from_secs(60 * 60);
    let token = TableSas::new("Blogs")
        .permissions(TablePermissions::READ)
        .expires_at(expiry)
        .sign(&key(NEW_KEY))
        .unwrap();
    let (rotation, client) = rotating(0, Some(token.into())).await;
    let blogs = client.table_named::<DynamicEntity>("Blogs");
    assert_eq!(blogs.query().await.unwrap().len(), 10);
    assert_eq!(rotation.requests().len(), 2);
    assert!(blogs.insert(&DynamicEntity::new("p", "new")).await.is_err());
    client.set_credential(Credential::SharedKeyLite(key(NEW_KEY))).unwrap();
    blogs.insert(&DynamicEntity::new("p", "new")).await.unwrap();
}

#[tokio::test]
async fn a_secret_is_refused_over_plain_http() {
    let builder =
        || TableServiceClient::builder("http://tables.example.com", Credential::Anonymous);
    let client = builder().build().unwrap();
    let error = client.set_credential(SharedKey::development()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("plain HTTP"), "{error}");
    client.set_credential(Credential::Anonymous).unwrap();
    let meant = builder().allow_http(true).build().unwrap();
    meant.set_credential(SharedKey::development()).unwrap();
}

#[tokio::test]
async fn the_error_of_a_wrong_key_names_a_clock_skew() {
    let mock = MockTableService::new();
    mock.faults().clock_ahead(Duration::from_secs(90 * 60));
    let client = TableServiceClient::builder(ENDPOINT, key(WRONG_KEY))
        .transport(mock.transport())
        .clock(mock.clock())
        .build()
        .unwrap();
    let error = client.create_table("Blogs").await.unwrap_err();
    assert_eq!(error.attempts(), 2, "it was dated by the service's clock, in vain");
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("This machine's clock is "), "{hint}");
    assert!(hint.contains(" min behind the service's"), "{hint}");
}

/// A gateway refuses an update that the service has applied, and the credential is replaced meanwhile.
#[tokio::test(start_paused = true)]
async fn the_refusal_of_a_gateway_proves_nothing() {
    let mock = MockTableService::new();
    let service = mock.client();
    let table = service.table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    let mut row = DynamicEntity::new("p", "r");
    let etag = table.insert(&row).await.unwrap().etag;
    let refusal = Fault::proxy_page(401).without_body().after_commit();
    mock.faults().add(refusal.on(Operation::Merge).times(1));
    mock.faults().add(Fault::delay_reply(Duration::from_secs(1)).on(Operation::Merge).times(1));
    let merge = async { table.merge(row.set("Count", 1), etag).await };
    let replace = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        service.set_credential(SharedKey::development()).unwrap();
    };
    let (merged, ()) = tokio::join!(merge, replace);
    let error = merged.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(412), 2), "{error}");
    assert!(error.outcome() == Outcome::Unknown && error.state_matches(), "{error}");
}
