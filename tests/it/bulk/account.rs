//! Bulk runs against the limit of an account, under virtual time.

use std::time::Duration;

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::BulkOperation;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_tests::sized;
use tokio::time::Instant;

use super::row;

/// At a limit of 20,000 entities a second for 50 partitions, a run reaches 90 % of it with at most 5 % of 503s.
#[tokio::test(start_paused = true)]
async fn an_account_is_used_to_its_limit() {
    const LIMIT: u32 = 20_000;
    let mock = MockTableService::new();
    mock.faults().add(Fault::throttle_account(LIMIT));
    mock.faults().add(Fault::delay_reply(Duration::from_millis(15)));
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    let start = Instant::now();
    let rows = sized(60_000, 200_000);
    let operations = (0..rows).map(|n| BulkOperation::Insert(row(n / 100 % 50, n)));
    let progress = table.bulk().run(operations).await.unwrap().progress;
    // The account accepts the entities of one second at once.
    let rate = f64::from(rows - LIMIT) / start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let share = progress.throttled as f64 / progress.requests as f64;
    println!("{rate:.0} entities/s, {:.1} % of 503s; {progress}", share * 100.0);
    assert!(rate >= 0.9 * f64::from(LIMIT), "{rate}");
    assert!(share <= 0.05, "{share}");
    assert_eq!(mock.row_count("Blogs"), Some(rows as usize));
}
