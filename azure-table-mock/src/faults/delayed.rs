//! Delayed requests.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::lock::lock;

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

/// Waits only in [`yield_now`](crate::step::yield_now). It does not keep the service alive before its first step.
pub(crate) type Delivery = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Delayed {
    /// Adds a delivery that is due at this time.
    pub(crate) fn add(&self, due: Instant, delivery: Delivery) {
        let delivery = Mutex::new(Some(delivery));
        lock(&self.0).push(Arc::new(DelayedRequest { due, delivery }));
    }

    /// Drops all delayed writes without applying them.
    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// The request that is due first, if it is due now.
    fn first(&self, now: Instant) -> Option<Arc<DelayedRequest>> {
        let delayed = lock(&self.0);
        delayed.iter().filter(|one| one.due <= now).min_by_key(|one| one.due).cloned()
    }

    /// Runs a step of the delivery that is due first. Returns `false` if none is due.
    pub(crate) fn step(&self, now: Instant) -> bool {
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
