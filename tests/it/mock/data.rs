//! The mock with a data file: rows that it acknowledged exist after a restart.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use azure_table_client::clock::Clock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse};
use azure_table_client::{DynamicEntity, Error, ErrorKind, IfMatch, TableClient};
use http::Method;

/// A path for a file that does not exist yet.
fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.tables"));
    let _ = std::fs::remove_file(&path);
    path
}

fn open(path: &Path) -> MockTableService {
    MockTableService::builder().open(path).unwrap()
}

fn blogs(service: &MockTableService) -> TableClient<DynamicEntity> {
    service.client().table_named("Blogs")
}

async fn rows(service: &MockTableService) -> Vec<DynamicEntity> {
    blogs(service).query().await.unwrap().into_iter().collect()
}

#[tokio::test]
async fn everything_is_restored() {
    let path = file("everything");
    let service = open(&path);
    let table = blogs(&service);
    table.create().await.unwrap();
    let mut entity = DynamicEntity::new("it's \u{1f600}", "");
    entity
        .set("Text", "a\"b\\c\u{1}é")
        .set("Big", i64::MIN)
        .set("Whole", 5.0)
        .set("Nan", f64::NAN)
        .set("Bytes", vec![0_u8, 255])
        .set("Id", uuid::Uuid::from_u128(7))
        .set("Yes", true);
    table.insert(&entity).await.unwrap();
    for row in ["1", "2", "3"] {
        table.insert(&DynamicEntity::new("p", row)).await.unwrap();
    }
    table.delete(("p", "2"), IfMatch::Any).await.unwrap();
    service.client().create_table("Gone").await.unwrap();
    service.client().delete_table("Gone").await.unwrap();
    let before = rows(&service).await;
    assert_eq!(before.len(), 3);
    drop((service, table));

    let service = open(&path);
    assert_eq!(service.table_names(), ["Blogs"]);
    let after = rows(&service).await;
    assert_eq!(after, before);
    let etags =
        |rows: &[DynamicEntity]| rows.iter().map(|row| row.etag().cloned()).collect::<Vec<_>>();
    assert_eq!(etags(&after), etags(&before));
    let renewed = blogs(&service).replace(&after[2], after[2].etag().unwrap()).await;
    assert!(renewed.is_ok(), "the version is the same");
}

#[tokio::test]
async fn versions_do_not_repeat_after_a_restart() {
    #[derive(Debug)]
    struct Still;
    impl Clock for Still {
        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH + Duration::from_secs(500_000 * 3600)
        }
    }
    let path = file("versions");
    let mut seen = Vec::new();
    for _ in 0..3 {
        let clock = std::sync::Arc::new(Still);
        let service = MockTableService::builder().clock(clock).open(&path).unwrap();
        let table = blogs(&service);
        let _ = table.create().await;
        seen.push(table.insert(&DynamicEntity::new("p", "r")).await.unwrap().etag);
        table.delete(("p", "r"), IfMatch::Any).await.unwrap();
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2], "{seen:?}");
}

#[tokio::test]
async fn an_unusable_file_is_an_error_that_names_it() {
    let path = file("in-use");
    let service = open(&path);
    let error = Error::from(MockTableService::builder().open(&path).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("in-use.tables"), "{error}");
    drop(service);

    let path = file("garbage");
    std::fs::write(&path, "no database").unwrap();
    assert!(MockTableService::builder().open(&path).is_err());
}

#[tokio::test]
async fn concurrent_writes_share_a_commit() {
    let path = file("many");
    let service = open(&path);
    let table = blogs(&service);
    table.create().await.unwrap();
    let inserts = (0..300).map(|n| {
        let table = table.clone();
        async move {
            let entity = DynamicEntity::new(format!("p{}", n % 7), format!("{n}"));
            table.insert(&entity).await.map(drop)
        }
    });
    futures_util::future::try_join_all(inserts).await.unwrap();
    drop((service, table));
    assert_eq!(open(&path).row_count("Blogs"), Some(300));
}

/// Sends an unsigned request.
fn send(
    service: &MockTableService,
    method: Method,
    path: &str,
    body: &'static str,
) -> HttpResponse {
    service.respond(&HttpRequest {
        body: body.into(),
        ..HttpRequest::new(
            method,
            format!("http://127.0.0.1/devstoreaccount1{path}").parse().unwrap(),
        )
    })
}

#[tokio::test]
async fn policies_and_settings_are_restored() {
    let path = file("policies");
    let open = || MockTableService::builder().loose(true).open(&path).unwrap();
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>a &lt; b</Id><AccessPolicy>\
        <Expiry>2030-01-01T00:00:00.0000000Z</Expiry><Permission>r</Permission>\
        </AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    let settings = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins>\
        <AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds>\
        <ExposedHeaders>x-ms-*</ExposedHeaders><AllowedHeaders>x-ms-*</AllowedHeaders>\
        </CorsRule></Cors></StorageServiceProperties>";
    let (acl, properties) = ("/Blogs?comp=acl", "/?restype=service&comp=properties");
    let ask = |service: &MockTableService, path| send(service, Method::GET, path, "").body;

    let service = open();
    service.seed::<DynamicEntity>("Blogs", []).unwrap();
    service.seed::<DynamicEntity>("Gone", []).unwrap();
    for table in ["/Gone?comp=acl", acl] {
        assert_eq!(send(&service, Method::PUT, table, policies).status, 204);
    }
    assert_eq!(send(&service, Method::PUT, properties, settings).status, 202);
    assert_eq!(send(&service, Method::DELETE, "/Tables('Gone')", "").status, 204);
    let before = (ask(&service, acl), ask(&service, properties));
    assert!(String::from_utf8_lossy(&before.0).contains("a &lt; b"));
    assert!(String::from_utf8_lossy(&before.1).contains("<MaxAgeInSeconds>5</MaxAgeInSeconds>"));
    // A write without a response is stored too before the mock ends.
    drop(service);

    let service = open();
    assert_eq!((ask(&service, acl), ask(&service, properties)), before);
    service.seed::<DynamicEntity>("Gone", []).unwrap();
    let forgotten = ask(&service, "/Gone?comp=acl");
    assert!(!String::from_utf8_lossy(&forgotten).contains("SignedIdentifier>"));
}
