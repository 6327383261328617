//! Clients with shared access signatures.

use azure_table_client::auth::{SasToken, TablePermissions, TableSas};
use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, TableServiceClient};

use super::with_blogs;

const ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";

async fn filled() -> MockTableService {
    let service = with_blogs().await;
    let rows = ["a", "b", "c"].map(|key| ["1", "2", "3"].map(|row| DynamicEntity::new(key, row)));
    service.seed("Blogs", rows.iter().flatten()).unwrap();
    service
}

fn expiry() -> EdmDateTime {
    "2017-11-10T13:00:00Z".parse().unwrap()
}

fn client(service: &MockTableService, token: SasToken) -> TableServiceClient {
    let client = TableServiceClient::builder(ENDPOINT, token).transport(service.transport());
    client.clock(service.clock()).build().unwrap()
}

#[tokio::test]
async fn the_client_sends_a_signature_unchanged() {
    let service = filled().await;
    let every = TablePermissions::READ | TablePermissions::ADD | TablePermissions::UPDATE;
    let sas = TableSas::new("Blogs").permissions(every | TablePermissions::DELETE);
    let token = sas.partition_key("b").expires_at(expiry()).sign(&service.key()).unwrap();
    let client = client(&service, token);
    let blogs = client.table_named::<DynamicEntity>("Blogs");
    assert_eq!(blogs.query().await.unwrap().len(), 3);
    blogs.insert(&DynamicEntity::new("b", "4")).await.unwrap();
    blogs.delete(("b", "1"), IfMatch::Any).await.unwrap();
    blogs
        .transaction()
        .delete(("b", "2"), IfMatch::Any)
        .delete(("b", "3"), IfMatch::Any)
        .await
        .unwrap();
    assert_eq!(blogs.query().await.unwrap().len(), 1);
    let error = blogs.insert(&DynamicEntity::new("c", "4")).await.unwrap_err();
    assert_eq!(error.code().unwrap(), "AuthorizationFailure");
    let error = client.list_tables().await.unwrap_err();
    assert_eq!(error.code().unwrap(), "AuthorizationFailure");
    assert!(!format!("{error} {error:?}").contains("sig="));
}

#[tokio::test]
async fn the_client_builds_signatures_that_name_a_policy() {
    let service = filled().await;
    let own = service.client().table_named::<DynamicEntity>("Blogs");
    let set = async |expiry: Option<&str>, permissions: Option<TablePermissions>| {
        let expiry = expiry.map(|text| text.parse().unwrap());
        let policy =
            StoredAccessPolicy { expiry, permissions, ..StoredAccessPolicy::new("readers") };
        own.set_access_policies(&[policy]).await.unwrap();
    };
    let holder = |sas: TableSas| {
        let token = service.client().sign_table_sas(&sas).unwrap();
        client(&service, token).table_named::<DynamicEntity>("Blogs")
    };
    let read = Some(TablePermissions::READ);
    let day = Some("2017-11-11T00:00:00Z");
    let by_policy = || TableSas::new("Blogs").policy("readers");

    set(day, read).await;
    let blogs = holder(by_policy());
    assert_eq!(blogs.query().await.unwrap().len(), 9);
    let error = blogs.delete(("b", "1"), IfMatch::Any).await.unwrap_err();
    assert_eq!(error.code().unwrap(), "AuthorizationPermissionMismatch");
    assert!(
        error.hint().unwrap().contains("policy \"readers\", and Delete needs \"d\""),
        "{error}"
    );
    let both = holder(by_policy().permissions(TablePermissions::READ));
    let error = both.query().await.unwrap_err();
    assert!(error.hint().unwrap().contains("signature has too"), "{error}");

    set(None, read).await;
    assert!(blogs.query().await.is_err(), "the expiry is missing now");
    assert_eq!(holder(by_policy().expires_at(expiry())).query().await.unwrap().len(), 9);
    set(day, None).await;
    let delete = holder(by_policy().permissions(TablePermissions::DELETE));
    delete.delete(("b", "1"), IfMatch::Any).await.unwrap();

    own.set_access_policies(&[]).await.unwrap();
    let error = blogs.query().await.unwrap_err();
    assert_eq!(error.code().unwrap(), "AuthenticationFailed");
    assert!(error.hint().unwrap().contains("stored access policy \"readers\""), "{error}");
}
