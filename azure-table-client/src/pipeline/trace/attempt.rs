//! The telemetry of one attempt.

use std::fmt;
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, StatusCode};
use tracing::{Span, debug_span, field};

use super::{CallTrace, TARGET, integer, record_error};
use crate::operation::{Answer, Location, Request};
use crate::pipeline::retry::Failure;
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

/// The absolute URL of a request without keys, literals and signatures. Their values are `REDACTED`, as in
/// OpenTelemetry's conventions.
struct RedactedUrl<'r> {
    base: &'r str,
    request: &'r Request,
}

/// The values of these parameters contain no data.
const SHOWN: [&str; 5] = ["$select", "$top", "$format", "comp", "restype"];

impl fmt::Display for RedactedUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base)?;
        match self.request.path.split_once("(PartitionKey=") {
            Some((table, _)) => write!(f, "{table}(PartitionKey='REDACTED',RowKey='REDACTED')")?,
            None => f.write_str(&self.request.path)?,
        }
        let mut separator = '?';
        for pair in self.request.query.as_str().split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split('=').next().unwrap_or_default();
            if SHOWN.contains(&name) {
                write!(f, "{separator}{pair}")?;
            } else {
                write!(f, "{separator}{name}=REDACTED")?;
            }
            separator = '&';
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityKey;
    use crate::filter::QueryFilter;
    use crate::operation::cursor::PageToken;
    use crate::operation::query::{self, QuerySpec};
    use crate::operation::table;
    use crate::wire::Protocol;

    fn shown(request: &Request) -> String {
        RedactedUrl { base: "https://me.table.core.windows.net", request }.to_string()
    }

    #[test]
    fn keys_filters_and_continuations_are_not_shown() {
        let key = EntityKey::new("secret part", "secret row");
        let point = query::point(Protocol::default(), "Blogs", &key, &["Title".into()]).unwrap();
        assert_eq!(
            shown(&point),
            "https://me.table.core.windows.net/Blogs(PartitionKey='REDACTED',RowKey='REDACTED')\
             ?$select=Title"
        );
        let filter = QueryFilter::parse("Title eq 'secret'").unwrap().into();
        let spec = QuerySpec { filter: Some(&filter), select: &[] };
        let query = query::query(Protocol::default(), "Blogs", spec, Some(7), None).unwrap();
        assert_eq!(
            shown(&query),
            "https://me.table.core.windows.net/Blogs()?$filter=REDACTED&$top=7"
        );
        let next = PageToken { partition_key: "secret".to_owned(), row_key: None };
        let list = table::list(None, None, Some(&next)).unwrap();
        assert_eq!(shown(&list), "https://me.table.core.windows.net/Tables?NextTableName=REDACTED");
        let one = table::get(Protocol::default(), "Blogs").unwrap();
        assert_eq!(shown(&one), "https://me.table.core.windows.net/Tables('Blogs')");
    }
}
