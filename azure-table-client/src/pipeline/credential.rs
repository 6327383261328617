//! The credential of a client, which can be replaced while requests run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use crate::auth::Credential;
use crate::error::Error;
use crate::lock::{read, write};

/// The credential that signs the next request. Each attempt keeps the credential that it started with.
#[derive(Debug)]
pub(crate) struct CurrentCredential {
    credential: RwLock<Arc<Credential>>,
    /// Whether all credentials so far were account keys, whose signatures expire soon.
    had_keys_only: AtomicBool,
    accepted: AcceptedCredentials,
    /// The endpoint, which determines the audience of tokens.
    base: Box<str>,
}

/// The kinds of credentials that all endpoints may receive: any kind over HTTPS, and over HTTP the kinds that
/// are allowed explicitly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcceptedCredentials {
    /// Signatures, by keys and shared ones.
    pub(crate) keys: bool,
    /// Tokens, which can be reused by anyone who reads them.
    pub(crate) tokens: bool,
    /// Signatures with a user delegation key, which Cosmos DB does not have.
    pub(crate) delegated: bool,
}

impl CurrentCredential {
    pub(crate) fn new(
        credential: Credential,
        base: &str,
        accepted: AcceptedCredentials,
    ) -> Result<Self, Error> {
        check(&credential, accepted)?;
        Ok(Self::unchecked(credential, base, accepted))
    }

    pub(crate) fn unchecked(
        credential: Credential,
        base: &str,
        accepted: AcceptedCredentials,
    ) -> Self {
        let had_keys_only = AtomicBool::new(credential.key().is_some());
        let credential = RwLock::new(Arc::new(credential.for_endpoint(base)));
        Self { credential, had_keys_only, accepted, base: base.into() }
    }

    pub(crate) fn get(&self) -> Arc<Credential> {
        Arc::clone(&read(&self.credential))
    }

    pub(crate) fn replace(&self, credential: Credential) -> Result<(), Error> {
        check(&credential, self.accepted)?;
        if credential.key().is_none() {
            self.had_keys_only.store(false, Ordering::Release);
        }
        let credential = credential.for_endpoint(&self.base);
        *write(&self.credential) = Arc::new(credential);
        Ok(())
    }

    /// Whether every request so far was signed with an account key.
    pub(crate) fn had_keys_only(&self) -> bool {
        self.had_keys_only.load(Ordering::Acquire)
    }

    /// Whether the credential was replaced after [`get`](Self::get) returned `taken`.
    pub(super) fn is_newer_than(&self, taken: &Arc<Credential>) -> bool {
        !Arc::ptr_eq(&self.get(), taken)
    }
}

fn check(credential: &Credential, accepted: AcceptedCredentials) -> Result<(), Error> {
    let is_accepted = if credential.is_token() { accepted.tokens } else { accepted.keys };
    if credential.is_secret() && !is_accepted {
        return Err(Error::configuration(
            "the endpoint is plain HTTP, where the credential could be read in transit; use \
             https://, or allow_http(true) if plain HTTP is intended",
        ));
    }
    if credential.is_delegated() && !accepted.delegated {
        return Err(Error::configuration(
            "Cosmos DB refuses shared access signatures that are signed with a user delegation key",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SasToken, SharedKey};

    #[test]
    fn one_credential_without_a_key_is_remembered() {
        let key = || SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
        let accepted = AcceptedCredentials { keys: true, tokens: true, delegated: true };
        let current = CurrentCredential::new(key().into(), "", accepted).unwrap();
        current.replace(Credential::SharedKeyLite(key())).unwrap();
        assert!(current.had_keys_only());
        // An attempt that was signed with it may still arrive.
        current.replace(Credential::Anonymous).unwrap();
        current.replace(key().into()).unwrap();
        assert!(!current.had_keys_only());
    }

    #[test]
    fn cosmos_accepts_no_signature_with_a_user_delegation_key() {
        let sas = |text: &str| Credential::from(SasToken::new(text).unwrap());
        let cosmos = AcceptedCredentials { keys: true, tokens: true, delegated: false };
        let current = CurrentCredential::new(sas("sp=r&sig=c2Vj"), "", cosmos).unwrap();
        let error = current.replace(sas("sp=r&skoid=me&sig=c2Vj")).unwrap_err();
        assert!(error.to_string().contains("Cosmos DB refuses"), "{error}");
        assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error}");
        let storage = AcceptedCredentials { delegated: true, ..cosmos };
        assert!(CurrentCredential::new(sas("sp=r&skoid=me&sig=c2Vj"), "", storage).is_ok());
    }
}
