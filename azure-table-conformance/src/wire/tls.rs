//! TLS by rustls, with the certificates of the platform and those that the server's description adds.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Server;

/// Encrypts a stream to the server.
pub(super) async fn secure(server: &Server, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let provider = Arc::new(default_provider());
    let roots = server.roots.iter().cloned();
    let verifier =
        Verifier::new_with_extra_roots(roots, Arc::clone(&provider)).map_err(io::Error::other)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(server.host.clone()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
