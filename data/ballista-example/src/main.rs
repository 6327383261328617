//! Runs one query in this process, and then on a Ballista cluster on loopback: a scheduler and two executors, each a process
//! of its own. Prints both results, and the key ranges that each executor read. It is an error if the results differ, an executor
//! read no range, or the ranges are not disjoint and complete.
//!
//! ```sh
//! AZURE_TABLE_EMULATOR=path/to/azure-table-emulator cargo run -p ballista-example
//! ```
#![allow(clippy::print_stdout, reason = "an example that prints")]

mod cluster;
mod emulator;
mod executor;
mod log;
mod output;
mod ranges;
mod sales;
mod scheduler;

use std::env;
use std::sync::Arc;

use azure_table_datafusion::{AzureTableCodec, EnvironmentConnections};
use ballista::prelude::{SessionConfigExt as _, SessionContextExt as _};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::array::{AsArray as _, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The name of the connection in plans. Each process finds it in `AZURE_TABLE_CONNECTION_SALES`.
const CONNECTION: &str = "sales";

const QUERY: &str = r#"
    SELECT "PartitionKey" AS region, count(*) AS orders, sum("Amount") AS amount
    FROM sales
    WHERE "PartitionKey" >= 'region-02' AND "Amount" >= 10
    GROUP BY "PartitionKey" ORDER BY region
"#;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).ok_or("an argument is missing");
    let port = |at: usize| -> Result<u16, Error> { Ok(argument(at)?.parse()?) };
    match arguments.first().map(String::as_str) {
        Some("scheduler") => scheduler::run(port(1)?).await,
        Some("executor") => executor::run(port(1)?, port(2)?, port(3)?, argument(4)?.clone()).await,
        Some(other) => {
            Err(format!("unknown role {other:?}; scheduler and executor are known").into())
        }
        None => compare().await,
    }
}

/// The codec of every process of the cluster: tables of this SDK, and everything else as Ballista does.
fn codec() -> Arc<AzureTableCodec> {
    Arc::new(
        AzureTableCodec::new(Arc::new(EnvironmentConnections::new()))
            .with_logical(Arc::new(BallistaLogicalExtensionCodec::default()))
            .with_physical(Arc::new(BallistaPhysicalExtensionCodec::default())),
    )
}

async fn compare() -> Result<(), Error> {
    let emulator = emulator::Emulator::start()?;
    let client = sales::fill(&emulator.connection_string).await?;
    let table = sales::in_sql(client.clone()).await?;

    let local = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    local.register_table("sales", Arc::new(table.clone()))?;
    let batches = local.sql(QUERY).await?.collect().await?;
    let expected = pretty_format_batches(&batches)?.to_string();
    println!("one process:\n{expected}");

    let mut cluster = cluster::Cluster::start(&emulator.connection_string)?;
    let config = SessionConfig::new_with_ballista()
        .with_target_partitions(4)
        .with_ballista_logical_extension_codec(codec())
        .with_ballista_physical_extension_codec(codec());
    let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
    cluster.wait().await?;
    let remote = SessionContext::remote_with_state(&cluster.url(), state).await?;
    remote.register_table("sales", Arc::new(table))?;
    let found = pretty_format_batches(&remote.sql(QUERY).await?.collect().await?)?.to_string();
    println!("two executors:\n{found}");
    if found != expected {
        return Err("the results differ".into());
    }

    let executors = cluster.executors.clone();
    let ranges = cluster.stop()?;
    let orders = orders(&batches);
    ranges::check(&ranges, &executors, orders, &client).await?;
    println!(
        "{} ranges, read by {} executors: {orders} rows, none twice",
        ranges.len(),
        executors.len()
    );
    Ok(())
}

/// The number of rows that the query counts.
fn orders(batches: &[RecordBatch]) -> u64 {
    let columns = batches.iter().filter_map(|batch| batch.column_by_name("orders"));
    let counts = columns.filter_map(|column| column.as_primitive_opt::<Int64Type>());
    counts.flat_map(|counts| counts.values().iter()).map(|count| count.unsigned_abs()).sum()
}
