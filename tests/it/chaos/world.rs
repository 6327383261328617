//! What the tasks do, and what they write down about it.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use azure_table_client::context::{SaveOptions, SaveOutcome, TableContext};
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, ETag, Error, ErrorKind, IfMatch, Outcome, RetryPolicy, TableClient,
    TableServiceClient,
};
use fastrand::Rng;

use super::ledger::{Deletion, Effect, Key, Known, Ledger, Version, Write};
use super::registers::{Registers, Setting};

const TABLE: &str = "Chaos";
const ROWS: u8 = 4;
const REGISTERS: &str = "registers";
const TRIES: usize = 5;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// One that believes what the client says of the outcome.
    Careful { retries: u32 },
    /// One that takes every 404, 409 and 412 for the answer to what it asked, as users of other clients
    /// do, and whose client does not find out what became of its writes.
    Credulous,
}

#[derive(Clone)]
pub(super) struct World(Arc<Inner>);

struct Inner {
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
    caller: Caller,
    ids: AtomicU64,
    steps: AtomicU64,
    history: Mutex<History>,
}

/// What was done in a round.
#[derive(Debug, Default)]
pub(super) struct History {
    ledger: Ledger,
    registers: Registers,
}

impl History {
    pub(super) fn operations(&self) -> usize {
        self.known().count()
    }

    /// What was said of each operation.
    pub(super) fn known(&self) -> impl Iterator<Item = Known> {
        let writes = self.ledger.writes.iter();
        let writes = writes.flat_map(|write| write.parts.iter().map(|_| write.known));
        let deletions = self.ledger.deletions.iter().map(|deletion| deletion.known);
        writes.chain(deletions).chain(self.registers.settings.iter().map(|setting| setting.known))
    }

    pub(super) fn violations(&self) -> Vec<String> {
        let mut violations = self.ledger.violations();
        violations.extend(self.registers.violations());
        violations
    }
}

/// A row that was read.
struct Read {
    entity: DynamicEntity,
    etag: ETag,
    version: Version,
}

impl Read {
    fn new(entity: DynamicEntity, etag: ETag) -> Self {
        let version = version(&entity, &etag);
        Self { entity, etag, version }
    }

    /// The row as an increment leaves it.
    fn incremented(&self, id: u64) -> DynamicEntity {
        let mut entity = self.entity.clone();
        entity.set("Count", self.version.count + 1).set(mark(id), true);
        entity
    }
}

fn mark(id: u64) -> String {
    format!("W{id}")
}

fn version(entity: &DynamicEntity, etag: &ETag) -> Version {
    let count = entity.get("Count").and_then(Result::ok).unwrap_or(0);
    let marks = entity.properties().filter_map(|(name, _)| name.strip_prefix('W')?.parse().ok());
    Version { etag: etag.to_string(), count, marks: marks.collect() }
}

fn row(key: &Key) -> DynamicEntity {
    DynamicEntity::new(key.0.as_str(), key.1.as_str())
}

fn marked(key: &Key, id: u64) -> DynamicEntity {
    let mut row = row(key);
    row.set(mark(id), true);
    row
}

fn known(error: &Error) -> Known {
    match error.outcome() {
        Outcome::Applied => Known::Applied,
        Outcome::NotApplied => Known::NotApplied,
        Outcome::Unknown => Known::Unknown,
    }
}

impl World {
    pub(super) async fn new(mock: &MockTableService, caller: Caller) -> Self {
        let retries = match caller {
            Caller::Careful { retries } => retries,
            Caller::Credulous => 3,
        };
        let service = TableServiceClient::builder_from_connection_string(&mock.connection_string())
            .unwrap()
            .transport(mock.transport())
            .clock(mock.clock())
            .retry(RetryPolicy::fixed(retries, Duration::from_millis(100)))
            .try_timeout(Duration::from_secs(30))
            .build()
            .unwrap();
        let table = service.table_named::<DynamicEntity>(TABLE);
        table.create().await.unwrap();
        Self(Arc::new(Inner {
            service,
            table,
            caller,
            ids: AtomicU64::new(1),
            steps: AtomicU64::new(1),
            history: Mutex::default(),
        }))
    }

    /// Does so many things at random.
    pub(super) async fn work(&self, mut chance: Rng, steps: usize) {
        for _ in 0..steps {
            let key = (format!("p{}", chance.u8(..4)), chance.u8(..ROWS).to_string());
            match chance.u8(..100) {
                0..12 => self.insert(&key).await,
                12..45 => self.increment(&key, chance.bool()).await,
                45..53 => self.upsert(&key).await,
                53..58 => self.merge_any(&key).await,
                58..64 => self.delete(&key).await,
                64..76 => self.transact(&key.0, &mut chance).await,
                76..86 if self.0.caller != Caller::Credulous => {
                    self.save(&key.0, &mut chance).await;
                }
                _ => self.set(&mut chance).await,
            }
        }
    }

    /// All that was done, and what is there now.
    pub(super) async fn history_and_rows(&self) -> History {
        let mut history = std::mem::take(&mut *self.0.history.lock().unwrap());
        for entity in self.0.table.query().await.unwrap().into_vec() {
            let key = (entity.key().partition_key.clone(), entity.key().row_key.clone());
            if key.0 == REGISTERS {
                let value: i64 = entity.get("Value").unwrap().unwrap();
                history.registers.rows.insert(key, u64::try_from(value).unwrap());
            } else {
                let version = version(&entity, entity.etag().unwrap());
                history.ledger.rows.insert(key, version);
            }
        }
        history
    }

    /// Calls, and says what is known afterwards and whether it met a conflict.
    async fn call<T>(&self, call: impl IntoFuture<Output = Result<T, Error>>) -> (Known, bool) {
        let Err(error) = call.await else { return (Known::Applied, false) };
        let is_conflict =
            error.is_conflict() || error.is_not_found() || error.is_precondition_failed();
        let believes = is_conflict && self.0.caller == Caller::Credulous;
        (if believes { Known::NotApplied } else { known(&error) }, is_conflict)
    }

    fn id(&self) -> u64 {
        self.0.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn step(&self) -> u64 {
        self.0.steps.fetch_add(1, Ordering::Relaxed)
    }

    fn wrote(&self, id: u64, parts: Vec<(Key, Effect)>, known: Known) {
        self.0.history.lock().unwrap().ledger.writes.push(Write { id, parts, known });
    }

    /// What is in a row now, if that can be read.
    async fn read(&self, key: &Key) -> Option<Read> {
        for _ in 0..TRIES {
            match self.0.table.get_if_exists(key.clone()).await {
                Ok(fetched) => return fetched.map(|row| Read::new(row.entity, row.etag)),
                Err(error) => assert_ne!(error.kind(), ErrorKind::Decode, "{error}"),
            }
        }
        None
    }

    async fn insert(&self, key: &Key) {
        let id = self.id();
        let row = marked(key, id);
        let (known, _) = self.call(self.0.table.insert(&row)).await;
        self.wrote(id, vec![(key.clone(), Effect::Mark)], known);
    }

    /// Reads, counts up and writes under the version that was read; again where somebody else was
    /// faster.
    async fn increment(&self, key: &Key, replaces: bool) {
        let id = self.id();
        let mut said = Known::NotApplied;
        for _ in 0..TRIES {
            let Some(read) = self.read(key).await else { break };
            let row = read.incremented(id);
            let (known, is_conflict) = if replaces {
                self.call(self.0.table.replace(&row, read.etag.clone())).await
            } else {
                let mut change = marked(key, id);
                change.set("Count", read.version.count + 1);
                self.call(self.0.table.merge(&change, read.etag.clone())).await
            };
            said = known;
            if known != Known::NotApplied || !is_conflict {
                break;
            }
        }
        self.wrote(id, vec![(key.clone(), Effect::Increment)], said);
    }

    async fn upsert(&self, key: &Key) {
        let id = self.id();
        let row = marked(key, id);
        let (known, _) = self.call(self.0.table.insert_or_merge(&row)).await;
        self.wrote(id, vec![(key.clone(), Effect::Mark)], known);
    }

    async fn merge_any(&self, key: &Key) {
        let id = self.id();
        let row = marked(key, id);
        let (known, _) = self.call(self.0.table.merge(&row, IfMatch::Any)).await;
        self.wrote(id, vec![(key.clone(), Effect::Mark)], known);
    }

    async fn delete(&self, key: &Key) {
        let Some(Read { etag, version, .. }) = self.read(key).await else { return };
        let (known, _) = self.call(self.0.table.delete(key.clone(), etag.clone())).await;
        let deletion = Deletion { key: key.clone(), version, known };
        self.0.history.lock().unwrap().ledger.deletions.push(deletion);
    }

    /// Counts up all rows of a partition but one, and inserts those that are not there.
    async fn transact(&self, partition: &str, chance: &mut Rng) {
        let (id, without) = (self.id(), chance.u8(..ROWS));
        let mut rows = Vec::new();
        for at in (0..ROWS).filter(|at| *at != without) {
            let key = (partition.to_owned(), at.to_string());
            let read = self.read(&key).await;
            rows.push((key, read));
        }
        let transaction =
            rows.iter().fold(self.0.table.transaction(), |all, (key, read)| match read {
                Some(read) => all.merge(&read.incremented(id), read.etag.clone()),
                None => all.insert(&marked(key, id)),
            });
        let (known, _) = self.call(transaction).await;
        let parts = rows.iter().map(|(key, read)| match read {
            Some(_) => (key.clone(), Effect::Increment),
            None => (key.clone(), Effect::Mark),
        });
        self.wrote(id, parts.collect(), known);
    }

    /// Changes the rows of a partition by a context.
    async fn save(&self, partition: &str, chance: &mut Rng) {
        let mut context = TableContext::new(&self.0.service);
        let rows = context.table_named::<DynamicEntity>(TABLE);
        let filter = format!("PartitionKey eq '{partition}'");
        let Ok(read) = rows.query().filter_text(&filter).await else { return };
        let mut read: BTreeMap<String, DynamicEntity> =
            read.into_iter().map(|row| (row.key().row_key.clone(), row)).collect();
        let mut rows = context.table_named::<DynamicEntity>(TABLE);
        let (mut ids, mut deleted) = (BTreeMap::new(), BTreeMap::new());
        for at in 0..ROWS {
            let key = (partition.to_owned(), at.to_string());
            let id = self.id();
            let effect = match read.remove(&key.1) {
                Some(entity) => {
                    let etag = entity.etag().unwrap().clone();
                    let read = Read::new(entity, etag);
                    match chance.u8(..10) {
                        0..2 => continue,
                        2 => {
                            rows.delete(&read.entity).unwrap();
                            deleted.insert(key, read.version);
                            continue;
                        }
                        _ => rows.update(&read.incremented(id)).unwrap(),
                    }
                    Effect::Increment
                }
                None if chance.bool() => {
                    rows.add(&marked(&key, id)).unwrap();
                    Effect::Mark
                }
                None => {
                    rows.add_or_merge(&marked(&key, id)).unwrap();
                    Effect::Mark
                }
            };
            ids.insert(key, (id, effect));
        }
        let options = match chance.u8(..3) {
            0 => SaveOptions::each().continue_on_error(),
            1 => SaveOptions::atomic(),
            _ => SaveOptions::per_partition(),
        };
        let report = match context.save_changes_with(options).await {
            Ok(report) => report,
            Err(error) => error.report,
        };
        for result in report.results {
            let known = match result.outcome {
                SaveOutcome::Applied { .. } => Known::Applied,
                SaveOutcome::Unknown(_) => Known::Unknown,
                _ => Known::NotApplied,
            };
            let key = (result.key.partition_key, result.key.row_key);
            if let Some((id, effect)) = ids.remove(&key) {
                self.wrote(id, vec![(key, effect)], known);
            } else {
                let version = deleted.remove(&key).unwrap();
                let deletion = Deletion { key, version, known };
                self.0.history.lock().unwrap().ledger.deletions.push(deletion);
            }
        }
        assert!(ids.is_empty() && deleted.is_empty(), "{ids:?} {deleted:?}");
    }

    /// Writes a register, or deletes it, whatever is in it.
    async fn set(&self, chance: &mut Rng) {
        let key = (REGISTERS.to_owned(), chance.u8(..ROWS).to_string());
        let value = (chance.u8(..3) > 0).then(|| self.id());
        let (start, since) = (self.step(), tokio::time::Instant::now());
        let (known, _) = match value {
            Some(value) => {
                let mut row = row(&key);
                row.set("Value", i64::try_from(value).unwrap());
                self.call(self.0.table.insert_or_replace(&row)).await
            }
            None => self.call(self.0.table.delete(key.clone(), IfMatch::Any)).await,
        };
        // Every further attempt comes after a wait.
        let had_one_attempt = since.elapsed().is_zero();
        let time = (start, self.step());
        let setting = Setting { key, value, time, had_one_attempt, known };
        self.0.history.lock().unwrap().registers.settings.push(setting);
    }
}
