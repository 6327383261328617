//! Decoding, encoding, signing, and calls on the in-process mock.
//!
//! `cargo bench -p azure-table-benches --bench inner`
#![allow(missing_docs, clippy::expect_used, reason = "benches")]

use std::fmt;
use std::future::IntoFuture as _;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, TableClient, TableEntity, measure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use divan::Bencher;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use sha2::Sha256;

fn main() {
    divan::main();
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Typed {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    text: String,
    author: String,
    title: String,
    url: String,
    rating: i32,
    votes: i32,
    views: i64,
    size: i64,
    score: f64,
    open: bool,
}

/// The same type for `serde_json` alone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ByHand {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    text: String,
    author: String,
    title: String,
    url: String,
    rating: i32,
    votes: i32,
    #[serde(deserialize_with = "quoted")]
    views: i64,
    #[serde(deserialize_with = "quoted")]
    size: i64,
    score: f64,
    open: bool,
}

#[derive(Deserialize)]
struct PageByHand {
    value: Vec<ByHand>,
}

fn quoted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    struct Quoted;
    impl Visitor<'_> for Quoted {
        type Value = i64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number in quotes")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Quoted)
}

fn entity(n: i32) -> Typed {
    Typed {
        partition: "Channel9".into(),
        row: format!("{n:019}"),
        text: "The quick brown fox jumps over the lazy dog".into(),
        author: format!("author-{n}"),
        title: "A title of the usual length".into(),
        url: format!("https://example.com/blogs/{n}"),
        rating: n % 5,
        votes: n,
        views: i64::from(n) * 1_000_000_007,
        size: 4096,
        score: f64::from(n) / 7.0,
        open: n % 2 == 0,
    }
}

/// A page as the service sends it at minimal metadata.
fn page(rows: i32) -> Vec<u8> {
    let rows: Vec<String> = (0..rows)
        .map(|n| {
            let e = entity(n);
            format!(
                concat!(
                    r#"{{"odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55.{:07}Z'\"","#,
                    r#""PartitionKey":"{}","RowKey":"{}","Timestamp":"2017-11-10T02:43:55.{:07}Z","#,
                    r#""Text":"{}","Author":"{}","Title":"{}","Url":"{}","Rating":{},"Votes":{},"#,
                    r#""Views@odata.type":"Edm.Int64","Views":"{}","#,
                    r#""Size@odata.type":"Edm.Int64","Size":"{}","Score":{:?},"Open":{}}}"#
                ),
                n, e.partition, e.row, n, e.text, e.author, e.title, e.url, e.rating, e.votes,
                e.views, e.size, e.score, e.open
            )
        })
        .collect();
    format!(
        r#"{{"odata.metadata":"https://me.table.core.windows.net/$metadata#Blogs","value":[{}]}}"#,
        rows.join(",")
    )
    .into_bytes()
}

#[divan::bench]
fn decode_1000_typed(bencher: Bencher) {
    let body = page(1000);
    bencher.bench(|| measure::decode_page::<Typed>(&body).expect("a page"));
}

#[divan::bench]
fn decode_1000_serde_json_by_hand(bencher: Bencher) {
    let body = page(1000);
    bencher.bench(|| serde_json::from_slice::<PageByHand>(&body).expect("a page").value);
}

/// Decodes the response for two columns.
#[divan::bench]
fn decode_1000_two_columns(bencher: Bencher) {
    let rows: Vec<String> = (0..1000)
        .map(|n| {
            let e = entity(n);
            format!(
                r#"{{"odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55.{n:07}Z'\"","Text":"{}","Rating":{}}}"#,
                e.text, e.rating
            )
        })
        .collect();
    let body = format!(r#"{{"value":[{}]}}"#, rows.join(","));
    bencher.bench(|| {
        measure::decode_columns::<Typed, _>(body.as_bytes(), |t| (t.text, t.rating))
            .expect("a page")
    });
}

#[divan::bench]
fn encode_one(bencher: Bencher) {
    let entity = entity(12_345);
    bencher.bench(|| measure::encode(&entity).expect("a body"));
}

/// Starts the mock and a client, like a unit test.
#[divan::bench]
fn start_a_mock_and_its_client() -> (MockTableService, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let table = mock.client().table_named("Blogs");
    (mock, table)
}

#[divan::bench]
fn sign_one(bencher: Bencher) {
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).expect("a key");
    let path = "/Blogs(PartitionKey='Channel9',RowKey='2521794455999999999')";
    bencher.bench(|| measure::sign(&key, path, "Wed, 19 Aug 2009 17:00:00 GMT"));
}

/// Only the HMAC of the same text, with the key mixed in each time.
#[divan::bench]
fn sign_one_bare_hmac(bencher: Bencher) {
    let key = STANDARD.decode(DEVELOPMENT_KEY).expect("base64");
    let text = "GET\n\n\nWed, 19 Aug 2009 17:00:00 GMT\n/devstoreaccount1/Blogs(PartitionKey='Channel9',RowKey='2521794455999999999')";
    bencher.bench(|| {
        let mut hmac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
        hmac.update(text.as_bytes());
        hmac.finalize().into_bytes()
    });
}

fn on_mock() -> (tokio::runtime::Runtime, TableClient<Typed>) {
    with_blogs(&MockTableService::new())
}

fn with_blogs(mock: &MockTableService) -> (tokio::runtime::Runtime, TableClient<Typed>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let blogs = runtime.block_on(async {
        let blogs = mock.client().table_named::<Typed>("Blogs");
        blogs.create().await.expect("a table");
        for n in 0..1000 {
            blogs.insert(&entity(n)).await.expect("an insert");
        }
        blogs
    });
    (runtime, blogs)
}

#[divan::bench]
fn mock_get(bencher: Bencher) {
    let (runtime, blogs) = on_mock();
    let key = entity(500).entity_key().expect("a key");
    bencher.bench_local(|| runtime.block_on(async { blogs.get(&key).await.expect("an entity") }));
}

#[divan::bench]
fn mock_insert(bencher: Bencher) {
    let (runtime, blogs) = on_mock();
    let mut n = 1000;
    bencher.bench_local(|| {
        n += 1;
        runtime.block_on(async { blogs.insert(&entity(n)).await.expect("an insert") })
    });
}

/// 1,000 entities of which each save changes one property, in transactions on the mock. The time beyond
/// `transactions_of_1000_merges` is spent in the tracker.
#[divan::bench(sample_count = 20)]
fn save_1000_tracked_changes(bencher: Bencher) {
    let mock = MockTableService::new();
    let (runtime, _) = with_blogs(&mock);
    let mut context = TableContext::new(&mock.client());
    let query = context.load(context.service().table_named::<Typed>("Blogs").query());
    let mut entities = runtime.block_on(query.into_future()).expect("entities");
    let mut round = 0;
    bencher.bench_local(|| {
        round += 1;
        let mut table = context.table_named::<Typed>("Blogs");
        for entity in &mut entities {
            entity.rating = round;
            table.update(entity).expect("an update");
        }
        let save = context.save_changes_with(SaveOptions::per_partition().concurrency(1));
        runtime.block_on(save).expect("a save")
    });
}

/// The same merges by hand: the one property, without a tracker.
#[divan::bench(sample_count = 20)]
fn transactions_of_1000_merges(bencher: Bencher) {
    let (runtime, blogs) = on_mock();
    let changes: Vec<_> = (0..1000).map(|n| entity(n).entity_key().expect("a key")).collect();
    let rows = blogs.with_entity::<DynamicEntity>();
    let mut round = 0;
    bencher.bench_local(|| {
        round += 1;
        for slice in changes.chunks(100) {
            let mut transaction = rows.transaction();
            for key in slice {
                let mut row = DynamicEntity::new(&*key.partition_key, &*key.row_key);
                row.set("Rating", round);
                transaction = transaction.merge(&row, IfMatch::Any);
            }
            runtime.block_on(transaction.into_future()).expect("a transaction");
        }
    });
}
