//! What is told of a call: a span by OpenTelemetry's conventions for [database clients][db], spans of its
//! attempts by those for [HTTP clients][http], and the observers.
//!
//! [db]: https://opentelemetry.io/docs/specs/semconv/db/database-spans/
//! [http]: https://opentelemetry.io/docs/specs/semconv/http/http-spans/

mod attempt;
mod redact;

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{Instrument as _, Span, field, info_span};

pub(super) use attempt::AttemptTrace;

use super::Pipeline;
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::operation::Reply;
use crate::telemetry::{CallOutcome, Finished};
use crate::wire::Operation;

const TARGET: &str = "azure_table_client";

/// Which refusals a call reckons with: they are no errors.
pub(crate) type Expects = fn(&ErrorCode) -> bool;

/// One call, from its beginning to its end. One that is dropped before is told as such.
pub(crate) struct CallTrace<'c> {
    pipeline: &'c Pipeline,
    operation: Operation,
    table: &'c str,
    operations: usize,
    expects: Option<Expects>,
    span: Span,
    /// Nobody listens otherwise.
    is_on: bool,
    started: Instant,
    tally: Mutex<Tally>,
    is_over: AtomicBool,
}

/// What the requests of a call add up to.
#[derive(Default)]
struct Tally {
    attempts: u32,
    retries: u32,
    waited: Duration,
    pages: u64,
    rows: u64,
    request_id: Option<String>,
    client_request_id: Option<String>,
}

impl Pipeline {
    /// The trace of a call that begins now.
    pub(crate) fn trace<'c>(&'c self, operation: Operation, table: &'c str) -> CallTrace<'c> {
        let endpoint = &self.endpoint;
        let table = if operation.has_table() { table } else { "" };
        let span = info_span!(
            target: TARGET,
            "azure_table.call",
            "otel.kind" = "client",
            "otel.name" = %Name(operation, table),
            "otel.status_code" = field::Empty,
            "db.system.name" = self.protocol.dialect().system(),
            "db.namespace" = endpoint.account(),
            "db.collection.name" = (!table.is_empty()).then_some(table),
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
        );
        CallTrace {
            pipeline: self,
            operation,
            table,
            operations: 1,
            expects: None,
            is_on: !span.is_disabled() || !self.observers.is_empty(),
            span,
            started: Instant::now(),
            tally: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }
}

impl CallTrace<'_> {
    /// These refusals are no errors.
    pub(crate) fn expecting(mut self, expects: Option<Expects>) -> Self {
        self.expects = expects;
        self
    }

    /// It is a batch of so many operations. One alone is none, by the conventions.
    pub(crate) fn batch(mut self, operations: usize) -> Self {
        self.operations = operations;
        if operations > 1 {
            self.span.record("db.operation.batch.size", integer(operations));
        }
        self
    }

    /// Does the call's work in its span, and tells how it ended.
    pub(crate) async fn run<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let result = work.instrument(self.span.clone()).await;
        self.finish(result.as_ref().map(|_| ()));
        result
    }

    /// The same where the answer is read later.
    pub(crate) async fn run_request(
        &self,
        request: &crate::operation::Request,
        work: impl Future<Output = Result<Reply, Error>>,
    ) -> Result<Reply, Error> {
        let result = work.instrument(self.span.clone()).await;
        match &result {
            Ok(reply) => {
                let status = request.status_of(reply.status, &reply.headers, &reply.body);
                let refused = (self.is_on && !status.is_success())
                    .then(|| Reply { status, ..reply.clone() }.into_error(request));
                self.finish(refused.as_ref().map_or(Ok(()), Err));
            }
            Err(error) => self.finish(Err(error)),
        }
        result
    }

    /// A page was read, with so many rows.
    pub(crate) fn page(&self, rows: usize) {
        if self.is_on {
            let mut tally = self.tally();
            tally.pages += 1;
            tally.rows += rows as u64;
        }
    }

    /// One row was read.
    pub(crate) fn row(&self) {
        if self.is_on {
            self.tally().rows += 1;
        }
    }

    /// An attempt is sent.
    fn sent(&self, number: u32, waited: Duration) {
        if self.is_on {
            let mut tally = self.tally();
            tally.attempts += 1;
            tally.retries += u32::from(number > 1);
            tally.waited += waited;
        }
    }

    /// A request has its last answer, or there is none.
    pub(super) fn answered(&self, client_request_id: &str, reply: Option<&Reply>) {
        if self.is_on {
            let mut tally = self.tally();
            tally.client_request_id = Some(client_request_id.to_owned());
            if let Some(reply) = reply {
                tally.request_id = reply.request_id().map(str::to_owned);
            }
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, result: Result<(), &Error>) {
        let is_expected =
            |error: &Error| self.expects.is_some_and(|expects| error.code().is_some_and(expects));
        self.tell(match result {
            Ok(()) => CallOutcome::Succeeded,
            Err(error) if is_expected(error) => CallOutcome::Expected(error),
            Err(error) => CallOutcome::Failed(error),
        });
    }

    fn tell(&self, outcome: CallOutcome<'_>) {
        self.is_over.store(true, Ordering::Relaxed);
        if !self.is_on {
            return;
        }
        let tally = self.tally();
        if !self.span.is_disabled() {
            self.record(&tally, outcome);
        }
        let finished = Finished {
            operation: self.operation,
            table: self.table,
            duration: self.started.elapsed(),
            attempts: tally.attempts,
            retries: tally.retries,
            waited: tally.waited,
            pages: tally.pages,
            rows: tally.rows,
            operations: self.operations,
            request_id: tally.request_id.as_deref(),
            outcome,
        };
        for observer in &self.pipeline.observers {
            observer.call_finished(&finished);
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
            self.tell(CallOutcome::Dropped);
        }
    }
}

/// A span's name by the conventions.
struct Name<'n>(Operation, &'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())?;
        if self.1.is_empty() { Ok(()) } else { write!(f, " {}", self.1) }
    }
}

/// A number of OpenTelemetry, which has `i64` alone: any other would become a text on its way there.
pub(super) fn integer(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn record_error(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}

/// The service's code, or what sort of error it is otherwise.
fn error_type(error: &Error) -> &str {
    const LONGEST: usize = 64;
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
        ErrorKind::Service => match error.code().map(ErrorCode::as_str) {
            // Any server may have sent it: it must stay a code.
            Some(code)
                if code.len() <= LONGEST && code.bytes().all(|b| b.is_ascii_alphanumeric()) =>
            {
                code
            }
            _ => "_OTHER",
        },
    }
}
