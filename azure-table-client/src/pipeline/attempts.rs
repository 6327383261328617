//! One call, from attempt to attempt.

#[cfg(feature = "entra")]
mod bearer;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::{Method, StatusCode};
use tokio::sync::SemaphorePermit;
use tracing::{Instrument as _, warn};

use super::budget::Spent;
use super::failure::Failure;
use super::location::{LocationMode, Route};
use super::prepare::AttemptValues;
use super::retry::{self, RetryPolicy};
use super::trace::{AttemptTrace, CallTrace, integer};
use super::{CallOptions, Pipeline};
use crate::auth::Credential;
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::{Location, Reply, Request, Signed, origin};
use crate::transport::HttpResponse;
use crate::wire::{PayloadFormat, service_error};
#[cfg(feature = "entra")]
use bearer::Bearer;

/// One call, and the state of its attempts so far.
pub(super) struct Attempts<'c> {
    pipeline: &'c Pipeline,
    request: &'c Request,
    retry: &'c RetryPolicy,
    /// The format of the response.
    format: PayloadFormat,
    client_request_id: String,
    trace: &'c CallTrace<'c>,
    /// `None` is later than any clock can show.
    deadline: Option<Instant>,
    /// The deadline as it was configured.
    whole_deadline: Duration,
    route: Route,
    /// Requests that were sent.
    count: u32,
    /// The failures that count for the policy.
    failures: u32,
    /// The wait before the next attempt.
    waited: Duration,
    /// The time at which the current attempt was sent.
    sent_at: Instant,
    /// The time of the last attempt that may have been applied, or may be applied later.
    open: Option<Instant>,
    /// The date of the last attempt.
    dated: SystemTime,
    /// Whether an attempt was dated by the service's clock.
    has_new_date: bool,
    /// The credential that signed the last attempt.
    credential: Arc<Credential>,
    /// Whether an attempt was signed again because the credential had been replaced.
    has_new_signature: bool,
    /// The tokens that the last retry took from the budget.
    spent: Option<Spent>,
    /// Whether the last attempt has a response that is not retried.
    has_final_response: bool,
    #[cfg(feature = "entra")]
    bearer: Bearer,
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
        Ok(Self {
            pipeline,
            request,
            retry: options.retry.as_ref().unwrap_or(&pipeline.retry),
            format: protocol.format(),
            client_request_id,
            trace,
            deadline: now.checked_add(deadline),
            whole_deadline: options.whole_deadline.unwrap_or(deadline),
            route,
            count: 0,
            failures: 0,
            waited: Duration::ZERO,
            sent_at: now,
            open: None,
            dated: SystemTime::UNIX_EPOCH,
            has_new_date: false,
            credential: pipeline.credential.get(),
            has_new_signature: false,
            spent: None,
            has_final_response: false,
            #[cfg(feature = "entra")]
            bearer: Bearer::default(),
        })
    }

    /// Sends the request, retries where the policy allows it, and reads the response with `read`. A damaged response
    /// to a read is retried too.
    pub(super) async fn exchange<T>(
        mut self,
        read: impl Fn(Reply) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            let result = match self.run().await {
                Ok(reply) => read(reply),
                Err(error) => Err(error),
            };
            match result {
                // A response that the policy has already decided not to retry stays the last one.
                Err(error)
                    if error.is_damaged()
                        && self.has_final_response
                        && !self.request.is_write() =>
                {
                    if !self.retries(&Failure::Damaged).await {
                        return Err(error);
                    }
                }
                result => {
                    if self.has_final_response {
                        self.pipeline.budget.earn(self.spent);
                    }
                    return result;
                }
            }
        }
    }

    /// Sends the request, and retries where the policy allows it. Returns the last response regardless of its
    /// status.
    async fn run(&mut self) -> Result<Reply, Error> {
        loop {
            let sent = self.send().await?;
            if let Ok((status, response)) = &sent
                && !is_closed_by(*status, response)
                && !self.lacks_token()
            {
                self.leave_open();
            }
            let failure = match sent {
                #[cfg(feature = "entra")]
                Ok((_, response)) if self.has_new_token(&response)? => continue,
                Ok((status, response)) if self.should_resend(status, &response) => continue,
                Ok((_, response)) => {
                    self.has_final_response = true;
                    if let Some(error) = self.foreign(&response) {
                        self.leave_open();
                        return Err(self.failed(error).with_reply(response.status, None));
                    }
                    #[cfg(feature = "entra")]
                    if let Some(advice) = self.advice(&response) {
                        let request = self.request;
                        return Err(self
                            .reply(response)
                            .into_error(request)
                            .with_hint(Some(advice)));
                    }
                    return Ok(self.reply(response));
                }
                Err(failure) => failure,
            };
            let is_closed = match &failure {
                Failure::Response(status, response) => is_closed_by(*status, response),
                _ => failure.is_unsent(),
            };
            if !is_closed {
                self.leave_open();
            }
            if !self.retries(&failure).await {
                return self.end(failure);
            }
        }
    }

    /// Waits before the next attempt. Returns `false` if the policy, the deadline or the retry budget allows none.
    async fn retries(&mut self, failure: &Failure) -> bool {
        self.has_final_response = false;
        let Some(wait) = self.wait(failure) else { return false };
        warn!(
            target: "azure_table_client",
            attempt = integer(self.count),
            wait_ms = integer(wait.as_millis()),
            cause = failure.describe(),
            code = failure.code(),
            request_id = failure.request_id(),
            "will retry"
        );
        if !wait.is_zero() {
            self.pipeline.clock.sleep(wait).await;
        }
        self.waited = wait;
        self.spent = self.pipeline.budget.spend(failure.is_timeout());
        self.spent.is_some()
    }

    fn end(&self, failure: Failure) -> Result<Reply, Error> {
        let endpoint = self.pipeline.endpoint_at(self.route.location());
        let hint = failure.hint(endpoint);
        if failure.is_timeout()
            && self.deadline.is_some_and(|at| self.pipeline.clock.until(at).is_zero())
        {
            return Err(self.deadline_reached(""));
        }
        match failure.into_response() {
            Ok(response) => Ok(self.reply(response)),
            Err(error) => Err(self.failed(error).with_hint(hint)),
        }
    }

    /// Sends one attempt. Returns its response with the status or, for a batch, the status of the operation inside.
    async fn send(&mut self) -> Result<Result<(StatusCode, HttpResponse), Failure>, Error> {
        let pipeline = self.pipeline;
        // An attempt begins once it has a permit.
        let _permit = self.permit().await?;
        self.credential = pipeline.credential.get();
        #[cfg(feature = "entra")]
        let token = self.authorization().await?;
        #[cfg(not(feature = "entra"))]
        let token = None;
        let now = pipeline.clock.instant();
        let left = self.deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(now));
        if left.is_zero() {
            return Err(self.deadline_reached(""));
        }
        self.count += 1;
        self.sent_at = now;
        let limit = pipeline.try_timeout.min(left);
        let location = self.route.location();
        self.dated = pipeline.now();
        let waited = std::mem::take(&mut self.waited);
        let (number, id) = ((self.count, waited), &self.client_request_id);
        let attempt = AttemptTrace::begin(self.trace, self.request, number, location, id);
        let outgoing = pipeline.prepare(
            self.request,
            AttemptValues {
                credential: &self.credential,
                format: self.format,
                number: self.count,
                client_request_id: id,
                date: self.dated,
                token,
                location,
                time: limit,
                headers: attempt.headers(),
            },
        )?;
        let sending = pipeline.transport.send(outgoing).instrument(attempt.span());
        let failure = match pipeline.clock.timeout(limit, sending).await {
            Some(Ok(response)) if origin::is_of_another_request(&response.headers, id) => {
                Failure::OfAnotherRequest
            }
            Some(Ok(response)) => {
                let HttpResponse { status, headers, body } = &response;
                let status = self.request.status_of(*status, headers, body);
                attempt.responded(status, &response);
                if !retry::is_transient(status) {
                    return Ok(Ok((status, response)));
                }
                return Ok(Err(Failure::Response(status, response)));
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

    /// Returns whether to send the request again for a reason that does not count as a failure.
    fn should_resend(&mut self, status: StatusCode, response: &HttpResponse) -> bool {
        match status {
            StatusCode::NOT_FOUND => self.route.not_found(),
            StatusCode::FORBIDDEN if is_not_authentic(response) => {
                if !self.has_new_date && self.is_misdated(response) {
                    self.has_new_date = true;
                    return true;
                }
                self.is_replaced()
            }
            // Cosmos DB refuses a credential with this status.
            StatusCode::UNAUTHORIZED => self.is_replaced(),
            _ => false,
        }
    }

    /// Whether the credential was replaced during this call, for the first time.
    fn is_replaced(&mut self) -> bool {
        let is_replaced =
            !self.has_new_signature && self.pipeline.credential.is_newer_than(&self.credential);
        self.has_new_signature |= is_replaced;
        is_replaced
    }

    /// Whether the service refuses the date of a signature, since this machine's clock is off.
    fn is_misdated(&self, response: &HttpResponse) -> bool {
        self.credential.key().is_some()
            && self.pipeline.skew.learn(&response.headers, self.dated, self.pipeline.clock.now())
    }

    /// The wait before the next attempt; `None` ends the call.
    fn wait(&mut self, failure: &Failure) -> Option<Duration> {
        self.failures += 1;
        if !failure.is_transient() || self.failures > self.retry.max_retries() {
            return None;
        }
        let now = self.pipeline.now();
        let mut wait =
            self.retry.wait(&failure.attempt(self.route.failures(), now), &*self.pipeline.clock)?;
        let is_harmless =
            failure.is_connect() || (failure.is_interrupted() && !self.request.is_write());
        if is_harmless && self.failures == 1 {
            // A connection that was closed, a stale address or a restart: the cause has passed by now.
            wait = Duration::ZERO;
        }
        let now = self.pipeline.clock.instant();
        let wait = self.route.failed(now, wait);
        let in_time =
            self.deadline.is_none_or(|at| now.checked_add(wait).is_some_and(|then| then < at));
        if !in_time {
            return None;
        }
        // The retry pays when it is sent, so that a dropped call pays nothing.
        self.pipeline.budget.affords(failure.is_timeout()).then_some(wait)
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
            self.open = Some(self.sent_at);
        }
    }

    /// The error of a success that another server sent.
    fn foreign(&self, response: &HttpResponse) -> Option<Error> {
        let HttpResponse { status, headers, body } = response;
        let dialect = self.pipeline.protocol.dialect();
        origin::foreign(self.request, *status, headers, body, dialect)
    }

    fn reply(&self, response: HttpResponse) -> Reply {
        let HttpResponse { status, headers, body } = response;
        let location = self.route.location();
        let signed = Signed {
            credential: Arc::clone(&self.credential),
            is_https: self.pipeline.endpoint_at(location).is_https(),
            received_at: self.pipeline.clock.now(),
        };
        let reply = Reply {
            status,
            headers,
            body,
            requested: self.format,
            attempts: self.count,
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
        self.request.failed(error, outcome, self.count, &self.client_request_id)
    }
}

/// Returns whether the response closes its attempt; `status` is its own or, for a batch, the status of the
/// operation inside.
fn is_closed_by(status: StatusCode, response: &HttpResponse) -> bool {
    origin::closes_attempt(status, &response.headers, &response.body)
}

/// Returns whether the service rejects the signature or the token.
fn is_not_authentic(response: &HttpResponse) -> bool {
    let code = service_error::parse(&response.body).map(|body| ErrorCode::from(body.code));
    code == Some(ErrorCode::AuthenticationFailed)
}
