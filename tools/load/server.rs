//! A server under load: a process on a loopback port.

use std::io::{Error, Result};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::requests::Requests;

/// A running server.
pub(crate) struct Server {
    process: Child,
    /// The folder for its data, which is removed at the end.
    data: Option<PathBuf>,
    pub(crate) port: u16,
    /// From the start of the process to its first response.
    pub(crate) start: Duration,
}

impl Server {
    /// Starts this command line, with a free port for `{port}` and an empty folder for `{data}`, and waits for a
    /// response.
    pub(crate) async fn start(command: &str) -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let command = command.replace("{port}", &port.to_string());
        // Next to this program, since a folder for temporary files can be in memory.
        let data = std::env::current_exe()?.with_file_name(format!("load-data-{port}"));
        let data = command.contains("{data}").then_some(data);
        let folder = data.as_ref().map_or_else(String::new, |data| data.display().to_string());
        let command = command.replace("{data}", &folder);
        let mut words = command.split_whitespace();
        let program = words.next().ok_or_else(|| Error::other("no command"))?;
        let list = Requests::to(port).list_tables().await;
        let begun = Instant::now();
        let process = Command::new(program).args(words).stdout(Stdio::null()).spawn()?;
        let mut server = Self { process, data, port, start: Duration::ZERO };
        while begun.elapsed() < Duration::from_secs(30) {
            if let Ok(mut connection) = Connection::open(port).await
                && connection
                    .send(&list)
                    .await
                    .is_ok_and(|head| head.status().is_ok_and(|it| it == 200))
            {
                server.start = begun.elapsed();
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Err(Error::other("the server does not respond"))
    }

    /// The number of commits to its data so far, from its health page. `None` if the page does not report it.
    pub(crate) async fn commits(&self) -> Result<Option<f64>> {
        let mut connection = Connection::open(self.port).await?;
        let request = format!("GET /-/health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port);
        connection.send(request.as_bytes()).await?;
        let body = String::from_utf8_lossy(&connection.body()).into_owned();
        let count = body.split_once("\"commits\":").map(|(_, rest)| {
            let rest = rest.trim_start();
            &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]
        });
        Ok(count.and_then(|count| count.parse().ok()))
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
        if let Some(data) = &self.data {
            let _ = std::fs::remove_dir_all(data);
        }
    }
}
