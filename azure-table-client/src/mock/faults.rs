//! What goes wrong on purpose, and how often.

mod dice;
mod fate;
mod fault;
mod late;
mod scope;
mod subject;
mod throttle;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

pub(super) use fate::{Answer, Break, Content, Fate, html};
pub use fault::Fault;
use fault::Kind;
pub(super) use late::Late;
pub(super) use subject::Subject;
use throttle::Buckets;

/// Who asks what becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    /// One that can wait, and can break its connections.
    Connections,
    /// One that can only answer.
    Answers,
}

/// The faults of a service, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Plan(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    seed: u64,
    added: u64,
    active: Vec<Active>,
    ahead: Duration,
    behind: Duration,
}

#[derive(Debug)]
struct Active {
    fault: Fault,
    /// Of all that were ever added: with the seed it makes the fault's dice.
    number: u64,
    /// Requests that were in its scope.
    seen: u64,
    struck: Arc<AtomicUsize>,
    buckets: Buckets,
}

impl Plan {
    /// What becomes of the next request. `subject` is asked only if there are faults at all.
    pub(super) fn decide(
        &self,
        host: Host,
        subject: impl FnOnce() -> Subject,
        now: SystemTime,
    ) -> Fate {
        let mut state = self.lock();
        let mut fate = Fate::default();
        if state.active.is_empty() {
            return fate;
        }
        let subject = subject();
        let seed = state.seed;
        let mut is_struck = false;
        for active in &mut state.active {
            let fault = &active.fault;
            if host == Host::Answers && fault.kind.is_of_connection() || !fault.covers(&subject) {
                continue;
            }
            let dice = dice::roll([seed, active.number, active.seen]);
            let is_its_turn = active.seen >= fault.skip
                && active.struck.load(Ordering::Relaxed) < fault.times
                && dice::fraction(dice) < fault.probability;
            active.seen += 1;
            if !is_its_turn {
                continue;
            }
            match &fault.kind {
                Kind::DelayRequest(by) => {
                    fate.delay_request = fate.delay_request.saturating_add(*by);
                }
                Kind::DelayReply(by) => {
                    fate.delay_reply = fate.delay_reply.saturating_add(*by);
                }
                Kind::Throttle(rate, answer) => {
                    if active.buckets.take(*rate, &subject, now) {
                        continue;
                    }
                    fate.answer = Some(answer.clone());
                }
                _ if is_struck => continue,
                kind => {
                    is_struck = true;
                    fate.suffer(kind, dice);
                }
            }
            active.struck.fetch_add(1, Ordering::Relaxed);
        }
        fate
    }

    /// The time that the service takes it to be.
    pub(super) fn skewed(&self, now: SystemTime) -> SystemTime {
        let state = self.lock();
        let ahead = now.checked_add(state.ahead).unwrap_or(now);
        ahead.checked_sub(state.behind).unwrap_or(ahead)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fault plan of a [`MockTableService`](super::MockTableService): what goes wrong on purpose.
///
/// Which requests a fault strikes depends on the seed, on the faults and on the order in which the
/// requests arrive, and on nothing else: the same test sees the same faults. Time is tokio's, so under
/// `start_paused` a test with minutes of waits takes none.
///
/// A request is struck by one fault at most, the first that was added; delays and throttling come on
/// top of it.
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
pub struct Faults<'a>(pub(super) &'a Plan);

impl Faults<'_> {
    /// Decides by another seed from here on; it is 0 unless it is set.
    pub fn seed(&self, seed: u64) {
        self.0.lock().seed = seed;
    }

    /// Adds a fault behind those that are there.
    pub fn add(&self, fault: Fault) -> AddedFault {
        let mut state = self.0.lock();
        let number = state.added;
        state.added += 1;
        let struck = Arc::<AtomicUsize>::default();
        state.active.push(Active {
            fault,
            number,
            seen: 0,
            struck: Arc::clone(&struck),
            buckets: Buckets::default(),
        });
        AddedFault(struck)
    }

    /// Sets the service's clock this much ahead of the clients', which then seem late: beyond 15
    /// minutes their signatures are refused with 403. What the service stamps and dates, it does by
    /// its own clock.
    pub fn clock_ahead(&self, by: Duration) {
        let mut state = self.0.lock();
        (state.ahead, state.behind) = (by, Duration::ZERO);
    }

    /// Sets the service's clock this much behind the clients'.
    pub fn clock_behind(&self, by: Duration) {
        let mut state = self.0.lock();
        (state.ahead, state.behind) = (Duration::ZERO, by);
    }

    /// From here on all goes well, by a right clock. Requests that were delayed still arrive, and a
    /// table that is being deleted still is.
    pub fn clear(&self) {
        let mut state = self.0.lock();
        let (seed, added) = (state.seed, state.added);
        *state = State { seed, added, ..State::default() };
    }
}

impl fmt::Debug for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        let faults: Vec<_> = state.active.iter().map(|active| &active.fault).collect();
        f.debug_struct("Faults").field("seed", &state.seed).field("faults", &faults).finish()
    }
}

/// A fault in a plan.
#[derive(Debug, Clone)]
pub struct AddedFault(Arc<AtomicUsize>);

impl AddedFault {
    /// How many requests it struck so far.
    pub fn struck(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
