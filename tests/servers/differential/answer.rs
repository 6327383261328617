//! Responses without the parts that differ between services: addresses, times, ids, ETags and
//! tokens.

use std::collections::BTreeMap;

use azure_table_client::transport::HttpResponse;
use serde_json::{Map, Value};

use super::sent::{Row, Sent, Service};

/// Headers about the connection or the server.
const NOT_COMPARED: [&str; 7] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "transfer-encoding",
    "x-powered-by",
];

/// The beginning of the headers with the tokens of the next page.
const TOKEN: &str = "x-ms-continuation-";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) code: Option<String>,
    pub(super) message: Option<String>,
    pub(super) body: Value,
    /// The responses in the response to a batch.
    pub(super) parts: Vec<Answer>,
}

impl Answer {
    /// Reads a response and remembers its ETags and tokens.
    pub(super) fn read(service: &mut Service, sent: &Sent, response: &HttpResponse) -> Self {
        let headers = response.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let mut headers: BTreeMap<_, _> =
            headers.filter(|(name, _)| !NOT_COMPARED.contains(&&**name)).collect();
        if let Some(paged) = sent.paged() {
            let tokens = ["NextPartitionKey", "NextRowKey", "NextTableName"].into_iter();
            let tokens = tokens.filter_map(|option| {
                let header = format!("{TOKEN}{}", option.to_ascii_lowercase());
                Some((option.to_owned(), headers.get(&header)?.clone()))
            });
            service.tokens.insert(paged.to_owned(), tokens.collect());
        }
        for (name, value) in &mut headers {
            if name.starts_with(TOKEN) {
                *value = "<token>".into();
            }
        }
        let text = String::from_utf8_lossy(&response.body);
        let mut answer = Self::of(service, response.status.as_u16(), headers, &text, sent);
        if text.contains("--batchresponse") || text.contains("--changesetresponse") {
            answer.body = Value::Null;
            answer.headers.remove("content-type");
            answer.parts = parts(service, sent, &text);
        }
        answer
    }

    fn of(
        service: &mut Service,
        status: u16,
        mut headers: BTreeMap<String, String>,
        body: &str,
        sent: &Sent,
    ) -> Self {
        if let Some(etag) = headers.get_mut("etag") {
            *etag = place(service, sent.row.as_ref(), etag);
        }
        if let Some(id) = headers.get_mut("x-ms-request-id") {
            *id = "<id>".into();
        }
        for name in ["location", "dataserviceid"] {
            if let Some(address) = headers.get_mut(name) {
                *address = address.replace(&service.base, "<base>");
            }
        }
        let body = match body {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        };
        let (code, message) =
            (error(&body, "/odata.error/code"), error(&body, "/odata.error/message/value"));
        let mut answer = Self { status, headers, code, message, body, parts: Vec::new() };
        if answer.code.is_some() {
            answer.body = Value::Null;
        } else {
            let table = match &sent.resource {
                super::sent::Resource::Rows(table) => Some(table.clone()),
                _ => sent.row.as_ref().map(|row| row.table.clone()),
            };
            normalise(service, &mut answer.body, table.as_deref(), sent.row.as_ref());
        }
        answer
    }

    /// Whether the page has tokens for the next one.
    pub(super) fn is_continued(&self) -> bool {
        self.headers.keys().any(|name| name.starts_with(TOKEN))
    }

    /// Removes the tokens, and returns whether there were any.
    pub(super) fn forget_tokens(&mut self) -> bool {
        let count = self.headers.len();
        self.headers.retain(|name, _| !name.starts_with(TOKEN));
        self.headers.len() < count
    }

    /// The rows of a page.
    pub(super) fn rows(&self) -> Option<&Vec<Value>> {
        self.body.get("value")?.as_array()
    }
}

fn error(body: &Value, path: &str) -> Option<String> {
    let text = body.pointer(path)?.as_str()?;
    Some(text.split("\nRequestId:").next().unwrap_or_default().to_owned())
}

/// The index of this ETag among those that the service returned for the row.
fn place(service: &mut Service, row: Option<&Row>, etag: &str) -> String {
    let Some(row) = row else {
        return "<etag>".into();
    };
    let known = service.etags.entry(row.clone()).or_default();
    let place = known.iter().position(|known| known == etag).unwrap_or_else(|| {
        known.push(etag.to_owned());
        known.len() - 1
    });
    format!("<etag {place}>")
}

fn normalise(service: &mut Service, body: &mut Value, table: Option<&str>, row: Option<&Row>) {
    if let Some(rows) = body.get_mut("value").and_then(Value::as_array_mut) {
        for row in rows {
            normalise(service, row, table, None);
        }
    }
    let Some(members) = body.as_object_mut() else {
        return;
    };
    let text = |members: &Map<_, Value>, name: &str| Some(members.get(name)?.as_str()?.to_owned());
    let keys = text(members, "PartitionKey").zip(text(members, "RowKey"));
    let named = table.zip(keys).map(|(table, (partition, key))| Row {
        table: table.to_owned(),
        partition,
        key,
    });
    let row = named.or_else(|| row.cloned());
    if let Some(etag) = text(members, "odata.etag") {
        members["odata.etag"] = place(service, row.as_ref(), &etag).into();
    }
    if members.get("Timestamp").is_some_and(|time| !time.is_null()) {
        members["Timestamp"] = "<time>".into();
    }
    for name in ["odata.metadata", "odata.id"] {
        if let Some(address) = text(members, name) {
            members[name] = address.replace(&service.base, "<base>").into();
        }
    }
}

/// The responses in a multipart body, in order.
fn parts(service: &mut Service, sent: &Sent, text: &str) -> Vec<Answer> {
    let found: Vec<_> = text.split("HTTP/1.1 ").skip(1).collect();
    let mut answers = Vec::new();
    for (index, part) in found.iter().enumerate() {
        let (head, rest) = part.split_once("\r\n\r\n").unwrap_or((part, ""));
        let body = rest.split("\r\n--").next().unwrap_or_default();
        let body = if body.starts_with("--") { "" } else { body };
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.get(..3)).and_then(|digits| digits.parse().ok());
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        let headers = headers.filter(|(name, _)| !NOT_COMPARED.contains(&&**name)).collect();
        // A refusal is a single response, regardless of the operation.
        let operation =
            if found.len() == sent.parts().len() { sent.parts().get(index) } else { None };
        let batch;
        let operation = match operation {
            Some(operation) => operation,
            None => {
                batch = Sent::new("POST", super::sent::Resource::Batch);
                &batch
            }
        };
        answers.push(Answer::of(service, status.unwrap_or(0), headers, body.trim_end(), operation));
    }
    answers
}
