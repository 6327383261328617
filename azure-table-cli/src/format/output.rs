//! The destination of a file of rows, which counts its bytes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// A buffered file or stream.
pub(crate) struct Output {
    inner: BufWriter<Box<dyn Write + Send>>,
    /// `None` for standard output.
    path: Option<PathBuf>,
    bytes: u64,
}

impl Output {
    pub(crate) fn file(file: File, path: &Path) -> Self {
        Self::new(Box::new(file), Some(path.to_owned()))
    }

    pub(crate) fn stdout() -> Self {
        Self::new(Box::new(io::stdout()), None)
    }

    fn new(inner: Box<dyn Write + Send>, path: Option<PathBuf>) -> Self {
        Self { inner: BufWriter::with_capacity(super::BUFFER_BYTES, inner), path, bytes: 0 }
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "standard output".to_owned(),
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|error| self.failure(&error))
    }

    /// Flushes the buffer. Returns the number of bytes so far.
    pub(crate) fn end(&mut self) -> Result<u64> {
        self.inner.flush().map_err(|error| self.failure(&error))?;
        Ok(self.bytes)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match &self.path {
            Some(path) => Failure::file("write", path, error),
            None => Failure::stdout(error),
        }
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
