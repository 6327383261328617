//! Writing a body of parts.

use http::{HeaderName, HeaderValue, Method};

/// Appends parts to `out`. The parts must not contain the boundary.
#[derive(Debug)]
pub(crate) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    boundary: &'o str,
}

/// The media type of a body with this boundary.
pub(crate) fn media_type(boundary: &str) -> String {
    format!("multipart/mixed; boundary={boundary}")
}

impl<'o> Writer<'o> {
    pub(crate) const fn new(out: &'o mut Vec<u8>, boundary: &'o str) -> Self {
        Self { out, boundary }
    }

    /// Begins a part that consists of parts: a changeset, or the response to one.
    pub(crate) fn parts<'p>(&'p mut self, boundary: &'p str) -> Writer<'p> {
        self.delimiter("\r\nContent-Type: ");
        self.out.extend_from_slice(media_type(boundary).as_bytes());
        self.out.extend_from_slice(b"\r\n\r\n");
        Writer { out: self.out, boundary }
    }

    /// A request; its address, of two pieces, is encoded, and its headers are without a
    /// `Content-Length`.
    pub(crate) fn request<'h>(
        &mut self,
        method: &Method,
        [base, path]: [&str; 2],
        id: Option<usize>,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
        body: &[u8],
    ) {
        let length = (!body.is_empty()).then_some(body.len());
        let start = [method.as_str(), " ", base, path, " HTTP/1.1"];
        self.message(&start, id, headers, length, body);
    }

    /// Ends the parts.
    pub(crate) fn close(mut self) {
        self.delimiter("--\r\n");
    }

    /// A request or a response, whose first line is `start`.
    pub(crate) fn message<'h>(
        &mut self,
        start: &[&str],
        id: Option<usize>,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
        length: Option<usize>,
        body: &[u8],
    ) {
        self.delimiter(
            "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n",
        );
        for text in start {
            self.out.extend_from_slice(text.as_bytes());
        }
        self.out.extend_from_slice(b"\r\n");
        if let Some(id) = id {
            self.number("Content-ID: ", id);
        }
        for (name, value) in headers {
            self.out.extend_from_slice(spelt(name.as_str()).as_bytes());
            self.out.extend_from_slice(b": ");
            self.out.extend_from_slice(value.as_bytes());
            self.out.extend_from_slice(b"\r\n");
        }
        if let Some(length) = length {
            self.number("Content-Length: ", length);
        }
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
        self.out.extend_from_slice(b"\r\n");
    }

    fn number(&mut self, name: &str, value: usize) {
        self.out.extend_from_slice(name.as_bytes());
        // Writing to a Vec cannot fail, and a number in JSON is its digits.
        let _ = serde_json::to_writer(&mut *self.out, &value);
        self.out.extend_from_slice(b"\r\n");
    }

    fn delimiter(&mut self, then: &str) {
        for text in ["--", self.boundary, then] {
            self.out.extend_from_slice(text.as_bytes());
        }
    }
}

/// A header's name as the service and its clients spell it, for case-sensitive readers.
fn spelt(name: &str) -> &str {
    match name {
        "accept" => "Accept",
        "cache-control" => "Cache-Control",
        "content-id" => "Content-ID",
        "content-type" => "Content-Type",
        "dataserviceid" => "DataServiceId",
        "dataserviceversion" => "DataServiceVersion",
        "etag" => "ETag",
        "if-match" => "If-Match",
        "location" => "Location",
        "maxdataserviceversion" => "MaxDataServiceVersion",
        "prefer" => "Prefer",
        "preference-applied" => "Preference-Applied",
        "x-content-type-options" => "X-Content-Type-Options",
        "x-http-method" => "X-HTTP-Method",
        other => other,
    }
}
