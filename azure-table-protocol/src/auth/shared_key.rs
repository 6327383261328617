//! The SharedKey scheme of the table service.
//!
//! Source: [Authorize with Shared Key][shared-key], "Table service (Shared Key authorization)".
//!
//! [shared-key]: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{CredentialError, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// An account's name and key. `Debug` shows only the name, and the key is overwritten when it is dropped.
#[doc(alias("StorageCredentials", "TableSharedKeyCredential", "AccountKey"))]
#[derive(Clone)]
pub struct SharedKey {
    account: String,
    /// The HMAC of the key, which each signature clones. With its feature `zeroize` it overwrites itself.
    hmac: Hmac<Sha256>,
}

impl SharedKey {
    /// The key of `account` in base64, as the portal shows it.
    ///
    /// # Errors
    /// The account name is empty or has a character that no header allows, or the key is not Base64. The error does not
    /// show the key.
    pub fn new(account: impl Into<String>, key: &str) -> Result<Self, CredentialError> {
        let account = account.into();
        if account.is_empty() {
            return Err(CredentialError::new("the account name is empty"));
        }
        if !is_account_name(&account) {
            return Err(CredentialError::new(
                "the account name has a character that account names cannot have",
            ));
        }
        // The decoder's error would show a character of the key.
        let key = STANDARD
            .decode(key.trim())
            .map(Zeroizing::new)
            .map_err(|_| CredentialError::new("the account key is not valid base64"))?;
        if key.is_empty() {
            return Err(CredentialError::new("the account key is empty"));
        }
        let hmac = Hmac::new_from_slice(&key)
            .map_err(|_| CredentialError::new("the account key has an impossible length"))?;
        Ok(Self { account, hmac })
    }

    /// The development account of emulators.
    pub fn development() -> Self {
        // HMAC pads a key to its block of 64 bytes, and this one has just that many.
        let mut block = [0; 64];
        let decoded = STANDARD.decode(DEVELOPMENT_KEY).unwrap_or_default();
        block.iter_mut().zip(decoded).for_each(|(place, byte)| *place = byte);
        Self { account: DEVELOPMENT_ACCOUNT.to_owned(), hmac: Hmac::new(&block.into()) }
    }

    /// The account's name.
    pub fn account(&self) -> &str {
        &self.account
    }
}

#[doc(hidden)]
impl SharedKey {
    /// The base64 of the HMAC-SHA256 of `text`.
    pub fn sign(&self, text: &str) -> String {
        let mut hmac = self.hmac.clone();
        hmac.update(text.as_bytes());
        STANDARD.encode(hmac.finalize().into_bytes())
    }

    /// Whether `signature` is the signature of `text`, compared in constant time.
    pub fn verify(&self, text: &str, signature: &str) -> bool {
        let mut hmac = self.hmac.clone();
        hmac.update(text.as_bytes());
        STANDARD.decode(signature).is_ok_and(|bytes| hmac.verify_slice(&bytes).is_ok())
    }
}

opaque_debug!(SharedKey, |it| account: it.account);

/// Whether the name is valid in `SharedKey account:signature`. The services' own rules are
/// narrower, but an emulator may have other names.
pub fn is_account_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_graphic() && b != b':')
}

/// Returns the string that SharedKey signs for a request to the table service.
///
/// `resource` is that of [`canonicalized_resource`].
#[doc(hidden)]
pub fn string_to_sign(
    method: &str,
    content_md5: &str,
    content_type: &str,
    date: &str,
    resource: &str,
) -> String {
    let mut text = String::with_capacity(
        4 + method.len() + content_md5.len() + content_type.len() + date.len() + resource.len(),
    );
    for part in [method, content_md5, content_type, date] {
        text.push_str(part);
        text.push('\n');
    }
    text.push_str(resource);
    text
}

/// Returns the string that SharedKeyLite signs for a request to the table service.
#[doc(hidden)]
pub fn string_to_sign_lite(date: &str, resource: &str) -> String {
    format!("{date}\n{resource}")
}

/// `/account` + the encoded path as sent + `?comp=…` if the query has it.
///
/// Returns the canonicalized resource. A path-style endpoint contains the account in its path too, so the
/// result contains it twice. For the secondary location, the account is written without its `-secondary`.
#[doc(hidden)]
pub fn canonicalized_resource(account: &str, path: &str, query: &str) -> String {
    let mut resource = String::with_capacity(1 + account.len() + path.len());
    resource.push('/');
    resource.push_str(account);
    resource.push_str(path);
    if let Some(comp) = query.split('&').find_map(|pair| pair.strip_prefix("comp=")) {
        resource.push_str("?comp=");
        resource.push_str(comp);
    }
    resource
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_overwritten_when_it_is_dropped() {
        assert!(std::mem::needs_drop::<Hmac<Sha256>>(), "the feature zeroize is on");
    }

    #[test]
    fn strings_to_sign() {
        let resource = canonicalized_resource("testaccount1", "/Tables", "");
        assert_eq!(
            string_to_sign("GET", "", "", "Wed, 19 Aug 2009 17:00:00 GMT", &resource),
            "GET\n\n\nWed, 19 Aug 2009 17:00:00 GMT\n/testaccount1/Tables"
        );
        assert_eq!(
            string_to_sign_lite("Wed, 19 Aug 2009 17:00:00 GMT", &resource),
            "Wed, 19 Aug 2009 17:00:00 GMT\n/testaccount1/Tables"
        );
        assert_eq!(canonicalized_resource("a", "/T", "timeout=5&comp=acl"), "/a/T?comp=acl");
        assert_eq!(
            canonicalized_resource("a", "/", "restype=service&comp=stats"),
            "/a/?comp=stats"
        );
        assert_eq!(
            canonicalized_resource("devstoreaccount1", "/devstoreaccount1/T()", "$filter=x"),
            "/devstoreaccount1/devstoreaccount1/T()"
        );
    }

    #[test]
    fn signature_of_a_known_text() {
        // Computed with Python's hmac module.
        let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
        let signature = key.sign("GET\n\n\nWed, 19 Aug 2009 17:00:00 GMT\n/testaccount1/Tables");
        assert_eq!(SharedKey::development().sign("x"), key.sign("x"));
        assert_eq!(signature, "Zhq0+J/1XBwAx6pAPQtu5C719/1DYeGcgMUkzJMID98=");
    }

    #[test]
    fn bad_keys_are_refused_without_showing_them() {
        for bad in ["", "not base64!", "c2VjcmV0LXNlY3JldA"] {
            let error = SharedKey::new("a", bad).unwrap_err();
            assert!(bad.is_empty() || !format!("{error} {error:?}").contains(bad), "{error}");
        }
        for bad in ["", " ", "m e", "me\n", "m:e", "mé", "me\u{7f}"] {
            let error = SharedKey::new(bad, DEVELOPMENT_KEY).unwrap_err();
            assert!(error.to_string().contains("account name"), "{error}");
        }
        let key = SharedKey::new("me", DEVELOPMENT_KEY).unwrap();
        assert_eq!(format!("{key:?}"), "SharedKey { account: \"me\", .. }");
    }
}
