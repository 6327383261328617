//! Web servers and sweepers under faults; the history of each session must be that of a register that ends once.

#[path = "history.rs"]
mod history;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_table_client::clock::Clock;
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;
use serde_json::json;
use tokio::time::timeout;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Result, SessionStore as _};

use super::{HOUR, SECOND, is_missing, store};
use crate::store::TableStore;
use history::{Change, History, Read};

const TASKS: u64 = 6;
const STEPS: usize = 20;
/// Longer than a request is in flight.
const GRACE: Duration = Duration::from_secs(180);
/// The time after which no request of a call that failed or was dropped arrives.
const IN_FLIGHT: Duration = Duration::from_secs(60);
/// The tasks use the newest sessions.
const NEWEST: usize = 4;
/// The most by which the clock of a machine is ahead.
const AHEAD: Duration = Duration::from_secs(5 * 3600);
/// The id of a session that exists from the beginning, and that others try to create.
const TAKEN: Id = Id(1);
const LONG: Duration = Duration::from_secs(48 * 3600);

#[derive(Debug, Clone)]
struct Task {
    store: TableStore,
    /// The clock of the machine, and that of the service.
    clock: Arc<dyn Clock>,
    truth: Arc<dyn Clock>,
    /// A missing session may have been deleted by a sweep once it had expired by this clock.
    sweeps_from: Duration,
    ids: Arc<Mutex<Vec<Id>>>,
    history: Arc<Mutex<History>>,
    values: Arc<AtomicI64>,
}

impl Task {
    fn time(&self) -> SystemTime {
        self.truth.now()
    }

    fn record(&self, record: impl FnOnce(&mut History)) {
        record(&mut self.history.lock().unwrap());
    }

    /// A new value, which expires in minutes or in days by the clock of the machine.
    fn new_record(&self, id: Id, chance: &mut Rng) -> Record {
        let is_short = id != TAKEN && chance.bool();
        let ttl = if is_short { chance.u32(1..600) * SECOND } else { LONG };
        let value = self.values.fetch_add(1, Ordering::Relaxed);
        let data = [("value".to_owned(), json!(value)), ("more".to_owned(), text(value))];
        Record { id, data: data.into(), expiry_date: (self.clock.now() + ttl).into() }
    }

    async fn work(self, mut chance: Rng) {
        for _ in 0..STEPS {
            let known = self.ids.lock().unwrap().clone();
            let newest = &known[known.len().saturating_sub(NEWEST)..];
            let id =
                if chance.u8(..10) == 0 { TAKEN } else { newest[chance.usize(..newest.len())] };
            // Some calls are dropped.
            let is_dropped = chance.u8(..5) == 0;
            let limit = if is_dropped { chance.u64(..20_000) } else { 1_200_000 };
            let limit = Duration::from_millis(limit);
            match chance.u8(..20) {
                0..3 => self.create(limit, &mut chance).await,
                3..8 => self.load(id).await,
                8..14 => self.save(id, limit, &mut chance).await,
                14 if id != TAKEN => self.delete(id, limit).await,
                _ => self.sweep(limit, chance.u8(..4) > 0).await,
            }
            self.record(|history| history.report.operations += 1);
            tokio::time::sleep(Duration::from_millis(chance.u64(..3_000))).await;
        }
    }

    async fn create(&self, limit: Duration, chance: &mut Rng) {
        let id = if chance.u8(..6) == 0 { TAKEN } else { Id(chance.i128(2..)) };
        let mut record = self.new_record(id, chance);
        let start = self.time();
        let result = timeout(limit, self.store.create(&mut record)).await;
        let is_done = matches!(result, Ok(Ok(())));
        self.record(|history| {
            let is_stolen = is_done && record.id == TAKEN;
            history.report.check(!is_stolen, || "a session was overwritten".to_owned());
            history.report.count(if is_done { "created" } else { "perhaps created" });
        });
        if record.id == TAKEN {
            return;
        }
        self.written(&record, start, is_done);
        if is_done {
            // A browser has the id.
            self.ids.lock().unwrap().push(record.id);
        }
    }

    fn written(&self, record: &Record, start: SystemTime, is_done: bool) {
        let value = value_of(record).unwrap();
        let expires = record.expiry_date.into();
        let end = if is_done { self.time() } else { self.time() + IN_FLIGHT };
        let change = Change { value, expires, start, end, is_certain: is_done };
        self.record(|history| history.of(record.id).writes.push(change));
    }

    async fn load(&self, id: Id) {
        let (start, from) = (self.time(), self.clock.now());
        let result: Result<_> = self.store.load(&id).await;
        let end = self.time();
        let Ok(found) = result else {
            return self.record(|history| history.report.count("failed loads"));
        };
        let Some(found) = found else { return self.missing(id, start, end) };
        self.record(|history| {
            let expires: SystemTime = found.expiry_date.into();
            let value = value_of(&found).unwrap_or_default();
            history.report.count("found");
            history.report.check(expires > from, || format!("{value} was found, and had expired"));
            let is_whole = found.id == id && found.data.get("more") == Some(&text(value));
            history.report.check(is_whole, || format!("{value} is torn, or of another session"));
            let read = Read { value: Some(value), expires, start, end };
            history.of(id).reads.push(read);
        });
    }

    /// Records that there is no session; it must not exist if it expires after the time in the record.
    fn missing(&self, id: Id, start: SystemTime, end: SystemTime) {
        let expires = self.clock.now().max(self.truth.now() + self.sweeps_from);
        self.record(|history| {
            history.report.count("missing");
            history.of(id).reads.push(Read { value: None, expires, start, end });
        });
    }

    async fn save(&self, id: Id, limit: Duration, chance: &mut Rng) {
        let record = self.new_record(id, chance);
        let start = self.time();
        let result = timeout(limit, self.store.save(&record)).await;
        if let Ok(Err(error)) = &result
            && is_missing(error)
        {
            return self.missing(id, start, self.time());
        }
        let is_done = matches!(result, Ok(Ok(())));
        self.record(|history| {
            history.report.count(if is_done { "saved" } else { "perhaps saved" });
        });
        self.written(&record, start, is_done);
    }

    async fn delete(&self, id: Id, limit: Duration) {
        let start = self.time();
        let is_done = matches!(timeout(limit, self.store.delete(&id)).await, Ok(Ok(())));
        let end = is_done.then(|| self.time());
        self.record(|history| {
            history.report.count(if is_done { "deleted" } else { "perhaps deleted" });
            history.of(id).deletions.push((start, end));
        });
    }

    async fn sweep(&self, limit: Duration, is_short: bool) {
        // Most sweeps end before they have waited.
        let limit = if is_short { limit.min(20 * SECOND) } else { limit };
        if let Ok(Ok(1..)) = timeout(limit, self.store.sweep(GRACE)).await {
            self.record(|history| history.report.count("sweeps that deleted sessions"));
        }
    }
}

fn value_of(record: &Record) -> Option<i64> {
    record.data.get("value")?.as_i64()
}

/// Data of a length that depends on the value; some of it spans columns.
fn text(value: i64) -> serde_json::Value {
    let length = if value % 16 == 0 { 70_000 } else { value % 7 * 20 };
    json!(format!("{value} ").repeat(usize::try_from(length / 8).unwrap_or_default()))
}

async fn round(round: &mut Round) -> Report {
    super::prepare(round.mock()).await;
    let margin = if round.seed.is_multiple_of(2) { Duration::ZERO } else { 11 * HOUR };
    let shared = Task {
        store: store(&round.mock().client()),
        clock: round.mock().clock(),
        truth: round.mock().clock(),
        sweeps_from: AHEAD.saturating_sub(margin),
        ids: Arc::new(Mutex::new(vec![TAKEN])),
        history: Arc::default(),
        values: Arc::new(AtomicI64::new(1)),
    };
    let mut first = shared.new_record(TAKEN, &mut round.chance(TASKS));
    let start = shared.time();
    shared.store.create(&mut first).await.unwrap();
    shared.written(&first, start, true);
    round.start_faults();
    let tasks = (0..TASKS).map(|n| {
        let client = round.client(n);
        let task = Task {
            store: store(&client).margin(margin),
            clock: client.clock().clone(),
            ..shared.clone()
        };
        task.work(round.chance(n))
    });
    round.run_programs(tasks).await;
    let ids = shared.ids.lock().unwrap().clone();
    for id in ids {
        shared.load(id).await;
    }
    tokio::time::sleep(LONG + 2 * AHEAD).await;
    let swept = shared.store.clone().margin(Duration::ZERO).sweep(HOUR).await;
    let rows = round.mock().row_count("Sessions");
    let History { mut report, sessions } = std::mem::take(&mut *shared.history.lock().unwrap());
    report.check(swept.is_ok() && rows == Some(0), || format!("{rows:?} rows after {swept:?}"));
    for (id, session) in sessions {
        session.check(id, &mut report);
    }
    report
}

#[tokio::test(start_paused = true)]
async fn sessions_are_registers_until_they_end() {
    chaos::run("sessions", 400, round).await;
}
