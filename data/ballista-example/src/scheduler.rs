//! The scheduler. It plans queries, for which it finds the key ranges with its own connection.

use std::sync::Arc;

use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;

use crate::cluster::EXECUTORS;
use crate::{Error, codec};

/// Runs until the process is ended.
pub(crate) async fn run(port: u16) -> Result<(), Error> {
    let config = SchedulerConfig {
        bind_port: port,
        min_ready_executors: usize::from(EXECUTORS),
        override_logical_codec: Some(codec()),
        override_physical_codec: Some(codec()),
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let address = format!("127.0.0.1:{port}").parse()?;
    Ok(start_server(cluster, address, Arc::new(config)).await?)
}
