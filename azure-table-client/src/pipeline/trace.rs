//! The telemetry of a call: a span by OpenTelemetry's conventions for [database clients][db], spans of its
//! attempts by the conventions for [HTTP clients][http], and the observers.
//!
//! [db]: https://opentelemetry.io/docs/specs/semconv/db/database-spans/
//! [http]: https://opentelemetry.io/docs/specs/semconv/http/http-spans/

mod attempt;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tracing::instrument::Instrumented;
use tracing::{Instrument as _, Span, field, info_span, warn};

pub(super) use attempt::AttemptTrace;

use super::Pipeline;
use crate::error::{Error, ErrorCode, ErrorKind, Outcome};
use crate::lock::lock;
use crate::operation::Reply;
use crate::telemetry::{CallOutcome, Finished};
use crate::wire::Operation;

const TARGET: &str = "azure_table_client";

/// The error codes that a call expects; they do not count as errors.
pub(crate) type Expects = fn(&ErrorCode) -> bool;

/// One call, from its beginning to its end. A dropped call is reported as cancelled.
pub(crate) struct CallTrace<'c> {
    pipeline: &'c Pipeline,
    operation: Operation,
    table: Cow<'c, str>,
    operations: usize,
    expects: Option<Expects>,
    span: Span,
    /// Whether a subscriber or an observer listens.
    is_on: bool,
    started: Instant,
    tally: Mutex<Tally>,
    is_over: AtomicBool,
}

/// The totals of a call over its requests.
#[derive(Default)]
struct Tally {
    attempts: u32,
    retries: u32,
    waited: Duration,
    pages: u64,
    rows: u64,
    request_id: Option<String>,
    client_request_id: Option<String>,
    /// The last response is a refusal.
    is_refused: bool,
    /// An attempt without a usable response may have been applied.
    outcome_open: bool,
    by_earlier_attempt: bool,
}

impl Pipeline {
    /// The trace of a call that begins now.
    pub(crate) fn trace<'c>(
        &'c self,
        operation: Operation,
        table: impl Into<Cow<'c, str>>,
    ) -> CallTrace<'c> {
        let endpoint = &self.endpoint;
        let table = if operation.has_table() { table.into() } else { Cow::Borrowed("") };
        let span = info_span!(
            target: TARGET,
            "azure_table.call",
            "otel.kind" = "client",
            "otel.name" = %SpanName(operation, &table),
            "otel.status_code" = field::Empty,
            "db.system.name" = self.protocol.dialect().system(),
            "db.namespace" = endpoint.account(),
            "db.collection.name" = (!table.is_empty()).then_some(&*table),
            "db.operation.name" = operation.as_str(),
            "db.operation.batch.size" = field::Empty,
            "db.response.status_code" = field::Empty,
            "db.response.returned_rows" = field::Empty,
            "server.address" = endpoint.host(),
            "server.port" = integer(endpoint.port()),
            "error.type" = field::Empty,
            "azure.service.request.id" = field::Empty,
            "azure_table.client_request_id" = field::Empty,
            "azure_table.attempts" = field::Empty,
            "azure_table.retries" = field::Empty,
            "azure_table.wait_ms" = field::Empty,
            "azure_table.pages" = field::Empty,
            "azure_table.outcome" = field::Empty,
            "azure_table.by_earlier_attempt" = field::Empty,
        );
        CallTrace {
            pipeline: self,
            operation,
            table,
            operations: 1,
            expects: None,
            is_on: !span.is_disabled() || !self.observers.is_empty(),
            span,
            started: self.clock.instant(),
            tally: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }
}

impl CallTrace<'_> {
    /// Sets the error codes that do not count as errors.
    pub(crate) fn expecting(mut self, expects: Option<Expects>) -> Self {
        self.expects = expects;
        self
    }

    /// Records the number of operations. By the conventions, a single operation has no batch size.
    pub(crate) fn batch(mut self, operations: usize) -> Self {
        self.operations = operations;
        if operations > 1 {
            self.span.record("db.operation.batch.size", integer(operations));
        }
        self
    }

    /// Runs the call in its span, and records its result.
    pub(crate) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let result = self.within(work).await;
        self.finish(result.as_ref().map(|_| ()));
        result
    }

    /// Does a part of the call's work in its span. [`finish`](Self::finish) follows the last part.
    pub(crate) fn within<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.span.clone())
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        if self.is_on {
            change(&mut lock(&self.tally));
        }
    }

    /// A page of `rows` rows was read.
    pub(crate) fn page(&self, rows: usize) {
        self.count(|tally| {
            tally.pages += 1;
            tally.rows += rows as u64;
        });
    }

    /// One row was read.
    pub(crate) fn row(&self) {
        self.count(|tally| tally.rows += 1);
    }

    /// Records that an earlier attempt, whose response was lost, was found to be applied.
    pub(crate) fn resolved(&self) {
        self.count(|tally| tally.by_earlier_attempt = true);
    }

    /// An attempt is sent.
    fn sent(&self, number: u32, waited: Duration) {
        self.count(|tally| {
            tally.attempts += 1;
            tally.retries += u32::from(number > 1);
            tally.waited += waited;
            tally.is_refused = false;
        });
    }

    /// Records that the response to an attempt is a refusal.
    fn refused(&self) {
        self.count(|tally| tally.is_refused = true);
    }

    /// Records the last response to a request, or that no response came.
    pub(super) fn responded(&self, client_request_id: &str, reply: Option<&Reply>) {
        self.count(|tally| {
            tally.client_request_id = Some(client_request_id.to_owned());
            tally.request_id = reply.and_then(|it| it.request_id()).map(str::to_owned);
            tally.outcome_open |= reply.is_some_and(|reply| reply.open.is_some());
        });
    }

    /// Reports how the call ended.
    pub(crate) fn finish(&self, result: Result<(), &Error>) {
        // An unknown outcome is never expected.
        let is_expected = |error: &Error| {
            error.outcome() != Outcome::Unknown
                && self.expects.is_some_and(|expects| error.code().is_some_and(expects))
        };
        self.report(match result {
            Ok(()) => CallOutcome::Succeeded,
            Err(error) if is_expected(error) => CallOutcome::Expected(error),
            Err(error) => CallOutcome::Failed(error),
        });
    }

    fn report(&self, outcome: CallOutcome<'_>) {
        self.is_over.store(true, Ordering::Relaxed);
        if let CallOutcome::Failed(error) = outcome {
            self.warn(error);
        }
        if !self.is_on {
            return;
        }
        let tally = lock(&self.tally);
        if !self.span.is_disabled() {
            self.record(&tally, outcome);
        }
        let finished = Finished {
            operation: self.operation,
            table: &self.table,
            duration: self.pipeline.clock.since(self.started),
            attempts: tally.attempts,
            retries: tally.retries,
            waited: tally.waited,
            pages: tally.pages,
            rows: tally.rows,
            operations: self.operations,
            request_id: tally.request_id.as_deref(),
            by_earlier_attempt: tally.by_earlier_attempt,
            outcome,
        };
        for observer in &self.pipeline.observers {
            observer.call_finished(&finished);
        }
    }

    /// Emits the event of a failed call. Its text names no entity.
    fn warn(&self, error: &Error) {
        // The tally is empty where only events are enabled.
        let tally = lock(&self.tally);
        let request_id = || error.request_id().or(tally.request_id.as_deref());
        let client_request_id = || error.client_request_id().or(tally.client_request_id.as_deref());
        self.span.in_scope(|| {
            warn!(
                target: TARGET,
                operation = self.operation.as_str(),
                table = (!self.table.is_empty()).then_some(&*self.table),
                code = error_type(error),
                request_id = request_id(),
                client_request_id = client_request_id(),
                attempts = integer(tally.attempts.max(error.attempts())),
                outcome = outcome_name(error.outcome()),
                "call failed"
            );
        });
    }

    /// Returns the effect of a finished write.
    fn effect(tally: &Tally, outcome: CallOutcome<'_>) -> Outcome {
        match outcome {
            CallOutcome::Expected(error) | CallOutcome::Failed(error) => error.outcome(),
            CallOutcome::Dropped if tally.attempts > 0 => Outcome::Unknown,
            CallOutcome::Succeeded if tally.by_earlier_attempt || !tally.is_refused => {
                Outcome::Applied
            }
            // `create_if_not_exists` succeeds where the service refuses it.
            CallOutcome::Succeeded if tally.outcome_open => Outcome::Unknown,
            CallOutcome::Succeeded | CallOutcome::Dropped => Outcome::NotApplied,
        }
    }

    fn record(&self, tally: &Tally, outcome: CallOutcome<'_>) {
        let span = &self.span;
        span.record("azure_table.attempts", integer(tally.attempts));
        span.record("azure_table.retries", integer(tally.retries));
        span.record("azure_table.wait_ms", integer(tally.waited.as_millis()));
        if tally.pages > 0 {
            span.record("azure_table.pages", integer(tally.pages));
        }
        if tally.pages > 0 || self.operation.is_entity_read() {
            span.record("db.response.returned_rows", integer(tally.rows));
        }
        if let Some(id) = &tally.request_id {
            span.record("azure.service.request.id", id.as_str());
        }
        if let Some(id) = &tally.client_request_id {
            span.record("azure_table.client_request_id", id.as_str());
        }
        if self.operation.is_write() {
            span.record("azure_table.outcome", outcome_name(Self::effect(tally, outcome)));
            span.record("azure_table.by_earlier_attempt", tally.by_earlier_attempt);
        }
        let (CallOutcome::Expected(error) | CallOutcome::Failed(error)) = outcome else {
            if matches!(outcome, CallOutcome::Dropped) {
                record_error(span, "cancelled");
            }
            return;
        };
        if let Some(status) = error.status() {
            span.record("db.response.status_code", field::display(status));
        }
        if matches!(outcome, CallOutcome::Failed(_)) {
            record_error(span, error_type(error));
        }
    }
}

impl Drop for CallTrace<'_> {
    fn drop(&mut self) {
        if !self.is_over.load(Ordering::Relaxed) {
            self.report(CallOutcome::Dropped);
        }
    }
}

/// A span's name by the conventions.
struct SpanName<'n>(Operation, &'n str);

impl fmt::Display for SpanName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())?;
        if self.1.is_empty() { Ok(()) } else { write!(f, " {}", self.1) }
    }
}

/// Converts to `i64`, OpenTelemetry's only integer: other types would be exported as text.
pub(super) fn integer(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn record_error(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}

/// The service's code, or the kind of another error. Events have it in place of the text, which may name an entity.
pub(crate) fn error_type(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::Configuration => "configuration",
        ErrorKind::InvalidInput => "invalid_input",
        ErrorKind::Credential => "credential",
        ErrorKind::Connect => "connect",
        ErrorKind::Interrupted => "interrupted",
        ErrorKind::Timeout => "timeout",
        ErrorKind::UnexpectedReply => "unexpected_reply",
        ErrorKind::Decode => "decode",
        ErrorKind::NotSingle => "not_single",
        ErrorKind::TooManyRows => "too_many_rows",
        ErrorKind::Service => {
            error.code().map(ErrorCode::as_str).filter(|code| is_code(code)).unwrap_or("_OTHER")
        }
    }
}

/// Whether a text has the form of an error code. Any server may have sent it.
pub(super) fn is_code(text: &str) -> bool {
    const LONGEST: usize = 64;
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::NotApplied => "not_applied",
        Outcome::Applied => "applied",
        Outcome::Unknown => "unknown",
    }
}
