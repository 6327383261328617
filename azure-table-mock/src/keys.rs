//! The account and its keys, and the user delegation keys that are derived from them.

use std::sync::{Arc, RwLock};

use crate::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use crate::error::Error;
use crate::lock::{read, write};

/// The account and its keys, which can be replaced while the service runs.
pub(super) struct AccountKeys {
    account: String,
    /// One or two keys.
    valid: RwLock<Arc<[AccountKey]>>,
    /// The first key at the start, which user delegation keys are derived from. They outlive a rotation of the
    /// account's keys, as in the service.
    origin: SharedKey,
}

/// The parts of a user delegation key, which its signatures repeat.
pub(super) struct DelegationKey<'a> {
    pub(super) object_id: &'a str,
    pub(super) tenant_id: &'a str,
    pub(super) start: &'a str,
    pub(super) expiry: &'a str,
    pub(super) service: &'a str,
    pub(super) version: &'a str,
    /// The tenant of the users that signatures are bound to, or an empty text.
    pub(super) user_tenant: &'a str,
}

struct AccountKey {
    shared: SharedKey,
    /// In base64, for connection strings.
    text: String,
}

fn all(account: &str, keys: &[&str]) -> Result<Arc<[AccountKey]>, Error> {
    if !(1..=2).contains(&keys.len()) {
        return Err(Error::configuration("an account must have one or two keys"));
    }
    let key = |key: &&str| {
        Ok(AccountKey { shared: SharedKey::new(account, key)?, text: (*key).to_owned() })
    };
    keys.iter().map(key).collect()
}

impl AccountKeys {
    /// Replaces the keys of the account with one or two keys in base64.
    pub(super) fn replace(&self, keys: &[&str]) -> Result<(), Error> {
        let replacement = all(&self.account, keys)?;
        *write(&self.valid) = replacement;
        Ok(())
    }

    pub(super) fn new(account: &str, key: &str) -> Result<Self, Error> {
        let keys = all(account, &[key])?;
        let origin = keys[0].shared.clone();
        Ok(Self { account: account.to_owned(), valid: RwLock::new(keys), origin })
    }

    pub(super) fn development() -> Self {
        let key = AccountKey { shared: SharedKey::development(), text: DEVELOPMENT_KEY.to_owned() };
        Self {
            account: DEVELOPMENT_ACCOUNT.to_owned(),
            valid: RwLock::new(Arc::new([key])),
            origin: SharedKey::development(),
        }
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// Returns `true` if one of the keys made this signature of the text.
    pub(super) fn verify(&self, text: &str, signature: &str) -> bool {
        let keys = Arc::clone(&read(&self.valid));
        keys.iter().any(|key| key.shared.verify(text, signature))
    }

    /// Returns the value of a user delegation key, in base64. The service keeps no list of the keys that it issued: no
    /// other parts have the same value.
    pub(super) fn delegation_value(&self, key: &DelegationKey<'_>) -> String {
        let DelegationKey { object_id, tenant_id, start, expiry, service, version, user_tenant } =
            key;
        let lines = [
            "user delegation key",
            object_id,
            tenant_id,
            start,
            expiry,
            service,
            version,
            user_tenant,
        ];
        self.origin.sign(&lines.join("\n"))
    }

    /// Returns `true` if this user delegation key made this signature of the text.
    pub(super) fn verify_delegated(
        &self,
        key: &DelegationKey<'_>,
        text: &str,
        signature: &str,
    ) -> bool {
        let key = SharedKey::new(&*self.account, &self.delegation_value(key));
        key.is_ok_and(|key| key.verify(text, signature))
    }

    pub(super) fn first(&self) -> SharedKey {
        read(&self.valid)[0].shared.clone()
    }

    /// The first key in base64.
    pub(super) fn first_text(&self) -> String {
        read(&self.valid)[0].text.clone()
    }
}

opaque_debug!(AccountKeys, |it| account: it.account);
