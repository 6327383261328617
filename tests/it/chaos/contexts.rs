//! Callers that keep a context over several saves and drop some of the saves.

use std::collections::BTreeMap;
use std::time::Duration;

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{SaveOptions, SaveReport, TableContext};
use azure_table_client::{DynamicEntity, EntityKey};
use fastrand::Rng;
use tokio::time::{sleep, timeout};

use super::ledger::{Api, Effect, Key, Known, Reported, Version};
use super::requests::Requests;
use super::world::{ROWS, Read, TABLE, World, mark, marked};

const SAVES: usize = 3;

/// The changes of one caller.
#[derive(Default)]
struct Changes {
    /// The changes that the context has not saved yet.
    pending: BTreeMap<Key, Pending>,
    /// The effect of each write, and the last report about it.
    writes: BTreeMap<u64, (Key, Effect, Reported)>,
    /// The last report about each deletion.
    deletions: BTreeMap<Key, (Version, Reported)>,
}

const NOT_SAVED: Reported =
    Reported { known: Known::NotApplied, api: Api::Context, is_undetectable: false };

enum Pending {
    /// The writes whose marks the entity has: the last one, and the superseded ones before it.
    Write {
        ids: Vec<u64>,
        entity: DynamicEntity,
    },
    Delete,
}

impl Changes {
    fn write(&mut self, key: &Key, id: u64, effect: Effect, entity: DynamicEntity) {
        self.writes.insert(id, (key.clone(), effect, NOT_SAVED));
        self.pending.insert(key.clone(), Pending::Write { ids: vec![id], entity });
    }

    /// Records a report, before later saves change the rows.
    fn take(&mut self, report: &SaveReport, requests: &Requests) {
        for (at, result) in report.results.iter().enumerate() {
            let known = known_of(&result.outcome);
            let EntityKey { partition_key, row_key } = result.key.clone().unwrap();
            let key = (partition_key, row_key);
            // A resolved earlier change and the change that supersedes it have separate results.
            let is_last = report.results[at + 1..].iter().all(|later| later.key != result.key);
            match self.pending.get(&key) {
                None => continue,
                Some(Pending::Delete) => self.deletions.get_mut(&key).unwrap().1.known = known,
                Some(Pending::Write { ids, .. }) => {
                    let (last, superseded) = ids.split_last().unwrap();
                    if is_last {
                        self.writes.get_mut(last).unwrap().2.known = known;
                    }
                    // Their values are part of the entity: they are applied once it is. The request of an earlier save has
                    // at least the first of them.
                    let all = if is_last { superseded.len() } else { superseded.len().min(1) };
                    if known == Known::Applied {
                        for id in &superseded[..all] {
                            self.writes.get_mut(id).unwrap().2.known = known;
                        }
                    }
                }
            }
            if known == Known::Applied && is_last {
                self.pending.remove(&key);
            }
        }
        for (id, (.., reported)) in &mut self.writes {
            reported.is_undetectable |= requests.is_undetectable_write(*id);
        }
        for (key, (version, reported)) in &mut self.deletions {
            reported.is_undetectable |= requests.is_undetectable_deletion(key, &version.etag);
        }
    }
}

impl World {
    /// Changes the rows of a partition in a context and saves it until all changes are applied, at most
    /// [`SAVES`] times. Some saves are dropped before they complete.
    pub(super) async fn save(&self, partition: &str, chance: &mut Rng) {
        let mut context = TableContext::new(self.service());
        let Some(mut changes) = self.change_rows(&mut context, partition, chance).await else {
            return;
        };
        for save in 0..SAVES {
            if save > 0 {
                self.between_saves(&mut context, &mut changes, partition, chance).await;
            }
            let saving = context.save_changes_with(options(chance));
            let patience = match chance.u8(..8) {
                0 => Duration::from_millis(1),
                1 => Duration::from_millis(150),
                2 => Duration::from_secs(2),
                3 => Duration::from_secs(35),
                _ => Duration::MAX,
            };
            let saved = timeout(patience, saving).await;
            let report = match saved {
                Ok(Ok(report)) => report,
                Ok(Err(error)) => error.report,
                Err(_) => context.last_report().clone(),
            };
            changes.take(&report, self.requests());
            if changes.pending.is_empty() || chance.u8(..4) == 0 {
                break;
            }
        }
        for (id, (key, effect, reported)) in changes.writes {
            self.add_write(id, vec![(key, effect)], reported);
        }
        for (key, (version, reported)) in changes.deletions {
            self.add_deletion(key, version, reported);
        }
    }

    async fn change_rows(
        &self,
        context: &mut TableContext,
        partition: &str,
        chance: &mut Rng,
    ) -> Option<Changes> {
        let rows = context.service().table_named::<DynamicEntity>(TABLE);
        let filter = format!("PartitionKey eq '{partition}' and RowKey lt '{ROWS}'");
        let read = context.load(rows.query().filter_text(&filter)).await.ok()?;
        let mut read: BTreeMap<String, DynamicEntity> =
            read.into_iter().map(|row| (row.key().row_key.clone(), row)).collect();
        let mut rows = context.table_named::<DynamicEntity>(TABLE);
        let mut changes = Changes::default();
        for at in 0..ROWS {
            let key = (partition.to_owned(), at.to_string());
            let id = self.id();
            if let Some(entity) = read.remove(&key.1) {
                let read = Read::new(entity);
                match chance.u8(..10) {
                    0..2 => {}
                    2 => {
                        rows.delete(&read.entity).unwrap();
                        changes.deletions.insert(key.clone(), (read.version, NOT_SAVED));
                        changes.pending.insert(key, Pending::Delete);
                    }
                    _ => {
                        let entity = read.incremented(id);
                        rows.update(&entity).unwrap();
                        changes.write(&key, id, Effect::Increment, entity);
                    }
                }
            } else {
                let entity = marked(&key, id);
                if chance.bool() {
                    rows.add(&entity).unwrap();
                } else {
                    rows.add_or_merge(&entity).unwrap();
                }
                changes.write(&key, id, Effect::Mark, entity);
            }
        }
        Some(changes)
    }

    /// Waits, lets another program write, or supersedes changes with an unknown outcome.
    async fn between_saves(
        &self,
        context: &mut TableContext,
        changes: &mut Changes,
        partition: &str,
        chance: &mut Rng,
    ) {
        match chance.u8(..6) {
            0 => sleep(Duration::from_millis(10)).await,
            1 => sleep(Duration::from_secs(4)).await,
            2 => sleep(Duration::from_secs(50)).await,
            3 => {
                let key = (partition.to_owned(), chance.u8(..ROWS).to_string());
                self.increment(&key, chance.bool()).await;
            }
            _ => {}
        }
        let mut rows = context.table_named::<DynamicEntity>(TABLE);
        for (key, pending) in &mut changes.pending {
            let Pending::Write { ids, entity } = pending else { continue };
            let is_unknown =
                ids.last().is_some_and(|id| changes.writes[id].2.known == Known::Unknown);
            if is_unknown && chance.bool() {
                let id = self.id();
                entity.set(mark(id), true);
                rows.update(entity).unwrap();
                ids.push(id);
                changes.writes.insert(id, (key.clone(), Effect::Mark, NOT_SAVED));
            }
        }
    }
}

pub(super) const fn known_of(outcome: &WriteOutcome) -> Known {
    match outcome {
        WriteOutcome::Applied { .. } => Known::Applied,
        WriteOutcome::Unknown(_) => Known::Unknown,
        _ => Known::NotApplied,
    }
}

fn options(chance: &mut Rng) -> SaveOptions {
    match chance.u8(..3) {
        0 => SaveOptions::each().continue_on_error(),
        1 => SaveOptions::atomic(),
        _ => SaveOptions::per_partition(),
    }
}
