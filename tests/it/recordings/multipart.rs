//! The parts of a response to a batch, parsed independently of the client.

use std::collections::BTreeMap;

use azure_table_tests::recordings::Response;

/// Returns the responses in a multipart response, or `None` if it is malformed.
pub(super) fn parts(response: &Response) -> Option<Vec<Response>> {
    let text = response.body.replace("\r\n", "\n");
    let mut parts = Vec::new();
    for section in sections(&text, response.header("content-type")?)? {
        let (headers, body) = head(section)?;
        let kind = headers.get("content-type")?;
        let is_changeset = kind.starts_with("multipart/mixed");
        for section in if is_changeset { sections(body, kind)? } else { vec![section] } {
            parts.push(part(section)?);
        }
    }
    Some(parts)
}

fn part(section: &str) -> Option<Response> {
    let (headers, http) = head(section)?;
    let (status, rest) = http.split_once('\n')?;
    let status = status.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let is_http = headers.get("content-type")?.starts_with("application/http");
    let (headers, body) = head(rest)?;
    is_http.then(|| Response { status, headers, body: body.trim_matches('\n').to_owned() })
}

/// The texts between the boundaries. The last boundary must be a closing one.
fn sections<'t>(text: &'t str, content_type: &str) -> Option<Vec<&'t str>> {
    let (_, boundary) = content_type.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim_matches('"');
    let (open, _) = text.split_once(&format!("--{boundary}--"))?;
    Some(open.split(&format!("--{boundary}\n")).skip(1).collect())
}

/// The headers, and the text below them.
fn head(text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_lowercase(), value.trim().to_owned()))
    };
    Some((head.lines().map(header).collect::<Option<_>>()?, body))
}
