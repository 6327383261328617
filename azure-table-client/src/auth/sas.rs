use std::fmt;

use crate::error::Error;

/// A shared access signature, used as it was given. `Debug` does not show it.
#[derive(Clone)]
pub struct SasToken(String);

impl SasToken {
    /// Takes over the query string of a shared access signature, with or without its `?`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if it has no signature
    /// (`sig=`) or a character that cannot stand in a URL.
    pub fn new(token: &str) -> Result<Self, Error> {
        let token = token.trim().trim_start_matches('?');
        if !token
            .split('&')
            .any(|pair| pair.strip_prefix("sig=").is_some_and(|sig| !sig.is_empty()))
        {
            return Err(Error::configuration("the shared access signature has no sig parameter"));
        }
        if !token.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return Err(Error::configuration(
                "the shared access signature has a character that is not allowed in a URL; \
                 it must be percent-encoded",
            ));
        }
        Ok(Self(token.to_owned()))
    }

    /// The query string, without `?`.
    pub(crate) fn as_query(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SasToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SasToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_as_given_and_never_shown() {
        let token = SasToken::new("?sv=2019-02-02&sp=r&sig=c2Vj%3D").unwrap();
        assert_eq!(token.as_query(), "sv=2019-02-02&sp=r&sig=c2Vj%3D");
        assert_eq!(format!("{token:?}"), "SasToken(..)");
        for bad in ["", "sv=2019-02-02", "sig=", "sig=a b", "sig=a#b"] {
            assert!(SasToken::new(bad).is_err(), "{bad}");
        }
    }
}
