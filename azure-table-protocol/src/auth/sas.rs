use std::fmt;

use url::form_urlencoded;
use zeroize::Zeroizing;

use super::CredentialError;
use super::sas_time::read_time;
use crate::wire::encoding::QueryString;

/// A shared access signature, which is sent unchanged, except that a plus in it is encoded. `Debug` does not show it, and it is overwritten when it
/// is dropped.
#[derive(Clone)]
pub struct SasToken(Zeroizing<String>);

impl SasToken {
    /// Takes over the query string of a shared access signature, with or without its `?`.
    ///
    /// # Errors
    /// The text has no signature (`sig=`), has a character that no URL allows, is a URL itself, was copied from HTML,
    /// was encoded twice, or has an invalid time. The error does not show the text.
    pub fn new(token: &str) -> Result<Self, CredentialError> {
        let token = token.trim().trim_start_matches('?');
        // The first parameter of a URL would have the host in its name, also if the URL lost its question mark.
        if token.split('=').next().is_some_and(|name| name.contains(['?', '/', ':'])) {
            return Err(CredentialError::new(
                "the shared access signature is a whole URL; pass only its query, which is \
                 the part after the question mark",
            ));
        }
        if token.contains("&amp;") {
            return Err(CredentialError::new(
                "the shared access signature was copied from HTML: it has &amp; instead of &",
            ));
        }
        if !token
            .split('&')
            .any(|pair| pair.strip_prefix("sig=").is_some_and(|sig| !sig.is_empty()))
        {
            return Err(CredentialError::new(
                "the shared access signature has no sig parameter: it is truncated, or is another text",
            ));
        }
        let in_url = |c: char| c.is_ascii_graphic() && !r#"#"<>\^`{|}"#.contains(c);
        if let Some(character) = token.chars().find(|c| !in_url(*c)) {
            return Err(CredentialError::new(format!(
                "the shared access signature has the character {character:?}, which is not allowed in a URL; it must be \
                 percent-encoded",
            )));
        }
        let mut sent = Zeroizing::new(String::with_capacity(3 * token.len()));
        for field in token.split_inclusive('&') {
            // A plus in a query is a space, which no signature has.
            let plus = if field.starts_with("sig=") { "%2B" } else { "+" };
            for (index, part) in field.split('+').enumerate() {
                sent.push_str(if index > 0 { plus } else { "" });
                sent.push_str(part);
            }
        }
        let token = Self(sent);
        token.check_fields()?;
        Ok(token)
    }

    /// Checks the fields that no service accepts; the service judges the others.
    fn check_fields(&self) -> Result<(), CredentialError> {
        // A signature is base64, which has no percent sign.
        if self.field("sig").map(Zeroizing::new).is_some_and(|sig| sig.contains('%')) {
            return Err(CredentialError::new(
                "the shared access signature was percent-encoded twice; pass it unchanged",
            ));
        }
        for name in ["st", "se"] {
            let Some(time) = self.field(name) else { continue };
            // Every form of the time begins with a day.
            if time.get(..10).and_then(read_time).is_none() {
                return Err(CredentialError::new(format!(
                    "the shared access signature has a time in {name} that does not begin with a \
                     date like 2026-01-31"
                )));
            }
        }
        Ok(())
    }

    /// A field, decoded.
    #[doc(hidden)]
    pub fn field(&self, name: &str) -> Option<String> {
        let mut fields = form_urlencoded::parse(self.0.as_bytes());
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.into())
    }

    /// One that was just signed.
    pub(super) fn signed(query: QueryString) -> Self {
        Self(Zeroizing::new(query.into_string()))
    }

    /// Returns the query string, without `?`. It is a secret: anyone who has it can use it.
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
    fn a_token_is_overwritten_when_it_is_dropped() {
        fn is_wiped(_: &impl zeroize::ZeroizeOnDrop) {}
        let SasToken(text) = SasToken::new("sv=2019-02-02&sig=c2Vj").unwrap();
        is_wiped(&text);
    }

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
            "https://me.table.core.windows.net/sv=2019-02-02&sig=c2Vj",
            "me.table.core.windows.net/sig=c2Vj",
        ] {
            let error = SasToken::new(url).unwrap_err();
            assert!(error.to_string().contains("whole URL"), "{error}");
            assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error}");
        }
        let unencoded = "se=2026-01-01T00:00:00Z&sig=a/b+c==";
        let sent = "se=2026-01-01T00:00:00Z&sig=a/b%2Bc==";
        assert_eq!(SasToken::new(unencoded).unwrap().as_query(), sent);
        for bad in ["", "sv=2019-02-02", "sig="] {
            assert!(SasToken::new(bad).is_err(), "{bad}");
        }
        for bad in [' ', '#', '"', '<', '>', 'é', '\u{7}'] {
            let error = SasToken::new(&format!("sig=a{bad}b")).unwrap_err().to_string();
            assert!(error.contains(&format!("the character {bad:?},")), "{error}");
        }
    }

    #[test]
    fn what_no_service_takes_is_refused_and_what_one_may_take_is_not() {
        for (bad, why) in [
            ("sv=2019-02-02&amp;sig=c2Vj", "copied from HTML"),
            ("sig=c2Vj%253D", "encoded twice"),
            ("se=tomorrow&sig=c2Vj", "time in se"),
            ("se=&sig=c2Vj", "time in se"),
            ("se=2026-02-30&sig=c2Vj", "time in se"),
            ("st=01/31/2026&se=2026-02-01&sig=c2Vj", "time in st"),
        ] {
            let error = SasToken::new(bad).unwrap_err();
            assert!(error.to_string().contains(why), "{bad}: {error}");
            assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error}");
        }
        for good in [
            "se=2026-01-31&sig=c2Vj",
            "se=2026-01-31T12%3A00Z&st=2026-01-31T10:00:00.1234567Z&sig=c2Vj",
            "se=2026-01-31T12:00:00%2B0200&sp=racwdxyltmei&sr=zz&sig=c2Vj",
            "sp=&sip=x&spr=x&si=p&sig=c2Vj",
        ] {
            assert!(SasToken::new(good).is_ok(), "{good}");
        }
    }
}
