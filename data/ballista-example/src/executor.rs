//! An executor. It reads key ranges with its own connection.

use std::sync::Arc;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};

use crate::{Error, codec, log};

/// Runs until the process is ended. Both ports are its own: for results, and for tasks. `work` is the folder of its files.
pub(crate) async fn run(
    scheduler: u16,
    port: u16,
    grpc_port: u16,
    work: String,
) -> Result<(), Error> {
    log::print_ranges()?;
    let config = ExecutorProcessConfig {
        scheduler_port: scheduler,
        scheduler_host: "127.0.0.1".to_owned(),
        scheduler_connect_timeout_seconds: 30,
        port,
        grpc_port,
        vcores: 2,
        work_dir: Some(work),
        override_logical_codec: Some(codec()),
        override_physical_codec: Some(codec()),
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}
