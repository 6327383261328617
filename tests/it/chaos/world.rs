//! The tables, the clients and the operations of a round, and what the tasks record about them.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, ETag, Error, ErrorKind, IfMatch, Outcome, Proof, RetryPolicy, TableClient,
    TableServiceClient,
};
use azure_table_tests::chaos::MachineClock;
use fastrand::Rng;
use tokio::time::sleep;

use super::contests::{CLAIMS, COUNTERS, Contests};
use super::ledger::{
    Api, Deletion, Effect, Findings, Key, Known, Ledger, Reported, Version, Write,
};
use super::registers::{Registers, Setting};
use super::requests::Requests;
use super::transfers::{ACCOUNTS, Transfers};

pub(super) const TABLE: &str = "Chaos";
pub(super) const WRITE_ID: &str = "WriteId";
pub(super) const PARTITIONS: u8 = 4;
pub(super) const ROWS: u8 = 4;
const REGISTERS: &str = "registers";
const TRIES: usize = 5;

/// The callers of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// Believes the outcomes that the client reports.
    Careful { retries: u32 },
    /// Takes every 404, 409 and 412 for the response to its request, like users of other clients
    /// do, and does not read back writes.
    Credulous,
}

/// The parameters of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) caller: Caller,
    /// Every write has an id in the column [`WRITE_ID`].
    pub(super) has_write_ids: bool,
    /// Another client deletes the table and creates it again.
    pub(super) deletes_table: bool,
}

/// The round as one task sees it.
#[derive(Clone)]
pub(super) struct World {
    inner: Arc<Inner>,
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
}

struct Inner {
    setup: Setup,
    requests: Arc<Requests>,
    /// A client on a machine with a correct clock, and one on a machine whose clock is off.
    services: [TableServiceClient; 2],
    clock: Arc<MachineClock>,
    ids: AtomicU64,
    steps: AtomicU64,
    history: Mutex<History>,
}

/// The operations of a round.
#[derive(Debug, Default)]
pub(super) struct History {
    ledger: Ledger,
    registers: Registers,
    contests: Contests,
    transfers: Transfers,
}

impl History {
    pub(super) fn operations(&self) -> usize {
        self.known().count()
    }

    /// The reported outcome of each operation.
    pub(super) fn known(&self) -> impl Iterator<Item = Known> {
        let writes = self.ledger.writes.iter();
        let writes = writes.flat_map(|write| write.parts.iter().map(|_| write.reported.known));
        let deletions = self.ledger.deletions.iter();
        let deletions = deletions.filter(|deletion| deletion.reported.api != Api::Table);
        let settings = self.registers.settings.iter().map(|setting| setting.known);
        let deletions = deletions.map(|deletion| deletion.reported.known);
        writes.chain(deletions).chain(settings).chain(self.contests.known())
    }

    pub(super) fn check(&self) -> Findings {
        let mut found = self.ledger.check();
        self.registers.check(&mut found);
        self.contests.check(&mut found);
        self.transfers.check(&mut found);
        found
    }
}

/// A row that was read.
pub(super) struct Read {
    pub(super) entity: DynamicEntity,
    pub(super) etag: ETag,
    pub(super) version: Version,
}

impl Read {
    pub(super) fn new(entity: DynamicEntity) -> Self {
        let etag = entity.etag().expect("an entity that was read").clone();
        let version = version(&entity, &etag);
        Self { entity, etag, version }
    }

    /// The row as an increment leaves it.
    pub(super) fn incremented(&self, id: u64) -> DynamicEntity {
        let mut entity = self.entity.clone();
        entity.set("Count", self.version.count + 1).set(mark(id), true);
        entity
    }
}

pub(super) fn mark(id: u64) -> String {
    format!("W{id}")
}

/// The id of the write whose mark this column is.
pub(super) fn mark_of(column: &str) -> Option<u64> {
    column.strip_prefix('W')?.parse().ok()
}

fn version(entity: &DynamicEntity, etag: &ETag) -> Version {
    let count = entity.get("Count").and_then(Result::ok).unwrap_or(0);
    let marks = entity.properties().filter_map(|(name, _)| mark_of(name));
    Version { etag: etag.to_string(), count, marks: marks.collect() }
}

pub(super) fn row(key: &Key) -> DynamicEntity {
    DynamicEntity::new(key.0.as_str(), key.1.as_str())
}

pub(super) fn marked(key: &Key, id: u64) -> DynamicEntity {
    let mut row = row(key);
    row.set(mark(id), true);
    row
}

pub(super) fn known(error: &Error) -> Known {
    match error.outcome() {
        Outcome::Applied => Known::Applied,
        Outcome::NotApplied => Known::NotApplied,
        Outcome::Unknown => Known::Unknown,
    }
}

impl World {
    pub(super) async fn new(mock: &MockTableService, setup: Setup) -> Self {
        let retries = match setup.caller {
            Caller::Careful { retries } => retries,
            Caller::Credulous => 3,
        };
        let requests = Requests::new(mock);
        let clock = Arc::new(MachineClock::new(mock.clock(), 1.0));
        let service = |clock| {
            let text = mock.connection_string();
            let builder = TableServiceClient::builder_from_connection_string(&text)
                .unwrap()
                .transport(Arc::clone(&requests) as Arc<_>)
                .clock(clock)
                .retry(RetryPolicy::fixed(retries, Duration::from_millis(100)))
                .try_timeout(Duration::from_secs(30))
                .deadline(Duration::from_secs(2 * 60))
                .proof(match setup.caller {
                    Caller::Careful { .. } => Proof::default(),
                    Caller::Credulous => Proof::Response,
                });
            let builder =
                if setup.has_write_ids { builder.write_id_column(WRITE_ID) } else { builder };
            builder.build().unwrap()
        };
        let services = [service(mock.clock()), service(Arc::clone(&clock) as Arc<_>)];
        let table = services[0].table_named::<DynamicEntity>(TABLE);
        table.create().await.unwrap();
        let inner = Arc::new(Inner {
            setup,
            requests,
            services,
            clock,
            ids: AtomicU64::new(1),
            steps: AtomicU64::new(1),
            history: Mutex::default(),
        });
        let service = inner.services[0].clone();
        let world = Self { inner, service, table };
        if world.has_counters() {
            world.add_counters().await;
            world.add_accounts().await;
        }
        world
    }

    /// The world of a task; every fourth task is on a machine whose clock is off.
    pub(super) fn of_task(&self, task: u8) -> Self {
        let service = self.inner.services[usize::from(task % 4 == 3)].clone();
        Self { inner: Arc::clone(&self.inner), table: service.table_named(TABLE), service }
    }

    pub(super) fn service(&self) -> &TableServiceClient {
        &self.service
    }

    pub(super) fn table(&self) -> &TableClient<DynamicEntity> {
        &self.table
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.inner.requests
    }

    /// Whether the table of the counters exists for the whole round.
    pub(super) fn has_counters(&self) -> bool {
        !self.inner.setup.deletes_table
    }

    /// Records the result of a contest.
    pub(super) fn contests(&self, record: impl FnOnce(&mut Contests)) {
        record(&mut self.inner.history.lock().unwrap().contests);
    }

    /// Runs random operations.
    pub(super) async fn work(&self, mut chance: Rng, steps: usize) {
        let is_credulous = self.inner.setup.caller == Caller::Credulous;
        for _ in 0..steps {
            let key = (format!("p{}", chance.u8(..PARTITIONS)), chance.u8(..ROWS).to_string());
            match chance.u8(..100) {
                0..12 => self.insert(&key).await,
                12..42 => self.increment(&key, chance.bool()).await,
                42..50 => self.upsert(&key).await,
                50..55 => self.merge_any(&key).await,
                55..61 => self.delete(&key).await,
                61..70 => self.transact(&key.0, &mut chance).await,
                70..73 if !is_credulous => self.transfer(&mut chance).await,
                73..85 if !is_credulous => self.save(&key.0, &mut chance).await,
                85..90 if !is_credulous => self.run_bulk(&mut chance).await,
                90..95 => self.set(&mut chance).await,
                _ => self.contend(&mut chance).await,
            }
        }
    }

    /// Changes the world in mid-run: the time of day of a machine, and the table.
    pub(super) async fn disturb(&self, mut chance: Rng) {
        for _ in 0..3 {
            sleep(Duration::from_secs(chance.u64(1..30))).await;
            self.inner.clock.skew(chance.i64(-5..6) * 3600);
            if self.inner.setup.deletes_table {
                self.recreate_table().await;
            }
        }
    }

    async fn recreate_table(&self) {
        let start = self.step();
        let [service, _] = &self.inner.services;
        service.delete_table(TABLE).await.unwrap();
        let time = (start, self.step());
        {
            let mut history = self.inner.history.lock().unwrap();
            for row in self.inner.requests.take_deleted_rows() {
                let key = (row.key().partition_key.clone(), row.key().row_key.clone());
                let deletions = match key.0.as_str() {
                    REGISTERS => continue,
                    CLAIMS => &mut history.contests.deletions,
                    _ => &mut history.ledger.deletions,
                };
                let version = Read::new(row).version;
                let reported = Self::reported(Api::Table, Known::Applied, false);
                deletions.push(Deletion { key, version, reported });
            }
            for at in 0..ROWS {
                let key = (REGISTERS.to_owned(), at.to_string());
                let (had_one_attempt, known) = (true, Known::Applied);
                let setting = Setting { key, value: None, time, had_one_attempt, known };
                history.registers.settings.push(setting);
            }
        }
        service.create_table_and_wait(TABLE, Duration::from_secs(60)).await.unwrap();
    }

    /// All operations, and the rows that exist now.
    pub(super) async fn history_and_rows(&self) -> History {
        let mut history = std::mem::take(&mut *self.inner.history.lock().unwrap());
        for entity in self.table.query().await.unwrap().into_vec() {
            let key = (entity.key().partition_key.clone(), entity.key().row_key.clone());
            match key.0.as_str() {
                REGISTERS => {
                    let value: i64 = entity.get("Value").unwrap().unwrap();
                    history.registers.rows.insert(key, u64::try_from(value).unwrap());
                }
                COUNTERS => {
                    history.contests.counters.insert(key, Read::new(entity).version.count);
                }
                CLAIMS => {
                    history.contests.claims.insert(key);
                }
                other => {
                    if other == ACCOUNTS {
                        history.transfers.add(&entity);
                    }
                    history.ledger.rows.insert(key, Read::new(entity).version);
                }
            }
        }
        history
    }

    /// Makes the call. Returns its known outcome, and whether it met a conflict.
    pub(super) async fn call<T>(
        &self,
        call: impl IntoFuture<Output = Result<T, Error>>,
    ) -> (Known, bool) {
        self.requests().begin_call();
        let Err(error) = call.await else {
            self.requests().end_call(Known::Applied);
            return (Known::Applied, false);
        };
        let is_conflict =
            error.is_conflict() || error.is_not_found() || error.is_precondition_failed();
        let believes = is_conflict && self.inner.setup.caller == Caller::Credulous;
        let known = if believes { Known::NotApplied } else { known(&error) };
        self.requests().end_call(known);
        (known, is_conflict)
    }

    pub(super) fn id(&self) -> u64 {
        self.inner.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn step(&self) -> u64 {
        self.inner.steps.fetch_add(1, Ordering::Relaxed)
    }

    /// Records the known outcome of a write after its last call.
    pub(super) fn wrote(&self, id: u64, parts: Vec<(Key, Effect)>, api: Api, known: Known) {
        let is_undetectable = self.inner.requests.is_undetectable_write(id);
        self.add_write(id, parts, Self::reported(api, known, is_undetectable));
    }

    /// Records the known outcome of a deletion after its last call.
    pub(super) fn deleted(&self, key: Key, version: Version, api: Api, known: Known) {
        let is_undetectable = self.inner.requests.is_undetectable_deletion(&key, &version.etag);
        self.add_deletion(key, version, Self::reported(api, known, is_undetectable));
    }

    pub(super) const fn reported(api: Api, known: Known, is_undetectable: bool) -> Reported {
        Reported { known, api, is_undetectable }
    }

    pub(super) fn add_write(&self, id: u64, parts: Vec<(Key, Effect)>, reported: Reported) {
        self.inner.history.lock().unwrap().ledger.writes.push(Write { id, parts, reported });
    }

    pub(super) fn add_deletion(&self, key: Key, version: Version, reported: Reported) {
        let deletion = Deletion { key, version, reported };
        self.inner.history.lock().unwrap().ledger.deletions.push(deletion);
    }

    /// Returns the current row, if it exists and can be read.
    pub(super) async fn read(&self, key: &Key) -> Option<Read> {
        for _ in 0..TRIES {
            match self.table.get_if_exists(key.clone()).await {
                Ok(fetched) => return fetched.map(|row| Read::new(row.entity)),
                Err(error) => assert_ne!(error.kind(), ErrorKind::Decode, "{error}"),
            }
        }
        None
    }

    async fn insert(&self, key: &Key) {
        let id = self.id();
        let row = marked(key, id);
        let (known, _) = self.call(self.table.insert(&row)).await;
        self.wrote(id, vec![(key.clone(), Effect::Mark)], Api::Call, known);
    }

    /// Reads a row, counts it up and writes it under the version that was read; repeats this after
    /// a conflict.
    pub(super) async fn increment(&self, key: &Key, replaces: bool) {
        let id = self.id();
        let mut reported = Known::NotApplied;
        for _ in 0..TRIES {
            let Some(read) = self.read(key).await else { break };
            let row = read.incremented(id);
            let (known, is_conflict) = if replaces {
                self.call(self.table.replace(&row, read.etag.clone())).await
            } else {
                let mut change = marked(key, id);
                change.set("Count", read.version.count + 1);
                self.call(self.table.merge(&change, read.etag.clone())).await
            };
            reported = known;
            let is_undetectable = self.inner.requests.is_undetectable_write(id);
            if known != Known::NotApplied || !is_conflict || is_undetectable {
                break;
            }
        }
        self.wrote(id, vec![(key.clone(), Effect::Increment)], Api::Call, reported);
    }

    async fn upsert(&self, key: &Key) {
        let id = self.id();
        let row = marked(key, id);
        let (known, _) = self.call(self.table.insert_or_merge(&row)).await;
        self.wrote(id, vec![(key.clone(), Effect::Mark)], Api::Call, known);
    }

    async fn merge_any(&self, key: &Key) {
        let id = self.id();
        let row = marked(key, id);
        let (known, _) = self.call(self.table.merge(&row, IfMatch::Any)).await;
        self.wrote(id, vec![(key.clone(), Effect::Mark)], Api::Call, known);
    }

    async fn delete(&self, key: &Key) {
        let Some(Read { etag, version, .. }) = self.read(key).await else { return };
        let (known, _) = self.call(self.table.delete(key.clone(), etag.clone())).await;
        self.deleted(key.clone(), version, Api::Call, known);
    }

    /// Increments the counts of all rows of a partition except one, and inserts those that do not exist.
    async fn transact(&self, partition: &str, chance: &mut Rng) {
        let (id, without) = (self.id(), chance.u8(..ROWS));
        let mut rows = Vec::new();
        for at in (0..ROWS).filter(|at| *at != without) {
            let key = (partition.to_owned(), at.to_string());
            let read = self.read(&key).await;
            rows.push((key, read));
        }
        let transaction =
            rows.iter().fold(self.table.transaction(), |all, (key, read)| match read {
                Some(read) => all.merge(&read.incremented(id), read.etag.clone()),
                None => all.insert(&marked(key, id)),
            });
        let (known, _) = self.call(transaction).await;
        let parts = rows.iter().map(|(key, read)| match read {
            Some(_) => (key.clone(), Effect::Increment),
            None => (key.clone(), Effect::Mark),
        });
        self.wrote(id, parts.collect(), Api::Transaction, known);
    }

    /// Writes or deletes a register unconditionally.
    async fn set(&self, chance: &mut Rng) {
        let key = (REGISTERS.to_owned(), chance.u8(..ROWS).to_string());
        let value = (chance.u8(..3) > 0).then(|| self.id());
        let (start, since) = (self.step(), tokio::time::Instant::now());
        let repeated = self.requests().repeated();
        let (known, _) = match value {
            Some(value) => {
                let mut row = row(&key);
                row.set("Value", i64::try_from(value).unwrap());
                self.call(self.table.insert_or_replace(&row)).await
            }
            None => self.call(self.table.delete(key.clone(), IfMatch::Any)).await,
        };
        // The second delivery of a deletion finds no row.
        let is_undetectable = self.requests().is_undetectable_deletion_since(repeated, &key, "*");
        let known =
            if is_undetectable && known == Known::NotApplied { Known::Unknown } else { known };
        // Every further attempt comes after a wait.
        let had_one_attempt = since.elapsed().is_zero();
        let time = (start, self.step());
        let setting = Setting { key, value, time, had_one_attempt, known };
        self.inner.history.lock().unwrap().registers.settings.push(setting);
    }
}
