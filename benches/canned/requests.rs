//! Requests of the client that were recorded, for other HTTP clients to send the same bytes.

use std::path::Path;
use std::sync::Mutex;

use azure_table_client::transport::{HttpRequest, HttpTransport, ResponseFuture, Transport};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde::{Deserialize, Serialize};
use url::Url;

/// A recorded request, as it is stored in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Recorded {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Recorded {
    fn new(request: &HttpRequest) -> Self {
        let text = |value: &HeaderValue| value.to_str().expect("a header of text").to_owned();
        let headers = request.headers.iter();
        Self {
            method: request.method.to_string(),
            url: request.uri.to_string(),
            headers: headers.map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: String::from_utf8(request.body.to_vec()).expect("a body of text"),
        }
    }
}

/// Sends over HTTP and records each request.
#[derive(Debug)]
pub(crate) struct Recorder {
    transport: HttpTransport,
    requests: Mutex<Vec<Recorded>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let transport = HttpTransport::new(1 << 30).expect("a transport");
        Self { transport, requests: Mutex::default() }
    }

    /// Writes the requests since the last call to a file.
    pub(crate) fn write_to(&self, path: &Path) {
        let requests = std::mem::take(&mut *self.requests.lock().expect("a lock"));
        assert!(!requests.is_empty(), "no request was recorded");
        let json = serde_json::to_vec(&requests).expect("JSON");
        std::fs::write(path, json).expect("a file of requests");
    }
}

impl Transport for Recorder {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.requests.lock().expect("a lock").push(Recorded::new(&request));
        self.transport.send(request)
    }
}

/// A recorded request in the types of the HTTP clients, ready to be sent.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Ready {
    pub(crate) fn read(path: &Path) -> Vec<Self> {
        let json = std::fs::read(path).expect("a file of requests");
        let requests: Vec<Recorded> = serde_json::from_slice(&json).expect("requests");
        requests.into_iter().map(Self::new).collect()
    }

    fn new(recorded: Recorded) -> Self {
        let header = |(name, value): (String, String)| {
            let name: HeaderName = name.parse().expect("the name of a header");
            (name, HeaderValue::from_maybe_shared(value).expect("the value of a header"))
        };
        Self {
            method: recorded.method.parse().expect("a method"),
            url: recorded.url.parse().expect("a URL"),
            uri: recorded.url.parse().expect("a URI"),
            headers: recorded.headers.into_iter().map(header).collect(),
            body: recorded.body.into(),
        }
    }
}
