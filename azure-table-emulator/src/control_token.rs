//! The control token, and the requests that carry it.

use std::fmt;
use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};

/// The secret of `--control-token`, which the control API and the page require.
pub(crate) struct ControlToken(String);

impl ControlToken {
    pub(crate) fn new(token: &str) -> Self {
        Self(token.to_owned())
    }

    /// Returns `true` for a request with the bearer token.
    pub(crate) fn is_bearer(&self, headers: &HeaderMap) -> bool {
        credentials(headers, b"Bearer ").is_some_and(|sent| are_equal(sent, self.0.as_bytes()))
    }

    /// Returns `true` for a request with the token as a password, as browsers send it. The user name is free.
    pub(crate) fn is_password(&self, headers: &HeaderMap) -> bool {
        let pair = credentials(headers, b"Basic ").and_then(|sent| STANDARD.decode(sent).ok());
        pair.is_some_and(|pair| {
            let colon = pair.iter().position(|byte| *byte == b':');
            colon.is_some_and(|colon| are_equal(&pair[colon + 1..], self.0.as_bytes()))
        })
    }
}

impl fmt::Debug for ControlToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControlToken")
    }
}

/// The credentials of a request with this scheme.
fn credentials<'h>(headers: &'h HeaderMap, scheme: &[u8]) -> Option<&'h [u8]> {
    let sent = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (found, credentials) = sent.split_at_checked(scheme.len())?;
    found.eq_ignore_ascii_case(scheme).then_some(credentials)
}

/// Compares secrets in a time that depends only on the lengths.
pub(crate) fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |found, (a, b)| black_box(found | (a ^ b)));
    a.len() == b.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_equal_only_as_a_whole() {
        for (a, b, expected) in [
            ("token", "token", true),
            ("token", "tokem", false),
            ("token", "toke", false),
            ("", "t", false),
            ("", "", true),
        ] {
            assert_eq!(are_equal(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_password_is_the_token_of_any_user() {
        let token = ControlToken::new("a:b");
        for (pair, expected) in
            [("user:a:b", true), (":a:b", true), ("a:b", false), ("user:a:", false), ("x", false)]
        {
            let mut headers = HeaderMap::new();
            let value = format!("basic {}", STANDARD.encode(pair));
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(token.is_password(&headers), expected, "{pair}");
            assert!(!token.is_bearer(&headers));
        }
    }
}
