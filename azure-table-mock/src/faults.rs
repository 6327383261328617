//! The fault plan.

mod delayed;
mod effects;
mod fault;
mod json;
mod random;
mod random_plan;
mod scope;
mod throttle;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http::HeaderValue;

use self::delayed::Delayed;
pub(crate) use self::delayed::Delivery;
use self::effects::FaultKind;
pub(super) use self::effects::{Break, Effects, Replacement, ReplacementBody, proxy_page};
pub use self::fault::Fault;
use self::scope::FaultSubject;
use self::throttle::Buckets;
use crate::core::{ClockSetting, ClockSkew, ServiceClock};
use crate::lock::lock;
use crate::request::ParsedRequest;
use crate::transport::HttpResponse;
use crate::wire::headers;

/// The abilities of the host that received a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostKind {
    /// It can wait, and can break its connections.
    Connections,
    ResponsesOnly,
}

/// The faults of a service in the order in which they were added, and the requests they delay.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    /// Whether the effects on a request name its faults.
    pub(super) is_logged: bool,
    state: Mutex<FaultState>,
    pub(super) delayed: Delayed,
    /// The response that the next request with [`Fault::swap_reply`] receives.
    swapped: Mutex<Option<HttpResponse>>,
}

#[derive(Debug, Default)]
struct FaultState {
    seed: u64,
    /// The number of faults that were ever added.
    added: u64,
    active: Vec<ActiveFault>,
}

#[derive(Debug)]
struct ActiveFault {
    fault: Fault,
    /// The index of the fault among all faults ever added, which varies its random numbers.
    number: u64,
    /// The number of requests in its scope.
    seen: u64,
    struck: Arc<AtomicUsize>,
    buckets: Buckets,
}

impl FaultPlan {
    /// An empty plan. With a seed of the service, it has this seed, and the effects on a request name its faults.
    pub(super) fn new(seed: Option<u64>) -> Self {
        let state = FaultState { seed: seed.unwrap_or_default(), ..FaultState::default() };
        Self { is_logged: seed.is_some(), state: Mutex::new(state), ..Self::default() }
    }

    /// Exchanges a response for that of the previous request with [`Fault::swap_reply`]. The first request receives its
    /// own response with the id of another request.
    pub(super) fn swap_reply(&self, response: HttpResponse) -> HttpResponse {
        lock(&self.swapped).replace(response.clone()).unwrap_or_else(|| {
            let mut response = response;
            if let Some(id) = response.headers.get_mut(&headers::X_MS_CLIENT_REQUEST_ID) {
                *id = HeaderValue::from_static("00000000-0000-0000-0000-000000000000");
            }
            response
        })
    }

    /// Decides the effects on the next request.
    pub(super) fn decide(
        &self,
        host: HostKind,
        request: &ParsedRequest<'_>,
        now: SystemTime,
    ) -> Effects {
        let mut state = lock(&self.state);
        let mut effects = Effects::default();
        if state.active.is_empty() {
            return effects;
        }
        let subject = FaultSubject::of(request);
        let seed = state.seed;
        let (mut is_struck, mut is_throttled) = (false, false);
        for active in &mut state.active {
            let fault = &active.fault;
            if host == HostKind::ResponsesOnly && fault.kind.needs_connection()
                || !fault.covers(&subject)
            {
                continue;
            }
            let random = random::number([seed, active.number, active.seen]);
            let strikes = active.seen >= fault.skip
                && active.struck.load(Ordering::Relaxed) < fault.times
                && random::fraction(random) < fault.probability;
            active.seen += 1;
            if !strikes {
                continue;
            }
            match &fault.kind {
                FaultKind::DelayRequest(by) => {
                    effects.delay_request = effects.delay_request.saturating_add(*by);
                }
                FaultKind::DelayReply(by) => {
                    effects.delay_reply = effects.delay_reply.saturating_add(*by);
                }
                FaultKind::Throttle(limit, replacement) => {
                    // A request that one limit refuses does not count against the others.
                    if is_throttled || active.buckets.take(*limit, &subject, now) {
                        continue;
                    }
                    is_throttled = true;
                    effects.replacement = Some(replacement.of_throttling(request.dialect));
                }
                _ if is_struck => continue,
                kind => {
                    is_struck = true;
                    effects.add(kind, random);
                }
            }
            active.struck.fetch_add(1, Ordering::Relaxed);
            if self.is_logged {
                effects.texts.push(json::kind_text(&active.fault.kind));
            }
        }
        effects
    }
}

/// The fault plan of a [`TableService`](crate::TableService), which makes requests fail on purpose.
///
/// The requests that a fault strikes depend only on the seed, the faults and the order of the requests, so
/// a test sees the same faults in each run. Delays use the clock of the service, by default tokio's: with `start_paused`, a
/// test that waits for minutes finishes at once.
///
/// At most one fault strikes a request, the first that was added. Delays and throttling apply in addition.
///
/// ```
/// # use std::time::Duration;
/// use azure_table_client::mock::{Fault, MockTableService};
/// use azure_table_client::{DynamicEntity, Operation};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let mock = MockTableService::new();
/// let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
/// blogs.create().await?;
///
/// mock.faults().seed(42);
/// let busy = Fault::busy().retry_after(Duration::from_secs(2));
/// let busy = mock.faults().add(busy.on(Operation::Insert).table("Blogs").times(2));
/// mock.faults().add(Fault::lose_reply().on(Operation::Get).probability(0.2));
///
/// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?; // at the third attempt
/// assert_eq!(busy.struck(), 2);
/// mock.faults().clear();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Faults<'a> {
    pub(super) plan: &'a FaultPlan,
    pub(super) clock: &'a ServiceClock,
}

impl Faults<'_> {
    /// Sets the seed for later requests. The default is the [random seed](crate::TableServiceBuilder::random_seed) of the
    /// service, or 0.
    pub fn seed(&self, seed: u64) {
        lock(&self.plan.state).seed = seed;
    }

    /// Adds a fault after the others.
    pub fn add(&self, fault: Fault) -> AddedFault {
        let mut state = lock(&self.plan.state);
        let number = state.added;
        state.added += 1;
        let struck = Arc::<AtomicUsize>::default();
        state.active.push(ActiveFault {
            fault,
            number,
            seen: 0,
            struck: Arc::clone(&struck),
            buckets: Buckets::default(),
        });
        AddedFault(struck)
    }

    /// Sets the service's clock ahead of the clients' clock. Beyond 15 minutes the service refuses their
    /// signatures with 403. Timestamps and response dates use the service's clock.
    pub fn clock_ahead(&self, by: Duration) {
        self.clock.set(ClockSetting::checked(ClockSkew::Ahead(by)));
    }

    /// Sets the service's clock behind the clients' clock.
    pub fn clock_behind(&self, by: Duration) {
        self.clock.set(ClockSetting::checked(ClockSkew::Behind(by)));
    }

    /// Stops the service's clock at this time. Timestamps depend only on the order of the writes: a write to
    /// a row that was already written at this time is one millisecond later. The service accepts the dates of
    /// the clients, like after [`check_dates(false)`](Self::check_dates).
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// let billennium = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    /// mock.faults().freeze_clock(billennium);
    /// let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// let row = mock.row("Blogs", "Channel9", "1").unwrap();
    /// assert_eq!(row.timestamp(), Some("2001-09-09T01:46:40Z".parse().unwrap()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn freeze_clock(&self, at: SystemTime) {
        self.clock.set(ClockSetting { skew: ClockSkew::Frozen(at), checks_dates: false });
    }

    /// Returns `true` if the service's clock stands still.
    pub fn is_clock_frozen(&self) -> bool {
        matches!(self.clock.setting().skew, ClockSkew::Frozen(_))
    }

    /// Sets whether the service refuses Shared Key signatures whose date is far from its clock. With `false`,
    /// the date must be close to the clients' clock. Shared access signatures always expire by the service's
    /// clock.
    pub fn check_dates(&self, check: bool) {
        self.clock.set_checks_dates(check);
    }

    /// Returns `true` if the dates of Shared Key signatures must be close to the service's clock.
    pub fn checks_dates(&self) -> bool {
        self.clock.setting().checks_dates
    }

    /// Removes all faults and the skew of the clock. Delayed requests still arrive, and the names of deleted
    /// tables stay unusable for the set time.
    pub fn clear(&self) {
        self.remove_all();
        self.clock.set(ClockSetting::NONE);
    }

    /// Removes all faults. The clock keeps its skew.
    pub fn remove_all(&self) {
        lock(&self.plan.state).active.clear();
    }

    /// Removes the skew of the clock. The faults stay.
    pub fn reset_clock(&self) {
        self.clock.set(ClockSetting::NONE);
    }
}

impl fmt::Debug for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.plan.state);
        let faults: Vec<_> = state.active.iter().map(|active| &active.fault).collect();
        f.debug_struct("Faults").field("seed", &state.seed).field("faults", &faults).finish()
    }
}

/// A fault in a plan.
#[derive(Debug, Clone)]
pub struct AddedFault(Arc<AtomicUsize>);

impl AddedFault {
    /// Returns the number of requests that the fault has struck.
    pub fn struck(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
