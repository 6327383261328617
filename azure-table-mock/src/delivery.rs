//! The delivery of a request to the core: with the faults of the plan, and with a record of it.

mod delayed;

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use http::header::{self, HeaderValue};
use http::{Method, StatusCode};

use crate::core::edm_time;
use crate::failure::Failure;
use crate::faults::{Break, Effects, HostKind, Replacement, ReplacementBody, proxy_page};
use crate::handlers::{self, Scan};
use crate::recorder::{self, RecordedRequest};
use crate::request::{ParsedRequest, RawRequest};
use crate::room::Room;
use crate::service::{LOCAL, TableService};
use crate::step;
use crate::transport::{HttpRequest, HttpResponse, TransportError, TransportErrorKind};
use crate::wire::Operation;

/// The longest URL that reaches the service: Http.sys in front of it limits the request line and the
/// headers to this size.
pub(super) const MAX_URL_BYTES: usize = 16 * 1024;

impl TableService {
    /// Returns the response to one request. Never panics, even if the request is malformed.
    ///
    /// The sender's address is 127.0.0.1. Faults that delay a request or break its connection have no
    /// effect here; a host that can do both calls [`receive_from`](Self::receive_from).
    pub fn respond(&self, request: &HttpRequest) -> HttpResponse {
        self.respond_to(RawRequest::in_process(request, LOCAL))
    }

    /// Returns the response to one request with all faults of the plan, for a host that can wait and break a
    /// connection. Never panics, even if the request is malformed. The sender's address is 127.0.0.1.
    ///
    /// # Errors
    /// The plan breaks the connection, so the host must close it without a response.
    pub async fn receive(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        self.receive_from(request, LOCAL, &|_| true).await
    }

    /// Like [`receive`](Self::receive), for a host that knows the sender's address and bounds the memory of
    /// responses. A shared access signature may be restricted to some addresses.
    ///
    /// While a page of a query grows, `has_room` is called with the number of bytes that its body needs next. If it
    /// returns `false`, the page ends with a continuation token. A page has at least one row.
    ///
    /// # Errors
    /// The plan breaks the connection, so the host must close it without a response.
    pub async fn receive_from(
        &self,
        request: HttpRequest,
        sender: IpAddr,
        has_room: &(dyn Fn(usize) -> bool + Send + Sync),
    ) -> Result<HttpResponse, TransportError> {
        let raw = RawRequest { room: Room(has_room), ..RawRequest::in_process(&request, sender) };
        let parsed = ParsedRequest::read(raw, &self.core().rules);
        let mut effects = self.effects_on(&parsed, HostKind::Connections);
        let Some(log) = &self.0.log else {
            return self.receive_parsed(&request, parsed, &effects, sender).await;
        };
        let clock = &self.core().clock;
        let operation = parsed.operation_or_other();
        let time = edm_time(clock.unskewed.now());
        effects.number = log.add_request(time, &parsed, &request.headers, &effects.texts);
        let result = self.receive_parsed(&request, parsed, &effects, sender).await;
        let time = edm_time(clock.unskewed.now());
        log.add_result(time, effects.number, operation, &result);
        result
    }

    async fn receive_parsed(
        &self,
        request: &HttpRequest,
        parsed: ParsedRequest<'_>,
        effects: &Effects,
        sender: IpAddr,
    ) -> Result<HttpResponse, TransportError> {
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        let response = match effects.connection {
            Some(Break::Refused) => return Err(broken(TransportErrorKind::Connect)),
            Some(Break::Hangs) => std::future::pending().await,
            Some(Break::LosesRequest) => {
                self.wait(effects.delay_request).await;
                return Err(broken(TransportErrorKind::Interrupted));
            }
            // A read changes nothing, so it ends with its caller.
            None | Some(Break::LosesReply) if effects.delay_request.is_zero() || is_read => {
                self.wait(effects.delay_request).await;
                self.deliver_due_in_steps().await;
                self.deliver(&parsed, effects, self.core().clock.now()).await
            }
            None | Some(Break::LosesReply) => self
                .deliver_delayed(request.clone(), sender, effects.clone())
                .await
                .ok_or_else(|| broken(TransportErrorKind::Interrupted))?,
        };
        let response = self.once_written(&parsed, response).await;
        self.wait(effects.delay_reply).await;
        if effects.connection == Some(Break::LosesReply) {
            return Err(broken(TransportErrorKind::Interrupted));
        }
        Ok(response)
    }

    /// Responds for a host that can neither wait nor break a connection.
    pub(super) fn respond_to(&self, request: RawRequest<'_>) -> HttpResponse {
        let request = ParsedRequest::read(request, &self.core().rules);
        let effects = self.effects_on(&request, HostKind::ResponsesOnly);
        self.deliver_due();
        step::run(self.deliver(&request, &effects, self.core().clock.now()))
    }

    /// Waits by the clock.
    pub(super) async fn wait(&self, time: Duration) {
        // Tokio's timer waits at least for the next millisecond.
        if !time.is_zero() {
            self.core().clock.unskewed.sleep(time).await;
        }
    }

    /// Decides which faults strike a request that arrives now.
    pub(super) fn effects_on(&self, request: &ParsedRequest<'_>, host: HostKind) -> Effects {
        self.0.faults.decide(host, request, self.core().clock.unskewed.now())
    }

    /// Responds to a request that arrived at this time, and records it.
    pub(super) async fn deliver(
        &self,
        request: &ParsedRequest<'_>,
        effects: &Effects,
        arrived: SystemTime,
    ) -> HttpResponse {
        if effects.is_delivered_twice {
            self.deliver_once(request, effects, arrived).await;
        }
        self.deliver_once(request, effects, arrived).await
    }

    async fn deliver_once(
        &self,
        request: &ParsedRequest<'_>,
        effects: &Effects,
        arrived: SystemTime,
    ) -> HttpResponse {
        let mut recording = ExchangeRecording::start(self, request, arrived);
        let scan = &mut recording.scan;
        let (mut response, failure) = match &effects.replacement {
            _ if request.raw.url_bytes() > MAX_URL_BYTES => {
                (proxy_page(StatusCode::URI_TOO_LONG), None)
            }
            None => self.handle(request, effects, arrived, scan).await,
            Some(replacement) => {
                if replacement.is_applied {
                    self.handle(request, effects, arrived, scan).await;
                }
                self.replace(request, replacement)
            }
        };
        if effects.is_body_cut {
            response.body.truncate(response.body.len() / 2);
        }
        recording.end(response.status, failure);
        if let Some(log) = &self.0.log
            && !effects.texts.is_empty()
        {
            let time = edm_time(self.core().clock.unskewed.now());
            log.add_handled(time, effects.number, response.status);
        }
        if effects.is_reply_swapped { self.0.faults.swap_reply(response) } else { response }
    }

    /// Responds to a request that no fault strikes, and does not record it.
    pub(super) async fn deliver_directly(&self, request: &ParsedRequest<'_>) -> HttpResponse {
        let arrived = self.core().clock.now();
        self.handle(request, &Effects::default(), arrived, &mut None).await.0
    }

    async fn handle(
        &self,
        request: &ParsedRequest<'_>,
        effects: &Effects,
        arrived: SystemTime,
        scan: &mut Option<Scan>,
    ) -> (HttpResponse, Option<Failure>) {
        let core = self.core();
        if request.raw.method != Method::GET && core.store.journal.has_failed() {
            return (self.refuse_for_the_disk(request), Some(Failure::internal_error()));
        }
        let request_id = core.clock.new_id();
        let mut reply = handlers::respond(core, request, effects, arrived, &request_id, scan)
            .await
            .unwrap_or_else(|failure| {
                handlers::refusal(request, &failure, &request_id, core.clock.edm_now())
            });
        request.dialect.finish_reply(request, &mut reply, &core.clock);
        let failure = reply.failure.take();
        let mut response = reply.finish(request, request_id, core.clock.date());
        core.store.journal.deleted.drop_some();
        handlers::add_cors_headers(core, &request.raw, &mut response.headers);
        if request.raw.method == Method::HEAD {
            response.body.clear();
        }
        (response, failure)
    }

    /// The response that the fault plan sends in place of the service's own.
    fn replace(
        &self,
        request: &ParsedRequest<'_>,
        replacement: &Replacement,
    ) -> (HttpResponse, Option<Failure>) {
        let clock = &self.core().clock;
        let (mut response, failure) = match &replacement.body {
            ReplacementBody::Html(status) => (proxy_page(*status), None),
            ReplacementBody::Failure(failure) => {
                (handlers::refuse(request, failure, clock), Some(failure.clone()))
            }
        };
        if !replacement.has_body {
            response.body.clear();
            response.headers.remove(header::CONTENT_TYPE);
        }
        if let Some((name, text)) = replacement.retry_after.map(|wait| wait.header(clock.now()))
            && let Ok(value) = HeaderValue::from_str(&text)
        {
            response.headers.insert(name, value);
        }
        (response, failure)
    }

    /// Returns the response once all changes that it can show are on disk.
    pub(super) async fn once_written(
        &self,
        request: &ParsedRequest<'_>,
        response: HttpResponse,
    ) -> HttpResponse {
        match &self.core().store.journal.disk {
            Some(disk) if disk.written().await.is_err() => self.refuse_for_the_disk(request),
            _ => response,
        }
    }

    fn refuse_for_the_disk(&self, request: &ParsedRequest<'_>) -> HttpResponse {
        let failure = Failure::internal_error();
        handlers::refuse(request, &failure, &self.core().clock)
    }
}

fn broken(kind: TransportErrorKind) -> TransportError {
    TransportError::new(kind, "the fault plan breaks this connection")
}

/// Records a request once: with its response, or without one if the request is dropped before it.
struct ExchangeRecording<'a, 'r> {
    service: &'a TableService,
    request: &'a ParsedRequest<'r>,
    arrived: SystemTime,
    started: Instant,
    scan: Option<Scan>,
    is_recorded: bool,
}

impl<'a, 'r> ExchangeRecording<'a, 'r> {
    fn start(
        service: &'a TableService,
        request: &'a ParsedRequest<'r>,
        arrived: SystemTime,
    ) -> Self {
        let started = service.core().clock.unskewed.instant();
        Self { service, request, arrived, started, scan: None, is_recorded: false }
    }

    fn end(mut self, status: StatusCode, failure: Option<Failure>) {
        self.record(status.as_u16(), failure);
    }

    fn record(&mut self, status: u16, failure: Option<Failure>) {
        self.is_recorded = true;
        let request = self.request;
        let operation = request.operation_or_other();
        let plan = self.scan.as_ref().map(|scan| scan.plan);
        let scanned_rows = self.scan.as_ref().map_or(0, |scan| scan.rows);
        let recorder = &self.service.0.recorder;
        if !recorder.is_read() {
            return recorder.count(operation, plan, scanned_rows);
        }
        let recorded = RecordedRequest {
            number: 0,
            arrived: self.arrived,
            took: self.service.core().clock.unskewed.since(self.started),
            method: recorder::method(&request.raw.method),
            url: recorder::target(&request.raw),
            operation,
            operations: request.operation_count(),
            table: request.table().map(recorder::text),
            status,
            error_status: failure.as_ref().map(|failure| failure.status.as_u16()),
            failed_operation: failure
                .as_ref()
                .filter(|_| operation == Operation::Transaction && status == 202)
                .and_then(Failure::index),
            error_code: failure.as_ref().map(|failure| (&*failure.code).into()),
            error_message: failure.map(|failure| recorder::text(&failure.message)),
            plan,
            scanned_rows,
            attempt: 1,
            payload: recorder.payload(request.raw.body),
            payload_len: request.raw.body.len(),
        };
        if let Some(observer) = &recorder.observer {
            observer(&recorded);
        }
        recorder.add(recorded, recorder::call_hash(&request.raw, operation));
    }
}

impl Drop for ExchangeRecording<'_, '_> {
    fn drop(&mut self) {
        // An observer that panics again would abort the process.
        if !self.is_recorded && !thread::panicking() {
            self.record(0, None);
        }
    }
}
