//! Telemetry of a client: the counters of each operation, and an observer of your own.
//!
//! `cargo run -p azure-table-examples --example metrics` always runs it on the mock, which it makes busy.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::telemetry::{AttemptOutcome, ClientStats, Counts, Observer, Received};
use azure_table_client::{IfMatch, RetryPolicy, TableEntity, TableServiceClient};
use azure_table_examples::{Columns, Style};

#[derive(TableEntity)]
#[table(name = "MetricsBlogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: String,
    text: String,
}

/// Prints the attempts that failed.
#[derive(Debug)]
struct Troubles;

impl Observer for Troubles {
    fn after_receive(&self, received: &Received<'_>) {
        if !matches!(received.outcome, AttemptOutcome::Responded(..400)) {
            let Received { operation, table, attempt, outcome, .. } = received;
            let outcome = format!("{outcome:?}");
            println!("attempt {attempt} of {operation} on {table}: {}", Style::Yellow.of(outcome));
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mock = MockTableService::new();
    let stats = Arc::new(ClientStats::default());
    let service = mock
        .client_builder()
        .retry(RetryPolicy::fixed(3, Duration::from_millis(10)))
        .observer(stats.clone())
        .observer(Arc::new(Troubles))
        .build()?;
    work(&mock, &service).await?;
    println!("\n{}\n", table(&stats));
    let total = stats.total();
    println!(
        "{} conflicts, {} resolved, {} unknown",
        total.conflicts, total.resolved, total.unknown
    );
    for q in [0.5, 0.99] {
        if let Some(bound) = total.durations.quantile(q) {
            println!("{} % of the calls took at most {bound:?}", q * 100.0);
        }
    }
    assert_eq!((total.failed, total.retries, total.throttled), (0, 3, 2));
    Ok(())
}

/// The work of a program, while the service is sometimes busy.
async fn work(mock: &MockTableService, service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let blogs = service.table::<Blog>();
    blogs.create_if_not_exists().await?;
    // The table exists now: 409, which does not count as a failure.
    blogs.create_if_not_exists().await?;
    let blog = |number: u32| Blog {
        channel: "Channel9".into(),
        number: format!("{number:04}"),
        text: "Something happened today.".into(),
    };
    mock.faults().add(Fault::busy().times(2));
    blogs.insert(&blog(0)).await?;
    blogs.bulk().run((1..=2500).map(blog).map(BulkOperation::Insert)).await?;
    let rows = blogs.query().await?;
    assert_eq!(rows.len(), 2501);
    mock.faults().add(Fault::internal_error().times(1));
    blogs.get(("Channel9", "0001")).await?;
    // 404, which does not count as a failure either.
    blogs.get_if_exists(("Channel9", "nothing")).await?;
    blogs.delete(("Channel9", "0001"), IfMatch::Any).await?;
    Ok(())
}

fn table(stats: &ClientStats) -> Columns {
    let mut columns = Columns::new([
        "operation",
        "calls",
        "failed",
        "requests",
        "retries",
        "throttled",
        "bytes out",
        "bytes in",
        "pages",
        "rows",
    ]);
    let mut row = |name: &str, counts: &Counts| {
        columns.row([
            name.to_owned(),
            counts.calls.to_string(),
            counts.failed.to_string(),
            counts.requests.to_string(),
            counts.retries.to_string(),
            counts.throttled.to_string(),
            counts.bytes_out.to_string(),
            counts.bytes_in.to_string(),
            counts.pages.to_string(),
            counts.rows.to_string(),
        ]);
    };
    for (operation, counts) in stats.by_operation() {
        row(operation.as_str(), &counts);
    }
    row("all", &stats.total());
    columns
}
