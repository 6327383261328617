//! Several writers, readers and sweepers; the history of each entity must be that of a register.
//!
//! Each value has an id and the id of the value that it replaced, so that the values of an entity form a chain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::mock::Fault;
use azure_table_client::{DynamicEntity, Operation, Outcome};
use azure_table_patterns::wide::WideTable;
use azure_table_patterns::{Error, Swept};
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;
use tokio::time::timeout;
use uuid::Uuid;

const TASKS: u64 = 6;
const STEPS: usize = 20;
const NAMES: [&str; 2] = ["a", "a!"];
/// The id before the first value.
const NOTHING: i64 = 0;

/// A replacement, an insertion or (without an id) a deletion.
#[derive(Debug, Clone)]
struct Change {
    id: Option<i64>,
    base: i64,
    outcome: Outcome,
    start: u64,
    end: u64,
}

/// A read, with the id that it found.
#[derive(Debug, Clone, Copy)]
struct Read {
    id: i64,
    start: u64,
    end: u64,
}

#[derive(Debug, Default)]
struct History {
    changes: BTreeMap<&'static str, Vec<Change>>,
    reads: BTreeMap<&'static str, Vec<Read>>,
    report: Report,
}

#[derive(Debug, Clone)]
struct Task {
    wide: WideTable,
    history: Arc<Mutex<History>>,
    ids: Arc<AtomicI64>,
    steps: Arc<AtomicU64>,
    /// Entities are deleted, and sweeps wait for longer than a request is in flight.
    deletes: bool,
}

fn value(name: &str, id: i64, base: i64) -> DynamicEntity {
    let mut chance = Rng::with_seed(id.unsigned_abs());
    let length = [40, 1500, 5000][chance.usize(..3)];
    let bytes: Vec<u8> = (0..length).map(|_| chance.u8(..)).collect();
    let text = "ü".repeat(chance.usize(..400));
    let entity = DynamicEntity::new("p", name).with("Id", id).with("Base", base);
    entity.with("Text", text).with("Bytes", bytes)
}

fn id_of(entity: &DynamicEntity, name: &str) -> Result<(i64, i64), String> {
    let number = |name| entity.get::<i64>(name).and_then(Result::ok).ok_or(format!("no {name}"));
    let (id, base) = (number("Id")?, number("Base")?);
    let expected = value(name, id, base);
    let is_torn = expected.properties().any(|(name, value)| entity.value(name) != Some(value));
    if is_torn { Err(format!("a torn value {id}")) } else { Ok((id, base)) }
}

impl Task {
    fn now(&self) -> u64 {
        self.steps.fetch_add(1, Ordering::Relaxed)
    }

    fn record(&self, record: impl FnOnce(&mut History)) {
        record(&mut self.history.lock().unwrap());
    }

    async fn work(self, mut chance: Rng) {
        for _ in 0..STEPS {
            let name = NAMES[chance.usize(..NAMES.len())];
            // Some calls are dropped.
            let limit = Duration::from_millis(if chance.u8(..5) == 0 {
                chance.u64(..20_000)
            } else {
                600_000
            });
            match chance.u8(..20) {
                0..3 => self.sweep(limit, &mut chance).await,
                3..9 => drop(self.read(name).await),
                9 if self.deletes => self.delete(name, limit).await,
                _ => self.write(name, limit).await,
            }
            tokio::time::sleep(Duration::from_millis(chance.u64(..300))).await;
            self.record(|history| history.report.operations += 1);
        }
    }

    /// Reads an entity; `None` if the read failed.
    async fn read(&self, name: &'static str) -> Option<(i64, Option<Uuid>)> {
        let start = self.now();
        let result = self.wide.get(("p", name)).await;
        let end = self.now();
        let found = match result {
            Ok(found) => found,
            Err(error) => {
                self.record(|history| {
                    let is_expected =
                        matches!(error, Error::Client { .. } | Error::Contended { .. });
                    history.report.check(is_expected, || format!("{name}: {error}"));
                    history.report.count("reads that failed");
                });
                return None;
            }
        };
        let id = match &found {
            None => NOTHING,
            Some((entity, _)) => match id_of(entity, name) {
                Ok((id, _)) => id,
                Err(violation) => {
                    self.record(|history| history.report.check(false, || violation));
                    return None;
                }
            },
        };
        self.record(|history| {
            history.reads.entry(name).or_default().push(Read { id, start, end });
            history.report.count("reads");
        });
        Some((id, found.map(|(_, version)| version)))
    }

    async fn write(&self, name: &'static str, limit: Duration) {
        let Some((base, version)) = self.read(name).await else { return };
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let entity = value(name, id, base);
        let call = async {
            match &version {
                Some(version) => self.wide.replace(&entity, *version).await.map(drop),
                None => self.wide.insert(&entity).await.map(drop),
            }
        };
        self.change(name, Some(id), base, limit, call).await;
    }

    async fn delete(&self, name: &'static str, limit: Duration) {
        let Some((base, Some(version))) = self.read(name).await else { return };
        self.change(name, None, base, limit, self.wide.delete(("p", name), version)).await;
    }

    async fn change(
        &self,
        name: &'static str,
        id: Option<i64>,
        base: i64,
        limit: Duration,
        call: impl Future<Output = Result<(), Error>>,
    ) {
        let start = self.now();
        let outcome = match timeout(limit, call).await {
            Ok(Ok(())) => Outcome::Applied,
            Ok(Err(error)) => error.outcome(),
            Err(_) => Outcome::Unknown,
        };
        let change = Change { id, base, outcome, start, end: self.now() };
        self.record(|history| {
            history.report.count(match outcome {
                Outcome::Applied => "applied",
                Outcome::NotApplied => "not applied",
                Outcome::Unknown => "unknown",
            });
            history.changes.entry(name).or_default().push(change);
        });
    }

    async fn sweep(&self, limit: Duration, chance: &mut Rng) {
        let seconds = if self.deletes { 600 } else { chance.u64(1..10) };
        let swept =
            timeout(limit, self.wide.clone().grace(Duration::from_secs(seconds)).sweep()).await;
        if swept.is_ok_and(|swept| swept.is_ok_and(|swept| swept.removed > 0)) {
            self.record(|history| history.report.count("sweeps that removed rows"));
        }
    }
}

/// Checks the changes of one entity that has the value `last` in the end.
fn check(
    name: &str,
    changes: &[Change],
    reads: &[Read],
    last: i64,
    deletes: bool,
    report: &mut Report,
) {
    let seen: BTreeSet<i64> =
        reads.iter().map(|read| read.id).filter(|id| *id != NOTHING).collect();
    let happened = |change: &&Change| {
        change.outcome == Outcome::Applied || change.id.is_some_and(|id| seen.contains(&id))
    };
    for change in changes.iter().filter(happened) {
        let is_denied = change.outcome == Outcome::NotApplied;
        report
            .check(!is_denied, || format!("{name}: {change:?} was read though it was not applied"));
        if change.base != NOTHING {
            let rivals =
                changes.iter().filter(|it| it.base == change.base).filter(happened).count();
            report.check(rivals == 1, || {
                format!("{name}: {rivals} changes replaced {}", change.base)
            });
        }
        let Some(id) = change.id.filter(|id| *id != last) else { continue };
        let is_replaced =
            changes.iter().any(|it| it.base == id && it.outcome != Outcome::NotApplied);
        report.check(is_replaced, || format!("{name}: the value {id} was lost"));
    }
    if deletes {
        return;
    }
    // Without deletions, all values form one chain, and reads follow it.
    let mut chain = vec![last];
    while let Some(change) = changes.iter().find(|it| it.id == chain.last().copied()) {
        chain.push(change.base);
    }
    let position = |id: i64| chain.iter().rev().position(|it| *it == id);
    for change in changes.iter().filter(happened) {
        let id = change.id.unwrap();
        report.check(position(id).is_some(), || format!("{name}: {id} is not in the chain"));
    }
    let mut events: Vec<_> = reads.iter().map(|read| (read.start, read.end, read.id)).collect();
    let applied = changes.iter().filter(|change| change.outcome == Outcome::Applied);
    events.extend(applied.filter_map(|it| Some((it.start, it.end, it.id?))));
    for read in reads {
        let before = events.iter().filter(|event| event.1 < read.start);
        let newest = before.filter_map(|event| position(event.2)).max();
        report.check(position(read.id) >= newest, || {
            format!("{name}: {read:?} found a value older than number {newest:?}")
        });
    }
}

async fn round(round: &mut Round) -> Report {
    round.mock().client().create_table("Wide").await.unwrap();
    let (ids, steps) = (Arc::new(AtomicI64::new(1)), Arc::default());
    let history = Arc::new(Mutex::new(History::default()));
    let deletes = round.seed % 2 == 1;
    let task = |client: azure_table_client::TableServiceClient| {
        let table = client.table_named::<DynamicEntity>("Wide");
        let wide = WideTable::new(&table).unwrap().request_bytes(4096).unwrap();
        let (history, ids, steps) = (Arc::clone(&history), Arc::clone(&ids), Arc::clone(&steps));
        Task { wide, history, ids, steps, deletes }
    };
    round.start_faults();
    // Writers that cannot delete their intents.
    let lost = Fault::lose_request().on(Operation::Delete);
    round.mock().faults().add(lost.probability(0.3));
    if !deletes {
        // Writers that are busy for longer than a sweep waits.
        let delay = Fault::delay_request(Duration::from_secs(15)).on(Operation::Transaction);
        round.mock().faults().add(delay.probability(0.2));
    }
    round.run_programs((0..TASKS).map(|n| task(round.client(n)).work(round.chance(n)))).await;
    let last = task(round.mock().client());
    let grace = Duration::from_secs(600);
    let swept = [
        last.wide.clone().grace(grace).sweep().await,
        last.wide.clone().grace(grace).sweep().await,
    ];
    let (mut generations, mut found) = (BTreeSet::new(), BTreeMap::new());
    for name in NAMES {
        if let Some((id, version)) = last.read(name).await {
            generations.extend(version);
            found.insert(name, id);
        }
    }
    let History { mut report, changes, reads } = std::mem::take(&mut *history.lock().unwrap());
    report.check(matches!(swept, [Ok(_), Ok(Swept { removed: 0, .. })]), || {
        format!("the last sweeps: {swept:?}")
    });
    for row in round.mock().rows("Wide").unwrap() {
        let row_key = &row.key().row_key;
        let is_current = |generation: &Uuid| row_key.contains(&generation.simple().to_string());
        let is_header = row.get("Generation").is_some_and(|it| generations.contains(&it.unwrap()));
        let is_part = row_key.rsplit('!').next().is_some_and(|it| it.len() == 6);
        let is_live = is_header || (is_part && generations.iter().any(is_current));
        report.check(is_live, || format!("{row_key} is left"));
    }
    report.check(found.len() == NAMES.len(), || "an entity is unreadable in the end".to_owned());
    for (name, last) in found {
        let (changes, reads) = (changes.get(name), reads.get(name));
        let changes = changes.map(Vec::as_slice).unwrap_or_default();
        let reads = reads.map(Vec::as_slice).unwrap_or_default();
        check(name, changes, reads, last, deletes, &mut report);
    }
    report
}

#[tokio::test(start_paused = true)]
async fn wide_entities_are_registers() {
    chaos::run("wide", 150, round).await;
}
