//! The faults.

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;

use super::effects::{Break, FaultKind, Replacement, ReplacementBody, RetryAfter};
use super::scope::{FaultSubject, Scope};
use super::throttle::ThrottleLimit;
use crate::failure::{Failure, Stage};
use crate::wire::Operation;

/// A fault: its effect, the requests it can strike, and how often it strikes.
///
/// By default a fault strikes every request. [`on`](Self::on), [`table`](Self::table), [`key`](Self::key)
/// and similar methods select requests. [`probability`](Self::probability), [`skip`](Self::skip) and
/// [`times`](Self::times) limit their number.
///
/// ```
/// # use azure_table_client::mock::{Fault, MockTableService};
/// # use azure_table_client::Operation;
/// # use std::time::Duration;
/// # let mock = MockTableService::new();
/// let faults = mock.faults();
/// // The second transaction is applied, but its response is lost.
/// faults.add(Fault::lose_reply().on(Operation::Transaction).skip(1).times(1));
/// // Every tenth write of one partition fails, and half of these are applied nevertheless.
/// faults.add(Fault::timed_out().on_writes().partition("Channel9").probability(0.05));
/// faults.add(Fault::timed_out().after_commit().on_writes().partition("Channel9").probability(0.05));
/// // All responses are slow.
/// faults.add(Fault::delay_reply(Duration::from_millis(15)));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a fault strikes once it is added to a service's faults"]
pub struct Fault {
    pub(super) kind: FaultKind,
    pub(super) scope: Scope,
    pub(super) probability: f64,
    pub(super) skip: u64,
    pub(super) times: usize,
}

/// The effect of a fault.
impl Fault {
    const fn new(kind: FaultKind) -> Self {
        Self { kind, scope: Scope::all(), probability: 1.0, skip: 0, times: usize::MAX }
    }

    const fn failure(failure: Failure) -> Self {
        let body = ReplacementBody::Failure(failure);
        Self::new(FaultKind::Replace(Replacement::new(body)))
    }

    const fn html(status: StatusCode) -> Self {
        Self::new(FaultKind::Replace(Replacement::new(ReplacementBody::Html(status))))
    }

    /// The connection is refused, so no request is sent.
    pub const fn refuse_connection() -> Self {
        Self::new(FaultKind::Break(Break::Refused))
    }

    /// The connection breaks before the service receives the request, which is not applied.
    pub const fn lose_request() -> Self {
        Self::new(FaultKind::Break(Break::LosesRequest))
    }

    /// The connection breaks while the client reads the response. The request is applied.
    pub const fn lose_reply() -> Self {
        Self::new(FaultKind::Break(Break::LosesReply))
    }

    /// The service never responds, and the request is not applied.
    pub const fn hang() -> Self {
        Self::new(FaultKind::Break(Break::Hangs))
    }

    /// The service applies the request after this delay, even if the client no longer waits. An attempt that
    /// the client gave up is then applied after later requests.
    pub const fn delay_request(by: Duration) -> Self {
        Self::new(FaultKind::DelayRequest(by))
    }

    /// The request is applied at once, and its response arrives after this delay.
    pub const fn delay_reply(by: Duration) -> Self {
        Self::new(FaultKind::DelayReply(by))
    }

    /// 503 `ServerBusy`. The request is not applied.
    pub const fn busy() -> Self {
        Self::failure(Failure::server_busy())
    }

    /// 429 `TooManyRequests`. The request is not applied.
    pub const fn too_many_requests() -> Self {
        Self::failure(Failure::too_many_requests())
    }

    /// 500 `InternalError`. The request is applied only with [`after_commit`](Self::after_commit).
    pub const fn internal_error() -> Self {
        Self::failure(Failure::internal_error())
    }

    /// 500 `OperationTimedOut`. The request is applied only with [`after_commit`](Self::after_commit).
    pub const fn timed_out() -> Self {
        Self::failure(Failure::operation_timed_out())
    }

    /// An error response with this status and code. The request is applied only with
    /// [`after_commit`](Self::after_commit). A number that is not a status counts as 500.
    pub fn error(status: u16, code: impl Into<Cow<'static, str>>) -> Self {
        Self::failure(Failure {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.into(),
            message: "The fault plan refuses this request.".into(),
            stage: Stage::Operation,
        })
    }

    /// An HTML page of a proxy with this status. The request is applied only with
    /// [`after_commit`](Self::after_commit). A number that is not a status counts as 502.
    pub fn proxy_page(status: u16) -> Self {
        Self::html(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY))
    }

    /// A captive portal or a proxy's login page responds in the place of the service: an HTML page with
    /// this status and without any header of the service. Nothing is applied. A 204 has no body; for
    /// an empty 200, add [`without_body`](Self::without_body). A number that is not a status counts as
    /// 200.
    ///
    /// ```
    /// # use azure_table_client::mock::{Fault, MockTableService};
    /// # use azure_table_client::{DynamicEntity, Outcome, RetryPolicy};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let mock = MockTableService::new();
    /// # let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    /// # blogs.create().await?;
    /// mock.faults().add(Fault::captive_portal(200));
    /// let insert = blogs.insert(&DynamicEntity::new("Channel9", "1")).retry(RetryPolicy::none());
    /// assert_ne!(insert.await.unwrap_err().outcome(), Outcome::Applied);
    /// assert_eq!(mock.row_count("Blogs"), Some(0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn captive_portal(status: u16) -> Self {
        Self::html(StatusCode::from_u16(status).unwrap_or(StatusCode::OK))
    }

    /// The service handles the request twice and the client receives the second response, as with a
    /// proxy that resends a request when its own connection breaks. The second delivery of an insert
    /// fails since the row of the first one exists (409), a conditional update fails since the version has
    /// changed (412), and a delete fails since the row is gone (404).
    ///
    /// Both deliveries are recorded in [`requests`](crate::TableService::requests).
    pub const fn deliver_twice() -> Self {
        Self::new(FaultKind::DeliverTwice)
    }

    /// The request is applied, and the client receives the response to the previous request with this fault, as with a
    /// proxy that mixes up its connections. The first request receives its own response with the
    /// `x-ms-client-request-id` of another request.
    pub const fn swap_reply() -> Self {
        Self::new(FaultKind::SwapReply)
    }

    /// The response lacks the second half of its body without any sign of it. A response without a body is
    /// unchanged. For a connection that breaks in the body, see [`lose_reply`](Self::lose_reply).
    pub const fn truncate_reply() -> Self {
        Self::new(FaultKind::CutBody)
    }

    /// Pages of queries and lists end after this many rows, with a continuation token. A page that starts at the row
    /// of a token has that row, also with 0: tokens advance.
    pub const fn page_of(rows: usize) -> Self {
        Self::new(FaultKind::EndPage(Some(rows)))
    }

    /// Pages of queries and lists end before a random row, possibly the first, with a continuation token.
    pub const fn split_page() -> Self {
        Self::new(FaultKind::EndPage(None))
    }

    /// After a table is deleted, operations on its name fail for this time with 409 `TableBeingDeleted`.
    pub const fn table_being_deleted(time: Duration) -> Self {
        Self::new(FaultKind::HoldName(time))
    }

    /// 503 `ServerBusy` for requests beyond this many entities per second and partition. An idle partition
    /// accepts a burst with the entities of one second. Each operation of a transaction counts as one entity.
    /// Queries do not count.
    pub const fn throttle(entities_per_second: u32) -> Self {
        Self::limited(ThrottleLimit::Partition(entities_per_second))
    }

    /// 503 `ServerBusy` for requests beyond this many entities per second in all partitions of the account together.
    /// Bursts, transactions and queries count as for [`throttle`](Self::throttle).
    pub const fn throttle_account(entities_per_second: u32) -> Self {
        Self::limited(ThrottleLimit::Account(entities_per_second))
    }

    const fn limited(limit: ThrottleLimit) -> Self {
        let failure = ReplacementBody::Failure(Failure::server_busy());
        Self::new(FaultKind::Throttle(limit, Replacement::new(failure)))
    }
}

/// Options of faults that send a response in place of the service's own.
impl Fault {
    /// The request is applied before the response is sent.
    pub fn after_commit(mut self) -> Self {
        if let FaultKind::Replace(replacement) = &mut self.kind {
            replacement.is_applied = true;
        }
        self
    }

    /// The response has no body, as some proxies and load balancers send it: for example
    /// `Fault::proxy_page(503).without_body().after_commit()`.
    pub fn without_body(mut self) -> Self {
        if let FaultKind::Replace(replacement) | FaultKind::Throttle(_, replacement) =
            &mut self.kind
        {
            replacement.has_body = false;
        }
        self
    }

    /// The response has a `Retry-After` in seconds, rounded up.
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        self.with_retry_after(RetryAfter::Seconds(seconds))
    }

    /// The response has a `Retry-After` with a date, `wait` after now.
    pub fn retry_after_date(self, wait: Duration) -> Self {
        self.with_retry_after(RetryAfter::Date(wait))
    }

    /// The response has an `x-ms-retry-after-ms`, like responses of Cosmos DB.
    pub fn retry_after_ms(self, wait: Duration) -> Self {
        let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.with_retry_after(RetryAfter::Milliseconds(milliseconds))
    }

    fn with_retry_after(mut self, retry_after: RetryAfter) -> Self {
        if let FaultKind::Replace(replacement) | FaultKind::Throttle(_, replacement) =
            &mut self.kind
        {
            replacement.retry_after = Some(retry_after);
        }
        self
    }
}

/// The requests that a fault can strike.
impl Fault {
    /// Selects this operation. Further calls add operations.
    pub fn on(mut self, operation: Operation) -> Self {
        self.scope.operations.push(operation);
        self
    }

    /// Selects operations that write tables or entities.
    pub fn on_writes(mut self) -> Self {
        self.scope.operations.extend(Scope::of_data(true));
        self
    }

    /// Selects operations that read tables or entities.
    pub fn on_reads(mut self) -> Self {
        self.scope.operations.extend(Scope::of_data(false));
        self
    }

    /// Selects requests for this table.
    pub fn table(mut self, name: impl Into<String>) -> Self {
        self.scope.table = Some(name.into());
        self
    }

    /// Selects requests for entities of this partition, except for queries.
    pub fn partition(mut self, partition_key: impl Into<String>) -> Self {
        self.scope.partition_key = Some(partition_key.into());
        self
    }

    /// Selects requests for this entity, including transactions that contain it.
    pub fn key(mut self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        self.scope.row_key = Some(row_key.into());
        self.partition(partition_key)
    }

    /// Sets the probability with which the fault strikes a selected request, from 0 to 1. The default is 1.
    pub const fn probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Does not strike the first `requests` selected requests.
    pub const fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Strikes at most this many requests.
    pub const fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    pub(super) fn covers(&self, subject: &FaultSubject) -> bool {
        self.kind.applies_to(subject.operation) && self.scope.covers(subject)
    }
}

impl FaultKind {
    /// Returns `true` if a response alone cannot show the fault.
    pub(super) fn needs_connection(&self) -> bool {
        matches!(self, Self::Break(_) | Self::DelayRequest(_) | Self::DelayReply(_))
    }

    fn applies_to(&self, operation: Operation) -> bool {
        match self {
            Self::EndPage(_) => matches!(operation, Operation::Query | Operation::ListTables),
            Self::HoldName(_) => operation == Operation::DeleteTable,
            _ => true,
        }
    }
}
