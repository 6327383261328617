use std::fmt;

use zeroize::Zeroizing;

use crate::error::Error;

/// A shared access signature, used as it was given. `Debug` does not show it, and it is overwritten when
/// it is dropped.
#[derive(Clone)]
pub struct SasToken(Zeroizing<String>);

impl SasToken {
    /// Takes over the query string of a shared access signature, with or without its `?`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if it has no signature
    /// (`sig=`) or a character that cannot stand in a URL, or is a URL itself. The error does not
    /// show it.
    pub fn new(token: &str) -> Result<Self, Error> {
        let token = token.trim().trim_start_matches('?');
        // What stands before the first = is the name of a parameter; in a URL it has the host too.
        if token.split('=').next().is_some_and(|name| name.contains('?')) {
            return Err(Error::configuration(
                "the shared access signature is a whole URL; only its query is wanted, which is \
                 what follows the question mark",
            ));
        }
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
        Ok(Self(Zeroizing::new(token.to_owned())))
    }

    /// One that was just signed.
    pub(super) fn signed(query: String) -> Self {
        Self(Zeroizing::new(query))
    }

    /// The query string, without `?`, to be handed to whoever shall use it. It is a secret: whoever has
    /// it can use it.
    pub fn as_query(&self) -> &str {
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
        for url in [
            "https://me.table.core.windows.net?sv=2019-02-02&sig=c2Vj",
            "HTTPS://me.table.core.windows.net/Blogs?sig=c2Vj",
            "me.table.core.windows.net/?sv=2019-02-02&sig=c2Vj",
            "https://me.table.core.windows.net/?sv=2019-02-02",
            "/Blogs?sig=c2Vj",
        ] {
            let error = SasToken::new(url).unwrap_err();
            assert!(error.to_string().contains("whole URL"), "{error}");
            assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error}");
        }
        let unencoded = "se=2026-01-01T00:00:00Z&sig=a/b+c==";
        assert_eq!(SasToken::new(unencoded).unwrap().as_query(), unencoded);
        for bad in ["", "sv=2019-02-02", "sig=", "sig=a b", "sig=a#b"] {
            assert!(SasToken::new(bad).is_err(), "{bad}");
        }
    }
}
