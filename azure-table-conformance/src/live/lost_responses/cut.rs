//! A transport that closes connections in the middle of an exchange.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use azure_table_client::transport::{
    HttpRequest, ResponseFuture, Transport, TransportError, TransportErrorKind,
};

use crate::live::account::Counting;

/// The granularity of tokio's timers, and some more.
const TIMER: Duration = Duration::from_millis(2);

tokio::task_local! {
    /// The cuts of the write that the task sends.
    static CUTS_OF_WRITE: Cell<u32>;
}

/// Sends a write. Returns the number of its exchanges that were cut, too.
pub(super) async fn counted<T>(write: impl Future<Output = T>) -> (T, u32) {
    let write = async {
        let result = write.await;
        (result, CUTS_OF_WRITE.with(Cell::get))
    };
    CUTS_OF_WRITE.scope(Cell::new(0), write).await
}

/// Cuts half of the exchanges. Dropping the exchange of the transport closes its connection, so the server may have
/// received the request or not.
#[derive(Debug)]
pub(super) struct Cutting {
    inner: Arc<Counting>,
    /// The longest time until a cut.
    longest: Duration,
    exchanges: AtomicU64,
    cuts: AtomicU64,
}

impl Cutting {
    pub(super) fn new(inner: Arc<Counting>, longest: Duration) -> Self {
        Self { inner, longest, exchanges: AtomicU64::new(0), cuts: AtomicU64::new(0) }
    }

    pub(super) fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::Relaxed)
    }

    pub(super) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Relaxed)
    }
}

impl Transport for Cutting {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        let exchange = self.inner.send(request);
        if fastrand::bool() {
            return exchange;
        }
        let moment = Instant::now() + self.longest.mul_f64(fastrand::f64());
        Box::pin(async move {
            tokio::select! {
                biased;
                result = exchange => result,
                () = reach(moment) => {
                    self.cuts.fetch_add(1, Ordering::Relaxed);
                    // A request that the client sends in another task is counted above only.
                    let _ = CUTS_OF_WRITE.try_with(|cuts| cuts.set(cuts.get() + 1));
                    Err(TransportError::new(TransportErrorKind::Interrupted, "cut by the run"))
                }
            }
        })
    }
}

/// Waits until a moment, more exactly than a timer of tokio: exchanges with this machine end within a millisecond.
async fn reach(moment: Instant) {
    let early = moment.checked_sub(TIMER).filter(|early| *early > Instant::now());
    if let Some(early) = early {
        tokio::time::sleep_until(early.into()).await;
    }
    while Instant::now() < moment {
        tokio::task::yield_now().await;
    }
}
