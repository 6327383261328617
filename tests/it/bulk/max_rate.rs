//! Bulk runs with a maximum rate, under virtual time.

use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{Dialect, DynamicEntity};
use azure_table_tests::sized;
use tokio::time::Instant;

use super::{LATENCY, row};

/// A run at the rate that the service allows is not throttled. The second limit is that of 400 RU/s at 8 RU per row.
#[tokio::test(start_paused = true)]
async fn a_run_at_the_limit_of_the_service_is_not_throttled() {
    for (dialect, limit, rows) in [
        (Dialect::AzureStorage, 2_000_u32, sized(8_000_u32, 20_000)),
        (Dialect::CosmosDb, 50, 1_000),
    ] {
        let mock = MockTableService::builder().dialect(dialect).build();
        mock.faults().add(Fault::throttle(limit).retry_after_ms(Duration::from_millis(500)));
        mock.faults().add(Fault::delay_reply(LATENCY));
        let table = mock.client().table_named::<DynamicEntity>("Blogs");
        table.create().await.unwrap();
        let start = Instant::now();
        let operations = (0..rows).map(|n| BulkOperation::Insert(row(0, n)));
        let bulk = table.bulk().max_rate(limit, Duration::ZERO);
        let progress = bulk.run(operations).await.unwrap().progress;
        let rate = f64::from(rows) / start.elapsed().as_secs_f64();
        assert!((0.95..=1.05).contains(&(rate / f64::from(limit))), "{limit}: {rate}");
        assert_eq!((progress.applied, progress.throttled), (rows.into(), 0), "{limit}");
    }
}

/// A ramp from a tenth takes 1 / 0.55 of the time that its rows need at the maximum.
#[tokio::test(start_paused = true)]
async fn a_ramp_begins_slowly() {
    let table = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    let start = Instant::now();
    let operations = (0..11_000).map(|n| BulkOperation::Insert(row(n % 10, n)));
    table.bulk().max_rate(1_000, Duration::from_secs(20)).run(operations).await.unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!((19.0..=21.0).contains(&seconds), "{seconds}");
}
