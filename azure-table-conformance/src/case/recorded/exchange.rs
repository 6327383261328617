//! A recorded request and its response.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

use super::super::fill;
use super::json;
use crate::case::{Expected, ExpectedBody, Pattern, Step};
use crate::wire::{Response, parameters, parts};

/// The host of every recording.
const HOST: &str = "https://fakeacct.table.core.windows.net";

#[derive(Deserialize)]
pub(super) struct Exchange {
    pub(super) method: String,
    pub(super) path: String,
    query: String,
    secondary: bool,
    headers: Vec<(String, String)>,
    body: Option<String>,
    response: RecordedResponse,
}

#[derive(Deserialize)]
struct RecordedResponse {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Exchange {
    /// Whether the response depends on all tables or the settings of the account.
    pub(super) fn depends_on_the_account(&self) -> bool {
        let is_list = self.method == "GET" && self.path == "/Tables";
        let query = decoded(&self.query);
        is_list && (!query.contains("TableName eq") || query.contains(" or "))
    }

    /// Whether the account's key is enough for the request.
    pub(super) fn can_be_repeated(&self) -> bool {
        let is_refused = self.response.headers.contains_key("x-ms-error-code");
        !(self.secondary || is_refused || self.path == "/")
    }

    /// Whether the recorder kept the fields of a shared access signature.
    fn has_fields_of_sas(&self) -> bool {
        let fields = parameters(&format!("?{}", self.query));
        let has =
            |name: &str| fields.iter().any(|(known, value)| known == name && !value.is_empty());
        has("sv") && (has("ss") || has("tn"))
    }

    /// The name of the table, and whether it exists before the request.
    fn table(&self) -> Option<(String, bool)> {
        let status = self.response.status;
        if self.path == "/Tables" && self.method == "POST" {
            let body: Value = serde_json::from_str(self.body.as_deref()?).ok()?;
            return Some((body["TableName"].as_str()?.to_owned(), status == 409));
        }
        if self.path == "/Tables" {
            let query = decoded(&self.query);
            let name = query.split("TableName eq '").nth(1)?.split('\'').next()?;
            return Some((name.to_owned(), self.response.body.contains(name)));
        }
        let path = if self.path == "/$batch" {
            let body = self.body.as_deref()?;
            let line = body.lines().find_map(|line| line.trim_end().strip_suffix(" HTTP/1.1"))?;
            let address = line.split_once(' ')?.1;
            decoded(address.strip_prefix(HOST).unwrap_or(address))
        } else {
            decoded(&self.path)
        };
        let rest = path.strip_prefix("/Tables('").or_else(|| path.strip_prefix('/'))?;
        let name = rest.split(['(', '?', '\'']).next()?.to_owned();
        let is_missing = match self.path.as_str() {
            "/$batch" => self.response.body.contains("HTTP/1.1 404"),
            path if path.starts_with("/Tables('") => status == 404,
            _ => self.response.body.contains("TableNotFound"),
        };
        (name != "Tables" && !name.is_empty()).then_some((name, !is_missing))
    }

    /// The request with names, and the expected response; none if the recorded one is malformed.
    pub(super) fn step(&self, known: &Names) -> Option<Step> {
        let has_fields = self.has_fields_of_sas();
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        let query: Vec<_> = pairs.filter_map(|pair| known.option(pair, has_fields)).collect();
        let separator = if query.is_empty() { "" } else { "?" };
        let header = |(name, value): &(String, String)| {
            (name.clone(), Some(known.etag(value).unwrap_or_else(|| escaped(value))))
        };
        // Headers that a recording does not have are not sent.
        let usual = ["Accept", "DataServiceVersion", "x-ms-version", "Content-Type"];
        let is_missing =
            |name: &&str| !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let missing = usual.into_iter().filter(is_missing).map(|name| (name.to_owned(), None));
        Some(Step {
            method: self.method.clone(),
            target: format!("{}{separator}{}", known.text(&self.path), query.join("&")),
            headers: self.headers.iter().map(header).chain(missing).collect(),
            body: known.body(self.body.as_deref().unwrap_or_default()),
            expected: vec![expected(&self.response(), known)?],
        })
    }

    fn response(&self) -> Response {
        let headers = self.response.headers.iter();
        Response {
            status: self.response.status,
            headers: headers.map(|(name, value)| (name.clone(), value.clone())).collect(),
            body: self.response.body.clone(),
        }
    }
}

/// The fields of a shared access signature, without its restrictions.
const SAS: [&str; 13] =
    ["sv", "ss", "srt", "st", "se", "sp", "tn", "si", "spk", "srk", "epk", "erk", "sig"];

/// The headers whose values are compared, and the headers that must be present. Other headers, which every response has,
/// are those of rules: a server without one would fail each recording, and hide its other differences.
const COMPARED: [&str; 5] =
    ["content-id", "content-type", "location", "preference-applied", "x-ms-error-code"];
const PRESENT: [&str; 4] = [
    "etag",
    "x-ms-continuation-nextpartitionkey",
    "x-ms-continuation-nextrowkey",
    "x-ms-continuation-nexttablename",
];

/// The expected response; none if it is a malformed batch.
fn expected(response: &Response, known: &Names) -> Option<Expected> {
    let kind = response.header("content-type").unwrap_or_default();
    let is_batch = kind.starts_with("multipart/mixed");
    let compared = COMPARED.map(|name| {
        let value = match name {
            // The boundary is a new one.
            "content-type" if is_batch => Some("multipart/mixed; boundary=*".to_owned()),
            _ => response.header(name).map(|value| known.pattern(value)),
        };
        (name, value)
    });
    let present = PRESENT.map(|name| {
        let value = response.header(name);
        let bound = value.and_then(|value| known.etag(value).or_else(|| known.token(value)));
        (name, bound.or_else(|| value.map(|_| "*".to_owned())))
    });
    let headers = compared.into_iter().chain(present);
    let headers = headers.map(|(name, value)| (name.to_owned(), value.map(|it| Pattern::new(&it))));
    let text = response.body.trim_start_matches('\u{feff}');
    let body = match serde_json::from_str(text) {
        _ if text.is_empty() => ExpectedBody::Empty,
        _ if is_batch => ExpectedBody::Any,
        Ok(value) => ExpectedBody::Json { value: json::expected(value, known), is_exact: true },
        // XML. It names no table, but one is named as its tags.
        Err(_) => ExpectedBody::Lines(vec![Pattern::new(&escaped(text).replace('*', "{star}"))]),
    };
    let parts = if is_batch { parts(response)? } else { Vec::new() };
    Some(Expected {
        status: response.status,
        code: None,
        headers: headers.collect(),
        body,
        has_changeset: parts.iter().any(|part| part.is_in_changeset),
        parts: parts.iter().map(|part| expected(&part.response, known)).collect::<Option<_>>()?,
    })
}

/// A text of a recording, whose braces are not those of names.
fn escaped(text: &str) -> String {
    let mut pieces = text.split('{');
    let mut escaped = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        escaped.push_str(if fill::name(piece).is_some() { "{brace}" } else { "{" });
        escaped.push_str(piece);
    }
    escaped
}

/// The names in a case that stand for the tables, ETags and tokens of its recording.
pub(super) struct Names {
    /// The tables with their names in the case, the longest first.
    tables: Vec<(String, String)>,
    /// The ETags and tokens of responses that later requests send.
    values: Vec<String>,
}

impl Names {
    pub(super) fn of(exchanges: &[Exchange]) -> Self {
        let mut tables: Vec<(String, String)> = Vec::new();
        for (table, exists) in exchanges.iter().filter_map(Exchange::table) {
            if !tables.iter().any(|(known, _)| *known == table) {
                let word = if exists { "table" } else { "name" };
                let number = tables.len() + 1;
                tables.push((table, format!("{{{word}{number}}}")));
            }
        }
        tables.sort_by_key(|(table, _)| std::cmp::Reverse(table.len()));
        let responses: String = exchanges
            .iter()
            .flat_map(|it| it.response.headers.values().chain([&it.response.body]))
            .map(|text| text.replace("\\\"", "\"") + "\n")
            .collect();
        let sent = exchanges.iter().flat_map(Exchange::sent_values).collect::<BTreeSet<_>>();
        let values = sent.into_iter().filter(|value| responses.contains(value)).collect();
        Self { tables, values }
    }

    /// The name of an ETag that a later request sends.
    pub(super) fn etag(&self, value: &str) -> Option<String> {
        self.value(value).filter(|_| value.starts_with("W/"))
    }

    fn token(&self, value: &str) -> Option<String> {
        self.value(value).filter(|_| !value.starts_with("W/"))
    }

    fn value(&self, value: &str) -> Option<String> {
        let number = self.values.iter().position(|known| known == value)?;
        Some(format!("{{v{number}}}"))
    }

    /// An option of a query. A signature is made again: it is valid now, for any address. Without its fields, the
    /// request has Shared Key instead.
    fn option(&self, pair: &str, has_fields_of_sas: bool) -> Option<String> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = decoded(value);
        if let Some(token) = self.token(&decoded) {
            return Some(format!("{name}={token}"));
        }
        Some(match name {
            "sip" | "spr" => return None,
            _ if SAS.contains(&name) && !has_fields_of_sas => return None,
            "st" => "st={time:-1h}".to_owned(),
            "se" => "se={time:+1h}".to_owned(),
            "sig" => "sig={sas}".to_owned(),
            // The table of a signature is in any case.
            "tn" => {
                let is_it = |(table, _): &&(String, String)| table.eq_ignore_ascii_case(&decoded);
                let table = self.tables.iter().find(is_it);
                format!("tn={}", table.map_or(value, |(_, name)| name))
            }
            _ => self.text(pair),
        })
    }

    /// A text with the names of tables, the account and its address.
    pub(super) fn text(&self, text: &str) -> String {
        let text = escaped(text).replace(HOST, "{endpoint}").replace("fakeacct", "{account}");
        self.tables.iter().fold(text, |text, (table, name)| text.replace(table, name))
    }

    /// A text of a response as a pattern, in which a star stands for itself.
    pub(super) fn pattern(&self, text: &str) -> String {
        self.text(text).replace('*', "{star}")
    }

    /// The body of a request; the addresses of a batch begin with the path of the account.
    fn body(&self, body: &str) -> String {
        // Access policies name no table, but one is named as their tags.
        if body.starts_with('<') {
            return escaped(body);
        }
        let lines = body.split('\n').map(|line| {
            let is_address = line.trim_end().ends_with(" HTTP/1.1");
            let text = self.text(line);
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("if-match") => {
                    self.etag(value).map_or(text, |etag| line.replace(value, &etag))
                }
                _ if is_address => text.replacen(" /", " {path}/", 1),
                _ => text,
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Exchange {
    /// The ETags and tokens that a request sends.
    fn sent_values(&self) -> Vec<String> {
        let is_etag = |name: &str| name.eq_ignore_ascii_case("if-match");
        let mut values: Vec<String> =
            self.headers.iter().filter(|(name, _)| is_etag(name)).map(|it| it.1.clone()).collect();
        let lines = self.body.iter().flat_map(|body| body.lines());
        let headers = lines.filter_map(|line| line.trim_end().split_once(": "));
        values.extend(headers.filter(|(name, _)| is_etag(name)).map(|it| it.1.to_owned()));
        let query = parameters(&format!("?{}", self.query));
        let tokens = query.into_iter().filter(|(name, _)| name.starts_with("Next"));
        values.extend(tokens.map(|(_, value)| value));
        values.retain(|value| value != "*" && !value.is_empty());
        values
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_recordings_is_not_a_pattern() {
        let names = Names { tables: vec![("t1".into(), "{table1}".into())], values: vec![] };
        assert_eq!(
            names.pattern("{\"a\":\"*\"} {word} t1"),
            "{\"a\":\"{star}\"} {brace}word} {table1}"
        );
        assert_eq!(
            names.body("GET /t1() HTTP/1.1\n{x}"),
            "GET {path}/{table1}() HTTP/1.1\n{brace}x}"
        );
    }

    #[test]
    fn a_malformed_batch_is_refused() {
        let kind = "multipart/mixed; boundary=b".to_owned();
        let headers = vec![("content-type".to_owned(), kind)];
        let response = Response { status: 202, headers, body: "--b\n".to_owned() };
        assert!(expected(&response, &Names::of(&[])).is_none());
    }
}
