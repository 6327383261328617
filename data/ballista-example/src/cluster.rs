//! The processes of the cluster.

use std::env;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::Error;

/// A scheduler and two executors, which end with this value.
pub(crate) struct Cluster {
    children: Vec<Child>,
    scheduler: u16,
    executors: Vec<u16>,
}

impl Cluster {
    /// Starts the processes. They get the connection string by their environment, as a deployment would set it.
    pub(crate) fn start(connection_string: &str) -> Result<Self, Error> {
        let ports = free_ports(5)?;
        let mut cluster = Self { children: Vec::new(), scheduler: ports[0], executors: Vec::new() };
        let run = |arguments: &[String]| {
            Command::new(env::current_exe()?)
                .args(arguments)
                .env("AZURE_TABLE_CONNECTION_SALES", connection_string)
                .stdin(Stdio::null())
                .spawn()
        };
        cluster.children.push(run(&["scheduler".to_owned(), ports[0].to_string()])?);
        for pair in ports[1..].chunks(2) {
            let numbers = [ports[0], pair[0], pair[1]].map(|port| port.to_string());
            let arguments = [&["executor".to_owned()], &numbers[..]].concat();
            cluster.children.push(run(&arguments)?);
            cluster.executors.push(pair[0]);
        }
        Ok(cluster)
    }

    /// The address of the scheduler.
    pub(crate) fn url(&self) -> String {
        format!("df://127.0.0.1:{}", self.scheduler)
    }

    /// Waits until the scheduler and the executors listen.
    pub(crate) async fn wait(&self) -> Result<(), Error> {
        let end = Instant::now() + Duration::from_mins(1);
        for port in self.executors.iter().chain([&self.scheduler]) {
            while TcpStream::connect(("127.0.0.1", *port)).await.is_err() {
                if Instant::now() > end {
                    return Err(format!("no process listens on port {port}").into());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        // An executor registers before it listens for plans.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended.
            _ = child.kill();
            _ = child.wait();
        }
    }
}

/// Returns ports that are free at this moment.
fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    let listeners: Vec<_> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    ports.collect()
}
