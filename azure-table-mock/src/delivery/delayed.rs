//! The delivery of delayed requests.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::faults::{Delivery, Effects};
use crate::lock::lock;
use crate::request::{ParsedRequest, RawRequest};
use crate::service::TableService;
use crate::step::yield_now;
use crate::transport::{HttpRequest, HttpResponse};

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
        let clock = &self.core().clock.unskewed;
        let (now, delay) = (clock.instant(), effects.delay_request);
        let due = now.checked_add(effects.delay_request).unwrap_or(now + NEVER);
        let delivery = self.delivery(request, sender, effects, Arc::clone(&slot));
        self.0.faults.delayed.add(due, delivery);
        self.wait(delay).await;
        self.deliver_until(clock.instant().max(due)).await;
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
            let request = ParsedRequest::read(request, &service.core().rules);
            let response = service.deliver(&request, &effects, arrived).await;
            *lock(&slot) = Some(response);
        })
    }

    /// Delivers all delayed requests that are due, for a caller that can wait.
    pub(crate) async fn deliver_due_in_steps(&self) {
        if !self.0.faults.delayed.is_empty() {
            self.deliver_until(self.core().clock.unskewed.instant()).await;
        }
    }

    async fn deliver_until(&self, now: Instant) {
        while self.0.faults.delayed.step(now) {
            yield_now().await;
        }
    }

    /// Delivers all delayed requests that are due.
    pub(crate) fn deliver_due(&self) {
        let delayed = &self.0.faults.delayed;
        if !delayed.is_empty() {
            let now = self.core().clock.unskewed.instant();
            while delayed.step(now) {
                thread::yield_now();
            }
        }
    }
}
