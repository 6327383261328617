//! The network between the context and the service. It strikes with the faults of a step and sees what the service applied.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use azure_table_client::{DynamicEntity, IfMatch, TableClient};
use fastrand::Rng;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

use super::Kind;
use super::faults::{self, Fault};
use super::requests::Write;
use super::rows::{Columns, Rows, TABLE};
use super::steps::{Act, Foreign};

/// A request that the client sent.
#[derive(Debug)]
pub(super) struct Attempt {
    /// The save, from 0; `None` outside a save.
    pub(super) save: Option<usize>,
    pub(super) writes: Vec<Write>,
    /// When it was sent.
    pub(super) time: u64,
    pub(super) fault: Option<Fault>,
    pub(super) deliveries: Vec<Delivery>,
    /// A proxy made a second copy of it.
    pub(super) is_repeated: bool,
}

/// The arrival of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) time: u64,
    pub(super) status: u16,
    pub(super) is_applied: bool,
}

impl Attempt {
    /// When it was applied first.
    pub(super) fn applied(&self) -> Option<u64> {
        self.deliveries.iter().find(|it| it.is_applied).map(|it| it.time)
    }
}

/// All that the network sees.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) rows: Rows,
    pub(super) attempts: Vec<Attempt>,
    pub(super) violations: Vec<(Kind, String)>,
    /// The rows as the service had them when it answered reads of the current step.
    pub(super) reads: Vec<Vec<Option<Columns>>>,
    /// The number of requests of the current step, and its faults and writes of other programs.
    pub(super) requests: usize,
    pub(super) faults: Vec<(usize, Fault)>,
    pub(super) during: Vec<(usize, Foreign)>,
    pub(super) save: Option<usize>,
    /// Whether the rows that are read count as shown to the program: a resolver that is not called back decides about them.
    pub(super) shows_reads: bool,
    /// Whether each request fails at once, so that nothing but the context answers.
    pub(super) is_offline: bool,
    /// Whether a row was written by another program.
    pub(super) is_disturbed: Vec<bool>,
    last_response: Option<HttpResponse>,
    chance: Rng,
}

pub(super) struct Network {
    mock: MockTableService,
    /// The other program, without faults.
    other: TableClient<DynamicEntity>,
    partitions: Vec<&'static str>,
    start: Instant,
    log: Mutex<Log>,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Network {
    pub(super) fn new(mock: &MockTableService, partitions: Vec<&'static str>, seed: u64) -> Self {
        let other = mock.client_builder().transport(mock.direct_transport()).build().unwrap();
        let rows = partitions.len();
        let log = Log {
            rows: Rows::new(rows),
            attempts: vec![],
            violations: vec![],
            reads: vec![],
            requests: 0,
            faults: vec![],
            during: vec![],
            save: None,
            shows_reads: false,
            is_offline: false,
            is_disturbed: vec![false; rows],
            last_response: None,
            chance: Rng::with_seed(seed),
        };
        Self {
            mock: mock.clone(),
            other: other.table_named(TABLE),
            partitions,
            start: Instant::now(),
            log: Mutex::new(log),
        }
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap()
    }

    pub(super) fn key(&self, row: usize) -> (String, String) {
        (self.partitions[row].to_owned(), row.to_string())
    }

    pub(super) fn rows(&self) -> usize {
        self.partitions.len()
    }

    /// Begins a step with these faults and writes of other programs.
    pub(super) fn begin(
        &self,
        save: Option<usize>,
        faults: &[(usize, Fault)],
        during: &[(usize, Foreign)],
    ) {
        let mut log = self.log();
        (log.requests, log.save, log.shows_reads) = (0, save, false);
        log.reads.clear();
        (log.faults, log.during) = (faults.to_vec(), during.to_vec());
    }

    /// Creates the table and the rows that exist at first.
    pub(super) async fn prepare(&self, rows: &[Option<super::steps::Values>]) {
        self.other.create().await.unwrap();
        for (row, values) in rows.iter().enumerate() {
            if let Some(values) = values {
                self.foreign(&Foreign { row, act: Act::Replace(values.clone()) }).await;
            }
        }
        self.log().is_disturbed.fill(false);
    }

    /// Another program writes.
    pub(super) async fn foreign(&self, Foreign { row, act }: &Foreign) {
        let (partition_key, row_key) = self.key(*row);
        let entity = |values: &mut dyn Iterator<Item = (&'static str, i32)>| {
            let mut entity = DynamicEntity::new(&*partition_key, &*row_key);
            for (name, value) in values {
                entity.set(name, value);
            }
            entity
        };
        let replace = |values: &super::steps::Values| {
            let entity = entity(&mut values.iter().map(|(name, value)| (*name, *value)));
            async move {
                self.other.insert_or_replace(&entity).await.unwrap();
            }
        };
        let key = (&*partition_key, &*row_key);
        match act {
            Act::Merge(name, value) => {
                let entity = entity(&mut [(*name, *value)].into_iter());
                self.other.insert_or_merge(&entity).await.unwrap();
            }
            Act::Replace(values) => replace(values).await,
            Act::Delete => drop(self.other.delete_if_exists(key, IfMatch::Any).await.unwrap()),
            Act::Recreate(values) => {
                self.other.delete_if_exists(key, IfMatch::Any).await.unwrap();
                self.record(true);
                replace(values).await;
            }
        }
        self.record(true);
        self.log().is_disturbed[*row] = true;
    }

    fn record(&self, is_foreign: bool) {
        let now = self.now();
        self.log().rows.record(&self.mock, now, is_foreign);
    }

    /// The request arrives at the service.
    fn deliver(&self, attempt: usize, request: &HttpRequest) -> HttpResponse {
        let response = self.mock.respond(request);
        let now = self.now();
        let mut log = self.log();
        let log = &mut *log;
        let sent = &mut log.attempts[attempt];
        let is_applied = !sent.writes.is_empty() && Write::is_applied(&response);
        let status = response.status.as_u16();
        sent.deliveries.push(Delivery { time: now, status, is_applied });
        if is_applied {
            for write in &sent.writes {
                for (name, value) in log.rows.overwritten(write) {
                    let text = format!("{} overwrote {name}={value} unseen", write.content);
                    log.violations.push((Kind::LostUpdate, text));
                }
            }
            log.rows.record(&self.mock, now, false);
        }
        if sent.writes.is_empty() {
            let rows = 0..self.partitions.len();
            let read: Vec<_> = rows.map(|row| log.rows.last(row).columns.clone()).collect();
            if log.shows_reads {
                for (row, values) in read.iter().enumerate() {
                    log.rows.show(row, values.as_ref().unwrap_or(&Columns::new()));
                }
            }
            log.reads.push(read);
        }
        response
    }

    async fn exchange(
        self: Arc<Self>,
        request: HttpRequest,
    ) -> Result<HttpResponse, TransportError> {
        let (attempt, fault, foreign, travel) = {
            let now = self.now();
            let mut log = self.log();
            if log.is_offline {
                return Err(broken(TransportErrorKind::Connect));
            }
            let at = log.requests;
            log.requests += 1;
            let fault = log.faults.iter().find(|(request, _)| *request == at).map(|it| it.1);
            let foreign = log.during.iter().find(|(request, _)| *request == at);
            let foreign = foreign.map(|it| it.1.clone());
            let writes = Write::all(&request);
            let save = log.save;
            log.attempts.push(Attempt {
                save,
                writes,
                time: now,
                fault,
                deliveries: vec![],
                is_repeated: false,
            });
            // Requests that are sent together arrive in any order.
            let travel = Duration::from_millis(log.chance.u64(..20));
            (log.attempts.len() - 1, fault, foreign, travel)
        };
        yield_now().await;
        sleep(travel).await;
        if let Some(foreign) = foreign {
            let network = Arc::clone(&self);
            drop(tokio::spawn(async move { network.foreign(&foreign).await }).await);
        }
        let result = self.strike(attempt, fault, request).await;
        yield_now().await;
        sleep(travel / 2).await;
        yield_now().await;
        result
    }

    async fn strike(
        self: &Arc<Self>,
        attempt: usize,
        fault: Option<Fault>,
        request: HttpRequest,
    ) -> Result<HttpResponse, TransportError> {
        let is_read = self.log().attempts[attempt].writes.is_empty();
        let response = match fault {
            None => self.deliver(attempt, &request),
            Some(Fault::RefuseConnection) => return Err(broken(TransportErrorKind::Connect)),
            Some(Fault::LoseRequest) => return Err(broken(TransportErrorKind::Interrupted)),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::LoseResponse) => {
                self.deliver(attempt, &request);
                return Err(broken(TransportErrorKind::Interrupted));
            }
            Some(Fault::Late(delay)) if is_read => {
                sleep(Duration::from_millis(delay)).await;
                self.deliver(attempt, &request)
            }
            Some(Fault::Late(delay)) => {
                let delivered = self.deliver_after(delay, attempt, request).await;
                delivered.map_err(|_| broken(TransportErrorKind::Interrupted))?
            }
            Some(Fault::LateResponse(delay)) => {
                let response = self.deliver(attempt, &request);
                sleep(Duration::from_millis(delay)).await;
                response
            }
            Some(Fault::Instead { response, is_applied }) => {
                if is_applied {
                    self.deliver(attempt, &request);
                }
                return Ok(faults::response(&self.mock, response, &request));
            }
            Some(Fault::SwapResponse) => {
                let own = self.deliver(attempt, &request);
                return Ok(self.log().last_response.replace(own.clone()).unwrap_or(own));
            }
            Some(Fault::TruncateResponse) => {
                let mut response = self.deliver(attempt, &request);
                response.body.truncate(response.body.len() / 2);
                return Ok(response);
            }
            Some(Fault::Twice(_) | Fault::BusyAndLate(_)) if is_read => {
                self.deliver(attempt, &request)
            }
            Some(Fault::Twice(delay)) => {
                self.log().attempts[attempt].is_repeated = true;
                let first = self.deliver(attempt, &request);
                if delay == 0 {
                    self.deliver(attempt, &request)
                } else {
                    drop(self.deliver_after(delay, attempt, request));
                    first
                }
            }
            Some(Fault::BusyAndLate(delay)) => {
                self.log().attempts[attempt].is_repeated = true;
                drop(self.deliver_after(delay, attempt, request.clone()));
                return Ok(faults::response(&self.mock, 0, &request));
            }
        };
        self.log().last_response = Some(response.clone());
        Ok(response)
    }

    /// Delivers the request after this time in milliseconds, also if nobody waits for it.
    fn deliver_after(
        self: &Arc<Self>,
        delay: u64,
        attempt: usize,
        request: HttpRequest,
    ) -> tokio::task::JoinHandle<HttpResponse> {
        let network = Arc::clone(self);
        tokio::spawn(async move {
            sleep(Duration::from_millis(delay)).await;
            network.deliver(attempt, &request)
        })
    }
}

fn broken(kind: TransportErrorKind) -> TransportError {
    TransportError::new(kind, "the network of the program")
}

/// The transport of the context.
#[derive(Debug)]
pub(super) struct Wire(pub(super) Arc<Network>);

impl Transport for Wire {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(Arc::clone(&self.0).exchange(request))
    }
}
