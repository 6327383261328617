//! TLS by rustls.

use std::sync::{Arc, OnceLock};

use ::http::Uri;
use hyper_util::rt::TokioIo;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_rustls::TlsConnector;

use super::stream::{Duplex, Stream};
use super::{invalid, not_connected};
use crate::transport::{NO_PROVIDER, TransportError};

/// Set up by the first connection that needs it: reading the platform's roots costs milliseconds.
#[derive(Default)]
pub(super) struct Tls(OnceLock<TlsConnector>);

impl Tls {
    #[cfg(all(test, feature = "rustls"))]
    pub(super) fn trust(&self, tls: TlsConnector) {
        assert!(self.0.set(tls).is_ok());
    }

    /// Returns the settings, and sets TLS up if this is the first connection that needs it. A failure is not kept.
    pub(super) fn set_up(&self) -> Result<&TlsConnector, TransportError> {
        if let Some(connector) = self.0.get() {
            return Ok(connector);
        }
        let created = TlsConnector::from(Arc::new(config(provider()?).map_err(invalid)?));
        Ok(self.0.get_or_init(|| created))
    }

    /// Encrypts `stream`, which leads to the host of `to`.
    pub(super) async fn secure(
        &self,
        to: &Uri,
        stream: impl Duplex + 'static,
    ) -> Result<Stream, TransportError> {
        let secured = self.set_up()?.connect(server_name(to)?, stream).await;
        Ok(TokioIo::new(Box::new(secured.map_err(not_connected)?)))
    }
}

fn server_name(uri: &Uri) -> Result<ServerName<'static>, TransportError> {
    let host = uri.host().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    ServerName::try_from(bare.to_owned()).map_err(invalid)
}

/// Returns the provider that the program has installed, otherwise that of the feature `rustls`.
fn provider() -> Result<Arc<CryptoProvider>, TransportError> {
    let provider = CryptoProvider::get_default().cloned();
    #[cfg(feature = "rustls")]
    let provider =
        provider.or_else(|| Some(Arc::new(rustls::crypto::aws_lc_rs::default_provider())));
    provider.ok_or_else(|| invalid(NO_PROVIDER))
}

fn config(provider: Arc<CryptoProvider>) -> Result<rustls::ClientConfig, rustls::Error> {
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(all(test, not(feature = "rustls")))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::error::Error as _;

    use crate::transport::{HyperTransport, NO_PROVIDER, TransportErrorKind};

    #[test]
    fn without_a_provider_tls_is_not_set_up() {
        let error = HyperTransport::new().prepare(true).unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Invalid);
        assert_eq!(error.source().unwrap().to_string(), NO_PROVIDER);
    }
}
