//! Expensive requests do not delay other requests.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use azure_table_client::client::Transaction;
use azure_table_client::{DynamicEntity, TableClient};
use tokio::io::AsyncWriteExt as _;

use crate::server::{Server, other_program};

/// The largest number of properties of a row.
const PROPERTIES: usize = 252;

/// The rows of the partition that the expensive requests scan, the number of requests that are measured, and the
/// longest wait that 99 of 100 of them may have. The build of the tests is not optimized, and other tests run at the same time; an emulator that a
/// query blocks makes them wait longer still. Another program is a release build.
fn scale() -> (usize, usize, Duration) {
    match other_program() {
        Some(_) => (900, 200, Duration::from_millis(250)),
        None => (100, 50, Duration::from_secs(5)),
    }
}

fn name(index: usize) -> String {
    format!("P{index:03}")
}

async fn fill(table: &TableClient<DynamicEntity>, rows: usize) {
    let rows: Vec<_> = (0..rows)
        .map(|row| {
            let mut entity = DynamicEntity::new("wide", format!("{row:04}"));
            for index in 0..PROPERTIES {
                entity.set(name(index), "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}");
            }
            entity
        })
        .collect();
    for rows in rows.chunks(100) {
        let batch = rows.iter().fold(table.transaction(), Transaction::insert);
        batch.await.unwrap();
    }
}

/// A query that no row matches, with a URL of about 14 KB, since quotes are sent as three bytes.
fn long_query(term: impl Fn(usize) -> String, separator: &str) -> String {
    let mut query = String::new();
    for index in 0.. {
        let term = term(index);
        if query.len() + term.len() > 12_000 {
            return query;
        }
        if index > 0 {
            query.push_str(separator);
        }
        let _ = write!(query, "{term}");
    }
    query
}

/// Values that begin like the literals of the queries and are as long as possible.
async fn fill_long(table: &TableClient<DynamicEntity>, rows: usize) {
    for row in 0..rows {
        let mut entity = DynamicEntity::new("long", format!("{row:04}"));
        entity.set("X", vec![0_u8; 65_536]).set("S", "\"".repeat(32_000));
        table.insert(&entity).await.unwrap();
    }
}

/// The most expensive queries that were found, each with its table.
fn expensive() -> [(&'static str, String); 6] {
    let equal = |index: usize| format!("P{:03}%20eq%20'%C3%A9%C3%A9{index}'", index % PROPERTIES);
    let flag = |index: usize| format!("a{index:04}");
    let one = |index: usize| format!("P000%20eq%20'%C3%A9{index}'");
    let binary = |_| "X%20lt%20X'00'".to_owned();
    let quotes = |_| "S%20lt%20'%22%22%22%22'".to_owned();
    [
        ("Wide", format!("$filter={}", long_query(equal, "%20or%20"))),
        ("Wide", format!("$filter={}", long_query(flag, "%20or%20"))),
        ("Wide", format!("$filter={}", long_query(one, "%20or%20"))),
        ("Wide", format!("$select={}", long_query(|index| format!("a{index:04}"), ","))),
        ("Long", format!("$filter={}", long_query(binary, "%20or%20"))),
        ("Long", format!("$filter={}", long_query(quotes, "%20or%20"))),
    ]
}

/// The wait of the slowest of 100 requests, and the longest wait.
fn worst(mut waits: Vec<Duration>) -> (Duration, Duration) {
    waits.sort();
    (waits[waits.len() * 99 / 100], waits[waits.len() - 1])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expensive_requests_do_not_delay_others() {
    let server = Arc::new(Server::start(&["--loose"]).await);
    let wide = server.table("Wide").await;
    let (rows, samples, max_wait) = scale();
    fill(&wide, rows).await;
    fill_long(&server.table("Long").await, rows / 15).await;
    let small = server.table("Small").await;
    small.insert(&DynamicEntity::new("p", "r")).await.unwrap();

    let (stop, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for (table, query) in expensive() {
        let (server, stop, served) = (Arc::clone(&server), Arc::clone(&stop), Arc::clone(&served));
        tasks.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let path = format!("/devstoreaccount1/{table}()?{query}");
                assert_eq!(server.get(&path).await.status(), 200);
                served.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let (writer, writer_stop) = (wide.clone(), Arc::clone(&stop));
    tasks.spawn(async move {
        let mut partition = 0;
        while !writer_stop.load(Ordering::Relaxed) {
            partition += 1;
            writer.insert(&DynamicEntity::new(format!("new{partition}"), "r")).await.unwrap();
        }
    });

    let client = reqwest::Client::new();
    let (mut health, mut reads) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while served.load(Ordering::Relaxed) < 8 || health.len() < samples {
        let sent = Instant::now();
        let response = client.get(format!("{}/-/health", server.origin)).send().await.unwrap();
        assert_eq!(response.status(), 200);
        health.push(sent.elapsed());
        let sent = Instant::now();
        small.get(("p", "r")).await.unwrap();
        reads.push(sent.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    for (what, waits) in [("health", health), ("a read of another table", reads)] {
        let (count, (most, longest)) = (waits.len(), worst(waits));
        println!(
            "{what}: {count} requests in {:?}, 99 % within {most:?}, the slowest {longest:?}, {} expensive queries",
            begun.elapsed(),
            served.load(Ordering::Relaxed),
        );
        assert!(most <= max_wait, "{what}: {most:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_queries_and_idle_bodies_do_not_delay_others() {
    let server = Server::start(&["--loose"]).await;
    let rows = if other_program().is_some() { 100_000 } else { 10_000 };
    let seed = (0..rows).fold(String::new(), |mut seed, row| {
        let _ = writeln!(
            seed,
            "{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:06}\",\"Text\":\"{}\"}}",
            "x".repeat(20)
        );
        seed
    });
    let url = format!("{}/-/seed?table=Rows", server.origin);
    let seeded = reqwest::Client::new().post(url).body(seed);
    let seeded = seeded.header("content-type", "application/x-ndjson").send().await.unwrap();
    assert_eq!(seeded.status(), 200);
    let terms: Vec<_> = (0..400).map(|term| format!("Text%20eq%20'y{term}'")).collect();
    let query = format!(
        "GET /devstoreaccount1/Rows()?$filter={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        terms.join("%20or%20")
    );
    let body = "POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n";
    let (_, samples, _) = scale();
    for (what, count, sent) in [
        ("abandoned queries", 160, &*query),
        ("idle bodies", 40, body),
        ("slow queries", 160, &query),
    ] {
        let mut clients = Vec::new();
        for _ in 0..count {
            let mut client = server.connect().await;
            client.write_all(sent.as_bytes()).await.unwrap();
            clients.push(client);
        }
        if what == "abandoned queries" {
            clients.clear();
        }
        let mut waits = Vec::new();
        while waits.len() < samples {
            let begun = Instant::now();
            let response = server.get("/devstoreaccount1/Rows()?$top=1").await;
            assert_eq!(response.status(), 200);
            waits.push(begun.elapsed());
        }
        let (most, longest) = worst(waits);
        println!(
            "{count} {what}: {samples} other requests, 99 % within {most:?}, the slowest {longest:?}"
        );
        // A server that they block responds after 30 s.
        assert!(longest < Duration::from_secs(10), "{what}: {longest:?}");
    }
}
