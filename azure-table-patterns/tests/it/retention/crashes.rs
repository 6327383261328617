//! A program that maintains tables or sweeps rows stops at each request; the next call completes the work.

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};
use azure_table_patterns::retention::{Expiring, Period, PeriodTables};
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use chrono::{DateTime, TimeDelta, Utc};

use super::{DAY, HOUR};

async fn maintain(client: &TableServiceClient) {
    let logs = PeriodTables::<DynamicEntity>::new(client, "Logs", Period::Day, DAY).unwrap();
    logs.maintain().await.unwrap();
}

async fn prepare(mock: &MockTableService) {
    for name in ["Logs20010101", "Logs20010102", "Logs2001"] {
        mock.client().create_table(name).await.unwrap();
    }
}

async fn completed(mock: &MockTableService) {
    tokio::time::sleep(LATENESS * 2).await;
    maintain(&mock.client()).await;
    let names = mock.table_names();
    assert!(names.contains(&"Logs2001".to_owned()) && names.len() == 1 + 4, "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_maintenance_stops_at_each_request() {
    let points = at_every_request(
        prepare,
        async |(), client| maintain(&client).await,
        async |(), mock, _| completed(mock).await,
    )
    .await;
    println!("retention: maintain: {points}");
    let pairs = at_every_pair_of_requests(
        prepare,
        async |(), client| maintain(&client).await,
        async |(), client| maintain(&client).await,
        async |(), mock, _| completed(mock).await,
    )
    .await;
    println!("retention: maintain, twice: {pairs}");
    assert_eq!((points.requests, pairs.requests), (1 + 4 + 2, 1 + 4 + 2));
}

#[tokio::test(start_paused = true)]
async fn a_sweep_stops_at_each_request() {
    let sessions = |client: &TableServiceClient| {
        let table = client.table_named::<DynamicEntity>("Sessions");
        Expiring::new(&table, "ExpiresAt").unwrap().margin(HOUR)
    };
    let points = at_every_request(
        async |mock| {
            let table = mock.client().table_named::<DynamicEntity>("Sessions");
            table.create().await.unwrap();
            let now = DateTime::<Utc>::from(mock.now());
            for n in 0..250 {
                let expiry = now + TimeDelta::hours(if n < 210 { -2 } else { 1 });
                let row = DynamicEntity::new(format!("p{}", n % 2), format!("{n:03}"));
                table.insert(&row.with("ExpiresAt", expiry)).await.unwrap();
            }
        },
        async |(), client| {
            sessions(&client).sweep().await.unwrap();
        },
        async |(), mock, _| {
            tokio::time::sleep(LATENESS * 2).await;
            assert!(mock.row_count("Sessions").unwrap() >= 40);
            sessions(&mock.client()).sweep().await.unwrap();
            assert_eq!(mock.row_count("Sessions"), Some(40));
        },
    )
    .await;
    println!("retention: sweep: {points}");
}
