//! Error bodies, JSON and XML.

use super::escape::escaped;
use super::json_tree::JsonNode;
use super::xml;

/// Errors of the service are smaller. Larger bodies come from other servers and are not parsed.
const MAX_BYTES: usize = 64 * 1024;

/// Code and message of an error reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// Without control characters.
    pub code: String,
    /// The lines of the message.
    pub message: String,
}

/// Reads an error body of the service; `None` for anything else, such as a proxy's HTML page.
pub fn parse(body: &[u8]) -> Option<ErrorBody> {
    if body.len() > MAX_BYTES {
        return None;
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match body.trim_ascii_start().first()? {
        b'{' => parse_json(body),
        b'<' => parse_xml(std::str::from_utf8(body).ok()?),
        _ => None,
    }
}

fn parse_json(body: &[u8]) -> Option<ErrorBody> {
    let document = JsonNode::read(body)?;
    let error = document.get("odata.error")?;
    let text = |value: Option<&JsonNode>| value.and_then(JsonNode::text).map(str::to_owned);
    let message = error.get("message");
    Some(ErrorBody {
        code: escaped(text(error.get("code"))?),
        // Cosmos writes the message as plain text.
        message: text(message.and_then(|m| m.get("value")))
            .or_else(|| text(message))
            .unwrap_or_default(),
    })
}

/// Parses `<error><code>…</code><message>…</message></error>` in any namespace. Errors from the layer before
/// the table service are spelled `<Error><Code>`.
fn parse_xml(body: &str) -> Option<ErrorBody> {
    let [code, message] = xml::texts(body, [&["error", "code"], &["error", "message"]])?;
    Some(ErrorBody { code: escaped(code?), message: message.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> (String, String) {
        let error = parse(body.as_bytes()).unwrap_or_else(|| panic!("{body}"));
        (error.code, error.message)
    }

    #[test]
    fn what_is_larger_than_any_error_is_none() {
        let name = "n".repeat(40 * 1024);
        let fits =
            format!("<error><code>A</code><{name}>{}</{name}></error>", "<b></b>".repeat(800));
        assert!(fits.len() > MAX_BYTES && parse(fits.as_bytes()).is_none());
        let json = format!(r#"{{"odata.error":{{"code":"A"}},"x":[{}0]}}"#, "0,".repeat(40_000));
        assert!(parse(json.as_bytes()).is_none());
    }

    #[test]
    fn both_formats_and_their_variants() {
        let code = "ResourceNotFound".to_owned();
        let json = r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"gone\nTime:1"}}}"#;
        assert_eq!(parsed(json), (code.clone(), "gone\nTime:1".into()));
        assert_eq!(parsed(&format!("\u{feff} {json}")), (code.clone(), "gone\nTime:1".into()));
        let plain = r#"{"odata.error":{"code":"ResourceNotFound","message":"gone"}}"#;
        assert_eq!(parsed(plain), (code.clone(), "gone".into()));
        let xml = r#"<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>ResourceNotFound</m:code><m:message xml:lang="en-US">a &lt;b&gt; &#233;</m:message></m:error>"#;
        assert_eq!(parsed(xml), (code.clone(), "a <b> é".into()));
        let front_end = "<?xml version=\"1.0\"?><Error><Code>ResourceNotFound</Code></Error>";
        assert_eq!(parsed(front_end), (code, String::new()));
    }

    #[test]
    fn what_is_no_error_of_the_service() {
        let deep = "<error>".repeat(1000);
        for body in [
            "",
            "  ",
            "gateway",
            "<html><body>502</body></html>",
            "{}",
            r#"{"odata.error":{}}"#,
            r#"{"odata.error":{"code":"A","code":"B"}}"#,
            r#"{"odata.error":{"code":"A"},"odata.error":{"code":"A"}}"#,
            "<error><code>",
            "<error><code>&bomb;</code></error>",
            &deep,
        ] {
            assert_eq!(parse(body.as_bytes()), None, "{body}");
        }
        assert_eq!(parse(b"<error>\xff</error>"), None);
    }
}
