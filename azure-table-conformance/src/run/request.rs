//! Requests: the text of a case with its names replaced, the usual headers and the signature.

use std::borrow::Cow;

use crate::case::{Case, Step, Values};
use crate::wire::{
    Key, Request, SignedRequest, encoded, encoded_target, parameters, string_of_sas,
};

/// The headers of a request that does not have or remove them.
const USUAL: [(&str, &str); 5] = [
    ("Accept", "application/json;odata=minimalmetadata"),
    ("DataServiceVersion", "3.0"),
    ("x-ms-date", "{date:+0s}"),
    ("x-ms-version", "2019-02-02"),
    ("Authorization", "SharedKey {account}:{sign}"),
];

/// A request with names.
#[derive(Debug)]
pub(super) struct Sent<'c> {
    method: &'c str,
    target: Cow<'c, str>,
    headers: Cow<'c, [(String, Option<String>)]>,
    body: &'c str,
    has_bare_lines: bool,
}

impl<'c> Sent<'c> {
    pub(super) fn of(case: &Case, step: &'c Step) -> Self {
        Self {
            has_bare_lines: case.has_bare_lines,
            method: &step.method,
            target: step.target.as_str().into(),
            headers: step.headers.as_slice().into(),
            body: &step.body,
        }
    }

    fn new(method: &'c str, target: impl Into<Cow<'c, str>>, body: &'c str) -> Self {
        Self { method, target: target.into(), headers: Cow::default(), body, has_bare_lines: false }
    }

    pub(super) fn create(target: &'c str, body: &'c str) -> Self {
        Self::new("POST", target, body)
    }

    pub(super) fn get(target: &'c str) -> Self {
        Self::new("GET", target, "").accepting_xml()
    }

    pub(super) fn put_xml(target: &'c str, body: &'c str) -> Self {
        Self::new("PUT", target, body).accepting_xml()
    }

    pub(super) fn delete(target: &str) -> Self {
        Self::new("DELETE", target.to_owned(), "")
    }

    fn accepting_xml(self) -> Self {
        let xml = Some("application/xml".to_owned());
        let headers = [("Accept".to_owned(), xml.clone()), ("Content-Type".to_owned(), xml)];
        Self { headers: headers.to_vec().into(), ..self }
    }

    /// The request line.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// Builds the request that is sent.
pub(super) fn build(sent: &Sent<'_>, values: &Values<'_>) -> Result<Request, String> {
    let server = values.server();
    let target = format!("{}{}", server.path, values.fill_target(&sent.target)?);
    let target = encoded_target(&with_sas(&target, values));
    let mut headers = Vec::new();
    for (name, value) in sent.headers.iter() {
        if let Some(value) = value {
            headers.push((name.clone(), values.fill(value)?));
        }
    }
    let has_signature = parameters(&target).iter().any(|(name, _)| name == "sig");
    let kind = if sent.body.is_empty() { None } else { Some(("Content-Type", "application/json")) };
    for (name, value) in USUAL.into_iter().chain(kind) {
        let is_stated = sent.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let is_replaced = has_signature && name == "Authorization";
        if !is_stated && !is_replaced {
            headers.push((name.to_owned(), values.fill(value)?));
        }
    }
    let mut body = values.fill(sent.body)?;
    let is_batch = header(&headers, "content-type").starts_with("multipart/mixed");
    if is_batch && sent.has_bare_lines {
        body.push('\n');
    } else if is_batch {
        body = body.replace('\n', "\r\n") + "\r\n";
    }
    let mut request =
        Request { method: sent.method.to_owned(), target, headers, body: body.into() };
    sign(&mut request, values);
    Ok(request)
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> &'h str {
    let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.as_str())
}

/// Replaces the names of signatures in `Authorization`.
fn sign(request: &mut Request, values: &Values<'_>) {
    let server = values.server();
    let query = parameters(&request.target);
    let comp = query.iter().find(|(name, _)| name == "comp").map(|(_, value)| value.as_str());
    let date = match header(&request.headers, "x-ms-date") {
        "" => header(&request.headers, "date"),
        date => date,
    };
    let signed = SignedRequest {
        method: &request.method,
        content_md5: header(&request.headers, "content-md5"),
        content_type: header(&request.headers, "content-type"),
        date,
        account: &server.account,
        path: request.target.split('?').next().unwrap_or_default(),
        comp,
    };
    let (full, lite) = (signed.full(), signed.lite());
    // The method, the date and the path alone, which is not enough.
    let bare = SignedRequest { content_md5: "", content_type: "", comp: None, ..signed }.full();
    for (name, value) in &mut request.headers {
        if name.eq_ignore_ascii_case("authorization") {
            *value = value
                .replace("{sign}", &server.key.sign(&full))
                .replace("{sign-lite}", &server.key.sign(&lite))
                .replace("{sign-bare}", &server.key.sign(&bare))
                .replace("{wrong-sign}", &Key::wrong().sign(&full));
        }
    }
}

/// Replaces the names of a shared access signature in a target.
fn with_sas(target: &str, values: &Values<'_>) -> String {
    let server = values.server();
    let text = string_of_sas(&server.account, &parameters(target));
    target
        .replace("{sas}", &encoded(&server.key.sign(&text)))
        .replace("{wrong-sas}", &encoded(&Key::wrong().sign(&text)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::wire::Server;

    fn built(sent: &Sent<'_>) -> Request {
        let server = Server::new("http://h:1/one", "one", "a2V5").unwrap();
        build(sent, &Values::new(&server, "t")).unwrap()
    }

    #[test]
    fn a_request_has_the_usual_headers_and_a_signature() {
        let request = built(&Sent::create("/{table} x", "{}"));
        assert_eq!(request.target, "/one/ttable%20x");
        let value = |name| header(&request.headers, name);
        assert_eq!(value("content-type"), "application/json");
        assert_eq!(value("x-ms-version"), "2019-02-02");
        let text = format!("POST\n\napplication/json\n{}\n/one/one/ttable%20x", value("x-ms-date"));
        let signature = Key::from_base64("a2V5").unwrap().sign(&text);
        assert_eq!(value("authorization"), format!("SharedKey one:{signature}"));
    }

    #[test]
    fn headers_of_a_case_replace_or_remove_the_usual_ones() {
        let own = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let headers = vec![
            own("accept", None),
            own("Authorization", Some("SharedKeyLite {account}:{sign-lite}")),
            own("x-ms-date", None),
            own("Date", Some("today")),
        ];
        let sent = Sent { headers: headers.into(), ..Sent::new("GET", "/Tables?comp=acl", "") };
        let request = built(&sent);
        let value = |name| header(&request.headers, name);
        assert_eq!((value("accept"), value("x-ms-date"), value("content-type")), ("", "", ""));
        let lite = Key::from_base64("a2V5").unwrap().sign("today\n/one/one/Tables?comp=acl");
        assert_eq!(value("authorization"), format!("SharedKeyLite one:{lite}"));
        let bare = Some("{sign-bare}".to_owned());
        let headers = vec![("Authorization".to_owned(), bare), own("x-ms-date", Some("today"))];
        let sent = Sent { headers: headers.into(), ..Sent::new("POST", "/T?comp=acl", "{}") };
        let bare = Key::from_base64("a2V5").unwrap().sign("POST\n\n\ntoday\n/one/one/T");
        assert_eq!(header(&built(&sent).headers, "authorization"), bare);
    }

    #[test]
    fn a_signature_in_the_url_replaces_the_header() {
        let request = built(&Sent::new("GET", "/T?tn=T&sp=r&sig={sas}", ""));
        assert_eq!(header(&request.headers, "authorization"), "");
        let text = "r\n\n\n/table/one/t\n\n\n\n\n\n\n\n";
        let signature = encoded(&Key::from_base64("a2V5").unwrap().sign(text));
        assert!(request.target.ends_with(&format!("sig={signature}")), "{}", request.target);
    }

    #[test]
    fn a_batch_has_the_line_ends_of_http() {
        let kind = Some("multipart/mixed; boundary=b".to_owned());
        let headers = vec![("Content-Type".to_owned(), kind)];
        let sent = Sent { headers: headers.into(), ..Sent::create("/$batch", "--b\n\n--b--") };
        assert_eq!(built(&sent).body, "--b\r\n\r\n--b--\r\n");
        assert_eq!(built(&Sent { has_bare_lines: true, ..sent }).body, "--b\n\n--b--\n");
    }
}
