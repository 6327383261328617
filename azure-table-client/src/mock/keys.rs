//! The account and its keys.

use std::sync::{Arc, RwLock};

use super::MockTableService;
use crate::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use crate::error::Error;
use crate::lock::{read, write};

/// The account and its keys, which can be replaced while the service runs.
pub(super) struct Keys {
    account: String,
    /// One or two keys.
    keys: RwLock<Arc<[Key]>>,
}

struct Key {
    shared: SharedKey,
    /// In base64, for connection strings.
    text: String,
}

impl MockTableService {
    /// Replaces the keys of the account with one or two keys in base64, to test that a client survives a
    /// key rotation. Requests and shared access signatures are valid if either key signed them. The first
    /// key is the one in connection strings.
    ///
    /// ```
    /// # use azure_table_client::mock::MockTableService;
    /// # use azure_table_client::auth::DEVELOPMENT_KEY;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// let client = mock.client();
    /// mock.set_keys(&["bmV3", DEVELOPMENT_KEY])?;
    /// client.create_table("Blogs").await?;
    /// mock.set_keys(&["bmV3"])?;
    /// assert!(client.create_table("Posts").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A key is not valid base64, or there are no keys or more than two. The keys then remain as they were.
    pub fn set_keys(&self, keys: &[&str]) -> Result<(), Error> {
        let current = &self.core().rules.keys;
        let replacement = all(&current.account, keys)?;
        *write(&current.keys) = replacement;
        Ok(())
    }
}

fn all(account: &str, keys: &[&str]) -> Result<Arc<[Key]>, Error> {
    if !(1..=2).contains(&keys.len()) {
        return Err(Error::configuration("an account must have one or two keys"));
    }
    let key =
        |key: &&str| Ok(Key { shared: SharedKey::new(account, key)?, text: (*key).to_owned() });
    keys.iter().map(key).collect()
}

impl Keys {
    pub(super) fn new(account: &str, key: &str) -> Result<Self, Error> {
        Ok(Self { account: account.to_owned(), keys: RwLock::new(all(account, &[key])?) })
    }

    pub(super) fn development() -> Self {
        let key = Key { shared: SharedKey::development(), text: DEVELOPMENT_KEY.to_owned() };
        Self { account: DEVELOPMENT_ACCOUNT.to_owned(), keys: RwLock::new(Arc::new([key])) }
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// Returns `true` if one of the keys made this signature of the text.
    pub(super) fn verify(&self, text: &str, signature: &str) -> bool {
        let keys = Arc::clone(&read(&self.keys));
        keys.iter().any(|key| key.shared.verify(text, signature))
    }

    pub(super) fn first(&self) -> SharedKey {
        read(&self.keys)[0].shared.clone()
    }

    /// The first key in base64.
    pub(super) fn first_text(&self) -> String {
        read(&self.keys)[0].text.clone()
    }
}

opaque_debug!(Keys, |it| account: it.account);
