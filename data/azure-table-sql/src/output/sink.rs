//! Buffered output that keeps its first error, because the writers of Arrow wrap errors in their own.

use std::io::{self, BufWriter, Write};

use azure_table_cli::failure::{Failure, Result};
use datafusion::error::DataFusionError;

use crate::failure;

/// Buffered output.
pub(super) struct Sink<W: Write> {
    inner: BufWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub(super) fn new(output: W) -> Self {
        Self { inner: BufWriter::new(output), error: None }
    }

    /// Returns the failure of a writer: that of the output, which `failure` describes, or its own.
    pub(super) fn finish(
        self,
        written: std::result::Result<(), DataFusionError>,
        failure: impl FnOnce(&io::Error) -> Failure,
    ) -> Result<()> {
        match (self.error, written) {
            (Some(error), _) => Err(failure(&error)),
            (None, written) => written.map_err(failure::of),
        }
    }

    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted && self.error.is_none() {
                self.error = Some(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.keep(flushed)
    }
}
