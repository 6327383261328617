//! Inserts into one partition, faster and faster, until the service throttles them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use azure_table_client::bulk::{BulkOperation, BulkReport, Progress};
use azure_table_client::{DynamicEntity, Error, TableClient};

use super::account::{Account, chain};
use super::part::Part;
use super::plan::Sizes;

/// The largest rate of Azure Table Storage: twice what the service documents for a partition.
const MAX_RATE: u32 = 4_000;
/// The largest rate of Cosmos DB, whose smallest throughput is 400 request units per second.
const MAX_RATE_OF_COSMOS: u32 = 100;
/// The most rows of Cosmos DB.
const MAX_ROWS_OF_COSMOS: u64 = 2_000;

/// The time after which a row that is throttled is a failure.
const GIVE_UP: Duration = Duration::from_secs(60);

pub(super) async fn run(account: &Account, sizes: Sizes) -> Part {
    let mut part = Part::default();
    let table = async {
        let table = account.service()?.table_named(account.table_name("throttling"));
        table.create().await?;
        Ok::<_, Error>(table)
    };
    match table.await {
        Ok(table) if account.is_cosmos() => {
            let sizes = Sizes { rows: sizes.rows.min(MAX_ROWS_OF_COSMOS), ..sizes };
            insert(&mut part, &table, sizes, MAX_RATE_OF_COSMOS).await;
        }
        Ok(table) => insert(&mut part, &table, sizes, MAX_RATE).await,
        Err(error) => {
            part.check("a table", Err(chain(&error)));
        }
    }
    part
}

async fn insert(part: &mut Part, table: &TableClient<DynamicEntity>, sizes: Sizes, rate: u32) {
    let limit = Duration::from_secs(sizes.seconds);
    let end = Instant::now() + limit;
    let rows = (0..sizes.rows).take_while(move |_| Instant::now() < end);
    let rows = rows.map(|n| DynamicEntity::new("p", format!("{n:08}")).with("Value", "x"));
    let seconds: Arc<Mutex<Vec<u64>>> = Arc::default();
    let recorded = Arc::clone(&seconds);
    let bulk = table.bulk().max_rate(rate, limit / 2).give_up_after(GIVE_UP).on_progress(
        move |progress| {
            record(&mut recorded.lock().unwrap_or_else(PoisonError::into_inner), progress);
        },
    );
    let report = match bulk.run(rows.map(BulkOperation::Insert)).await {
        Ok(report) => report,
        Err(error) => error.into_report(),
    };
    let complete = if report.is_complete() { Ok(()) } else { Err(report.to_string()) };
    part.check("no row failed and no outcome is unknown", complete);
    let counted = match table.query().partition("p").count().await {
        Ok(count) if count == report.progress.applied => Ok(()),
        Ok(count) => Err(format!("{count} rows, {} reported", report.progress.applied)),
        Err(error) => Err(chain(&error)),
    };
    part.check("the table has the rows that were reported", counted);
    let seconds = seconds.lock().unwrap_or_else(PoisonError::into_inner);
    part.figures.push(figure(&report, &seconds));
}

/// Remembers the rows that were applied by the end of each second.
fn record(seconds: &mut Vec<u64>, progress: &Progress) {
    let second = usize::try_from(progress.elapsed.as_secs()).unwrap_or(usize::MAX);
    if second < 3_600 {
        let last = seconds.last().copied().unwrap_or(0);
        seconds.resize(seconds.len().max(second + 1), last);
        seconds[second] = progress.applied;
    }
}

fn figure(report: &BulkReport, seconds: &[u64]) -> String {
    let Progress { applied, requests, throttled, elapsed, .. } = report.progress;
    let steps = std::iter::once(0).chain(seconds.iter().copied()).zip(seconds);
    let most = steps.map(|(before, after)| after - before).max().unwrap_or(0);
    let throttling = match throttled {
        0 => format!("no throttling up to {most} rows in a second"),
        some => format!("{some} of {requests} requests throttled; at most {most} rows in a second"),
    };
    let (mean, elapsed) = (report.progress.rows_per_second(), elapsed.as_secs_f64());
    format!("{applied} rows in one partition in {elapsed:.1} s ({mean:.0} rows/s): {throttling}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_without_progress_repeat_the_count() {
        let mut seconds = Vec::new();
        for (second, applied) in [(0, 10), (0, 20), (3, 50)] {
            let mut progress = Progress::default();
            progress.elapsed = Duration::from_secs(second);
            progress.applied = applied;
            record(&mut seconds, &progress);
        }
        assert_eq!(seconds, [20, 20, 20, 50]);
    }
}
