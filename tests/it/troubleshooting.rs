//! The errors on the page about common mistakes, word for word: each text of the page is produced,
//! and each produced text is on the page.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt::Debug;
use std::fs;
use std::future::IntoFuture;
use std::panic::catch_unwind;
use std::path::Path;
use std::thread;
use std::time::Duration;

use azure_table_client::auth::{SasToken, SharedKey, TablePermissions, TableSas};
use azure_table_client::filter::Column;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    DynamicEntity, Error, RetryPolicy, TableClient, TableEntity, TableServiceClient,
};
use azure_table_tests::SocketTransport;
use chrono::NaiveDateTime;
use futures_util::FutureExt as _;

const PAGE: &str = include_str!("../../azure-table-client/docs/troubleshooting.md");
const ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";
const KEY: &str = "c2VjcmV0LXNlY3JldA==";

/// Texts of other builds; unit tests of the client cover them, except a compiler error.
const OF_OTHER_BUILDS: [&str; 4] = [
    "is gated behind the `mock` feature",
    "is built without TLS",
    "no provider of cryptography",
    "the client has no transport",
];

/// The texts of the page.
fn texts() -> Vec<&'static str> {
    let texts = PAGE.split("```text\n").skip(1);
    texts.map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// Whether `shown` has a text; the `…` of the text matches anything.
fn is_in(text: &str, shown: &str) -> bool {
    let mut rest = shown;
    text.split('…').all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

/// The texts of the page that were not produced yet.
struct Page(BTreeSet<&'static str>);

impl Page {
    fn new() -> Self {
        let is_of_this = |text: &&str| !OF_OTHER_BUILDS.iter().any(|other| text.contains(other));
        Self(texts().into_iter().filter(is_of_this).collect())
    }

    #[track_caller]
    fn has(&mut self, shown: &str) {
        let seen: Vec<_> = texts().into_iter().filter(|text| is_in(text, shown)).collect();
        assert_eq!(seen.len(), 1, "{shown}: {seen:?}");
        self.0.remove(seen[0]);
    }

    #[track_caller]
    fn refused<T: Debug>(&mut self, result: Result<T, Error>) {
        self.has(&result.unwrap_err().to_string());
    }
}

#[derive(Debug, TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    rating: i32,
}

#[derive(Debug, TableEntity)]
struct Numbered {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
}

#[derive(Debug, TableEntity)]
struct Event {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(as_string)]
    at: NaiveDateTime,
}

fn row(row_key: &str) -> DynamicEntity {
    DynamicEntity::new("p", row_key)
}

#[tokio::test(start_paused = true)]
async fn each_text_of_the_page_is_produced() {
    let mut page = Page::new();
    of_compilers(&mut page);
    of_configuration(&mut page);
    of_credentials(&mut page).await;
    of_tables(&mut page).await;
    of_networks(&mut page).await;
    // Each runs in a thread without a runtime.
    thread::spawn(of_sockets).join().unwrap().iter().for_each(|shown| page.has(shown));
    thread::spawn(of_no_runtime).join().unwrap().iter().for_each(|shown| page.has(shown));
    assert!(page.0.is_empty(), "never seen: {:#?}", page.0);
}

/// Each line is in one of the files with the expected compiler errors.
fn of_compilers(page: &mut Page) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ci/ui");
    let folders = ["", "macros", "types"].map(|phase| Path::new(folder).join(phase));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files: Vec<String> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "stderr"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    page.0.retain(|text| {
        let is_seen = |file: &String| text.lines().all(|line| file.contains(line.trim_start()));
        !(text.starts_with("error") && files.iter().any(is_seen))
    });
}

fn of_configuration(page: &mut Page) {
    for text in [
        "",
        "https://me.table.core.windows.net",
        &format!("AccountName=me;AcountKey={KEY}"),
        &format!("AccountKey={KEY}"),
        "SharedAccessSignature=sig=x",
        &format!("AccountName=me;AccountKey={KEY};SharedAccessSignature=sig=x"),
        "UseDevelopmentStorage=yes",
        "AccountName=me;AccountKey=c2VjcmV0LXNlY3Jld",
        &format!("AccountName=a;AccountKey={KEY};TableEndpoint=http://azurite:10002/a"),
    ] {
        page.refused(TableServiceClient::from_connection_string(text));
    }
    // The variable is set where the tests run against an account.
    if std::env::var_os("AZURE_STORAGE_CONNECTION_STRING").is_none() {
        page.refused(TableServiceClient::from_env());
    } else {
        page.0.retain(|text| !text.contains("AZURE_STORAGE_CONNECTION_STRING is not set"));
    }
    let url = "https://me.table.core.windows.net/?sv=2019-02-02&sig=x";
    page.refused(SasToken::new(url).map_err(Error::from));
    for endpoint in ["me.table.core.windows.net", "https://me.table.core.windows.net?sig=x"] {
        page.refused(TableServiceClient::builder(endpoint, SharedKey::development()).build());
    }
}

fn blogs(mock: &MockTableService) -> TableClient<DynamicEntity> {
    mock.client().table_named("Blogs")
}

async fn of_credentials(page: &mut Page) {
    let mock = MockTableService::new();
    blogs(&mock).create().await.unwrap();
    let with_key = |key: SharedKey| {
        let builder = TableServiceClient::builder(ENDPOINT, key);
        let service = builder.transport(mock.transport()).clock(mock.clock()).build().unwrap();
        service.table_named::<DynamicEntity>("Blogs")
    };
    let wrong = with_key(SharedKey::new("devstoreaccount1", KEY).unwrap());
    page.refused(wrong.query().await);
    mock.faults().clock_behind(Duration::from_secs(60 * 60));
    with_key(SharedKey::development()).query().await.unwrap();
    page.refused(wrong.query().await);
    mock.faults().clear();
    mock.faults().add(Fault::error(403, "AuthorizationFailure").times(1));
    page.refused(blogs(&mock).query().await);

    let reads = TableSas::new("Blogs").permissions(TablePermissions::READ);
    let token = mock
        .client()
        .sign_table_sas(&reads.expires_at(mock.clock().now() + Duration::from_secs(60)))
        .unwrap();
    let builder = TableServiceClient::builder(ENDPOINT, token);
    let service = builder.transport(mock.transport()).clock(mock.clock()).build().unwrap();
    let reader = service.table_named::<DynamicEntity>("Blogs");
    page.refused(reader.insert(&row("1")).await);
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    page.refused(reader.query().await);
}

async fn of_tables(page: &mut Page) {
    let mock = MockTableService::new();
    let blogs = blogs(&mock);
    page.refused(blogs.insert(&row("r")).await);
    blogs.create().await.unwrap();
    page.refused(blogs.get(("p", "r")).await);
    blogs.insert(row("r").set("rating", 3_i64)).await.unwrap();
    page.refused(blogs.insert(&row("r")).await);
    let old = blogs.insert(&row("s")).await.unwrap();
    blogs.insert_or_replace(&row("s")).await.unwrap();
    page.refused(blogs.replace(&row("s"), &old.etag).await);
    page.refused(blogs.with_entity::<Blog>().get(("p", "r")).await);
    page.refused(blogs.with_entity::<Blog>().get(("p", "s")).await);
    page.refused(blogs.with_entity::<Numbered>().get(("p", "s")).await);
    page.refused(blogs.with_entity::<Numbered>().query().await);
    page.refused(blogs.insert(&DynamicEntity::new("a/b", "r")).await);
    let at = "2009-04-14T01:02:03".parse().unwrap();
    let event = Event { channel: "p".into(), id: "r".into(), at };
    page.refused(blogs.with_entity().insert(&event).await);
    page.refused(blogs.query().filter_text("Rating = 3").await);
    let rating = Column::<DynamicEntity, i32>::dynamic("Rating");
    let deep = (0..1000).fold(rating.eq(0), |deep, n| match n % 2 {
        0 => deep | rating.eq(n),
        _ => deep & rating.eq(n),
    });
    page.refused(blogs.query().filter(|()| deep).await);
    page.refused(mock.client().create_table("my-table").await);
    mock.faults().add(Fault::table_being_deleted(Duration::from_secs(40)));
    blogs.delete_table().await.unwrap();
    page.refused(blogs.create().await);
}

async fn of_networks(page: &mut Page) {
    let mock = MockTableService::new();
    let blogs = blogs(&mock);
    blogs.create().await.unwrap();
    for (fault, write) in [
        (Fault::hang(), false),
        (Fault::proxy_page(502), false),
        (Fault::busy(), false),
        (Fault::lose_request(), true),
    ] {
        mock.faults().add(fault);
        if write {
            page.refused(blogs.insert(&row("r")).await);
        } else {
            page.refused(blogs.query().await);
        }
        mock.faults().clear();
    }
    let inserted = blogs.insert(&row("r")).await.unwrap();
    mock.faults().add(Fault::lose_reply().times(1));
    page.refused(blogs.merge(&row("r"), &inserted.etag).await);
}

/// Over sockets, where the clock must advance in real time.
fn of_sockets() -> Vec<String> {
    // A name that resolvers refuse without a query: its first part is too long.
    let unknown = format!("http://{}.invalid/a", "a".repeat(64));
    let shown = async |endpoint: &str, transport: SocketTransport| {
        let builder = TableServiceClient::builder(endpoint, SharedKey::development());
        let builder = builder.allow_http(true).retry(RetryPolicy::none());
        let service = transport.of(builder).build().unwrap();
        let error = service.list_tables().await.unwrap_err();
        assert!(error.hint().is_some() && error.source().is_some(), "{error:?}");
        error.to_string()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut texts = Vec::new();
        for transport in SocketTransport::ALL {
            texts.push(shown("http://127.0.0.1:1/devstoreaccount1", transport).await);
            texts.push(shown(&unknown, transport).await);
        }
        texts
    })
}

fn of_no_runtime() -> Option<String> {
    let panic = catch_unwind(|| {
        let call = MockTableService::new().client().create_table("Blogs");
        call.into_future().now_or_never().map(|result| result.is_ok())
    });
    panic.unwrap_err().downcast::<String>().ok().map(|text| *text)
}
