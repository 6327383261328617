//! What was asked of the service: for a test's assertions.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Method;

use super::MockTableServiceBuilder;
use super::request::Incoming;
use crate::filter::PlanKind;
use crate::wire::Operation;
use crate::wire::headers::X_MS_CLIENT_REQUEST_ID;

/// Requests that are kept one by one, if nothing else is said; all are counted.
pub(super) const KEPT_REQUESTS: usize = 10_000;
/// Bytes of payloads that are kept, if nothing else is said.
pub(super) const KEPT_PAYLOAD_BYTES: usize = 32 * 1024 * 1024;
/// How much of one payload is kept.
const PAYLOAD_BYTES: usize = 64 * 1024;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// When it arrived, by the service's clock.
    pub arrived: SystemTime,
    /// How long the service worked on it, in real time: no wait of the fault plan is in it.
    pub took: Duration,
    /// The HTTP method as sent: POST also where `X-HTTP-Method` says another one.
    pub method: Method,
    /// What it asked for.
    pub operation: Operation,
    /// How many operations were in it: those of a batch that could be read, else 1.
    pub operations: usize,
    /// The table, if it was about one.
    pub table: Option<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// How much of the table a point read or a query looked at.
    pub plan: Option<PlanKind>,
    /// The rows that it looked at.
    pub scanned_rows: usize,
    /// Which attempt of its call it was, from 1: how many of the requests that are kept ask for the
    /// same operation under the same `x-ms-client-request-id`, up to this one. This library's client
    /// repeats the id of a call with every attempt, and gives each call another one unless the
    /// program names one. A request without an id is a first attempt.
    pub attempt: usize,
    /// The body as sent, up to its first 64 KiB. Of all the requests, the last 32 MiB are kept;
    /// those before have an empty payload
    /// ([`kept_payload_bytes`](MockTableServiceBuilder::kept_payload_bytes)).
    pub payload: Bytes,
    /// The length of the whole body in bytes.
    pub payload_len: usize,
}

/// Which call a request belongs to, as far as it says so.
type Call = Option<u64>;

#[derive(Debug)]
pub(super) struct Recorder {
    requests: usize,
    payload_bytes: usize,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    kept: VecDeque<(RecordedRequest, Call)>,
    /// Bytes of the payloads in `kept`.
    payload_bytes: usize,
    /// How many of the oldest in `kept` had to give up their payloads.
    without_payload: usize,
    counts: HashMap<Operation, usize>,
    table_scans: usize,
    scanned_rows: usize,
}

impl Recorder {
    /// One that keeps so many requests, and so many bytes of payloads.
    pub(super) fn new(requests: usize, payload_bytes: usize) -> Self {
        Self { requests, payload_bytes, record: Mutex::default() }
    }

    /// What is kept of a body. It is copied, since a slice would hold the buffer it was read into.
    pub(super) fn payload(&self, body: &[u8]) -> Bytes {
        let kept = if self.requests == 0 { 0 } else { self.payload_bytes.min(PAYLOAD_BYTES) };
        Bytes::copy_from_slice(&body[..body.len().min(kept)])
    }

    /// Adds a request, whose attempt is counted when somebody asks.
    pub(super) fn add(&self, request: RecordedRequest, call: Call) {
        let mut record = self.lock();
        *record.counts.entry(request.operation).or_default() += 1;
        record.table_scans += usize::from(request.plan == Some(PlanKind::TableScan));
        record.scanned_rows += request.scanned_rows;
        if self.requests == 0 {
            return;
        }
        if record.kept.len() == self.requests {
            record.forget_oldest();
        }
        record.payload_bytes += request.payload.len();
        record.kept.push_back((request, call));
        record.forget_payloads(self.payload_bytes);
    }

    pub(super) fn requests(&self) -> Requests<'_> {
        Requests(self)
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn forget_oldest(&mut self) {
        if let Some((oldest, _)) = self.kept.pop_front() {
            self.payload_bytes -= oldest.payload.len();
            self.without_payload = self.without_payload.saturating_sub(1);
        }
    }

    fn forget_payloads(&mut self, limit: usize) {
        while self.payload_bytes > limit
            && let Some((oldest, _)) = self.kept.get_mut(self.without_payload)
        {
            self.payload_bytes -= std::mem::take(&mut oldest.payload).len();
            self.without_payload += 1;
        }
    }
}

/// The call that a request is an attempt of.
pub(super) fn call(request: &Incoming<'_>, operation: Operation) -> Call {
    let id = request.headers.get(&X_MS_CLIENT_REQUEST_ID)?;
    let mut hasher = DefaultHasher::new();
    (operation, id.as_bytes()).hash(&mut hasher);
    Some(hasher.finish())
}

/// What was asked of a service so far.
pub struct Requests<'a>(&'a Recorder);

impl Requests<'_> {
    /// How many requests asked for this, refused ones included.
    pub fn count(&self, operation: Operation) -> usize {
        self.0.lock().counts.get(&operation).copied().unwrap_or(0)
    }

    /// How many requests there were.
    pub fn total(&self) -> usize {
        self.0.lock().counts.values().sum()
    }

    /// How many queries looked at a whole table.
    pub fn table_scans(&self) -> usize {
        self.0.lock().table_scans
    }

    /// How many rows were looked at by point reads and queries, found or not.
    pub fn scanned_rows(&self) -> usize {
        self.0.lock().scanned_rows
    }

    /// The last request.
    pub fn last(&self) -> Option<RecordedRequest> {
        let record = self.0.lock();
        let (last, call) = record.kept.back()?;
        let is_of_call = |other: &&(_, Call)| call.is_some() && other.1 == *call;
        let attempt = record.kept.iter().filter(is_of_call).count().max(1);
        Some(RecordedRequest { attempt, ..last.clone() })
    }

    /// The requests in order, at most the last 10,000
    /// ([`kept_requests`](MockTableServiceBuilder::kept_requests)).
    pub fn all(&self) -> Vec<RecordedRequest> {
        let record = self.0.lock();
        let mut attempts: HashMap<u64, usize> = HashMap::new();
        let counted = record.kept.iter().map(|(request, call)| {
            let attempt = call.map_or(1, |call| {
                let attempt = attempts.entry(call).or_default();
                *attempt += 1;
                *attempt
            });
            RecordedRequest { attempt, ..request.clone() }
        });
        counted.collect()
    }

    /// Those of [`all`](Self::all) that asked for this.
    pub fn of(&self, operation: Operation) -> Vec<RecordedRequest> {
        self.all().into_iter().filter(|request| request.operation == operation).collect()
    }

    /// Forgets all requests, so that a test can count from here.
    pub fn clear(&self) {
        *self.0.lock() = Record::default();
    }
}

impl fmt::Debug for Requests<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("total", &self.total()).finish_non_exhaustive()
    }
}

impl MockTableServiceBuilder {
    /// How many requests are kept one by one: 10,000 unless it is set here.
    pub fn kept_requests(mut self, requests: usize) -> Self {
        self.kept_requests = requests;
        self
    }

    /// How many bytes of payloads are kept in all, of the last requests: 32 MiB unless it is set here.
    pub fn kept_payload_bytes(mut self, bytes: usize) -> Self {
        self.kept_payload_bytes = bytes;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, MockTableService};
    use super::*;
    use crate::entity::DynamicEntity;

    fn request(status: u16, payload: &'static [u8]) -> RecordedRequest {
        RecordedRequest {
            arrived: SystemTime::UNIX_EPOCH,
            took: Duration::ZERO,
            method: Method::GET,
            operation: Operation::Query,
            operations: 1,
            table: None,
            status,
            plan: Some(PlanKind::TableScan),
            scanned_rows: 2,
            attempt: 1,
            payload: Bytes::from_static(payload),
            payload_len: payload.len(),
        }
    }

    #[test]
    fn counts_all_but_keeps_the_last_ones() {
        let recorder = Recorder::new(KEPT_REQUESTS, KEPT_PAYLOAD_BYTES);
        for status in 0..10_005 {
            recorder.add(request(status, b""), None);
        }
        let requests = recorder.requests();
        assert_eq!((requests.total(), requests.count(Operation::Query)), (10_005, 10_005));
        assert_eq!((requests.table_scans(), requests.scanned_rows()), (10_005, 20_010));
        assert_eq!((requests.all().len(), requests.all()[0].status), (10_000, 5));
        requests.clear();
        assert_eq!((requests.total(), requests.scanned_rows(), requests.last()), (0, 0, None));

        let recorder = Recorder::new(0, KEPT_PAYLOAD_BYTES);
        recorder.add(request(200, b""), None);
        assert_eq!((recorder.requests().total(), recorder.requests().all()), (1, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_recorded_with_its_attempt_and_its_payload() {
        let shown = std::sync::Arc::<Mutex<Vec<String>>>::default();
        let seen = std::sync::Arc::clone(&shown);
        let observer = move |request: &RecordedRequest, target: &str| {
            let line = format!("{} {target} {}", request.method, request.status);
            seen.lock().unwrap().push(line);
        };
        let mock = MockTableService::builder().observer(observer).build();
        let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
        blogs.create().await.unwrap();
        mock.requests().clear();
        mock.faults().add(Fault::busy().on(Operation::Insert).times(2));
        blogs.insert(&DynamicEntity::new("a", "b")).await.unwrap();
        blogs.get(("a", "b")).await.unwrap();

        let all = mock.requests().all();
        let told: Vec<_> = all.iter().map(|r| (r.operation, r.attempt, r.status)).collect();
        let insert = Operation::Insert;
        let expected =
            [(insert, 1, 503), (insert, 2, 503), (insert, 3, 204), (Operation::Get, 1, 200)];
        assert_eq!(told, expected);
        assert_eq!((all[2].method.as_str(), all[2].payload_len), ("POST", all[2].payload.len()));
        let payload: serde_json::Value = serde_json::from_slice(&all[2].payload).unwrap();
        assert_eq!(payload, serde_json::json!({"PartitionKey": "a", "RowKey": "b"}));
        assert!(all.windows(2).all(|pair| pair[0].arrived <= pair[1].arrived));
        let shown = shown.lock().unwrap();
        assert!(
            shown[0].starts_with("POST /devstoreaccount1/Tables") && shown[0].ends_with(" 204")
        );
        assert_eq!(shown.len(), 5);
    }

    #[test]
    fn attempts_are_counted_by_call() {
        let recorder = Recorder::new(4, 0);
        let attempts = || recorder.requests().all().iter().map(|r| r.attempt).collect::<Vec<_>>();
        for call in [Some(1), Some(2), Some(1), None] {
            recorder.add(request(500, b""), call);
        }
        assert_eq!(attempts(), [1, 1, 2, 1]);
        assert_eq!(recorder.requests().last().map(|last| last.attempt), Some(1));
        recorder.add(request(200, b""), Some(2));
        assert_eq!(recorder.requests().last().map(|last| last.attempt), Some(2));
        assert_eq!(attempts(), [1, 1, 1, 2], "the first attempt of 1 is no longer kept");
    }

    #[test]
    fn the_oldest_payloads_go_when_there_are_too_many_bytes() {
        let recorder = Recorder::new(4, 6);
        let payloads = || {
            let all = recorder.requests().all();
            all.iter().map(|r| (r.payload.len(), r.payload_len)).collect::<Vec<_>>()
        };
        for payload in [&b"abc"[..], b"", b"de", b"f"] {
            recorder.add(request(200, payload), None);
        }
        assert_eq!(payloads(), [(3, 3), (0, 0), (2, 2), (1, 1)]);
        recorder.add(request(200, b"ghi"), None);
        assert_eq!(payloads(), [(0, 0), (2, 2), (1, 1), (3, 3)]);
        recorder.add(request(200, b"jklm"), None);
        assert_eq!(payloads(), [(0, 2), (0, 1), (0, 3), (4, 4)]);
        recorder.add(request(200, b"n"), None);
        recorder.add(request(200, b"o"), None);
        assert_eq!(payloads(), [(0, 3), (4, 4), (1, 1), (1, 1)]);
        assert_eq!(recorder.payload(&[0; 100]).len(), 6);
        assert_eq!(Recorder::new(4, 1 << 20).payload(&vec![0; 100_000]).len(), 65_536);
    }
}
