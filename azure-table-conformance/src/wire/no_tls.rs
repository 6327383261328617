//! A build without the feature `tls`, which refuses HTTPS.

use std::io;

use tokio::net::TcpStream;

use super::ServerError;

#[derive(Debug, Clone, Default)]
pub(super) struct Tls(());

impl Tls {
    #[expect(clippy::unnecessary_wraps, reason = "the form of the build with TLS")]
    pub(super) fn trusting(_pem: &[u8]) -> Result<Self, ServerError> {
        Ok(Self(()))
    }

    #[expect(clippy::unused_async, reason = "the form of the build with TLS")]
    pub(super) async fn secure(&self, _host: &str, _stream: TcpStream) -> io::Result<TcpStream> {
        Err(io::Error::other("this build has no TLS: enable the feature `tls`"))
    }
}
