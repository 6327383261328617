//! The telemetry of one attempt.

use std::time::{Duration, Instant};

use http::{HeaderMap, Method, StatusCode};
use tracing::{Span, debug_span, field};

use super::redact::RedactedUrl;
use super::{CallTrace, TARGET, integer, record_error};
use crate::operation::{Answer, Location, Request};
use crate::pipeline::failure::Failure;
use crate::telemetry::{AttemptOutcome, Received, Sending};
use crate::transport::{TransportError, TransportErrorKind};

/// One attempt: a span by the conventions for HTTP clients, and the observers. A dropped attempt is reported as
/// cancelled.
pub(in crate::pipeline) struct AttemptTrace<'t> {
    call: &'t CallTrace<'t>,
    span: Span,
    started: Instant,
    /// The report to observers for an attempt that is dropped; a response or a failure changes it.
    received: Received<'t>,
    is_over: bool,
}

impl<'t> AttemptTrace<'t> {
    pub(in crate::pipeline) fn begin(
        call: &'t CallTrace<'t>,
        request: &Request,
        (number, waited): (u32, Duration),
        location: Location,
        client_request_id: &'t str,
    ) -> Self {
        let endpoint = call.pipeline.endpoint_at(location);
        // The conventions know the methods of RFC 9110 and PATCH.
        let sent_as_post = call.pipeline.protocol.tunnels(&request.method);
        let method = if sent_as_post { &Method::POST } else { &request.method };
        let is_known = method.as_str() != "MERGE";
        let span = debug_span!(
            target: TARGET,
            "azure_table.attempt",
            "otel.kind" = "client",
            "otel.name" = if is_known { method.as_str() } else { "HTTP" },
            "otel.status_code" = field::Empty,
            "http.request.method" = if is_known { method.as_str() } else { "_OTHER" },
            "http.request.method_original" = (!is_known).then_some(method.as_str()),
            "http.request.resend_count" = (number > 1).then(|| integer(number - 1)),
            "http.request.body.size" = size(method, request.body.len()),
            "http.response.status_code" = field::Empty,
            "http.response.body.size" = field::Empty,
            "server.address" = endpoint.host(),
            "server.port" = integer(endpoint.port()),
            "url.full" = %RedactedUrl { base: endpoint.base(), request },
            "error.type" = field::Empty,
            "azure.service.request.id" = field::Empty,
            "azure_table.client_request_id" = client_request_id,
        );
        call.sent(number, waited);
        let received = Received {
            operation: call.operation,
            table: &call.table,
            location,
            attempt: number,
            waited,
            client_request_id,
            duration: Duration::ZERO,
            sent_bytes: request.body.len(),
            received_bytes: 0,
            headers: None,
            outcome: AttemptOutcome::Dropped,
        };
        Self { call, span, started: call.pipeline.clock.instant(), received, is_over: false }
    }

    /// Returns the span of the attempt.
    pub(in crate::pipeline) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Calls the observers, and returns the headers that they add.
    pub(in crate::pipeline) fn headers(&self) -> HeaderMap {
        if self.call.pipeline.observers.is_empty() {
            return HeaderMap::new();
        }
        let Received { operation, table, location, attempt, waited, .. } = self.received;
        let Received { client_request_id, sent_bytes: body_bytes, .. } = self.received;
        let headers = HeaderMap::new();
        let mut sending = Sending {
            operation,
            table,
            location,
            attempt,
            waited,
            client_request_id,
            body_bytes,
            headers,
        };
        for observer in &self.call.pipeline.observers {
            observer.before_send(&mut sending);
        }
        sending.headers
    }

    /// Records a response.
    pub(in crate::pipeline) fn responded(mut self, answer: &Answer) {
        let status = answer.status;
        if !status.is_success() {
            self.call.refused();
        }
        let (received_status, _, body) = answer.received();
        if !self.span.is_disabled() {
            self.span.record("http.response.status_code", integer(received_status.as_u16()));
            self.span.record("http.response.body.size", integer(body.len()));
            if let Some(id) = answer.request_id() {
                self.span.record("azure.service.request.id", id);
            }
            if status.as_u16() >= 400 && !self.is_expected(answer) {
                record_error(&self.span, status.as_str());
            }
        }
        self.report(AttemptOutcome::Responded(status.as_u16()), Some(answer));
    }

    /// Records an attempt without a usable response.
    pub(in crate::pipeline) fn failed(mut self, failure: &Failure) {
        let kind = match failure {
            Failure::OfAnotherRequest => Some(TransportErrorKind::Foreign),
            _ => failure.transport().map(TransportError::kind),
        };
        let (name, outcome) = match kind {
            Some(kind) => (kind.as_str(), AttemptOutcome::Failed(kind)),
            None => ("timeout", AttemptOutcome::TimedOut),
        };
        record_error(&self.span, name);
        self.report(outcome, None);
    }

    /// Returns whether the call expects this response.
    fn is_expected(&self, answer: &Answer) -> bool {
        // The secondary may lag behind; the primary is queried next.
        let is_lag =
            self.received.location == Location::Secondary && answer.status == StatusCode::NOT_FOUND;
        let is_expected = || {
            let expects = self.call.expects?;
            answer.code().map(|code| expects(&code))
        };
        is_lag || is_expected().unwrap_or(false)
    }

    fn report(&mut self, outcome: AttemptOutcome, answer: Option<&Answer>) {
        self.is_over = true;
        if self.call.pipeline.observers.is_empty() {
            return;
        }
        let received = answer.map(Answer::received);
        let received = Received {
            duration: self.call.pipeline.clock.since(self.started),
            received_bytes: received.map_or(0, |(_, _, body)| body.len()),
            headers: received.map(|(_, headers, _)| headers),
            outcome,
            ..self.received.clone()
        };
        for observer in &self.call.pipeline.observers {
            observer.after_receive(&received);
        }
    }
}

impl Drop for AttemptTrace<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            record_error(&self.span, "cancelled");
            self.report(AttemptOutcome::Dropped, None);
        }
    }
}

/// A GET has no body to speak of.
fn size(method: &Method, bytes: usize) -> Option<i64> {
    (*method != Method::GET).then(|| integer(bytes))
}
