//! The observer of requests, and the form in which the recorder keeps their URLs.

use percent_encoding::percent_decode_str;

use super::recorder::RecordedRequest;
use super::request::RawRequest;

/// A function that receives each request.
pub(super) type Observer = Box<dyn Fn(&RecordedRequest) + Send + Sync>;

/// Returns the path and the query as sent, in printable ASCII, with the signature masked.
pub(super) fn target(request: &RawRequest<'_>) -> String {
    let mut target = request.path.to_owned();
    // An option's name may be percent-encoded as well.
    let is_signature = |option: &&str| {
        let name = percent_decode_str(option.split('=').next().unwrap_or_default());
        name.decode_utf8_lossy().trim_matches(['+', ' ']).eq_ignore_ascii_case("sig")
    };
    let mut separator = '?';
    for option in request.query.split('&').filter(|option| !option.is_empty()) {
        target.push(separator);
        target.push_str(if is_signature(&option) { "sig=..." } else { option });
        separator = '&';
    }
    if target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return target;
    }
    target.escape_default().to_string()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use http::Method;

    use super::*;

    #[test]
    fn a_target_shows_no_signature_and_no_control_character() {
        for (path, query, expected) in [
            ("/a/T", "", "/a/T"),
            ("/a/T()", "$top=1&sv=2019", "/a/T()?$top=1&sv=2019"),
            ("/a/T", "sv=1&sig=secret%3D&se=2", "/a/T?sv=1&sig=...&se=2"),
            ("/a/T", "SIG=secret", "/a/T?sig=..."),
            ("/a/T", "%73i%67=secret&+sig=x=y", "/a/T?sig=...&sig=..."),
            ("/a/\u{9b}1mé", "sig", "/a/\\u{9b}1m\\u{e9}?sig=..."),
        ] {
            let request = RawRequest {
                method: Method::GET,
                origin: "http://127.0.0.1",
                path,
                query,
                headers: Cow::default(),
                body: b"",
                sender: crate::mock::LOCAL,
            };
            assert_eq!(target(&request), expected);
        }
    }
}
