//! One call, from attempt to attempt.

#[cfg(feature = "entra")]
mod bearer;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use tokio::sync::SemaphorePermit;
use tracing::Instrument as _;

use super::retry::{self, Failure};
use super::retrying::{LocationMode, Retrying, Route};
use super::signing::{AttemptValues, Signing};
use super::trace::{AttemptTrace, CallTrace};
use super::{CallOptions, Pipeline};
use crate::error::{Error, OpenWrite, Outcome};
use crate::operation::{Answer, Location, Reply, Request, Signed, is_of_another_request};
use crate::wire::PayloadFormat;
#[cfg(feature = "entra")]
pub(super) use bearer::Bearer;

/// One call, and the state of its attempts so far.
pub(super) struct Attempts<'c> {
    pipeline: &'c Pipeline,
    request: &'c Request,
    /// The format of the response.
    format: PayloadFormat,
    client_request_id: String,
    trace: &'c CallTrace<'c>,
    /// `None` is later than any clock can show.
    deadline: Option<Instant>,
    /// The deadline as it was configured.
    whole_deadline: Duration,
    signing: Signing,
    retrying: Retrying<'c>,
    /// The times at which the first attempt and the current one were sent.
    first_sent: Option<Instant>,
    sent_at: Instant,
    /// The attempts of a write that may have been applied, or may be applied later.
    open: Option<OpenWrite>,
    /// Whether the last attempt has a response that is not retried.
    has_final_response: bool,
}

impl<'c> Attempts<'c> {
    pub(super) fn new(
        pipeline: &'c Pipeline,
        request: &'c Request,
        options: &'c CallOptions,
        client_request_id: String,
        trace: &'c CallTrace<'c>,
    ) -> Result<Self, Error> {
        // A read is posted if its key is too long for a URL. The secondary may refuse every POST.
        let is_posted_read = request.method != Method::GET
            && !request.is_write()
            && pipeline.locations != LocationMode::SecondaryOnly;
        let locations = if request.operation.is_secondary_only() {
            LocationMode::SecondaryOnly
        } else if options.primary_only || is_posted_read {
            LocationMode::PrimaryOnly
        } else {
            pipeline.locations
        };
        let route =
            Route::new(locations, request.is_write()).and_then(|route| match &pipeline.secondary {
                None if route.location() == Location::Secondary => Err(Error::invalid_input(
                    "the client has no secondary endpoint: set secondary_endpoint",
                )),
                _ => Ok(route),
            });
        let protocol = pipeline
            .protocol(options)
            .and_then(|protocol| request.check(protocol).map(|()| protocol));
        let (protocol, route) = (protocol?, route?);
        let deadline = options.deadline.unwrap_or(pipeline.deadline);
        let now = pipeline.clock.instant();
        let policy = options.retry.as_ref().unwrap_or(&pipeline.retry);
        Ok(Self {
            pipeline,
            request,
            format: protocol.format(),
            client_request_id,
            trace,
            deadline: now.checked_add(deadline),
            whole_deadline: options.whole_deadline.unwrap_or(deadline),
            signing: Signing::new(pipeline),
            retrying: Retrying::new(policy, route),
            first_sent: None,
            sent_at: now,
            open: None,
            has_final_response: false,
        })
    }

    /// Waits before the request is sent again, if it is a read and its response is damaged. Otherwise ends the call, and
    /// returns `false`.
    pub(super) async fn repeats(&mut self, error: &Error) -> bool {
        // A response that the policy has already decided not to retry stays the last one.
        if error.is_damaged() && self.has_final_response && !self.request.is_write() {
            return self.retries(&Failure::Damaged).await;
        }
        self.end();
        false
    }

    /// Ends the call.
    pub(super) fn end(&self) {
        if self.has_final_response {
            self.pipeline.budget.earn(self.retrying.spent);
        }
    }

    /// Sends the request, and retries where the policy allows it. Returns the last answer regardless of its status.
    pub(super) async fn next(&mut self) -> Result<Reply, Error> {
        loop {
            let failure = match self.send().await? {
                Ok(mut answer) => {
                    if !answer.closes && !self.lacks_token() {
                        self.leave_open();
                    }
                    #[cfg(feature = "entra")]
                    if self.has_new_token(&answer)? {
                        continue;
                    }
                    let is_lag =
                        answer.status == StatusCode::NOT_FOUND && self.retrying.route.not_found();
                    if is_lag || self.signing.is_renewed(self.pipeline, &answer) {
                        continue;
                    }
                    self.has_final_response = true;
                    if let Some(error) = answer.foreign.take() {
                        return Err(self.failed(error).with_reply(answer.status, None));
                    }
                    return Ok(self.reply(answer));
                }
                Err(failure) => failure,
            };
            if !failure.closes() {
                self.leave_open();
            }
            if !self.retries(&failure).await {
                return self.give_up(failure);
            }
        }
    }

    /// Waits before the next attempt. Returns `false` if there is none.
    async fn retries(&mut self, failure: &Failure) -> bool {
        self.has_final_response = false;
        let is_write = self.request.is_write();
        self.retrying.waits(self.pipeline, failure, is_write, self.deadline).await
    }

    fn give_up(&self, failure: Failure) -> Result<Reply, Error> {
        let endpoint = self.pipeline.endpoint_at(self.retrying.route.location());
        let hint = failure.hint(endpoint);
        if failure.is_timeout()
            && self.deadline.is_some_and(|at| self.pipeline.clock.until(at).is_zero())
        {
            return Err(self.deadline_reached(""));
        }
        match failure.into_answer() {
            Ok(answer) => Ok(self.reply(answer)),
            Err(error) => Err(self.failed(error).with_hint(hint)),
        }
    }

    /// Sends one attempt. Returns its answer, unless a retry may bring another one.
    async fn send(&mut self) -> Result<Result<Answer, Failure>, Error> {
        let pipeline = self.pipeline;
        // An attempt begins once it has a permit.
        let _permit = self.permit().await?;
        self.signing.credential = pipeline.credential.get();
        #[cfg(feature = "entra")]
        let token = self.authorization().await?;
        #[cfg(not(feature = "entra"))]
        let token = None;
        let now = pipeline.clock.instant();
        let left = self.deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(now));
        if left.is_zero() {
            return Err(self.deadline_reached(""));
        }
        self.retrying.count += 1;
        self.first_sent.get_or_insert(now);
        self.sent_at = now;
        let limit = pipeline.try_timeout.min(left);
        let location = self.retrying.route.location();
        let date = self.signing.date(pipeline);
        let waited = std::mem::take(&mut self.retrying.waited);
        let (number, id) = (self.retrying.count, &self.client_request_id);
        let attempt = AttemptTrace::begin(self.trace, self.request, (number, waited), location, id);
        let prepared = pipeline.prepare(
            self.request,
            AttemptValues {
                credential: &self.signing.credential,
                format: self.format,
                number,
                client_request_id: id,
                date,
                token,
                location,
                time: limit,
                headers: attempt.headers(),
            },
        );
        // The first attempt fails for the request. A later one can fail for a credential that the program has set meanwhile,
        // while an earlier one is open.
        let outgoing = prepared
            .map_err(|error| if self.open.is_some() { self.failed(error) } else { error })?;
        let sending = pipeline.transport.send(outgoing).instrument(attempt.span());
        let failure = match pipeline.clock.timeout(limit, sending).await {
            Some(Ok(response)) if is_of_another_request(&response.headers, id) => {
                Failure::OfAnotherRequest
            }
            Some(Ok(response)) => {
                let (now, dialect) = (pipeline.now(), pipeline.protocol.dialect());
                let answer = Answer::of(self.request, id, response, now, dialect);
                attempt.responded(&answer);
                let is_transient = retry::is_transient(answer.status);
                return Ok(if is_transient { Err(Failure::Response(answer)) } else { Ok(answer) });
            }
            Some(Err(error)) => Failure::Transport(error),
            None => Failure::TimedOut(limit),
        };
        attempt.failed(&failure);
        Ok(Err(failure))
    }

    async fn permit(&self) -> Result<Option<SemaphorePermit<'c>>, Error> {
        let Some(permits) = &self.pipeline.permits else { return Ok(None) };
        let permit = self.pipeline.clock.timeout_at(self.deadline, pin!(permits.acquire())).await;
        // The semaphore is never closed.
        let permit = permit.and_then(Result::ok);
        let late = || self.deadline_reached("too many requests of this client are in flight");
        permit.map(Some).ok_or_else(late)
    }

    /// Whether the last attempt had no token since the tenant is unknown. The service applies no such request.
    #[cfg(not(feature = "entra"))]
    #[expect(clippy::unused_self, reason = "has the signature of the method with tokens")]
    const fn lacks_token(&self) -> bool {
        false
    }

    /// Records that the current attempt of a write may have been applied, or may be applied later.
    fn leave_open(&mut self) {
        if self.request.is_write() {
            let (first_sent, last_sent) = (self.first_sent, Some(self.sent_at));
            self.open = Some(OpenWrite { first_sent, last_sent, is_fenced: false });
        }
    }

    fn reply(&self, answer: Answer) -> Reply {
        let location = self.retrying.route.location();
        let signed = Signed {
            credential: Arc::clone(&self.signing.credential),
            is_https: self.pipeline.endpoint_at(location).is_https(),
            received_at: self.pipeline.clock.now(),
        };
        #[cfg(feature = "entra")]
        let advice = self.advice(&answer);
        #[cfg(not(feature = "entra"))]
        let advice = None;
        let reply = Reply {
            advice,
            first_sent: self.first_sent,
            answer,
            requested: self.format,
            attempts: self.retrying.count,
            client_request_id: self.client_request_id.clone(),
            open: self.open,
            location,
            signed,
        };
        self.trace.responded(&reply.client_request_id, Some(&reply));
        reply
    }

    /// The error of a call that reached its deadline.
    fn deadline_reached(&self, message: &'static str) -> Error {
        self.failed(Error::deadline(self.whole_deadline, message))
    }

    fn failed(&self, error: Error) -> Error {
        self.trace.responded(&self.client_request_id, None);
        let outcome = if self.open.is_some() { Outcome::Unknown } else { Outcome::NotApplied };
        let count = self.retrying.count;
        let error = self.request.failed(error, outcome, count, &self.client_request_id);
        error.with_open_write(self.open)
    }
}
