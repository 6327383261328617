//! The stream of a connection.

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// TCP, or TLS over it.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

pub(super) type Stream = TokioIo<Box<dyn Duplex>>;
