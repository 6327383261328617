//! Callers with bulk runs that end early because of throttling and refusals, and that are resumed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::bulk::{BulkOperation, Checkpoint};
use azure_table_client::client::WriteOutcome;
use azure_table_client::{DynamicEntity, EntityKey, IfMatch, RetryPolicy};
use fastrand::Rng;
use futures_util::{StreamExt as _, stream};
use tokio::time::{sleep, timeout};

use super::ledger::{Api, Effect, Key, Known, Version};
use super::world::{PARTITIONS, Read, World, marked};

/// Rows of each partition that bulk runs write; the first ones are shared with the other callers.
const ROWS: u8 = 8;

/// One operation of the input, and its known outcome.
struct Row {
    operation: BulkOperation<DynamicEntity>,
    change: Change,
    known: Known,
    is_undetectable: bool,
}

#[derive(Clone)]
enum Change {
    Write(Key, u64, Effect),
    Delete(Key, Version),
}

/// The report of each row.
type Outcomes = BTreeMap<usize, (WriteOutcome, bool)>;

impl World {
    /// Writes rows of several partitions in a bulk run, and resumes it if it did not complete.
    pub(super) async fn run_bulk(&self, chance: &mut Rng) {
        let Some(mut rows) = self.bulk_rows(chance).await else { return };
        let mut checkpoint = Checkpoint::new();
        for _ in 0..2 {
            checkpoint = self.run_rows(&mut rows, checkpoint, chance).await;
            if rows.iter().all(|row| row.known == Known::Applied) || chance.u8(..3) == 0 {
                break;
            }
            if chance.bool() {
                sleep(Duration::from_secs(chance.u64(..60))).await;
            }
        }
        for Row { change, known, is_undetectable, .. } in rows {
            let reported = Self::reported(Api::Bulk, known, is_undetectable);
            match change {
                Change::Write(key, id, effect) => {
                    self.add_write(id, vec![(key, effect)], reported);
                }
                Change::Delete(key, version) => self.add_deletion(key, version, reported),
            }
        }
    }

    async fn bulk_rows(&self, chance: &mut Rng) -> Option<Vec<Row>> {
        let entities = self.table().query().await.ok()?.into_vec();
        let mut read: BTreeMap<Key, DynamicEntity> =
            entities.into_iter().map(|row| (key_of(&row), row)).collect();
        let first = chance.u8(..PARTITIONS);
        let mut rows = Vec::new();
        for at in 0..ROWS {
            for partition in [first, (first + 1) % PARTITIONS] {
                let key = (format!("p{partition}"), at.to_string());
                self.operations(&key, read.remove(&key).map(Read::new), chance, &mut rows);
            }
        }
        Some(rows)
    }

    /// Adds up to two operations on a row.
    fn operations(&self, key: &Key, read: Option<Read>, chance: &mut Rng, rows: &mut Vec<Row>) {
        use BulkOperation::{
            Delete, DeleteIfExists, Insert, InsertOrMerge, Merge as MergeRow, Replace,
        };
        let mut add = |operation, change| {
            let (known, is_undetectable) = (Known::NotApplied, false);
            rows.push(Row { operation, change, known, is_undetectable });
        };
        let id = self.id();
        let mark = Change::Write(key.clone(), id, Effect::Mark);
        let increment = Change::Write(key.clone(), id, Effect::Increment);
        let entity_key = EntityKey::new(key.0.as_str(), key.1.as_str());
        match read {
            None if chance.bool() => add(Insert(marked(key, id)), mark),
            None => add(InsertOrMerge(marked(key, id)), mark),
            Some(read) => {
                let tag = IfMatch::Tag(read.etag.clone());
                match chance.u8(..10) {
                    0 => return,
                    1 => add(Delete(entity_key, tag), Change::Delete(key.clone(), read.version)),
                    2 => {
                        let change = Change::Delete(key.clone(), read.version);
                        add(DeleteIfExists(entity_key, tag), change);
                    }
                    3 => add(InsertOrMerge(marked(key, id)), mark),
                    4..7 => add(Replace(read.incremented(id), tag), increment),
                    _ => {
                        let mut change = marked(key, id);
                        change.set("Count", read.version.count + 1);
                        add(MergeRow(change, tag), increment);
                    }
                }
            }
        }
        if chance.u8(..8) == 0 {
            let id = self.id();
            let change = Change::Write(key.clone(), id, Effect::Mark);
            add(MergeRow(marked(key, id), IfMatch::Any), change);
        }
    }

    /// Runs the unresolved rows and records the reports.
    async fn run_rows(
        &self,
        rows: &mut [Row],
        checkpoint: Checkpoint,
        chance: &mut Rng,
    ) -> Checkpoint {
        let outcomes = Arc::new(Mutex::new(Outcomes::new()));
        let (world, report_to) = (self.clone(), Arc::clone(&outcomes));
        let changes: Vec<_> = rows.iter().map(|row| row.change.clone()).collect();
        let bulk = self
            .table()
            .bulk()
            .concurrency(1 + chance.usize(..6))
            .give_up_after(Duration::from_secs(chance.u64(1..20)))
            .retry(RetryPolicy::fixed(chance.u32(..4), Duration::from_millis(100)))
            .resume(checkpoint)
            .on_row(move |result| {
                let index = usize::try_from(result.index).unwrap();
                let is_undetectable = world.is_undetectable(&changes[index]);
                let outcome = (result.outcome.clone(), is_undetectable);
                report_to.lock().unwrap().insert(index, outcome);
            });
        let monitor = bulk.monitor();
        // A program that crashes may have stored its checkpoint before the first row.
        let first = monitor.checkpoint();
        // Where the input is slow, the run sends several batches of a partition that are not full.
        let waits: Vec<_> = rows.iter().map(|_| chance.u8(..4) == 0).collect();
        let input = rows.iter().map(|row| row.operation.clone()).zip(waits);
        let input = stream::iter(input.collect::<Vec<_>>()).then(|(operation, waits)| async move {
            if waits {
                sleep(Duration::from_millis(1)).await;
            }
            operation
        });
        let patience = match chance.u8(..8) {
            0 => Duration::from_millis(3),
            1 => Duration::from_secs(20),
            _ => Duration::MAX,
        };
        let is_dropped = timeout(patience, bulk.run_stream(input)).await.is_err();
        let checkpoint = monitor.checkpoint();
        let mut outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
        for (at, row) in rows.iter_mut().enumerate() {
            if let Some((outcome, is_undetectable)) = outcomes.remove(&at) {
                row.take(&outcome);
                row.is_undetectable |= is_undetectable;
            } else if is_dropped && !checkpoint.is_resolved(u64::try_from(at).unwrap()) {
                // It may have been in flight.
                row.known = Known::Unknown;
            }
        }
        if is_dropped && chance.bool() { first } else { checkpoint }
    }

    fn is_undetectable(&self, change: &Change) -> bool {
        match change {
            Change::Write(_, id, _) => self.requests().is_undetectable_write(*id),
            Change::Delete(key, version) => {
                self.requests().is_undetectable_deletion(key, &version.etag)
            }
        }
    }
}

impl Row {
    fn take(&mut self, outcome: &WriteOutcome) {
        self.known = match outcome {
            WriteOutcome::Applied { .. } => Known::Applied,
            WriteOutcome::Failed(_) | WriteOutcome::NotAttempted(_) => Known::NotApplied,
            _ => Known::Unknown,
        };
    }
}

fn key_of(row: &DynamicEntity) -> Key {
    (row.key().partition_key.clone(), row.key().row_key.clone())
}
