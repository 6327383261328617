//! The comparison of a response with the recorded one.

use azure_table_tests::recordings::{Exchange, Response};
use chrono::DateTime;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

use super::multipart;
use super::paths::{decoded, entity, parsed, table, targets};
use super::session::Session;

/// The headers that are compared.
const HEADERS: [&str; 15] = [
    "cache-control",
    "content-id",
    "content-type",
    "dataserviceid",
    "dataserviceversion",
    "etag",
    "location",
    "preference-applied",
    "x-content-type-options",
    "x-ms-continuation-nextpartitionkey",
    "x-ms-continuation-nextrowkey",
    "x-ms-continuation-nexttablename",
    "x-ms-error-code",
    "x-ms-request-id",
    "x-ms-version",
];

impl Session {
    /// Compares a response, or a part of one, to a request for the path.
    pub(super) fn compare(
        &mut self,
        at: &str,
        path: &str,
        exchange: &Exchange,
        want: &Response,
        got: &Response,
    ) {
        self.learn(path, want, got);
        if want.status != got.status {
            let statuses = format!("status {} instead of {}", got.status, want.status);
            return self.differ(format_args!("{at}{statuses} {}", got.body));
        }
        for name in HEADERS {
            let [known, found] = [want, got].map(|it| header(it, name));
            // Recorders removed the IDs of many requests, and the version except from parts of batches.
            let is_removed = match name {
                "x-ms-request-id" => known.is_none(),
                "dataserviceversion" => at.is_empty(),
                _ => false,
            };
            if known != found && !is_removed {
                self.differ(format_args!("{at}{name} is {found:?} instead of {known:?}"));
            }
        }
        if header(want, "content-type").as_deref() == Some("multipart/mixed") {
            self.compare_parts(exchange, want, got);
        } else {
            self.compare_body(at, path, want, got);
        }
    }

    fn compare_parts(&mut self, exchange: &Exchange, want: &Response, got: &Response) {
        let wanted = multipart::parts(want).unwrap();
        let found = multipart::parts(got).unwrap_or_default();
        if wanted.len() != found.len() || got.body.replace("\r\n", "").contains('\n') {
            self.differ(format_args!("not {} parts: {}", wanted.len(), got.body));
        }
        let paths = targets(exchange).chain(std::iter::repeat(""));
        for (index, ((want, got), path)) in wanted.iter().zip(&found).zip(paths).enumerate() {
            self.compare(&format!("part {index}: "), path, exchange, want, got);
        }
    }

    fn compare_body(&mut self, at: &str, path: &str, want: &Response, got: &Response) {
        let kind = want.header("content-type").unwrap_or_default();
        let is_same = if want.body.is_empty() {
            got.body.is_empty()
        } else if kind.starts_with("application/json") {
            let (want, got) = (parsed(&want.body), parsed(&got.body));
            self.learn_from_rows(path, &want, &got);
            return self.compare_json(&format!("{at}$"), &want, &got);
        } else if kind.contains("xml") {
            xml(&want.body).unwrap() == xml(&got.body).unwrap_or_default()
        } else {
            want.body.trim() == got.body.trim()
        };
        if !is_same {
            self.differ(format_args!("{at}{:?} instead of {:?}", got.body, want.body));
        }
    }

    fn compare_json(&mut self, at: &str, want: &Value, got: &Value) {
        match (want, got) {
            (Value::Object(want), Value::Object(got)) => {
                let more = got.keys().filter(|name| !want.contains_key(*name));
                for name in want.keys().chain(more) {
                    match (&**name, want.get(name), got.get(name)) {
                        ("odata.etag", Some(_), Some(_)) => {}
                        ("Timestamp", Some(Value::String(_)), Some(Value::String(time)))
                            if is_time(time) => {}
                        (_, Some(want), Some(got)) => {
                            self.compare_json(&format!("{at}.{name}"), want, got);
                        }
                        (_, want, got) => {
                            let name = format!("{at}.{name}");
                            self.differ(format_args!("{name} is {got:?} instead of {want:?}"));
                        }
                    }
                }
            }
            (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
                for (index, (want, got)) in want.iter().zip(got).enumerate() {
                    self.compare_json(&format!("{at}[{index}]"), want, got);
                }
            }
            (Value::String(want), Value::String(got))
                if at.ends_with(".message.value") && first_line(want) == first_line(got) => {}
            // 3.0 and 3 differ: this alone distinguishes a Double from an Int32.
            _ if want == got => {}
            _ => self.differ(format_args!("{at} is {got} instead of {want}")),
        }
    }

    /// Learns the ETag and the continuation tokens in the headers.
    fn learn(&mut self, path: &str, want: &Response, got: &Response) {
        for (name, recorded) in &want.headers {
            let Some(found) = got.header(name) else { continue };
            if name == "etag" {
                let of = entity(path).or_else(|| entity(want.header("location")?));
                self.learn_etag(recorded, found, of);
            } else if let Some(parameter) = name.strip_prefix("x-ms-continuation-") {
                self.tokens.insert((parameter.to_owned(), recorded.clone()), found.to_owned());
            }
        }
    }

    fn learn_from_rows(&mut self, path: &str, want: &Value, got: &Value) {
        let [want, got] = [want, got].map(|body| match &body["value"] {
            Value::Array(rows) => rows.as_slice(),
            _ => std::slice::from_ref(body),
        });
        for (want, got) in want.iter().zip(got) {
            let of_row = || {
                let key = |name| Some(want[name].as_str()?.replace('\'', "''"));
                let (partition_key, row_key) = key("PartitionKey").zip(key("RowKey"))?;
                let table = table(path)?;
                Some(format!("/{table}(PartitionKey='{partition_key}',RowKey='{row_key}')"))
            };
            let [want, got] = [want, got].map(|row| row["odata.etag"].as_str());
            if let (Some(want), Some(got)) = (want, got) {
                self.learn_etag(want, got, entity(path).or_else(of_row));
            }
        }
    }

    fn learn_etag(&mut self, want: &str, got: &str, entity: Option<String>) {
        if is_etag(want) && !is_etag(got) {
            self.differ(format_args!("{got} does not have the form of {want}"));
        }
        self.etags.insert((want.to_owned(), None), got.to_owned());
        let Some(entity) = entity else { return };
        let known = self.etags.insert((want.to_owned(), Some(entity)), got.to_owned());
        if known.is_some_and(|known| known != got) {
            self.differ(format_args!("the ETag changed without a write: {got}"));
        }
    }
}

/// The comparable form of a header.
fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.header(name)?;
    Some(match name {
        "content-type" => {
            let value = value.replace(' ', "").to_lowercase();
            value.split(";boundary=").next()?.to_owned()
        }
        "location" | "dataserviceid" => decoded(value),
        "etag" | "x-ms-request-id" => format!("present: {}", !value.is_empty()),
        _ if name.starts_with("x-ms-continuation-") => format!("present: {}", !value.is_empty()),
        _ => value.to_owned(),
    })
}

fn is_time(text: &str) -> bool {
    let is_utc = text.len() <= 28 && text.ends_with('Z');
    is_utc && DateTime::parse_from_rfc3339(text).is_ok()
}

fn is_etag(text: &str) -> bool {
    let time = text.strip_prefix("W/\"datetime'").and_then(|rest| rest.strip_suffix("'\""));
    time.is_some_and(|time| is_time(&time.replace("%3A", ":")))
}

/// The first line. Those below it in the message of an error have an ID and the time.
fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// The tags and the first lines of the texts of an XML document, or `None` if it is malformed.
fn xml(body: &str) -> Option<Vec<String>> {
    // Errors have a prefix in some responses of the service.
    let body = body.replace("<m:", "<").replace("</m:", "</").replace("xmlns:m=", "xmlns=");
    let mut reader = Reader::from_str(body.trim_start_matches('\u{feff}').trim());
    reader.config_mut().expand_empty_elements = true;
    let mut items = Vec::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => items.push(format!("<{}>", tag.trim())),
            Event::End(tag) => items.push(format!("</{}>", tag.trim())),
            Event::Text(text) if !text.trim().is_empty() => {
                items.push(first_line(&text).to_owned());
            }
            Event::Eof => return Some(items),
            _ => {}
        }
    }
}
