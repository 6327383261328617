//! The exchange of a request and a response over HTTP/1.1.

use std::error::Error;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::{Server, parameters};

/// Larger responses are failures.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with that of the account, and the query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Request {
    /// The table that the request creates.
    pub(crate) fn created_table(&self) -> Option<String> {
        let path = self.target.split('?').next().unwrap_or_default();
        if self.method != "POST" || !path.ends_with("/Tables") {
            return None;
        }
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        Some(body["TableName"].as_str()?.to_owned())
    }

    /// The signatures in the headers and in the URL.
    pub(crate) fn signatures(&self) -> Vec<String> {
        let of_header = |(name, value): &(String, String)| {
            let is_it = name.eq_ignore_ascii_case("authorization");
            is_it.then(|| value.rsplit(':').next().unwrap_or_default().to_owned())
        };
        let query = parameters(&self.target).into_iter().filter(|(name, _)| name == "sig");
        self.headers.iter().filter_map(of_header).chain(query.map(|(_, value)| value)).collect()
    }
}

/// A response, or the part of one to an operation of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    /// The values of all headers with this name, in lower case.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(known, _)| known == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The value of the first header with this name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A connection to a server, which is opened when it is needed.
#[derive(Debug)]
pub(crate) struct Connection<'s> {
    server: &'s Server,
    sender: Option<SendRequest<Full<Bytes>>>,
    /// The requests that were sent.
    pub(crate) requests: u64,
}

impl<'s> Connection<'s> {
    pub(crate) fn new(server: &'s Server) -> Self {
        Self { server, sender: None, requests: 0 }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// There is no valid response within the time limit; the text says why.
    pub(crate) async fn send(&mut self, request: Request) -> Result<Response, String> {
        self.requests += 1;
        let limit = self.server.timeout;
        // A connection that is not reused afterwards has no late response.
        let sender = self.sender.take();
        match tokio::time::timeout(limit, exchange(self.server, sender, request)).await {
            Ok(Ok((response, sender))) => {
                self.sender = Some(sender);
                Ok(response)
            }
            Ok(Err(error)) => Err(with_causes(&*error)),
            Err(_) => Err(format!("no response within {limit:?}")),
        }
    }
}

type Failure = Box<dyn Error + Send + Sync>;
type Sender = SendRequest<Full<Bytes>>;

async fn exchange(
    server: &Server,
    sender: Option<Sender>,
    request: Request,
) -> Result<(Response, Sender), Failure> {
    let mut sender = match open_still(sender).await {
        Some(sender) => sender,
        None => connect(server).await?,
    };
    let response = match sender.try_send_request(message(server, request)?).await {
        Ok(response) => response,
        // The server closed the connection before anything was sent.
        Err(mut error) => match error.take_message() {
            None => return Err(error.into_error().into()),
            Some(message) => {
                sender = connect(server).await?;
                sender.send_request(message).await?
            }
        },
    };
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await?.to_bytes();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    let response = Response {
        status: head.status.as_u16(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    Ok((response, sender))
}

/// The connection of an earlier request, unless it was closed since.
async fn open_still(sender: Option<Sender>) -> Option<Sender> {
    let mut sender = sender?;
    sender.ready().await.is_ok().then_some(sender)
}

async fn connect(server: &Server) -> Result<Sender, Failure> {
    let stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
    stream.set_nodelay(true)?;
    if server.is_https {
        open(server.tls.secure(&server.host, stream).await?).await
    } else {
        open(stream).await
    }
}

async fn open<S>(stream: S) -> Result<Sender, Failure>
where
    TokioIo<S>: Read + Write + Send + Unpin + 'static,
{
    let (sender, connection) =
        Builder::new().title_case_headers(true).handshake(TokioIo::new(stream)).await?;
    // Its failure is that of the exchange.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

fn message(server: &Server, request: Request) -> Result<http::Request<Full<Bytes>>, Failure> {
    let is_empty = request.body.is_empty();
    let mut message = http::Request::new(Full::new(request.body));
    *message.method_mut() = request.method.parse()?;
    *message.uri_mut() = request.target.parse()?;
    let headers = message.headers_mut();
    headers.insert(HOST, server.authority.parse()?);
    for (name, value) in request.headers {
        headers.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    // Hyper omits the header of an empty body, which some servers refuse with 411.
    if is_empty && matches!(message.method().as_str(), "POST" | "PUT" | "MERGE" | "PATCH") {
        message.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(message)
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = format!("no response: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
