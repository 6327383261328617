//! Delayed requests.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep_until};

use super::super::request::{RawRequest, Request};
use super::super::{MockTableService, step};
use super::Effects;
use crate::lock::lock;
use crate::transport::{HttpRequest, HttpResponse};

/// Requests that arrived but are delayed. When a request is due, it is delivered by the task that waits for
/// its response, or by the next access to the service. No access can observe the difference, so no
/// background task is needed.
#[derive(Debug, Default)]
pub(super) struct Delayed(Mutex<Vec<DelayedRequest>>);

#[derive(Debug)]
struct DelayedRequest {
    due: Instant,
    /// The time at which its authorization is checked.
    arrived: SystemTime,
    request: HttpRequest,
    sender: IpAddr,
    effects: Effects,
    response: ResponseSlot,
}

type ResponseSlot = Arc<Mutex<Option<HttpResponse>>>;

/// A delay longer than any test.
const NEVER: Duration = Duration::from_secs((24 * 365 * 30) * 3600);

impl MockTableService {
    /// Delivers the request when it is due, even if the caller is dropped before. Returns `None` only for a
    /// delay that no clock reaches.
    pub(in crate::mock) async fn deliver_delayed(
        &self,
        request: HttpRequest,
        sender: IpAddr,
        effects: Effects,
    ) -> Option<HttpResponse> {
        let slot = ResponseSlot::default();
        let now = Instant::now();
        let due = now.checked_add(effects.delay_request).unwrap_or(now + NEVER);
        let (arrived, response) = (self.core().clock.now(), Arc::clone(&slot));
        let delayed = DelayedRequest { due, arrived, request, sender, effects, response };
        lock(&self.0.faults.delayed.0).push(delayed);
        sleep_until(due).await;
        self.deliver_due();
        lock(&slot).take()
    }

    /// Delivers all delayed requests that are due.
    pub(in crate::mock) fn deliver_due(&self) {
        // The lock is held until all are delivered, so that no later access overtakes them.
        let mut delayed = lock(&self.0.faults.delayed.0);
        if delayed.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(first) = (0..delayed.len()).min_by_key(|at| delayed[*at].due)
            && delayed[first].due <= now
        {
            let DelayedRequest { arrived, request, sender, effects, response, .. } =
                delayed.remove(first);
            let request = RawRequest::in_process(&request, sender);
            let request = Request::read(request, &self.core().rules);
            let delivered = step::run(self.deliver(&request, &effects, arrived));
            *lock(&response) = Some(delivered);
        }
    }
}
