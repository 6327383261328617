//! A server under load: a process on a loopback port.

use std::io::{Error, Result};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::requests::Requests;

/// A running server.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    /// From the start of the process to its first response.
    pub(crate) start: Duration,
}

impl Server {
    /// Starts this command line, with a free port for `{port}`, and waits for a response.
    pub(crate) async fn start(command: &str) -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let command = command.replace("{port}", &port.to_string());
        let mut words = command.split_whitespace();
        let program = words.next().ok_or_else(|| Error::other("no command"))?;
        let list = Requests::to(port).list_tables().await;
        let begun = Instant::now();
        let process = Command::new(program).args(words).stdout(Stdio::null()).spawn()?;
        let mut server = Self { process, port, start: Duration::ZERO };
        while begun.elapsed() < Duration::from_secs(30) {
            if let Ok(mut connection) = Connection::open(port).await
                && connection.send(&list).await.is_ok_and(|status| status == 200)
            {
                server.start = begun.elapsed();
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Err(Error::other("the server does not respond"))
    }

    /// The bytes of memory in use.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| Error::other("no VmRSS"))
    }

    /// The seconds of processor time used so far.
    pub(crate) fn cpu(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // utime and stime, the 14th and 15th of all fields, in hundredths of a second.
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
        match (ticks(11), ticks(12)) {
            (Some(user), Some(system)) => Ok((user + system) / 100.0),
            _ => Err(Error::other("no processor time")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
