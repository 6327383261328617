//! HTTP/1.1 over a socket, just enough to send a request and to find the end of its response.

use std::io::{Error, Result};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that is kept alive.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The received bytes; the first `used` are processed.
    received: Vec<u8>,
    used: usize,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(1 << 20), used: 0 })
    }

    /// Sends a request unchanged and reads the whole response; returns its status.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<u16> {
        self.received.clear();
        self.used = 0;
        self.stream.write_all(request).await?;
        let end = self.find(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&self.received[..end]).to_ascii_lowercase();
        self.used = end;
        let status = head.get(9..12).and_then(|text| text.parse().ok());
        let status = status.ok_or_else(|| Error::other("no status"))?;
        let header = |name: &str| {
            head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        if header("transfer-encoding").is_some() {
            self.skip_chunks().await?;
        } else if let Some(length) = header("content-length").and_then(|text| text.parse().ok()) {
            self.skip(length).await?;
        }
        Ok(status)
    }

    async fn skip_chunks(&mut self) -> Result<()> {
        loop {
            let line = self.used;
            let end = self.find(b"\r\n").await?;
            let length = String::from_utf8_lossy(&self.received[line..end]);
            let length = usize::from_str_radix(length.trim(), 16).map_err(Error::other)?;
            self.used = end;
            self.skip(length + 2).await?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    async fn skip(&mut self, length: usize) -> Result<()> {
        while self.received.len() < self.used + length {
            self.receive().await?;
        }
        self.used += length;
        Ok(())
    }

    /// The index after the first occurrence of these bytes.
    async fn find(&mut self, what: &[u8]) -> Result<usize> {
        let mut from = self.used;
        loop {
            let rest = &self.received[from..];
            if let Some(at) = rest.windows(what.len()).position(|window| window == what) {
                return Ok(from + at + what.len());
            }
            from = self.received.len().saturating_sub(what.len()).max(self.used);
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(Error::other("the connection was closed")),
            _ => Ok(()),
        }
    }
}
