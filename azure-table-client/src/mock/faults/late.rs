//! Requests that arrived and are not done yet.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep_until};

use super::super::MockTableService;
use super::super::request::Incoming;
use super::Fate;
use crate::transport::{HttpRequest, HttpResponse};

/// Requests that arrived and are not done yet. Each is done when its time has come by whoever is
/// there first: the one who waits for the answer, or, if nobody does, the next one who asks the
/// service anything. Nobody can tell the difference, so no task is needed that does it.
#[derive(Debug, Default)]
pub(in crate::mock) struct Late(Mutex<Vec<Held>>);

#[derive(Debug)]
struct Held {
    due: Instant,
    /// When it was authorized.
    arrived: SystemTime,
    request: HttpRequest,
    from: IpAddr,
    fate: Fate,
    answer: Slot,
}

type Slot = Arc<Mutex<Option<HttpResponse>>>;

/// Later than any test.
const NEVER: Duration = Duration::from_hours(24 * 365 * 30);

impl MockTableService {
    /// Does the request when it is due, and answers it to who still waits; always, but for times that
    /// no clock reaches.
    pub(in crate::mock) async fn respond_late(
        &self,
        request: HttpRequest,
        from: IpAddr,
        fate: Fate,
    ) -> Option<HttpResponse> {
        let answer = Slot::default();
        let now = Instant::now();
        let due = now.checked_add(fate.delay_request).unwrap_or(now + NEVER);
        let (arrived, answer_too) = (self.now(), Arc::clone(&answer));
        let held = Held { due, arrived, request, from, fate, answer: answer_too };
        self.0.late.0.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        sleep_until(due).await;
        self.settle();
        answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does what is due by now.
    pub(in crate::mock) fn settle(&self) {
        // Locked all the while, so that who comes next finds all of it done.
        let mut held = self.0.late.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(first) = (0..held.len()).min_by_key(|at| held[*at].due)
            && held[first].due <= now
        {
            let Held { arrived, request, from, fate, answer, .. } = held.remove(first);
            let response = self.respond_with(&Incoming::in_process(&request, from), &fate, arrived);
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(response);
        }
    }
}
