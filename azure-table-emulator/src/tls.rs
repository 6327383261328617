//! The certificate of HTTPS: from PEM files, from a PFX file, or written by this program.

mod der;
mod pfx;
mod self_signed;
mod unverified;
mod warnings;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

pub(crate) use self::unverified::client;
use crate::options::{Options, Tls};

/// The server's side of HTTPS.
pub(crate) struct Https {
    pub(crate) acceptor: TlsAcceptor,
    /// The certificate of the authority that clients must trust, if this program wrote it.
    pub(crate) authority: Option<PathBuf>,
    /// What is wrong with the files although they can be used.
    pub(crate) warnings: Vec<String>,
}

impl Https {
    /// Loads the certificate of the options, or writes it.
    pub(crate) fn load(options: &Options) -> Result<Option<Self>, String> {
        let Some(source) = &options.tls else {
            return Ok(None);
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let (certified, authority) = match source {
            Tls::Pem { certificates, key } => (pem(certificates, key, &provider)?, None),
            Tls::Pfx { file, password } => (of_pfx(file, password, &provider)?, None),
            Tls::SelfSigned { folder } => {
                let files = self_signed::ensure(folder, &self_signed::names(options))?;
                (pem(&files.certificate, &files.key, &provider)?, Some(files.authority))
            }
        };
        let files = match source {
            Tls::Pem { certificates, key } => Some((certificates, key)),
            Tls::Pfx { file, .. } => Some((file, file)),
            // This program renews them.
            Tls::SelfSigned { .. } => None,
        };
        let warnings = match (files, certified.cert.first()) {
            (Some((file, key)), Some(certificate)) => warnings::of(file, certificate, key),
            _ => Vec::new(),
        };
        let chosen = Arc::new(rustls::sign::SingleCertAndKey::from(certified));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .with_no_client_auth()
            .with_cert_resolver(chosen);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(Self { acceptor: TlsAcceptor::from(Arc::new(config)), authority, warnings }))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}

fn pem(file: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&read(file)?)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{} is not valid PEM: {error}", file.display()))?;
    if certificates.is_empty() {
        return Err(format!(
            "{} has no certificate in PEM; a PFX file needs --pwd instead of --key",
            file.display()
        ));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| {
        format!(
            "{} has no private key in PEM; an encrypted key must be decrypted first",
            key.display()
        )
    })?;
    CertifiedKey::from_der(certificates, private, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            format!("{} and {} do not belong together", file.display(), key.display())
        }
        error => format!("{} cannot be used: {error}", file.display()),
    })
}

fn of_pfx(file: &Path, password: &str, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let failed = |why: &str| format!("{} cannot be used: {why}", file.display());
    let pfx = pfx::read(&read(file)?, password).map_err(|error| failed(&error.to_string()))?;
    let Some(key) = pfx.key else {
        return Err(failed("it has no private key"));
    };
    // The order of the certificates is not specified. The first of the chain belongs to the key.
    let mut failure = "it has no certificate".to_owned();
    for at in 0..pfx.certificates.len() {
        let mut chain = pfx.certificates.clone();
        chain[..=at].rotate_right(1);
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        let private = PrivateKeyDer::try_from(key.clone()).map_err(failed)?;
        match CertifiedKey::from_der(chain, private, provider) {
            Ok(certified) => return Ok(certified),
            Err(error) => failure = error.to_string(),
        }
    }
    Err(failed(&failure))
}
