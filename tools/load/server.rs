//! A server under load: a process on a loopback port.

use std::io::{Error, Result};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::requests::Requests;

/// The longest time from the start of a process to its first response.
const LONGEST_START: Duration = Duration::from_secs(120);

/// A running server.
pub(crate) struct Server {
    /// The program and its arguments.
    command: Vec<String>,
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
        let command: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
        let begun = Instant::now();
        let mut server =
            Self { process: spawn(&command)?, command, data, port, start: begun.elapsed() };
        server.wait(begun).await?;
        Ok(server)
    }

    /// Kills the process and starts it again with the same data.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        let begun = Instant::now();
        self.process = spawn(&self.command)?;
        self.wait(begun).await
    }

    /// Waits for the first response.
    async fn wait(&mut self, begun: Instant) -> Result<()> {
        let list = Requests::to(self.port).list_tables().await;
        while begun.elapsed() < LONGEST_START {
            if let Ok(mut connection) = Connection::open(self.port).await
                && connection
                    .send(&list)
                    .await
                    .is_ok_and(|head| head.status().is_ok_and(|it| it == 200))
            {
                self.start = begun.elapsed();
                return Ok(());
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Err(Error::other("the server does not respond"))
    }

    /// The folder for its data.
    pub(crate) fn data(&self) -> Option<&Path> {
        self.data.as_deref()
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
        memory_of(&self.process.id().to_string(), "VmRSS:")
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

fn spawn(command: &[String]) -> Result<Child> {
    let (program, arguments) = command.split_first().ok_or_else(|| Error::other("no command"))?;
    Command::new(program).args(arguments).stdout(Stdio::null()).spawn()
}

/// A field of the status of a process, in bytes.
pub(crate) fn memory_of(process: &str, field: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| Error::other(format!("no {field}")))
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
