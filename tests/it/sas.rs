//! Shared access signatures that the client builds, checked by the mock.

use std::net::Ipv4Addr;
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{
    AccountPermissions, AccountSas, ResourceTypes, SasError, SasProtocol, SasToken, SharedKey,
    TablePermissions, TableSas,
};
use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, TableClient, TableServiceClient,
};

const ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A service with a table of nine rows, of the partitions and rows 1, 2 and 3.
async fn filled() -> MockTableService {
    let mock = MockTableService::new();
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    for partition in ["1", "2", "3"] {
        for row in ["1", "2", "3"] {
            blogs.insert(&DynamicEntity::new(partition, row)).await.unwrap();
        }
    }
    mock
}

fn client_at(mock: &MockTableService, endpoint: &str, token: SasToken) -> TableServiceClient {
    TableServiceClient::builder(endpoint, token)
        .transport(mock.transport())
        .clock(mock.clock())
        .build()
        .unwrap()
}

fn holder(mock: &MockTableService, token: SasToken) -> TableClient<DynamicEntity> {
    client_at(mock, ENDPOINT, token).table_named("Blogs")
}

/// A signature for everything in the table, for an hour from now.
fn everything(mock: &MockTableService) -> TableSas {
    TableSas::new("Blogs").permissions(TablePermissions::ALL).expires_at(mock.clock().now() + HOUR)
}

fn signed(sas: &TableSas) -> SasToken {
    sas.sign(&SharedKey::development()).unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Option<String> {
    result.err().map(|error| {
        assert!(!format!("{error} {error:?}").contains("sig="), "{error}");
        error.code().unwrap().to_string()
    })
}

#[tokio::test]
async fn each_permission_permits_its_operations() {
    let denied = Some("AuthorizationPermissionMismatch".to_owned());
    for (permission, reads, inserts, updates, upserts, deletes) in [
        (TablePermissions::READ, true, false, false, false, false),
        (TablePermissions::ADD, false, true, false, false, false),
        (TablePermissions::UPDATE, false, false, true, false, false),
        (TablePermissions::ADD | TablePermissions::UPDATE, false, true, true, true, false),
        (TablePermissions::DELETE, false, false, false, false, true),
        (TablePermissions::ALL, true, true, true, true, true),
    ] {
        let mock = filled().await;
        let blogs = holder(&mock, signed(&everything(&mock).permissions(permission)));
        let mut row = DynamicEntity::new("1", "1");
        row.set("Rating", 3);
        let expect = |may: bool| if may { None } else { denied.clone() };
        assert_eq!(code(blogs.query().await), expect(reads), "{permission}");
        assert_eq!(code(blogs.get(("1", "1")).await), expect(reads), "{permission}");
        let new = DynamicEntity::new("1", "4");
        assert_eq!(code(blogs.insert(&new).await), expect(inserts), "{permission}");
        assert_eq!(code(blogs.merge(&row, IfMatch::Any).await), expect(updates), "{permission}");
        assert_eq!(code(blogs.replace(&row, IfMatch::Any).await), expect(updates), "{permission}");
        assert_eq!(code(blogs.insert_or_merge(&row).await), expect(upserts), "{permission}");
        assert_eq!(
            code(blogs.delete(("1", "1"), IfMatch::Any).await),
            expect(deletes),
            "{permission}"
        );
    }
}

#[tokio::test]
async fn a_table_signature_reaches_its_keys_only() {
    let mock = filled().await;
    let all = || everything(&mock);
    for (sas, rows) in [
        (all(), 9),
        (all().partition_key("2"), 3),
        (all().start_partition_key("2"), 6),
        (all().end_partition_key("2"), 6),
        (all().start_partition_key("1").start_row_key("3"), 7),
        (all().end_partition_key("1").end_row_key("2"), 2),
        (all().partition_key("2").start_row_key("2").end_row_key("2"), 1),
        (
            all()
                .start_partition_key("1")
                .start_row_key("3")
                .end_partition_key("3")
                .end_row_key("1"),
            5,
        ),
        (all().start_partition_key("").end_partition_key(""), 0),
    ] {
        assert_eq!(holder(&mock, signed(&sas)).query().await.unwrap().len(), rows, "{sas:?}");
    }
    let second = holder(&mock, signed(&all().partition_key("2")));
    let error = second.insert(&DynamicEntity::new("3", "4")).await.unwrap_err();
    assert_eq!(error.code().unwrap(), "AuthorizationFailure");
    assert!(error.hint().unwrap().contains("range of keys"), "{error}");
    second.insert(&DynamicEntity::new("2", "it's & so on=%")).await.unwrap();
    let quoted = all().partition_key("2").start_row_key("it's & so on=%");
    assert_eq!(holder(&mock, signed(&quoted)).query().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_table_signature_ignores_the_case_of_the_name() {
    let mock = filled().await;
    mock.client().create_table("Others").await.unwrap();
    let service = client_at(&mock, ENDPOINT, signed(&everything(&mock)));
    assert!(service.table_named::<DynamicEntity>("bLOGS").query().await.is_ok());
    let recorded = mock.requests().last().unwrap().url;
    assert!(recorded.starts_with("/devstoreaccount1/bLOGS()?"), "{recorded}");
    assert!(recorded.contains("sig=...") && !recorded.contains("sig=%"), "{recorded}");
    let error = service.table_named::<DynamicEntity>("Others").query().await.unwrap_err();
    assert!(error.hint().unwrap().contains("for the table \"Blogs\" only"), "{error}");
    let error = service.list_tables().await.unwrap_err();
    assert!(error.hint().unwrap().contains("ListTables needs one for the account"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_signature_holds_from_its_start_to_its_expiry() {
    let mock = filled().await;
    let now = mock.clock().now();
    let sas = everything(&mock).starts_at(now + HOUR).expires_at(now + 3 * HOUR);
    let blogs = holder(&mock, signed(&sas));
    let early = blogs.query().await.unwrap_err();
    assert_eq!((early.status(), early.attempts()), (Some(403), 1));
    assert!(early.hint().unwrap().contains("is not valid before"), "{early}");
    tokio::time::advance(HOUR).await;
    assert_eq!(blogs.query().await.unwrap().len(), 9);
    tokio::time::advance(2 * HOUR).await;
    let late = blogs.query().await.unwrap_err();
    assert!(late.to_string().contains("The shared access signature expired at "), "{late}");
    let edm = EdmDateTime::from_system_time(mock.clock().now() + HOUR).unwrap();
    assert!(holder(&mock, signed(&everything(&mock).expires_at(edm))).query().await.is_ok());
}

#[tokio::test]
async fn a_refusal_names_the_needed_permission() {
    let mock = filled().await;
    let reader = holder(&mock, signed(&everything(&mock).permissions(TablePermissions::READ)));
    let error = reader.insert(&DynamicEntity::new("1", "9")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Service);
    let sentence = "The shared access signature permits \"r\", and Insert needs \"a\".";
    assert_eq!(error.hint(), Some(sentence));
    assert!(error.to_string().contains(sentence), "{error}");
    let changes = reader.transaction().delete(("1", "1"), IfMatch::Any);
    let error = changes.await.unwrap_err();
    assert_eq!(error.hint(), Some("The shared access signature permits \"r\"."));
}

#[tokio::test]
async fn a_signature_may_be_bound_to_addresses() {
    let mock = filled().await;
    let address = |last| Ipv4Addr::new(168, 1, 5, last);
    for (sas, from, may) in [
        (everything(&mock).address(address(60)), address(60), true),
        (everything(&mock).address(address(60)), address(61), false),
        (everything(&mock).addresses(address(60)..=address(70)), address(60), true),
        (everything(&mock).addresses(address(60)..=address(70)), address(70), true),
        (everything(&mock).addresses(address(60)..=address(70)), address(71), false),
    ] {
        let blogs = TableServiceClient::builder(ENDPOINT, signed(&sas))
            .transport(mock.transport_from(from.into()))
            .build()
            .unwrap()
            .table_named::<DynamicEntity>("Blogs");
        match blogs.query().await {
            Ok(_) => assert!(may, "{sas:?} {from}"),
            Err(error) => {
                assert!(!may, "{error}");
                assert_eq!(error.code().unwrap(), "AuthorizationSourceIPMismatch");
                assert!(error.hint().unwrap().contains("168.1.5.60"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_signature_may_be_bound_to_https() {
    let mock = filled().await;
    for (protocol, scheme, may) in [
        (SasProtocol::Https, "https", true),
        (SasProtocol::Https, "http", false),
        (SasProtocol::HttpsAndHttp, "https", true),
        (SasProtocol::HttpsAndHttp, "http", true),
    ] {
        let token = signed(&everything(&mock).protocol(protocol));
        let service = client_at(&mock, &format!("{scheme}://127.0.0.1/devstoreaccount1"), token);
        match service.table_named::<DynamicEntity>("Blogs").query().await {
            Ok(_) => assert!(may, "{protocol:?} {scheme}"),
            Err(error) => {
                assert!(!may, "{error}");
                assert!(error.hint().unwrap().contains("the endpoint is http"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn an_account_signature_reaches_its_resource_types() {
    let denied = Some("AuthorizationPermissionMismatch".to_owned());
    let unreached = Some("AuthorizationResourceTypeMismatch".to_owned());
    let (all, everywhere) = (AccountPermissions::ALL, ResourceTypes::ALL);
    for (permissions, types, lists, creates, reads) in [
        (all, everywhere, None, None, None),
        (all, ResourceTypes::TABLE, None, None, unreached.clone()),
        (all, ResourceTypes::ENTITY, unreached.clone(), unreached.clone(), None),
        (all, ResourceTypes::SERVICE, unreached.clone(), unreached.clone(), unreached.clone()),
        (AccountPermissions::LIST, everywhere, None, denied.clone(), denied.clone()),
        (AccountPermissions::CREATE, everywhere, denied.clone(), None, denied.clone()),
        (AccountPermissions::WRITE, everywhere, denied.clone(), None, denied.clone()),
        (AccountPermissions::READ, everywhere, denied.clone(), denied.clone(), None),
    ] {
        let mock = filled().await;
        let expiry = mock.clock().now() + HOUR;
        let sas = AccountSas::new(permissions, types).expires_at(expiry);
        let service = client_at(&mock, ENDPOINT, mock.client().sign_account_sas(&sas).unwrap());
        assert_eq!(code(service.list_tables().await), lists, "{sas:?}");
        assert_eq!(code(service.create_table("More").await), creates, "{sas:?}");
        let blogs = service.table_named::<DynamicEntity>("Blogs");
        assert_eq!(code(blogs.query().await), reads, "{sas:?}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_needed_resource_type() {
    let mock = filled().await;
    let sas = AccountSas::new(AccountPermissions::ALL, ResourceTypes::TABLE)
        .starts_at(mock.clock().now() - HOUR)
        .expires_at(mock.clock().now() + HOUR)
        .protocol(SasProtocol::HttpsAndHttp)
        .address(Ipv4Addr::LOCALHOST)
        .version("2020-12-06");
    let service = client_at(&mock, ENDPOINT, sas.sign(&SharedKey::development()).unwrap());
    assert_eq!(service.list_tables().await.unwrap(), ["Blogs"]);
    let error = service.table_named::<DynamicEntity>("Blogs").query().await.unwrap_err();
    let sentence =
        "The shared access signature covers the resource types \"c\", and Query needs \"o\".";
    assert_eq!(error.hint(), Some(sentence));
}

#[tokio::test]
async fn each_version_of_a_table_signature_is_accepted() {
    let mock = filled().await;
    for version in ["2012-02-12", "2014-02-14", "2015-02-21", "2015-04-05", "2020-12-06"] {
        let blogs = holder(&mock, signed(&everything(&mock).version(version)));
        assert_eq!(blogs.query().await.unwrap().len(), 9, "{version}");
    }
}

#[test]
fn invalid_signatures_are_not_signed() {
    let time = |text: &str| text.parse::<EdmDateTime>().unwrap();
    let noon = time("2026-01-31T12:00:00Z");
    let fine = || TableSas::new("Blogs").permissions(TablePermissions::READ).expires_at(noon);
    let address = Ipv4Addr::new(1, 2, 3, 4);
    let new = TableSas::new;
    for (sas, expected) in [
        (new("Blogs").permissions(TablePermissions::READ), "needs an expiry"),
        (new("Blogs").expires_at(noon), "needs permissions"),
        (fine().starts_at(noon), "expires at 2026-01-31T12:00:00Z, which is not after"),
        (fine().starts_at(time("2026-01-31T12:00:00.9Z")), "which is not after its start"),
        (fine().expires_at(SystemTime::UNIX_EPOCH + HOUR * 24 * 365 * 9000), "1601 to 9999"),
        (new("no-name").permissions(TablePermissions::READ).expires_at(noon), "'-' at position 2"),
        (fine().start_row_key("1"), "without one on the PartitionKey"),
        (fine().start_partition_key("1").end_row_key("1"), "without one on the PartitionKey"),
        (fine().start_partition_key("a/b"), "'/' at position 1"),
        (fine().partition_key("a").end_row_key("a#"), "'#' at position 1"),
        (fine().start_partition_key("b").end_partition_key("a"), "its start is after its end"),
        (
            fine().partition_key("a").start_row_key("2").end_row_key("1"),
            "its start is after its end",
        ),
        (
            fine()
                .addresses(address..=Ipv4Addr::LOCALHOST)
                .addresses(Ipv4Addr::LOCALHOST..=address),
            "empty address range",
        ),
        (fine().policy(""), "empty or has more than 64"),
        (fine().policy("p".repeat(65)), "empty or has more than 64"),
        (fine().version("newest"), "not a date like 2019-02-02"),
        (fine().version("2011-08-18"), "needs version 2012-02-12"),
        (fine().version("2014-02-14").protocol(SasProtocol::Https), "needs version 2015-04-05"),
        (fine().version("2014-02-14").address(address), "needs version 2015-04-05"),
    ] {
        let error = sas.sign(&SharedKey::development()).unwrap_err();
        assert!(error.to_string().contains(expected), "{sas:?}: {error}");
    }
    let account = AccountSas::new(AccountPermissions::READ, ResourceTypes::ENTITY);
    for (sas, expected) in [
        (account.clone(), SasError::NoExpiry),
        (
            AccountSas::new(AccountPermissions::default(), ResourceTypes::ALL).expires_at(noon),
            SasError::NoPermissions,
        ),
        (
            AccountSas::new(AccountPermissions::ALL, ResourceTypes::default()).expires_at(noon),
            SasError::NoResourceTypes,
        ),
        (
            account.expires_at(noon).version("2014-02-14"),
            SasError::VersionTooEarly { first: "2015-04-05" },
        ),
    ] {
        assert_eq!(sas.sign(&SharedKey::development()).unwrap_err(), expected, "{sas:?}");
    }
}

#[tokio::test]
async fn only_a_client_with_the_key_signs() {
    let mock = filled().await;
    let sas = everything(&mock);
    let token = mock.client().sign_table_sas(&sas).unwrap();
    assert_eq!(holder(&mock, token.clone()).query().await.unwrap().len(), 9);
    let error = client_at(&mock, ENDPOINT, token).sign_table_sas(&sas).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("account's key"), "{error}");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&SasError::NoKey));
}

/// A stored policy can be revoked, although the signature stays unchanged.
#[tokio::test]
async fn a_stored_policy_decides_its_signatures() {
    let mock = filled().await;
    let owner = mock.client().table_named::<DynamicEntity>("Blogs");
    let expiry = EdmDateTime::from_system_time(mock.clock().now() + HOUR).unwrap();
    let readers = StoredAccessPolicy {
        permissions: Some(TablePermissions::READ),
        expiry: Some(expiry),
        ..StoredAccessPolicy::new("readers")
    };
    owner.set_access_policies(std::slice::from_ref(&readers)).await.unwrap();
    let reader = holder(&mock, signed(&TableSas::new("Blogs").policy("readers")));
    assert_eq!(reader.query().await.unwrap().len(), 9);
    let inserted = reader.insert(&DynamicEntity::new("4", "4")).await;
    assert_eq!(code(inserted).as_deref(), Some("AuthorizationPermissionMismatch"));

    let writers = StoredAccessPolicy { permissions: Some(TablePermissions::ADD), ..readers };
    owner.set_access_policies(&[writers]).await.unwrap();
    reader.insert(&DynamicEntity::new("4", "4")).await.unwrap();
    owner.set_access_policies(&[]).await.unwrap();
    let inserted = reader.insert(&DynamicEntity::new("5", "5")).await;
    assert_eq!(code(inserted).as_deref(), Some("AuthenticationFailed"));
}
