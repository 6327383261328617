//! The targets of requests. A case writes them as text; characters that a URL cannot hold are percent-encoded.

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};

/// The characters that a URL cannot hold. `%` is kept, so that a case can encode other characters.
const IMPOSSIBLE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Encodes the characters that a URL cannot hold.
pub(crate) fn encoded_target(text: &str) -> String {
    utf8_percent_encode(text, IMPOSSIBLE).to_string()
}

/// Encodes a value of the query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The names and decoded values of a query.
pub(crate) fn parameters(target: &str) -> Vec<(String, String)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_url_cannot_hold_is_encoded() {
        assert_eq!(
            encoded_target("/T()?$filter=A eq 'é''%27' and (B)"),
            "/T()?$filter=A%20eq%20'%C3%A9''%27'%20and%20(B)"
        );
        let pairs = parameters("/T?a=1%262&b=&c");
        assert_eq!(pairs, [("a".into(), "1&2".into()), ("b".into(), String::new())]);
    }
}
