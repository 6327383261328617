//! HTTP/1.1 over a socket, just enough to send a request and to find the end of its response.

use std::io::{Error, Result};
use std::ops::Range;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that is kept alive.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The received bytes; the first `used` are processed.
    received: Vec<u8>,
    used: usize,
    /// The ranges of the body in the received bytes.
    pieces: Vec<Range<usize>>,
}

/// The status line and the headers of a response.
pub(crate) struct Head(String);

impl Head {
    pub(crate) fn status(&self) -> Result<u16> {
        let status = self.0.get(9..12).and_then(|text| text.parse().ok());
        status.ok_or_else(|| Error::other("no status"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(1 << 20), used: 0, pieces: Vec::new() })
    }

    /// Sends a request unchanged and reads the whole response.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Head> {
        self.received.clear();
        self.used = 0;
        self.pieces.clear();
        self.stream.write_all(request).await?;
        let end = self.find(b"\r\n\r\n").await?;
        let head = Head(String::from_utf8_lossy(&self.received[..end]).into_owned());
        self.used = end;
        if head.header("transfer-encoding").is_some() {
            self.skip_chunks().await?;
        } else if let Some(length) = head.header("content-length") {
            self.skip(length.parse().map_err(Error::other)?).await?;
        }
        Ok(head)
    }

    /// The body of the last response.
    pub(crate) fn body(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| &self.received[piece.clone()]).copied().collect()
    }

    async fn skip_chunks(&mut self) -> Result<()> {
        loop {
            let line = self.used;
            let end = self.find(b"\r\n").await?;
            let length = String::from_utf8_lossy(&self.received[line..end]);
            let length = usize::from_str_radix(length.trim(), 16).map_err(Error::other)?;
            self.used = end;
            self.skip(length).await?;
            let end = self.find(b"\r\n").await?;
            self.used = end;
            if length == 0 {
                return Ok(());
            }
        }
    }

    async fn skip(&mut self, length: usize) -> Result<()> {
        let end = self.used + length;
        while self.received.len() < end {
            self.receive().await?;
        }
        self.pieces.push(self.used..end);
        self.used = end;
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
