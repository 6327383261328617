//! The replay of recordings. Requests have the ETags and continuation tokens of the mock.

use std::collections::HashMap;
use std::fmt::Display;
use std::time::SystemTime;

use azure_table_client::Dialect;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpRequest;
use azure_table_tests::recordings::{Exchange, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderName;
use serde_json::json;

use super::paths::{decoded, encoded, entity, is_batch, target};
use super::{sign, state};

/// The account in the host of all recordings. The mock has the same, so that URLs in responses are equal.
pub(super) const ACCOUNT: &str = "fakeacct";
const KEY: &[u8] = b"the key of the account";
const WRONG_KEY: &[u8] = b"the key of another account";

/// Headers that depend on the connection, the key or the time.
const CREATED_AGAIN: [&str; 7] = [
    "authorization",
    "connection",
    "content-length",
    "date",
    "host",
    "transfer-encoding",
    "x-ms-date",
];

/// An empty service.
pub(super) fn mock(dialect: Dialect) -> MockTableService {
    let builder = MockTableService::builder().account(ACCOUNT, &BASE64_STANDARD.encode(KEY));
    builder.unwrap().dialect(dialect).build()
}

pub(super) struct Session {
    pub(super) mock: MockTableService,
    /// The ETags of the mock, by the recorded ETag, with and without the path of the entity.
    pub(super) etags: HashMap<(String, Option<String>), String>,
    /// The continuation tokens of the mock, by the parameter and the recorded token.
    pub(super) tokens: HashMap<(String, String), String>,
    /// The request whose response is compared.
    request: String,
    pub(super) differences: Vec<String>,
}

impl Session {
    pub(super) fn new(mock: &MockTableService) -> Self {
        Self {
            mock: mock.clone(),
            etags: HashMap::new(),
            tokens: HashMap::new(),
            request: String::new(),
            differences: Vec::new(),
        }
    }

    pub(super) fn differ(&mut self, text: impl Display) {
        self.differences.push(format!("{}: {text}", self.request));
    }

    /// Creates the tables that the exchanges require, then sends the requests and compares the responses.
    pub(super) fn replay(&mut self, exchanges: &[Exchange]) {
        for table in state::tables_before(exchanges) {
            self.create_table(&table);
        }
        for exchange in exchanges {
            self.request = format!("{} {}?{}", exchange.method, exchange.path, exchange.query);
            let response = self.send(exchange);
            self.compare("", &exchange.path, exchange, &exchange.response, &response);
        }
    }

    pub(super) fn create_table(&mut self, name: &str) {
        let seeded = self.mock.seed_json(&json!({ name: [] }).to_string());
        seeded.unwrap_or_else(|error| self.differ(error));
    }

    /// Sends a request. If the service refused to authenticate it, the signature is wrong.
    pub(super) fn send(&self, exchange: &Exchange) -> Response {
        let is_refused =
            exchange.response.header("x-ms-error-code") == Some("AuthenticationFailed");
        let key = if is_refused { WRONG_KEY } else { KEY };
        let sas = sign::sas(key, &exchange.query);
        let query = self.mapped_query(&exchange.query);
        let query = [query.as_str(), sas.as_deref().unwrap_or_default()].join("&");
        let location = if exchange.secondary { "-secondary" } else { "" };
        let host = format!("{ACCOUNT}{location}.table.core.windows.net");
        let uri = format!("https://{host}{}?{}", exchange.path, query.trim_matches('&'));
        let method = exchange.method.parse().unwrap();
        let mut request = HttpRequest::new(method, uri.trim_end_matches('?').parse().unwrap());
        for (name, value) in &exchange.headers {
            let name: HeaderName = name.parse().unwrap();
            if !CREATED_AGAIN.contains(&name.as_str()) {
                let is_etag = name == http::header::IF_MATCH;
                let etag = is_etag.then(|| self.mapped_etag(value, entity(&exchange.path)));
                request.headers.append(name, etag.unwrap_or(value).parse().unwrap());
            }
        }
        let date = httpdate::fmt_http_date(SystemTime::now());
        request.headers.insert("x-ms-date", date.parse().unwrap());
        if sas.is_none() {
            sign::shared_key(key, &mut request);
        }
        let body = exchange.body.clone().unwrap_or_default();
        request.body = if is_batch(exchange) { self.mapped_batch(&body) } else { body }.into();
        self.mock.respond(&request).into()
    }

    fn mapped_etag<'s>(&'s self, etag: &'s str, entity: Option<String>) -> &'s str {
        let known = |entity| self.etags.get(&(etag.to_owned(), entity));
        known(entity).or_else(|| known(None)).map_or(etag, String::as_str)
    }

    /// The query without a shared access signature.
    fn mapped_query(&self, query: &str) -> String {
        let mut pairs = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match self.tokens.get(&(name.to_lowercase(), decoded(value))) {
                Some(token) => pairs.push(format!("{name}={}", encoded(token))),
                None if sign::SAS.contains(&name) => {}
                None => pairs.push(pair.to_owned()),
            }
        }
        pairs.join("&")
    }

    /// The body of a batch, whose line ends stay as they were recorded.
    fn mapped_batch(&self, body: &str) -> String {
        let mut of_operation = None;
        let lines = body.split('\n').map(|line| {
            if let Some(target) = target(line) {
                of_operation = entity(target);
            }
            match line.trim_end().split_once(": ") {
                Some((name, etag)) if name.eq_ignore_ascii_case("if-match") => {
                    line.replace(etag, self.mapped_etag(etag, of_operation.clone()))
                }
                _ => line.to_owned(),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
