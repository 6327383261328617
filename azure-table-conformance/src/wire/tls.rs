//! TLS by rustls, with the certificates of the platform and those that the server's description adds.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::ServerError;

/// The settings of TLS. The first connection sets them up: reading the platform's certificates takes milliseconds.
#[derive(Clone, Default)]
pub(super) struct Tls {
    roots: Vec<CertificateDer<'static>>,
    connector: Arc<OnceLock<TlsConnector>>,
}

impl Tls {
    /// Settings that trust these certificates too.
    pub(super) fn trusting(pem: &[u8]) -> Result<Self, ServerError> {
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match roots {
            Ok(roots) if !roots.is_empty() => Ok(Self { roots, ..Self::default() }),
            _ => Err(ServerError::Certificate),
        }
    }

    /// Encrypts a stream to a host.
    pub(super) async fn secure(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let connector = match self.connector.get() {
            Some(connector) => connector,
            None => {
                let created = self.set_up()?;
                self.connector.get_or_init(|| created)
            }
        };
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        connector.connect(name, stream).await
    }

    fn set_up(&self) -> io::Result<TlsConnector> {
        let provider = Arc::new(default_provider());
        let roots = self.roots.iter().cloned();
        let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))
            .map_err(io::Error::other)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("roots", &self.roots.len()).finish_non_exhaustive()
    }
}
