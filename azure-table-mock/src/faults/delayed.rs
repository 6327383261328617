//! Delayed requests.

use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::super::TableService;
use super::super::request::{RawRequest, Request};
use super::super::step::yield_now;
use super::Effects;
use crate::lock::lock;
use crate::transport::{HttpRequest, HttpResponse};

/// Writes that arrived but are delayed; a delayed read ends with its caller. Every access to the service first delivers those that are due, and
/// so does the task that waits for the response. The effect is that of a background task.
///
/// A delivery runs in steps, like other requests. Each access runs the next step of it, so that the delivery
/// also ends if the task that began it is dropped.
#[derive(Default)]
pub(crate) struct Delayed(Mutex<Vec<Arc<DelayedRequest>>>);

struct DelayedRequest {
    due: Instant,
    /// `None` once the request is delivered. Locked only while a step runs.
    delivery: Mutex<Option<Delivery>>,
}

/// Waits only in [`yield_now`]. It does not keep the service alive before its first step.
type Delivery = Pin<Box<dyn Future<Output = ()> + Send>>;

type ResponseSlot = Arc<Mutex<Option<HttpResponse>>>;

/// A delay longer than any test.
const NEVER: Duration = Duration::from_secs((24 * 365 * 30) * 3600);

impl TableService {
    /// Delivers the request when it is due, even if the caller is dropped before. Returns `None` only for a
    /// delay that no clock reaches.
    pub(crate) async fn deliver_delayed(
        &self,
        request: HttpRequest,
        sender: IpAddr,
        effects: Effects,
    ) -> Option<HttpResponse> {
        let slot = ResponseSlot::default();
        let now = Instant::now();
        let due = now.checked_add(effects.delay_request).unwrap_or(now + NEVER);
        let delivery = self.delivery(request, sender, effects, Arc::clone(&slot));
        let delivery = Mutex::new(Some(delivery));
        lock(&self.0.faults.delayed.0).push(Arc::new(DelayedRequest { due, delivery }));
        sleep_until(due).await;
        self.deliver_due_in_steps().await;
        lock(&slot).take()
    }

    fn delivery(
        &self,
        request: HttpRequest,
        sender: IpAddr,
        effects: Effects,
        slot: ResponseSlot,
    ) -> Delivery {
        // The time at which its authorization is checked.
        let arrived = self.core().clock.now();
        let inner = Arc::downgrade(&self.0);
        Box::pin(async move {
            let Some(service) = inner.upgrade().map(Self) else {
                return;
            };
            let request = RawRequest::in_process(&request, sender);
            let request = Request::read(request, &service.core().rules);
            let response = service.deliver(&request, &effects, arrived).await;
            *lock(&slot) = Some(response);
        })
    }

    /// Delivers all delayed requests that are due, for a caller that can wait.
    pub(crate) async fn deliver_due_in_steps(&self) {
        let delayed = &self.0.faults.delayed;
        if !delayed.is_empty() {
            let now = Instant::now();
            while delayed.step(now) {
                yield_now().await;
            }
        }
    }

    /// Delivers all delayed requests that are due.
    pub(crate) fn deliver_due(&self) {
        let delayed = &self.0.faults.delayed;
        if !delayed.is_empty() {
            let now = Instant::now();
            while delayed.step(now) {
                thread::yield_now();
            }
        }
    }
}

impl Delayed {
    /// Drops all delayed writes without applying them.
    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// The request that is due first, if it is due now.
    fn first(&self, now: Instant) -> Option<Arc<DelayedRequest>> {
        let delayed = lock(&self.0);
        delayed.iter().filter(|one| one.due <= now).min_by_key(|one| one.due).cloned()
    }

    /// Runs a step of the delivery that is due first. Returns `false` if none is due.
    fn step(&self, now: Instant) -> bool {
        let Some(first) = self.first(now) else {
            return false;
        };
        let is_over = match first.delivery.try_lock() {
            Ok(mut delivery) => {
                let mut context = Context::from_waker(Waker::noop());
                let step = delivery.as_mut().map(|delivery| delivery.as_mut().poll(&mut context));
                let is_over = step != Some(Poll::Pending);
                if is_over {
                    *delivery = None;
                }
                is_over
            }
            // Another thread runs a step at this moment.
            Err(TryLockError::WouldBlock) => false,
            // A step panicked, and the request has no further step.
            Err(TryLockError::Poisoned(_)) => true,
        };
        if is_over {
            lock(&self.0).retain(|one| !Arc::ptr_eq(one, &first));
        }
        true
    }
}

impl fmt::Debug for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.0).iter().map(|one| one.due)).finish()
    }
}
