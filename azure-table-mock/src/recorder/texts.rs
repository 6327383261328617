//! The texts of recorded requests, which are masked and shortened.

use std::iter;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::request::RawRequest;

/// The number of bytes kept of a URL, and of another text of a request.
const TEXT_BYTES: usize = 2 * 1024;

/// Returns the path and the query as sent, in printable ASCII, with the signature masked. The end of a long
/// one is replaced by its length.
pub(crate) fn target(request: &RawRequest<'_>) -> String {
    target_up_to(TEXT_BYTES, request)
}

/// Returns the whole path and query as sent, in printable ASCII, with the signature masked.
pub(crate) fn whole_target(request: &RawRequest<'_>) -> String {
    target_up_to(usize::MAX, request)
}

fn target_up_to(max_bytes: usize, request: &RawRequest<'_>) -> String {
    let head = |text| head(text, max_bytes);
    let mut target = head(request.path).to_owned();
    let options = request.query.split('&').filter(|option| !option.is_empty());
    for (option, separator) in options.zip(iter::once('?').chain(iter::repeat('&'))) {
        if target.len() > max_bytes {
            break;
        }
        target.push(separator);
        target.push_str(if has_signature(option) { "sig=..." } else { head(option) });
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        target = target.escape_default().to_string();
    }
    if target.len() > max_bytes {
        target.truncate(max_bytes);
        return format!("{target}...[{}bytes]", request.url_bytes());
    }
    target
}

/// Whether an option of a query has a signature: by its name, or in its text, as in `&amp;sig=`, `a=1;sig=` and
/// `sig%3D`. A name may be percent-encoded as well.
fn has_signature(option: &str) -> bool {
    let text = percent_decode_str(option).decode_utf8_lossy().to_ascii_lowercase();
    let is_begin = |before: &str| !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    text.trim_matches(['+', ' ']) == "sig"
        || text.match_indices("sig=").any(|(at, _)| is_begin(&text[..at]))
}

/// Returns the text. The end of a long one is replaced by its length.
pub(crate) fn text(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}...[{}bytes]", &text[..end], text.len())
}

/// Returns the method. Only the beginning of a long one is kept.
pub(crate) fn method(method: &Method) -> Method {
    match method.as_str().as_bytes().get(..TEXT_BYTES) {
        Some(long) => Method::from_bytes(long).unwrap_or_default(),
        None => method.clone(),
    }
}

/// Returns the text, or a part of it that is longer than the kept part of a target.
fn head(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    text.char_indices().nth(max_bytes + 1).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::request::{Headers, Origin};
    use crate::service::TableService;

    fn target_of(path: &str, query: &str) -> String {
        target(&RawRequest {
            method: Method::GET,
            origin: Origin { scheme: "http", authority: "127.0.0.1" },
            path,
            query,
            headers: Headers::Request(&HeaderMap::new()),
            body: b"",
            sender: crate::service::LOCAL,
            room: crate::room::Room::UNLIMITED,
        })
    }

    #[test]
    fn a_long_target_is_shortened() {
        let kept = "/a/T?".to_owned() + &"x".repeat(TEXT_BYTES - 5);
        assert_eq!(target_of("/a/T", &kept[5..]), kept);
        let option = "x".repeat(TEXT_BYTES - 4);
        assert_eq!(target_of("/a/T", &option), format!("{kept}...[2048bytes]"));
        assert_eq!(target_of("/a/T", &option.repeat(99)), format!("{kept}...[202360bytes]"));
        let options = vec!["a=1"; 9000].join("&");
        let options = target_of("/a", &options);
        assert!(options.starts_with("/a?a=1&a=1&") && options.ends_with("&a=1&a...[36001bytes]"));
        // A part of a character would be escaped differently.
        let path = target_of(&"\u{1f600}".repeat(9000), "sig=secret");
        assert_eq!(path.len(), TEXT_BYTES + "...[36010bytes]".len());
        assert!(path.starts_with("\\u{1f600}\\u{1f600}") && !path.contains("fffd"), "{path}");
        assert!(!target_of(&kept, "sig=secret").contains("sec"));
    }

    #[test]
    fn a_target_shows_no_signature_and_no_control_character() {
        for (path, query, expected) in [
            ("/a/T", "", "/a/T"),
            ("/a/T()", "$top=1&sv=2019", "/a/T()?$top=1&sv=2019"),
            ("/a/T", "sv=1&sig=secret%3D&se=2", "/a/T?sv=1&sig=...&se=2"),
            ("/a/T", "SIG=secret", "/a/T?sig=..."),
            ("/a/T", "%73i%67=secret&+sig=x=y", "/a/T?sig=...&sig=..."),
            ("/a/T", "sv=1&amp;sig=secret", "/a/T?sv=1&sig=..."),
            ("/a/T", "a=1;sig=secret", "/a/T?sig=..."),
            ("/a/T", "sig%3Dsecret", "/a/T?sig=..."),
            ("/a/T", "a=1;Sig%3dsecret", "/a/T?sig=..."),
            ("/a/T", "design=1&assig=2", "/a/T?design=1&assig=2"),
            ("/a/\u{9b}1mé", "sig", "/a/\\u{9b}1m\\u{e9}?sig=..."),
        ] {
            assert_eq!(target_of(path, query), expected);
        }
    }

    #[test]
    fn the_texts_of_a_record_are_bounded() {
        let mock = TableService::builder().loose(true).build();
        let long = "x".repeat(1024 * 1024);
        let batch = format!(
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\
             Content-Type: application/http\r\n\r\n\
             DELETE /devstoreaccount1/Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\r\n\
             Accept: */*\r\nIf-Match: {long}\r\n\r\n\r\n--c--\r\n--b--\r\n"
        );
        for (method, path, body) in [
            (long.as_str(), "Blogs", String::new()),
            ("GET", &long[..2 * TEXT_BYTES], String::new()),
            ("POST", "$batch", batch),
        ] {
            let uri = format!("http://127.0.0.1/devstoreaccount1/{path}").parse().unwrap();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let mut request = crate::transport::HttpRequest::new(method, uri);
            let kind = "multipart/mixed; boundary=b".parse().unwrap();
            request.headers.insert("content-type", kind);
            request.headers.insert("accept", "*/*".parse().unwrap());
            request.body = body.into();
            mock.respond(&request);
        }
        let all = mock.requests().all();
        assert_eq!(all[0].method.as_str(), "x".repeat(TEXT_BYTES));
        let table = all[1].table.as_deref().unwrap();
        assert!(table.ends_with("x...[4096bytes]") && table.len() < 2 * TEXT_BYTES, "{table}");
        let message = all[2].error_message.as_deref().unwrap();
        assert!(message.starts_with("0:The etag value 'xx") && message.len() < 2 * TEXT_BYTES);
        assert!(text(&"é".repeat(TEXT_BYTES)).ends_with("é...[4096bytes]"));
        assert!(text(&format!("a{}", "é".repeat(TEXT_BYTES))).ends_with("é...[4097bytes]"));
    }
}
