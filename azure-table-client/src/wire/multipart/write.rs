//! Writing a body of parts.

use std::io::Write as _;

#[cfg(any(test, feature = "mock"))]
use http::StatusCode;
use http::{HeaderName, HeaderValue, Method};

/// Writes parts behind what is in `out`. A boundary must not stand in what is written.
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

    /// Begins a part that is parts itself: a changeset, or the answer to one.
    pub(crate) fn parts<'p>(&'p mut self, boundary: &'p str) -> Writer<'p> {
        self.delimiter("\r\nContent-Type: ");
        self.out.extend_from_slice(media_type(boundary).as_bytes());
        self.out.extend_from_slice(b"\r\n\r\n");
        Writer { out: self.out, boundary }
    }

    /// A request; its address is encoded, and its headers are without a `Content-Length`.
    pub(crate) fn request<'h>(
        &mut self,
        method: &Method,
        target: &str,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
        body: &[u8],
    ) {
        let length = (!body.is_empty()).then_some(body.len());
        self.message(format_args!("{method} {target} HTTP/1.1"), headers, length, body);
    }

    #[cfg(any(test, feature = "mock"))]
    pub(crate) fn response<'h>(
        &mut self,
        status: StatusCode,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
        body: &[u8],
    ) {
        let reason = status.canonical_reason().unwrap_or_default();
        self.message(format_args!("HTTP/1.1 {} {reason}", status.as_str()), headers, None, body);
    }

    /// Ends the parts.
    pub(crate) fn close(mut self) {
        self.delimiter("--\r\n");
    }

    fn message<'h>(
        &mut self,
        start: std::fmt::Arguments<'_>,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
        length: Option<usize>,
        body: &[u8],
    ) {
        self.delimiter(
            "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n",
        );
        // Writing to a Vec cannot fail.
        let _ = write!(self.out, "{start}\r\n");
        for (name, value) in headers {
            self.out.extend_from_slice(spelt(name.as_str()).as_bytes());
            self.out.extend_from_slice(b": ");
            self.out.extend_from_slice(value.as_bytes());
            self.out.extend_from_slice(b"\r\n");
        }
        if let Some(length) = length {
            let _ = write!(self.out, "Content-Length: {length}\r\n");
        }
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
        self.out.extend_from_slice(b"\r\n");
    }

    fn delimiter(&mut self, then: &str) {
        for text in ["--", self.boundary, then] {
            self.out.extend_from_slice(text.as_bytes());
        }
    }
}

/// A header's name as the service and its clients spell it, for readers that tell case apart.
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
        other => other,
    }
}
