//! A proxy in front of the service. It delivers some writes twice, or responds to a write that is still in flight.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::{
    HttpRequest, HttpResponse, TransportError, TransportErrorKind,
};
use fastrand::Rng;
use tokio::time::sleep;

/// The probability that a write is delivered by itself after or before the delivery that the response is about.
const PROBABILITY: f64 = 0.1;
/// The times in milliseconds after which the other delivery arrives: with the response, soon, and after the client has
/// given up.
const DELAYS: [u64; 6] = [0, 5, 5, 50, 3_000, 45_000];
/// The services that respond to the first delivery: the one with the rows, or a busy one. The client itself does not trust
/// the 503 of a proxy, so most are those of a service.
const RESPONDS: [Option<usize>; 6] = [None, Some(0), Some(0), Some(0), Some(1), Some(2)];
/// Refusals that hold for each delivery of a request.
const FINAL: [&str; 2] = ["AccountIsDisabled", "TableNotFound"];

/// The proxy of a round.
#[derive(Debug)]
pub(super) struct Proxy {
    mock: MockTableService,
    /// Services that respond with a 503: one of the service itself, an empty one, and a page of a proxy.
    busy: [MockTableService; 3],
    chance: Mutex<Rng>,
    is_active: AtomicBool,
    struck: AtomicUsize,
}

/// Another delivery of a write.
#[derive(Debug, Clone, Copy)]
struct Other {
    after: Duration,
    /// The service that responds to the first delivery; `None` is the service with the rows.
    responds: Option<usize>,
}

impl Proxy {
    pub(super) fn new(mock: &MockTableService, seed: u64) -> Self {
        let pages = [Fault::busy(), Fault::proxy_page(503).without_body(), Fault::proxy_page(503)];
        let busy = pages.map(|page| {
            let service = super::mock_with(seed);
            service.faults().add(page);
            service
        });
        Self {
            mock: mock.clone(),
            busy,
            chance: Mutex::new(Rng::with_seed(seed)),
            is_active: AtomicBool::new(false),
            struck: AtomicUsize::new(0),
        }
    }

    pub(super) fn set_active(&self, is_active: bool) {
        self.is_active.store(is_active, Ordering::Relaxed);
    }

    /// The number of writes with another delivery.
    pub(super) fn struck(&self) -> usize {
        self.struck.load(Ordering::Relaxed)
    }

    /// Returns the response to the first delivery of a request.
    pub(super) async fn receive(
        &self,
        request: HttpRequest,
    ) -> Result<HttpResponse, TransportError> {
        let Some(other) = self.other_delivery(&request) else {
            return self.mock.receive(request).await;
        };
        let service = other.responds.map_or(&self.mock, |busy| &self.busy[busy]);
        let response = service.receive(request.clone()).await;
        if is_only(&response) {
            return response;
        }
        self.struck.fetch_add(1, Ordering::Relaxed);
        let mock = self.mock.clone();
        let delivery = async move {
            sleep(other.after).await;
            drop(mock.receive(request).await);
        };
        if other.after.is_zero() {
            // A program that stops does not stop its request.
            drop(tokio::spawn(delivery).await);
        } else {
            tokio::spawn(delivery);
        }
        response
    }

    fn other_delivery(&self, request: &HttpRequest) -> Option<Other> {
        if request.method == "GET" || !self.is_active.load(Ordering::Relaxed) {
            return None;
        }
        let mut chance = self.chance.lock().unwrap();
        if chance.f64() >= PROBABILITY {
            return None;
        }
        let after = Duration::from_millis(DELAYS[chance.usize(..DELAYS.len())]);
        let responds = RESPONDS[chance.usize(..RESPONDS.len())];
        Some(Other { after, responds })
    }
}

/// Whether there is no other delivery: the refusal holds for it too, or the connection was refused, so that the client has
/// sent nothing.
fn is_only(result: &Result<HttpResponse, TransportError>) -> bool {
    match result {
        Ok(response) => {
            let body = String::from_utf8_lossy(&response.body);
            FINAL.iter().any(|code| body.contains(code))
        }
        Err(error) => error.kind() == TransportErrorKind::Connect,
    }
}
