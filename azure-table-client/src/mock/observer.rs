//! Who is told of each answer as it is given: for logs.

use percent_encoding::percent_decode_str;

use super::MockTableServiceBuilder;
use super::recorder::RecordedRequest;
use super::request::Incoming;

/// Is told of a request and of its target: path and query, without the signature.
pub(super) type Observer = Box<dyn Fn(&RecordedRequest, &str) + Send + Sync>;

impl MockTableServiceBuilder {
    /// Is told of each request when it was answered, and of its target: path and query without the
    /// signature that may be in it. For logs; the answer waits for it. It cannot ask the service
    /// anything: a request that was delayed is still held while it is told of it.
    pub fn observer(
        mut self,
        observer: impl Fn(&RecordedRequest, &str) + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }
}

/// The path and the query as sent, but for the signature in it. Printable ASCII.
pub(super) fn target(request: &Incoming<'_>) -> String {
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
    use http::{HeaderMap, Method};

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
            let (headers, body) = (HeaderMap::new(), b"");
            let origin = "http://127.0.0.1";
            let method = &Method::GET;
            let from = crate::mock::LOCAL;
            let request = Incoming { method, origin, path, query, headers: &headers, body, from };
            assert_eq!(target(&request), expected);
        }
    }
}
