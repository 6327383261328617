//! A transport that follows a script: in front of a service, or in place of one.
//!
//! A script decides about the requests of one client; a [`Fault`](azure_table_client::mock::Fault) of the mock strikes
//! those of all clients.

use std::fmt;
use std::future::{pending, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use bytes::Bytes;
use tokio::time::{Instant, sleep};

type Reply = Result<HttpResponse, TransportError>;
type Script = Box<dyn FnMut(&HttpRequest) -> Step + Send>;

/// A transport that decides about each request by its script, and records the requests.
pub struct Scripted {
    service: Arc<dyn Transport>,
    script: Mutex<Script>,
    start: Instant,
    /// The requests, and when they were sent after the start.
    requests: Mutex<Vec<(Duration, HttpRequest)>>,
}

impl Scripted {
    /// Creates a transport in front of `service`.
    pub fn new(
        service: Arc<dyn Transport>,
        script: impl FnMut(&HttpRequest) -> Step + Send + 'static,
    ) -> Arc<Self> {
        let script: Script = Box::new(script);
        Arc::new(Self {
            service,
            script: script.into(),
            start: Instant::now(),
            requests: Mutex::default(),
        })
    }

    /// Creates a transport without a service: its script responds to each request.
    pub fn alone(script: impl FnMut(&HttpRequest) -> Step + Send + 'static) -> Arc<Self> {
        Self::new(Arc::new(NoService), script)
    }

    /// Creates a transport that only records the requests to `service`.
    pub fn recorder(service: Arc<dyn Transport>) -> Arc<Self> {
        Self::new(service, |_| Step::pass())
    }

    /// Creates a transport that responds to every request with `response`.
    pub fn always(response: HttpResponse) -> Arc<Self> {
        Self::alone(move |_| response.clone().into())
    }

    /// Replaces the script.
    pub fn play(&self, script: impl FnMut(&HttpRequest) -> Step + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    /// Returns the recorded requests.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().iter().map(|(_, request)| request.clone()).collect()
    }

    /// Returns the recorded requests, and removes them from the record.
    pub fn take_requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().drain(..).map(|(_, request)| request).collect()
    }

    /// Returns the last recorded request.
    pub fn last(&self) -> HttpRequest {
        self.requests.lock().unwrap().last().expect("a request").1.clone()
    }

    /// Returns the time of each recorded request since the transport was created.
    pub fn times(&self) -> Vec<Duration> {
        self.requests.lock().unwrap().iter().map(|(time, _)| *time).collect()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").finish_non_exhaustive()
    }
}

impl Transport for Scripted {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.requests.lock().unwrap().push((self.start.elapsed(), request.clone()));
        let Step(deliver) = self.script.lock().unwrap()(&request);
        deliver(request, Arc::clone(&self.service))
    }
}

#[derive(Debug)]
struct NoService;

impl Transport for NoService {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        panic!("the script has no response to {request:?}")
    }
}

/// The treatment of one request.
#[must_use]
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct Step(Box<dyn FnOnce(HttpRequest, Arc<dyn Transport>) -> ResponseFuture<'static> + Send>);

impl Step {
    fn new<F: Future<Output = Reply> + Send + 'static>(
        deliver: impl FnOnce(HttpRequest, Arc<dyn Transport>) -> F + Send + 'static,
    ) -> Self {
        Self(Box::new(|request, service| Box::pin(deliver(request, service))))
    }

    /// Sends the request to the service.
    pub fn pass() -> Self {
        Self::new(|request, service| async move { service.send(request).await })
    }

    /// Sends the request to another service.
    pub fn send_to(other: Arc<dyn Transport>) -> Self {
        Self::new(|request, _| async move { other.send(request).await })
    }

    /// Returns this response. The request is not sent. A response with an id of the service echoes the id of the request, as
    /// the service does.
    pub fn respond(mut response: HttpResponse) -> Self {
        const ECHO: &str = "x-ms-client-request-id";
        Self::new(|request, _| {
            if response.headers.contains_key("x-ms-request-id")
                && !response.headers.contains_key(ECHO)
                && let Some(id) = request.headers.get(ECHO)
            {
                response.headers.insert(ECHO, id.clone());
            }
            ready(Ok(response))
        })
    }

    /// Fails without sending the request.
    pub fn fail(kind: TransportErrorKind) -> Self {
        Self::new(move |_, _| ready(Err(TransportError::new(kind, "scripted"))))
    }

    /// Sends the request, and loses the response.
    pub fn lose_reply() -> Self {
        Self::new(|request, service| async move {
            service.send(request).await?;
            Err(TransportError::new(TransportErrorKind::Interrupted, "scripted"))
        })
    }

    /// Never responds. The request is not sent.
    pub fn hang() -> Self {
        Self::new(|_, _| pending())
    }

    /// Sends the request, and once more after `delay`, even if the client no longer waits.
    pub fn repeat_after(delay: Duration) -> Self {
        Self::new(move |request, service| async move {
            let (late, other) = (request.clone(), Arc::clone(&service));
            tokio::spawn(async move {
                sleep(delay).await;
                drop(other.send(late).await);
            });
            service.send(request).await
        })
    }

    /// Completes `action` before this step, such as a concurrent write or a delay.
    pub fn after(self, action: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::new(|request, service| async move {
            action.await;
            self.0(request, service).await
        })
    }

    /// Completes `action` after this step, before the client receives its result.
    pub fn then(self, action: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::new(|request, service| async move {
            let reply = self.0(request, service).await;
            action.await;
            reply
        })
    }

    /// Edits the response of this step.
    pub fn edit(self, edit: impl FnOnce(&mut HttpResponse) + Send + 'static) -> Self {
        Self::new(|request, service| async move {
            let mut response = self.0(request, service).await?;
            edit(&mut response);
            Ok(response)
        })
    }

    /// Replaces a text in the body of the response, for example by one that the service never sends.
    pub fn replace(self, from: &'static str, to: &'static str) -> Self {
        self.edit(move |response| {
            let text = str::from_utf8(&response.body).expect("a text");
            response.body = text.replace(from, to).into();
        })
    }
}

impl From<HttpResponse> for Step {
    fn from(response: HttpResponse) -> Self {
        Self::respond(response)
    }
}

impl From<Result<HttpResponse, TransportErrorKind>> for Step {
    fn from(reply: Result<HttpResponse, TransportErrorKind>) -> Self {
        reply.map_or_else(Self::fail, Self::respond)
    }
}

/// A script of these steps, one for each request. Later requests pass.
pub fn in_turn<S: Into<Step>>(
    steps: impl IntoIterator<Item = S, IntoIter: Send>,
) -> impl FnMut(&HttpRequest) -> Step + Send {
    let mut steps = steps.into_iter();
    move |_| steps.next().map_or_else(Step::pass, Into::into)
}

/// A script for the requests that `selects` selects. Other requests pass.
pub fn on(
    selects: impl Fn(&HttpRequest) -> bool + Send,
    mut script: impl FnMut(&HttpRequest) -> Step + Send,
) -> impl FnMut(&HttpRequest) -> Step + Send {
    move |request| if selects(request) { script(request) } else { Step::pass() }
}

/// Returns `true` for every method but GET.
pub fn is_write(request: &HttpRequest) -> bool {
    request.method != "GET"
}

/// Returns `true` for transactions, and for reads in a batch.
pub fn is_batch(request: &HttpRequest) -> bool {
    request.uri.path().ends_with("/$batch")
}

/// Creates a response.
///
/// # Panics
/// The status or a value is invalid.
pub fn response(
    status: u16,
    headers: &[(&'static str, &str)],
    body: impl Into<Bytes>,
) -> HttpResponse {
    let headers = headers.iter().map(|(name, value)| {
        (http::HeaderName::from_static(name), value.parse().expect("a header"))
    });
    HttpResponse {
        status: status.try_into().expect("a status"),
        headers: headers.collect(),
        body: body.into(),
    }
}

/// Returns the body of an error of the service.
pub fn json_error(code: &str, message: &str) -> String {
    format!(
        r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{message}"}}}}}}"#
    )
}
