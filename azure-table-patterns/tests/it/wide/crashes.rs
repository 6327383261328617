//! A writer stops at each of its requests; then others read, write and sweep.

use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};
use azure_table_patterns::wide::WideTable;
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use azure_table_tests::sized;
use uuid::Uuid;

use super::{KEY, count, document, equal};

/// More than the time that a request can be in flight.
const GRACE: Duration = Duration::from_secs(2 * LATENESS.as_secs());

fn wide(client: &TableServiceClient) -> WideTable {
    // Small requests, so that few bytes need several transactions.
    WideTable::new(&client.table_named::<DynamicEntity>("Documents"))
        .unwrap()
        .request_bytes(4096)
        .unwrap()
}

async fn prepare(mock: &MockTableService) -> Uuid {
    mock.client().create_table("Documents").await.unwrap();
    wide(&mock.client()).insert(&document(6_000, 1)).await.unwrap()
}

/// The current value, which must be complete.
async fn fill(mock: &MockTableService) -> Option<u8> {
    let (read, _) = wide(&mock.client()).get(KEY).await.unwrap()?;
    let fill = u8::try_from(read.get::<i32>("Fill").unwrap().unwrap()).unwrap();
    let length = read.get::<Vec<u8>>("Document").unwrap().unwrap().len();
    assert!(equal(&read, &document(length, fill)));
    Some(fill)
}

/// Another program replaces what it reads, then the partition is swept.
async fn take_over(mock: &MockTableService, allowed: [Option<u8>; 2]) {
    let wide = wide(&mock.client());
    assert!(allowed.contains(&fill(mock).await));
    tokio::time::sleep(LATENESS * 2).await;
    let now = fill(mock).await;
    assert!(allowed.contains(&now));
    match wide.get(KEY).await.unwrap() {
        Some((_, version)) => wide.replace(&document(7_000, 9), version).await.unwrap(),
        None => wide.insert(&document(7_000, 9)).await.unwrap(),
    };
    wide.clone().grace(GRACE).sweep().await.unwrap();
    assert_eq!(fill(mock).await, Some(9));
    assert_eq!(count(mock), 1 + 8);
    assert_eq!(wide.clone().grace(GRACE).sweep().await.unwrap().removed, 0);
}

#[tokio::test(start_paused = true)]
async fn a_writer_stops_at_each_request() {
    let mut all = Vec::new();
    for (bytes, name) in [(100, "small"), (9_000, "large")] {
        let points = at_every_request(
            prepare,
            async |version, client| {
                wide(&client).replace(&document(bytes, 2), *version).await.unwrap();
            },
            async |_, mock, _| take_over(mock, [Some(1), Some(2)]).await,
        )
        .await;
        println!("wide: replace, {name}: {points}");
        all.push(points);
    }
    assert!(all[0].runs >= 3 && all[1].runs > 12);
}

#[tokio::test(start_paused = true)]
async fn an_insert_and_a_delete_stop_at_each_request() {
    let points = at_every_request(
        async |mock| mock.client().create_table("Documents").await.map(drop).unwrap(),
        async |(), client| {
            wide(&client).insert(&document(9_000, 2)).await.unwrap();
        },
        async |(), mock, _| take_over(mock, [None, Some(2)]).await,
    )
    .await;
    println!("wide: insert: {points}");
    let points = at_every_request(
        prepare,
        async |version, client| wide(&client).delete(KEY, *version).await.unwrap(),
        async |_, mock, _| take_over(mock, [None, Some(1)]).await,
    )
    .await;
    println!("wide: delete: {points}");
}

#[tokio::test(start_paused = true)]
async fn a_writer_and_then_a_sweeper_stop_at_each_request() {
    let points = at_every_pair_of_requests(
        prepare,
        async |version, client| {
            wide(&client).replace(&document(6_000, 2), *version).await.unwrap();
        },
        async |_, client| {
            wide(&client).grace(GRACE).sweep().await.unwrap();
        },
        async |_, mock, _| take_over(mock, [Some(1), Some(2)]).await,
    )
    .await;
    println!("wide: replace, then sweep: {points}");
    assert!(points.runs > sized(30, 50), "{points}");
}
