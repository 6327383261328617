//! The destination of a file of rows, which counts its bytes.

use std::io::{self, BufWriter, Write};

use crate::failure::{Failure, Result};

/// A buffered file or stream with the name that its errors state.
pub(crate) struct Output {
    inner: BufWriter<Box<dyn Write + Send>>,
    name: String,
    bytes: u64,
}

impl Output {
    pub(crate) fn new(inner: Box<dyn Write + Send>, name: impl Into<String>) -> Self {
        let inner = BufWriter::with_capacity(super::BUFFER_BYTES, inner);
        Self { inner, name: name.into(), bytes: 0 }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|error| Failure::io(&self.name, &error))
    }

    /// Flushes the buffer. Returns the number of bytes so far.
    pub(crate) fn end(&mut self) -> Result<u64> {
        self.inner.flush().map_err(|error| Failure::io(&self.name, &error))?;
        Ok(self.bytes)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
