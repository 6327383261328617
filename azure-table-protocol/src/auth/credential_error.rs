use std::borrow::Cow;
use std::fmt;

/// The reason why a text is not a key, an account name or a shared access signature. It shows no part of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialError(Cow<'static, str>);

impl CredentialError {
    pub(super) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CredentialError {}
