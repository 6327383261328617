//! Writing a body of parts.

use std::convert::Infallible;
use std::ops::Range;

use http::{HeaderName, HeaderValue, Method};

/// The text between the boundary and a message.
const MESSAGE: &str =
    "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";

/// Appends parts to `out`. The parts must not contain the boundary.
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    boundary: &'o str,
}

/// The media type of a body with this boundary.
pub fn media_type(boundary: &str) -> String {
    format!("multipart/mixed; boundary={boundary}")
}

impl<'o> Writer<'o> {
    pub const fn new(out: &'o mut Vec<u8>, boundary: &'o str) -> Self {
        Self { out, boundary }
    }

    /// Begins a part that consists of parts: a changeset, or the response to one.
    pub fn parts<'p>(&'p mut self, boundary: &'p str) -> Writer<'p> {
        self.delimiter("\r\nContent-Type: ");
        self.out.extend_from_slice(media_type(boundary).as_bytes());
        self.out.extend_from_slice(b"\r\n\r\n");
        Writer { out: self.out, boundary }
    }

    /// A request; its address, of two pieces, is encoded, and its headers are without a
    /// `Content-Length`.
    pub fn request<'h>(
        &mut self,
        method: &Method,
        [base, path]: [&str; 2],
        id: Option<usize>,
        headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
        body: &[u8],
    ) {
        let mut request = self.begin_request(method.as_str(), base);
        request.path().extend_from_slice(path.as_bytes());
        request.headers(id, &[], headers);
        if body.is_empty() {
            return request.without_body();
        }
        let written: Result<_, Infallible> = request.body(|out| {
            out.extend_from_slice(body);
            Ok(())
        });
        let Ok(_) = written;
    }

    /// Begins a request with its method and the first piece of its address. The caller writes the path, the headers
    /// and the body, in this order.
    pub fn begin_request(&mut self, method: &str, base: &str) -> RequestWriter<'_> {
        self.delimiter(MESSAGE);
        for text in [method, " ", base] {
            self.out.extend_from_slice(text.as_bytes());
        }
        RequestWriter { out: self.out }
    }

    /// Ends the parts.
    pub fn close(mut self) {
        self.delimiter("--\r\n");
    }

    /// Begins a request or a response, whose first line is `start`. The caller writes the headers and the body.
    pub fn begin_message(&mut self, start: &[&str]) -> MessageWriter<'_> {
        self.delimiter(MESSAGE);
        for text in start {
            self.out.extend_from_slice(text.as_bytes());
        }
        self.out.extend_from_slice(b"\r\n");
        MessageWriter { out: self.out }
    }

    fn delimiter(&mut self, then: &str) {
        for text in ["--", self.boundary, then] {
            self.out.extend_from_slice(text.as_bytes());
        }
    }
}

/// A message whose headers are written one after the other.
#[derive(Debug)]
pub struct MessageWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl MessageWriter<'_> {
    /// Writes a header. Its value must not contain a line break.
    pub fn header(&mut self, name: &str, value: &[u8]) {
        push_header(self.out, name, value);
    }

    /// Ends the headers, and writes the body.
    pub fn body(self, body: &[u8]) {
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
        self.out.extend_from_slice(b"\r\n");
    }
}

/// A request whose pieces are written one after the other.
#[derive(Debug)]
pub struct RequestWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl RequestWriter<'_> {
    /// The buffer, to which the path is appended.
    pub fn path(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Writes the id, header lines that are at hand, and further headers.
    pub fn headers<'h>(
        &mut self,
        id: Option<usize>,
        lines: &[&str],
        further: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
    ) {
        self.out.extend_from_slice(b" HTTP/1.1\r\n");
        push_headers(self.out, id, []);
        for line in lines {
            self.out.extend_from_slice(line.as_bytes());
        }
        push_headers(self.out, None, further);
    }

    /// Writes the body, and its length before it. Returns its position in the whole.
    pub fn body<E>(
        self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Range<usize>, E> {
        // Most bodies of entities have a length of three digits.
        const UNKNOWN: &[u8; 3] = b"000";
        self.out.extend_from_slice(b"Content-Length: ");
        let at = self.out.len();
        self.out.extend_from_slice(UNKNOWN);
        self.out.extend_from_slice(b"\r\n\r\n");
        let start = self.out.len();
        write(self.out)?;
        let length = self.out.len() - start;
        let end = at + UNKNOWN.len();
        if (100..1000).contains(&length) {
            let digit = |number: usize| b"0123456789"[number % 10];
            self.out[at..end].copy_from_slice(&[length / 100, length / 10, length].map(digit));
        } else {
            self.out.splice(at..end, length.to_string().into_bytes());
        }
        let end = self.out.len();
        self.out.extend_from_slice(b"\r\n");
        Ok(end - length..end)
    }

    /// Ends a request that has no body.
    pub fn without_body(self) {
        self.out.extend_from_slice(b"\r\n\r\n");
    }
}

/// Returns the lines of headers.
pub fn header_lines<'h>(
    headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
) -> String {
    let mut out = Vec::new();
    push_headers(&mut out, None, headers);
    // The headers of the protocol are ASCII.
    String::from_utf8(out).unwrap_or_default()
}

fn push_headers<'h>(
    out: &mut Vec<u8>,
    id: Option<usize>,
    headers: impl IntoIterator<Item = (&'h HeaderName, &'h HeaderValue)>,
) {
    if let Some(id) = id {
        push_number(out, "Content-ID: ", id);
    }
    for (name, value) in headers {
        push_header(out, name.as_str(), value.as_bytes());
    }
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(spelt(name).as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn push_number(out: &mut Vec<u8>, name: &str, value: usize) {
    out.extend_from_slice(name.as_bytes());
    // Writing to a Vec cannot fail, and a number in JSON is its digits.
    let _ = serde_json::to_writer(&mut *out, &value);
    out.extend_from_slice(b"\r\n");
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
