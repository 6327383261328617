//! The responses to the operations of a batch.

use super::Response;

/// The response to an operation.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) is_in_changeset: bool,
    pub(crate) response: Response,
}

/// Returns the parts of a multipart response, or `None` if it is malformed.
pub(crate) fn parts(response: &Response) -> Option<Vec<Part>> {
    // Spaces may follow a boundary.
    let lines = response.body.lines().map(str::trim_end);
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    let mut parts = Vec::new();
    for section in sections(&text, response.header("content-type")?)? {
        let (headers, body) = head(section)?;
        let kind = value(&headers, "content-type")?;
        if kind.starts_with("multipart/mixed") {
            for section in sections(body, kind)? {
                parts.push(Part { is_in_changeset: true, response: part(section)? });
            }
        } else {
            parts.push(Part { is_in_changeset: false, response: part(section)? });
        }
    }
    Some(parts)
}

fn part(section: &str) -> Option<Response> {
    let (outer, http) = head(section)?;
    if !value(&outer, "content-type")?.starts_with("application/http") {
        return None;
    }
    let (line, rest) = http.split_once('\n')?;
    let status = line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let (headers, body) = head(rest)?;
    Some(Response { status, headers, body: body.trim_matches('\n').to_owned() })
}

/// The texts between the boundaries; the last boundary must be a closing one.
fn sections<'t>(text: &'t str, kind: &str) -> Option<Vec<&'t str>> {
    let (_, boundary) = kind.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim_matches('"');
    let (open, _) = text.split_once(&format!("--{boundary}--"))?;
    Some(open.split(&format!("--{boundary}\n")).skip(1).collect())
}

/// The headers, with names in lower case, and the text below them.
fn head(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    // A part without headers begins with the blank line.
    let (head, body) = match text.strip_prefix('\n') {
        Some(body) => ("", body),
        None => text.split_once("\n\n").unwrap_or((text, "")),
    };
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_lowercase(), value.trim().to_owned()))
    };
    let headers = head.lines().map(header).collect::<Option<_>>()?;
    Some((headers, body))
}

fn value<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
