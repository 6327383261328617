//! The requests of a round: how many met a fault, and which of them a proxy delivered twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;

use azure_table_client::DynamicEntity;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_tests::chaos::faults::ActiveFault;
use tokio::task::{self, yield_now};

use super::ledger::{Key, Known};
use super::mix_ups::{self, MixUps};
use super::world::{TABLE, WRITE_ID, mark_of};

/// Sends the requests of all clients of a round.
pub(super) struct Requests {
    mock: MockTableService,
    faults: OnceLock<Vec<ActiveFault>>,
    mix_ups: MixUps,
    sent: AtomicUsize,
    with_fault: AtomicUsize,
    repeated: Mutex<Vec<Delivery>>,
    deleted_rows: Mutex<Vec<DynamicEntity>>,
    /// The faults that the current call of each task has met.
    met: Mutex<HashMap<Option<task::Id>, BTreeSet<String>>>,
    outcomes: Mutex<Outcomes>,
}

/// The calls that met each fault, by their known outcomes.
pub(super) type Outcomes = BTreeMap<String, BTreeMap<Known, usize>>;

/// A request that was delivered twice.
#[derive(Debug, Default)]
struct Delivery {
    uri: http::Uri,
    /// The marks that are new with this request, and the write id next to each.
    marks: Vec<(u64, Option<String>)>,
    /// The path and the ETag of each deletion.
    deletions: Vec<(String, String)>,
    /// No row showed a write id of this request when the client sent one of its writes again. The second
    /// request leaves the same ids, so that they prove nothing about this one.
    is_overwritten: bool,
}

impl Requests {
    pub(super) fn new(mock: &MockTableService) -> Arc<Self> {
        Arc::new(Self {
            mock: mock.clone(),
            faults: OnceLock::new(),
            mix_ups: MixUps::default(),
            sent: AtomicUsize::new(0),
            with_fault: AtomicUsize::new(0),
            repeated: Mutex::default(),
            deleted_rows: Mutex::default(),
            met: Mutex::default(),
            outcomes: Mutex::default(),
        })
    }

    /// Begins a call of the current task.
    pub(super) fn begin_call(&self) {
        self.met.lock().unwrap().remove(&task::try_id());
    }

    /// Records the outcome of the call for each fault that it met.
    pub(super) fn end_call(&self, known: Known) {
        let met = self.met.lock().unwrap().remove(&task::try_id());
        let mut outcomes = self.outcomes.lock().unwrap();
        for fault in met.unwrap_or_default() {
            *outcomes.entry(fault).or_default().entry(known).or_default() += 1;
        }
    }

    /// The outcomes of the calls so far.
    pub(super) fn outcomes(&self) -> Outcomes {
        self.outcomes.lock().unwrap().clone()
    }

    /// Counts the requests that meet these faults from here on.
    pub(super) fn watch(&self, faults: Vec<ActiveFault>, seed: u64) {
        self.faults.set(faults).expect("once");
        self.mix_ups.start(seed);
    }

    /// From here on, no responses are mixed up.
    pub(super) fn end_mix_ups(&self) {
        self.mix_ups.end();
    }

    /// The faults of the proxy that mixes up responses, and how often each has struck.
    pub(super) fn mixed_up(&self) -> impl Iterator<Item = (&'static str, usize)> {
        mix_ups::NAMES.into_iter().zip(self.mix_ups.struck())
    }

    pub(super) fn faults(&self) -> &[ActiveFault] {
        self.faults.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// The number of requests, and of those that met a fault.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.sent.load(Ordering::Relaxed), self.with_fault.load(Ordering::Relaxed))
    }

    /// The number of repeated deliveries.
    pub(super) fn repeated(&self) -> usize {
        self.repeated.lock().unwrap().len()
    }

    /// The rows that existed when the table was deleted.
    pub(super) fn take_deleted_rows(&self) -> Vec<DynamicEntity> {
        std::mem::take(&mut *self.deleted_rows.lock().unwrap())
    }

    /// Whether a proxy delivered this write twice and the rows no longer show a write id of that
    /// request, so that the client had no evidence.
    pub(super) fn is_undetectable_write(&self, id: u64) -> bool {
        let repeated = self.repeated.lock().unwrap();
        let mut of_write = repeated.iter().filter(|sent| sent.marks.iter().any(|m| m.0 == id));
        of_write.any(|delivery| !self.is_provable(delivery))
    }

    /// Whether this applies to a deletion.
    pub(super) fn is_undetectable_deletion(&self, key: &Key, etag: &str) -> bool {
        self.is_undetectable_deletion_since(0, key, etag)
    }

    /// The state of a deletion after this number of repeated deliveries.
    pub(super) fn is_undetectable_deletion_since(
        &self,
        deliveries: usize,
        key: &Key,
        etag: &str,
    ) -> bool {
        let path = path(key);
        let repeated = self.repeated.lock().unwrap();
        let mut of_deletion = repeated.iter().skip(deliveries).filter(|delivery| {
            delivery.deletions.iter().any(|(url, tag)| url.contains(&path) && tag == etag)
        });
        of_deletion.any(|delivery| !self.is_provable(delivery))
    }

    /// Whether a proxy delivered a request about this row twice, after this number of repeated
    /// deliveries.
    pub(super) fn is_repeated_since(&self, deliveries: usize, key: &Key) -> bool {
        let path = path(key);
        let repeated = self.repeated.lock().unwrap();
        repeated.iter().skip(deliveries).any(|delivery| delivery.uri.path().contains(&path))
    }

    /// Whether a row shows a write id of this request.
    fn is_provable(&self, delivery: &Delivery) -> bool {
        let sent: Vec<_> = delivery.write_ids().collect();
        !sent.is_empty()
            && !delivery.is_overwritten
            && self.mock.rows(TABLE).unwrap_or_default().iter().any(|row| {
                let id = row.value(WRITE_ID).map(ToString::to_string);
                id.is_some_and(|id| sent.iter().any(|sent| id.contains(sent)))
            })
    }

    /// Records for the repeated deliveries of writes that this request sends again whether their ids are
    /// gone.
    fn resend(&self, request: &HttpRequest) {
        let mut repeated = self.repeated.lock().unwrap();
        if repeated.is_empty() {
            return;
        }
        let body = String::from_utf8_lossy(&request.body);
        for delivery in &mut *repeated {
            if delivery.write_ids().any(|id| body.contains(id)) {
                delivery.is_overwritten = !self.is_provable(delivery);
            }
        }
    }

    /// The marks of all rows.
    fn marks(&self) -> BTreeSet<u64> {
        let rows = self.mock.rows(TABLE).unwrap_or_default();
        let columns = rows.iter().flat_map(DynamicEntity::properties);
        columns.filter_map(|(name, _)| mark_of(name)).collect()
    }

    /// How often each fault has struck.
    fn struck(&self) -> Vec<usize> {
        self.faults().iter().map(|fault| fault.added.struck()).collect()
    }

    /// The faults that have struck since.
    fn struck_since(&self, before: &[usize]) -> Vec<&ActiveFault> {
        let faults = self.faults().iter().zip(before);
        faults.filter(|(fault, before)| fault.added.struck() > **before).map(|it| it.0).collect()
    }
}

fn path((partition_key, row_key): &Key) -> String {
    format!("(PartitionKey='{partition_key}',RowKey='{row_key}')")
}

impl Delivery {
    /// Reads a request before which the rows had these marks.
    fn of(request: &HttpRequest, stored: &BTreeSet<u64>) -> Self {
        let mut delivery = Self { uri: request.uri.clone(), ..Self::default() };
        let mut url = String::new();
        let mut line = |line: &str| {
            if let Some(rest) = line.strip_prefix("DELETE ") {
                rest.clone_into(&mut url);
            } else if let Some((name, etag)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("If-Match")
                && !url.is_empty()
            {
                delivery.deletions.push((std::mem::take(&mut url), etag.to_owned()));
            } else if line.starts_with('{') {
                url.clear();
                delivery.add_row(line, stored);
            }
        };
        if request.method == "DELETE" {
            line(&format!("DELETE {}", request.uri));
        }
        if let Some(etag) = request.headers.get("if-match") {
            line(&format!("If-Match: {}", etag.to_str().unwrap()));
        }
        String::from_utf8_lossy(&request.body).lines().for_each(line);
        delivery
    }

    fn write_ids(&self) -> impl Iterator<Item = &str> {
        self.marks.iter().filter_map(|mark| mark.1.as_deref())
    }

    fn add_row(&mut self, json: &str, stored: &BTreeSet<u64>) {
        let row: serde_json::Value = serde_json::from_str(json).expect("a row");
        let row = row.as_object().expect("a row");
        let id = row.get(WRITE_ID).and_then(|id| id.as_str());
        let marks = row.keys().filter_map(|name| mark_of(name)).filter(|id| !stored.contains(id));
        self.marks.extend(marks.map(|mark| (mark, id.map(str::to_owned))));
    }
}

impl Transport for Requests {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            yield_now().await;
            let is_table_deletion =
                request.method == "DELETE" && request.uri.path().contains("/Tables(");
            let rows = is_table_deletion.then(|| self.mock.rows(TABLE)).flatten();
            // A replaced row has the marks of earlier writes too.
            let stored = if request.method == "GET" { BTreeSet::new() } else { self.marks() };
            self.resend(&request);
            let before = self.struck();
            let mut response = pin!(self.mock.receive(request.clone()));
            // The mock decides about faults, and applies requests without delay, when it is first polled.
            let first = poll_fn(|context| Poll::Ready(response.as_mut().poll(context))).await;
            let met = self.struck_since(&before);
            let (is_failure, is_repetition) = (
                met.iter().any(|fault| fault.is_failure),
                met.iter().any(|fault| fault.is_repetition),
            );
            self.met
                .lock()
                .unwrap()
                .entry(task::try_id())
                .or_default()
                .extend(met.iter().map(|it| it.name.clone()));
            if self.mock.row_count(TABLE).is_none() {
                self.deleted_rows.lock().unwrap().extend(rows.unwrap_or_default());
            }
            self.sent.fetch_add(1, Ordering::Relaxed);
            self.with_fault.fetch_add(usize::from(is_failure), Ordering::Relaxed);
            if is_repetition {
                self.repeated.lock().unwrap().push(Delivery::of(&request, &stored));
            }
            let mut result = match first {
                Poll::Ready(result) => result,
                Poll::Pending => response.await,
            };
            if let Ok(response) = &result
                && let Some((name, other)) = self.mix_ups.replace(&request, response)
            {
                self.with_fault.fetch_add(usize::from(!is_failure), Ordering::Relaxed);
                let mut met = self.met.lock().unwrap();
                met.entry(task::try_id()).or_default().insert(name.to_owned());
                result = Ok(other);
            }
            yield_now().await;
            yield_now().await;
            result
        })
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
