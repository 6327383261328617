//! The recorder of requests, for assertions in tests.

mod recorded;
mod texts;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

pub use self::recorded::RecordedRequest;
pub(super) use self::texts::{method, target, text, whole_target};
use crate::filter::PlanKind;
use crate::lock::lock;
use crate::request::RawRequest;
use crate::wire::Operation;
use crate::wire::headers::X_MS_CLIENT_REQUEST_ID;

/// The default number of kept requests. All requests are counted.
pub(super) const KEPT_REQUESTS: usize = 10_000;
/// The default number of kept payload bytes.
pub(super) const KEPT_PAYLOAD_BYTES: usize = 32 * 1024 * 1024;
/// The number of bytes kept of one payload.
const PAYLOAD_BYTES: usize = 64 * 1024;

/// A hash that the attempts of one call share. `None` if the request has no id.
type CallHash = Option<u64>;

pub(super) struct Recorder {
    pub(super) observer: Option<Observer>,
    requests: usize,
    payload_bytes: usize,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    /// Shared with readers, so that they copy only pointers while the record is locked.
    kept: VecDeque<(Arc<RecordedRequest>, CallHash)>,
    /// The number of payload bytes in `kept`.
    payload_bytes: usize,
    /// The number of oldest requests in `kept` whose payloads were dropped.
    without_payload: usize,
    counts: HashMap<Operation, usize>,
    table_scans: usize,
    scanned_rows: usize,
}

impl Recorder {
    pub(super) fn new(requests: usize, payload_bytes: usize, observer: Option<Observer>) -> Self {
        Self { observer, requests, payload_bytes, record: Mutex::default() }
    }

    /// Returns `true` if recorded requests have a reader. All requests are counted.
    pub(super) fn is_read(&self) -> bool {
        self.requests > 0 || self.observer.is_some()
    }

    /// Returns the kept part of a body. It is a copy, since a slice would keep the whole buffer alive.
    pub(super) fn payload(&self, body: &[u8]) -> Bytes {
        let kept = if self.requests == 0 { 0 } else { self.payload_bytes.min(PAYLOAD_BYTES) };
        Bytes::copy_from_slice(&body[..body.len().min(kept)])
    }

    /// Counts a request without a record of it.
    pub(super) fn count(&self, operation: Operation, plan: Option<PlanKind>, scanned_rows: usize) {
        lock(&self.record).count(operation, plan, scanned_rows);
    }

    /// Adds a request. Its attempt is counted when a test reads the record.
    pub(super) fn add(&self, request: RecordedRequest, call: CallHash) {
        let RecordedRequest { operation, plan, scanned_rows, .. } = request;
        if self.requests == 0 {
            return self.count(operation, plan, scanned_rows);
        }
        let request = Arc::new(request);
        let mut record = lock(&self.record);
        record.count(operation, plan, scanned_rows);
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
}

impl Record {
    fn total(&self) -> usize {
        self.counts.values().sum()
    }

    fn count(&mut self, operation: Operation, plan: Option<PlanKind>, scanned_rows: usize) {
        *self.counts.entry(operation).or_default() += 1;
        self.table_scans += usize::from(plan == Some(PlanKind::TableScan));
        self.scanned_rows += scanned_rows;
    }

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
            self.payload_bytes -= std::mem::take(&mut Arc::make_mut(oldest).payload).len();
            self.without_payload += 1;
        }
    }
}

pub(super) fn call_hash(request: &RawRequest<'_>, operation: Operation) -> CallHash {
    let id = request.headers.get(&X_MS_CLIENT_REQUEST_ID)?;
    let mut hasher = DefaultHasher::new();
    (operation, id).hash(&mut hasher);
    Some(hasher.finish())
}

/// The requests that a service has received.
pub struct Requests<'a>(&'a Recorder);

impl Requests<'_> {
    /// Returns the number of requests for this operation, including failed ones.
    pub fn count(&self, operation: Operation) -> usize {
        lock(&self.0.record).counts.get(&operation).copied().unwrap_or(0)
    }

    /// Returns the number of all requests.
    pub fn total(&self) -> usize {
        lock(&self.0.record).total()
    }

    /// Returns the number of queries that were table scans.
    pub fn table_scans(&self) -> usize {
        lock(&self.0.record).table_scans
    }

    /// Returns the number of rows scanned by point reads and queries, including rows that did not match.
    pub fn scanned_rows(&self) -> usize {
        lock(&self.0.record).scanned_rows
    }

    /// Returns the last request.
    pub fn last(&self) -> Option<RecordedRequest> {
        let record = lock(&self.0.record);
        let (last, call) = record.kept.back().cloned()?;
        let is_of_call = |other: &&(_, CallHash)| call.is_some() && other.1 == call;
        let attempt = record.kept.iter().filter(is_of_call).count().max(1);
        let number = record.total();
        drop(record);
        Some(RecordedRequest { number, attempt, ..Arc::unwrap_or_clone(last) })
    }

    /// Returns the requests in order, at most the last 10,000
    /// ([`kept_requests`](crate::TableServiceBuilder::kept_requests)).
    pub fn all(&self) -> Vec<RecordedRequest> {
        self.kept(|_| true)
    }

    /// Returns the requests of [`all`](Self::all) for this operation.
    pub fn of(&self, operation: Operation) -> Vec<RecordedRequest> {
        self.kept(|request| request.operation == operation)
    }

    fn kept(&self, is_wanted: impl Fn(&RecordedRequest) -> bool) -> Vec<RecordedRequest> {
        let (kept, dropped) = {
            let record = lock(&self.0.record);
            (record.kept.clone(), record.total() - record.kept.len())
        };
        let mut attempts: HashMap<u64, usize> = HashMap::new();
        let counted =
            kept.into_iter().zip(dropped + 1..).filter_map(|((request, call), number)| {
                let attempt = call.map_or(1, |call| {
                    let attempt = attempts.entry(call).or_default();
                    *attempt += 1;
                    *attempt
                });
                let request = is_wanted(&request).then(|| Arc::unwrap_or_clone(request))?;
                Some(RecordedRequest { number, attempt, ..request })
            });
        counted.collect()
    }

    /// Removes all requests, so that a test can count later ones.
    pub fn clear(&self) {
        *lock(&self.0.record) = Record::default();
    }
}

opaque_debug!(Requests<'_>, |it| total: it.total());

/// A function that receives each request.
pub(super) type Observer = Box<dyn Fn(&RecordedRequest) + Send + Sync>;

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use http::Method;

    use super::*;

    use super::super::TableService;

    fn request(status: u16, payload: &'static [u8]) -> RecordedRequest {
        RecordedRequest {
            number: 0,
            arrived: SystemTime::UNIX_EPOCH,
            took: Duration::ZERO,
            method: Method::GET,
            url: String::new(),
            operation: Operation::Query,
            operations: 1,
            table: None,
            status,
            error_status: None,
            failed_operation: None,
            error_code: None,
            error_message: None,
            plan: Some(PlanKind::TableScan),
            scanned_rows: 2,
            attempt: 1,
            payload: Bytes::from_static(payload),
            payload_len: payload.len(),
        }
    }

    #[test]
    fn all_requests_are_counted_and_the_last_ones_kept() {
        let recorder = Recorder::new(KEPT_REQUESTS, KEPT_PAYLOAD_BYTES, None);
        for status in 0..10_005 {
            recorder.add(request(status, b""), None);
        }
        let requests = recorder.requests();
        assert_eq!((requests.total(), requests.count(Operation::Query)), (10_005, 10_005));
        assert_eq!((requests.table_scans(), requests.scanned_rows()), (10_005, 20_010));
        assert_eq!((requests.all().len(), requests.all()[0].status), (10_000, 5));
        assert_eq!((requests.all()[0].number, requests.last().unwrap().number), (6, 10_005));
        requests.clear();
        assert_eq!((requests.total(), requests.scanned_rows(), requests.last()), (0, 0, None));

        let recorder = Recorder::new(0, KEPT_PAYLOAD_BYTES, None);
        recorder.add(request(200, b""), None);
        assert_eq!((recorder.requests().total(), recorder.requests().all()), (1, vec![]));
    }

    #[test]
    fn attempts_are_counted_by_call() {
        let recorder = Recorder::new(4, 0, None);
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
    fn the_oldest_payloads_are_dropped_beyond_the_limit() {
        let recorder = Recorder::new(4, 6, None);
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
        assert_eq!(Recorder::new(4, 1 << 20, None).payload(&vec![0; 100_000]).len(), 65_536);
    }

    #[test]
    fn a_request_without_readers_is_counted() {
        let mock = TableService::builder().kept_requests(0).build();
        assert!(!mock.0.recorder.is_read());
        mock.respond(&http_request());
        assert_eq!((mock.requests().total(), mock.requests().last()), (1, None));
        let observed = TableService::builder().kept_requests(0).observer(|_| {}).build();
        assert!(observed.0.recorder.is_read());
    }

    fn http_request() -> crate::transport::HttpRequest {
        let uri = http::Uri::from_static("http://127.0.0.1/devstoreaccount1/Tables");
        crate::transport::HttpRequest::new(Method::GET, uri)
    }
}
