//! One thing that goes wrong.

use std::time::Duration;

use http::StatusCode;

use super::super::failure::Failure;
use super::fate::{Answer, Break, RetryAfter};
use super::scope::Scope;
use super::subject::Subject;
use crate::wire::Operation;

/// One thing that goes wrong: what, to which requests, and how often.
///
/// Without more, it strikes every request; [`on`](Self::on), [`table`](Self::table),
/// [`key`](Self::key) and the like say which, [`probability`](Self::probability),
/// [`skip`](Self::skip) and [`times`](Self::times) how many of them.
///
/// ```
/// # use azure_table_client::mock::{Fault, MockTableService};
/// # use azure_table_client::Operation;
/// # use std::time::Duration;
/// # let mock = MockTableService::new();
/// let faults = mock.faults();
/// // The second transaction is done, but its answer is lost.
/// faults.add(Fault::lose_reply().on(Operation::Transaction).skip(1).times(1));
/// // Every tenth write of one partition fails, and half of these are done all the same.
/// faults.add(Fault::timed_out().on_writes().partition("Channel9").probability(0.05));
/// faults.add(Fault::timed_out().after_commit().on_writes().partition("Channel9").probability(0.05));
/// // All replies take their time.
/// faults.add(Fault::delay_reply(Duration::from_millis(15)));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a fault strikes once it is added to a service's faults"]
pub struct Fault {
    pub(super) kind: Kind,
    scope: Scope,
    pub(super) probability: f64,
    pub(super) skip: u64,
    pub(super) times: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Break(Break),
    DelayRequest(Duration),
    DelayReply(Duration),
    Answer(Answer),
    Throttle(u32, Answer),
    CutBody,
    DeliverTwice,
    /// After so many rows, or anywhere.
    EndPage(Option<usize>),
    HoldName(Duration),
}

/// What goes wrong.
impl Fault {
    const fn new(kind: Kind) -> Self {
        Self { kind, scope: Scope::all(), probability: 1.0, skip: 0, times: usize::MAX }
    }

    /// No connection: nothing is sent.
    pub const fn refuse_connection() -> Self {
        Self::new(Kind::Break(Break::Refused))
    }

    /// The connection breaks before the service has the request: it is not done.
    pub const fn lose_request() -> Self {
        Self::new(Kind::Break(Break::LosesRequest))
    }

    /// The connection breaks while the answer is read: the request was done.
    pub const fn lose_reply() -> Self {
        Self::new(Kind::Break(Break::LosesReply))
    }

    /// No answer ever comes, and the request is not done.
    pub const fn hang() -> Self {
        Self::new(Kind::Break(Break::Hangs))
    }

    /// The service does the request this much later. It does so also if nobody waits for the answer
    /// any more, so an attempt that the client gave up is done late, behind what came after it.
    pub const fn delay_request(by: Duration) -> Self {
        Self::new(Kind::DelayRequest(by))
    }

    /// The request is done, and its answer comes this much later.
    pub const fn delay_reply(by: Duration) -> Self {
        Self::new(Kind::DelayReply(by))
    }

    /// 503 `ServerBusy`; nothing is done.
    pub const fn busy() -> Self {
        Self::new(Kind::Answer(Answer::refusal(Failure::server_busy())))
    }

    /// 429 `TooManyRequests`; nothing is done.
    pub const fn too_many_requests() -> Self {
        Self::new(Kind::Answer(Answer::refusal(Failure::too_many_requests())))
    }

    /// 500 `InternalError`; nothing is done but with [`after_commit`](Self::after_commit).
    pub const fn internal_error() -> Self {
        Self::new(Kind::Answer(Answer::refusal(Failure::internal_error())))
    }

    /// 500 `OperationTimedOut`; nothing is done but with [`after_commit`](Self::after_commit).
    pub const fn timed_out() -> Self {
        Self::new(Kind::Answer(Answer::refusal(Failure::operation_timed_out())))
    }

    /// A refusal with this status and code; nothing is done but with
    /// [`after_commit`](Self::after_commit). A number that is no status counts as 500.
    pub fn answer(status: u16, code: &'static str) -> Self {
        let failure = Failure {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            message: "The fault plan refuses this request.".into(),
        };
        Self::new(Kind::Answer(Answer::refusal(failure)))
    }

    /// A page in HTML with this status, as a proxy answers; nothing is done but with
    /// [`after_commit`](Self::after_commit). A number that is no status counts as 502.
    pub fn proxy_page(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        Self::new(Kind::Answer(Answer::html(status)))
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
        Self::new(Kind::Answer(Answer::html(
            StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
        )))
    }

    /// The service handles the request twice and the client receives the second response, as with a
    /// proxy that resends a request when its own connection breaks. The second delivery of an insert
    /// meets the row of the first one (409), that of a conditional update its new version (412), and
    /// that of a delete no row (404).
    ///
    /// Both deliveries are recorded in [`requests`](super::super::MockTableService::requests).
    pub const fn deliver_twice() -> Self {
        Self::new(Kind::DeliverTwice)
    }

    /// The second half of the answer's body is missing, and nothing says so. An answer without a body
    /// stays as it is. For a connection that breaks in the body, see [`lose_reply`](Self::lose_reply).
    pub const fn truncate_reply() -> Self {
        Self::new(Kind::CutBody)
    }

    /// Pages of queries and lists end after this many rows, with a continuation. With 0 rows the next
    /// request begins where this one did, so a limit on [`times`](Self::times) or the
    /// [`probability`](Self::probability) must let some through.
    pub const fn page_of(rows: usize) -> Self {
        Self::new(Kind::EndPage(Some(rows)))
    }

    /// Pages of queries and lists that have rows end at any row, the first included, with a
    /// continuation.
    pub const fn split_page() -> Self {
        Self::new(Kind::EndPage(None))
    }

    /// For this long after a table was deleted, its name can be used neither for a new table nor for
    /// entities: 409 `TableBeingDeleted`.
    pub const fn table_being_deleted(time: Duration) -> Self {
        Self::new(Kind::HoldName(time))
    }

    /// 503 `ServerBusy` for what is more than this many entities per second and partition. A partition
    /// that rested can take the entities of one second at once. Transactions count their operations;
    /// queries are not counted.
    pub const fn throttle(entities_per_second: u32) -> Self {
        Self::new(Kind::Throttle(entities_per_second, Answer::refusal(Failure::server_busy())))
    }
}

/// How an answer is given: these change faults that answer in the place of the service.
impl Fault {
    /// The request is done before it is answered so.
    pub fn after_commit(mut self) -> Self {
        if let Kind::Answer(answer) = &mut self.kind {
            answer.is_done = true;
        }
        self
    }

    /// The response has no body, as some proxies and load balancers send it: for example
    /// `Fault::proxy_page(503).without_body().after_commit()`.
    pub fn without_body(mut self) -> Self {
        if let Kind::Answer(answer) | Kind::Throttle(_, answer) = &mut self.kind {
            answer.has_body = false;
        }
        self
    }

    /// The answer has a `Retry-After` in seconds, rounded up.
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        self.with_retry_after(RetryAfter::Seconds(seconds))
    }

    /// The answer has a `Retry-After` with a date: this much after now.
    pub fn retry_after_date(self, wait: Duration) -> Self {
        self.with_retry_after(RetryAfter::Date(wait))
    }

    /// The answer has an `x-ms-retry-after-ms`, as Cosmos DB says it.
    pub fn retry_after_ms(self, wait: Duration) -> Self {
        let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.with_retry_after(RetryAfter::Milliseconds(milliseconds))
    }

    fn with_retry_after(mut self, retry_after: RetryAfter) -> Self {
        if let Kind::Answer(answer) | Kind::Throttle(_, answer) = &mut self.kind {
            answer.retry_after = Some(retry_after);
        }
        self
    }
}

/// Which requests it strikes.
impl Fault {
    /// Only this operation. Called again, that one as well.
    pub fn on(mut self, operation: Operation) -> Self {
        self.scope.operations.push(operation);
        self
    }

    /// Only operations that change something.
    pub fn on_writes(mut self) -> Self {
        self.scope.operations.extend(Scope::of_data(true));
        self
    }

    /// Only operations that change nothing.
    pub fn on_reads(mut self) -> Self {
        self.scope.operations.extend(Scope::of_data(false));
        self
    }

    /// Only requests about this table.
    pub fn table(mut self, name: impl Into<String>) -> Self {
        self.scope.table = Some(name.into());
        self
    }

    /// Only requests about entities of this partition; queries are not.
    pub fn partition(mut self, partition_key: impl Into<String>) -> Self {
        self.scope.partition_key = Some(partition_key.into());
        self
    }

    /// Only requests about this entity, and transactions in which it is.
    pub fn key(mut self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        self.scope.row_key = Some(row_key.into());
        self.partition(partition_key)
    }

    /// Each of these requests with this probability: 0 is never, 1 is always, as it is unless it is
    /// set.
    pub const fn probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Lets the first ones of these requests pass.
    pub const fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Strikes this many requests, and then no more.
    pub const fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    pub(super) fn covers(&self, subject: &Subject) -> bool {
        self.kind.applies_to(subject.operation) && self.scope.covers(subject)
    }
}

impl Kind {
    /// Whether it needs more than an answer.
    pub(super) fn is_of_connection(&self) -> bool {
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
