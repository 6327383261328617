//! The processes of the cluster.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Error;
use crate::output::Output;
use crate::ranges::RangeRead;

/// The number of executors.
pub(crate) const EXECUTORS: u16 = 2;

/// A scheduler and its executors, which end with this value.
pub(crate) struct Cluster {
    children: Vec<Child>,
    outputs: Vec<Output>,
    scheduler: u16,
    /// The ports of the executors.
    pub(crate) executors: Vec<u16>,
    /// The folder of the executors' files. Processes that are killed do not remove theirs.
    work: PathBuf,
}

impl Cluster {
    /// Starts the processes. They get the connection string by their environment, as a deployment would set it.
    pub(crate) fn start(connection_string: &str) -> Result<Self, Error> {
        let ports = free_ports(1 + 2 * usize::from(EXECUTORS))?;
        let work = env::temp_dir().join(format!("ballista-example-{}", process::id()));
        let mut cluster = Self {
            children: Vec::new(),
            outputs: Vec::new(),
            scheduler: ports[0],
            executors: Vec::new(),
            work,
        };
        let run = |role: &str, ports: &[u16]| {
            let mut command = Command::new(env::current_exe()?);
            command.arg(role).args(ports.iter().map(ToString::to_string));
            command.env("AZURE_TABLE_CONNECTION_SALES", connection_string).stdin(Stdio::null());
            Ok::<_, Error>(command)
        };
        cluster.children.push(run("scheduler", &ports[..1])?.spawn()?);
        for pair in ports[1..].chunks(2) {
            let work = cluster.work.join(pair[0].to_string());
            fs::create_dir_all(&work)?;
            let mut command = run("executor", &[ports[0], pair[0], pair[1]])?;
            let mut child = command.arg(work).stdout(Stdio::piped()).spawn()?;
            cluster.outputs.extend(child.stdout.take().map(|pipe| Output::new(pair[0], pipe)));
            cluster.children.push(child);
            cluster.executors.push(pair[0]);
        }
        Ok(cluster)
    }

    /// The address of the scheduler.
    pub(crate) fn url(&self) -> String {
        format!("df://127.0.0.1:{}", self.scheduler)
    }

    /// Waits until the executors listen and are registered.
    pub(crate) async fn wait(&mut self) -> Result<(), Error> {
        let end = Instant::now() + Duration::from_mins(1);
        while !self.is_ready().await {
            for child in &mut self.children {
                if let Some(status) = child.try_wait()? {
                    return Err(format!("a process of the cluster ended: {status}").into());
                }
            }
            if Instant::now() > end {
                return Err("the executors did not register within a minute".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn is_ready(&self) -> bool {
        for port in &self.executors {
            if TcpStream::connect(("127.0.0.1", *port)).await.is_err() {
                return false;
            }
        }
        // The scheduler reports that it is ready once it knows the minimum number of executors.
        let request = b"GET /readyz HTTP/1.1\r\nHost: scheduler\r\nConnection: close\r\n\r\n";
        let mut status = [0; 12];
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.scheduler)).await else {
            return false;
        };
        stream.write_all(request).await.is_ok()
            && stream.read_exact(&mut status).await.is_ok()
            && status == *b"HTTP/1.1 200"
    }

    /// Ends the processes, and returns the ranges that the executors read.
    pub(crate) fn stop(mut self) -> Result<Vec<RangeRead>, Error> {
        self.kill();
        let mut ranges = Vec::new();
        for output in std::mem::take(&mut self.outputs) {
            ranges.extend(output.ranges()?);
        }
        Ok(ranges)
    }

    fn kill(&mut self) {
        for child in &mut self.children {
            // It may have ended.
            _ = child.kill();
            _ = child.wait();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
        _ = fs::remove_dir_all(&self.work);
    }
}

/// Returns ports that are free at this moment.
fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    let listeners: Vec<_> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    ports.collect()
}
