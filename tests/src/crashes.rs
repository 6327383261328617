//! A program that stops at each of its requests, so that another one has to finish its work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table_client::TableServiceClient;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use tokio::sync::Notify;

use crate::chaos::mock;
use crate::sized;

/// The time after which a [late](When::Late) request arrives.
pub const LATENESS: Duration = Duration::from_secs(40);

/// The fate of the last request of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It never arrives.
    Before,
    /// It is applied, and the program stops before the response arrives.
    After,
    /// It arrives [`LATENESS`] after the program has stopped.
    Late,
}

/// A program stops at this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crash {
    /// The number of the request, from 0.
    pub request: usize,
    /// The fate of the request.
    pub when: When,
}

/// The crashes that a test went through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrashPoints {
    /// The requests of the program that runs to its end.
    pub requests: usize,
    /// The runs with a crash.
    pub runs: usize,
}

impl fmt::Display for CrashPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} crash points at {} requests", self.runs, self.requests)
    }
}

/// Runs `program` once for each crash: at each of its requests, before and after the request is applied, and with the
/// request in flight. `prepare` fills a new mock without faults; `recover` runs the next programs and checks the rows.
///
/// Without `AZURE_TABLE_TESTS_FULL`, only the first request has the crash before it is applied: a later one that never
/// arrives leaves the rows of the previous one.
///
/// Needs paused time: `#[tokio::test(start_paused = true)]`.
pub async fn at_every_request<S>(
    prepare: impl AsyncFn(&MockTableService) -> S,
    program: impl AsyncFn(&S, TableServiceClient),
    recover: impl AsyncFn(&S, &MockTableService, Crash),
) -> CrashPoints {
    let mut points = CrashPoints::default();
    for request in 0.. {
        let all = [When::Before, When::After, When::Late];
        let some = &all[usize::from(request > 0)..];
        for when in sized(some, &all[..]).iter().copied() {
            let crash = Crash { request, when };
            let mock = mock();
            let stage = prepare(&mock).await;
            if !crashes(&mock, crash, async |client| program(&stage, client).await).await {
                return CrashPoints { requests: request, ..points };
            }
            recover(&stage, &mock, crash).await;
            points.runs += 1;
        }
    }
    points
}

/// Like [`at_every_request`], with a second crash at each request of `recovery`, which continues the work after the
/// first one. `check` runs the recovery once more and checks the rows.
///
/// Without `AZURE_TABLE_TESTS_FULL`, each request has one fate, after it is applied or in flight by turns: a request that
/// never arrives leaves the rows of the previous one.
pub async fn at_every_pair_of_requests<S>(
    prepare: impl AsyncFn(&MockTableService) -> S,
    program: impl AsyncFn(&S, TableServiceClient),
    recovery: impl AsyncFn(&S, TableServiceClient),
    check: impl AsyncFn(&S, &MockTableService, [Crash; 2]),
) -> CrashPoints {
    let all = [When::Before, When::After, When::Late];
    let mut points = CrashPoints::default();
    for request in 0.. {
        for when in sized(&[one_fate(request)][..], &all[..]).iter().copied() {
            let first = Crash { request, when };
            for second in 0.. {
                let some = Crash { request: second, when: one_fate(request + second) };
                let every = Crash { request: second / 3, when: all[second % 3] };
                let second = sized(some, every);
                let mock = mock();
                let stage = prepare(&mock).await;
                if !crashes(&mock, first, async |client| program(&stage, client).await).await {
                    return CrashPoints { requests: request, ..points };
                }
                let has_crashed =
                    crashes(&mock, second, async |client| recovery(&stage, client).await).await;
                check(&stage, &mock, [first, second]).await;
                points.runs += 1;
                if !has_crashed {
                    break;
                }
            }
        }
    }
    points
}

/// The fate of a request that has one only.
const fn one_fate(number: usize) -> When {
    if number.is_multiple_of(2) { When::After } else { When::Late }
}

/// Runs a program that stops at `crash`. Returns `false` if it ends before that request.
pub async fn crashes(
    mock: &MockTableService,
    crash: Crash,
    program: impl AsyncFnOnce(TableServiceClient),
) -> bool {
    let stopping = Arc::new(Stopping {
        mock: mock.clone(),
        crash,
        sent: AtomicUsize::new(0),
        stopped: Notify::new(),
    });
    let client = mock.client_builder().transport(Arc::clone(&stopping) as Arc<_>).build().unwrap();
    tokio::select! {
        biased;
        () = stopping.stopped.notified() => true,
        () = program(client) => false,
    }
}

/// The transport of a program that stops.
#[derive(Debug)]
struct Stopping {
    mock: MockTableService,
    crash: Crash,
    sent: AtomicUsize,
    stopped: Notify,
}

impl Transport for Stopping {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let is_hit = self.sent.fetch_add(1, Ordering::Relaxed) == self.crash.request;
        Box::pin(async move {
            if !is_hit {
                return self.mock.receive(request).await;
            }
            match self.crash.when {
                When::Before => {}
                When::After => drop(self.mock.receive(request).await),
                When::Late => {
                    let mock = self.mock.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(LATENESS).await;
                        drop(mock.receive(request).await);
                    });
                }
            }
            self.stopped.notify_one();
            std::future::pending().await
        })
    }
}
