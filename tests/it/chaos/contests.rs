//! Rules for rows without marks, which several callers write alike, and the operations on them.
//!
//! A counter has a count and nothing else: two callers that read the same version write the same row, and
//! only one of them may count. A claim is a lock: the caller whose insert or delete is reported as
//! applied holds it or has released it, which `Proof::WriteId` is for.

use std::collections::{BTreeMap, BTreeSet};

use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::{DynamicEntity, Proof};
use fastrand::Rng;

use super::contexts::known_of;
use super::ledger::{Api, Deletion, Findings, Key, Kind, Known};
use super::world::{ROWS, Read, TABLE, World, row};

pub(super) const COUNTERS: &str = "counters";
pub(super) const CLAIMS: &str = "claims";

/// All operations, and the rows that exist afterwards.
#[derive(Debug, Default)]
pub(super) struct Contests {
    /// The increments of each counter.
    pub(super) increments: Vec<(Key, Known)>,
    pub(super) counters: BTreeMap<Key, i64>,
    pub(super) inserts: Vec<(Key, Known)>,
    /// The deletions of claims.
    pub(super) deletions: Vec<Deletion>,
    pub(super) claims: BTreeSet<Key>,
}

impl Contests {
    pub(super) fn known(&self) -> impl Iterator<Item = Known> {
        let writes = self.increments.iter().chain(&self.inserts).map(|(_, known)| *known);
        let deletions = self.deletions.iter().map(|deletion| deletion.reported);
        let deletions = deletions.filter(|reported| reported.api != Api::Table);
        writes.chain(deletions.map(|reported| reported.known))
    }

    pub(super) fn check(&self, found: &mut Findings) {
        for (key, count) in &self.counters {
            let (applied, unknown) = tally(of_key(&self.increments, key));
            if *count < applied || *count > applied + unknown {
                let text = format!(
                    "{key:?} was counted up {count} times by {applied} increments and {unknown} unknown"
                );
                found.add(Kind::Miscounted, None, text);
            }
        }
        let mut winners = BTreeSet::new();
        for Deletion { key, version, reported } in &self.deletions {
            if reported.known == Known::Applied && !winners.insert((key, &version.etag)) {
                let text = format!("{key:?} was deleted twice in the version {}", version.etag);
                found.add(Kind::TwoWinners, Some(reported.api), text);
            }
        }
        let keys: BTreeSet<_> = self.inserts.iter().map(|(key, _)| key).collect();
        for key in keys {
            let (inserted, _) = tally(of_key(&self.inserts, key));
            let deletions = self.deletions.iter().filter(|deletion| deletion.key == *key);
            let (deleted, unknown) = tally(deletions.map(outcome));
            let is_there = i64::from(self.claims.contains(key));
            if inserted > deleted + unknown + is_there {
                let text = format!(
                    "{key:?} was inserted {inserted} times, deleted {deleted} times and perhaps \
                     {unknown} times more"
                );
                found.add(Kind::TwoWinners, Some(Api::Call), text);
            }
        }
    }
}

fn of_key<'a>(all: &'a [(Key, Known)], key: &'a Key) -> impl Iterator<Item = Known> {
    all.iter().filter(move |(of, _)| of == key).map(|(_, known)| *known)
}

/// A deletion that a proxy delivered twice is reported as not applied, and was.
fn outcome(deletion: &Deletion) -> Known {
    match deletion.reported.known {
        Known::NotApplied if deletion.reported.is_undetectable => Known::Unknown,
        known => known,
    }
}

/// The number of applied and of unknown ones.
fn tally(all: impl Iterator<Item = Known>) -> (i64, i64) {
    all.fold((0, 0), |(applied, unknown), known| match known {
        Known::Applied => (applied + 1, unknown),
        Known::Unknown => (applied, unknown + 1),
        Known::NotApplied => (applied, unknown),
    })
}

impl World {
    /// Counts up a counter or contends for a claim.
    pub(super) async fn contend(&self, chance: &mut Rng) {
        let at = chance.u8(..ROWS).to_string();
        if self.has_counters() && chance.bool() {
            self.count((COUNTERS.to_owned(), at), chance).await;
        } else {
            self.claim_or_release((CLAIMS.to_owned(), at)).await;
        }
    }

    /// Inserts the counters.
    pub(super) async fn add_counters(&self) {
        for at in 0..ROWS {
            let mut counter = row(&(COUNTERS.to_owned(), at.to_string()));
            counter.set("Count", 0_i64);
            self.table().insert(&counter).await.unwrap();
        }
    }

    async fn count(&self, key: Key, chance: &mut Rng) {
        let repeated = self.requests().repeated();
        let known = if chance.bool() {
            self.count_in_context(&key).await
        } else {
            let Some(mut read) = self.read(&key).await else { return };
            read.entity.set("Count", read.version.count + 1);
            Some(self.call(self.table().replace(&read.entity, read.etag)).await.0)
        };
        let Some(known) = known else { return };
        let is_repeated = self.requests().is_repeated_since(repeated, &key);
        let known = if is_repeated && known == Known::NotApplied { Known::Unknown } else { known };
        self.contests(|contests| contests.increments.push((key, known)));
    }

    /// Counts up in a context; `None` if the counter could not be read.
    async fn count_in_context(&self, (partition, at): &Key) -> Option<Known> {
        let mut context = TableContext::new(self.service());
        let rows = self.service().table_named::<DynamicEntity>(TABLE);
        let filter = format!("PartitionKey eq '{partition}' and RowKey eq '{at}'");
        let read = context.load(rows.query().filter_text(&filter)).await.ok()?;
        let mut counter = read.into_iter().next()?;
        let count: i64 = counter.get("Count").unwrap().unwrap();
        counter.set("Count", count + 1);
        context.table_named::<DynamicEntity>(TABLE).update(&counter).unwrap();
        let report = match context.save_changes_with(SaveOptions::each()).await {
            Ok(report) => report,
            Err(error) => error.report,
        };
        Some(known_of(&report.results.last()?.outcome))
    }

    /// Inserts the claim, or deletes it if it exists.
    async fn claim_or_release(&self, key: Key) {
        let Some(read) = self.read(&key).await else {
            let (known, _) = self.call(self.table().insert(&row(&key)).proof(Proof::WriteId)).await;
            return self.contests(|contests| contests.inserts.push((key, known)));
        };
        let Read { etag, version, .. } = read;
        let (known, _) =
            self.call(self.table().delete(key.clone(), etag).proof(Proof::WriteId)).await;
        let is_undetectable = self.requests().is_undetectable_deletion(&key, &version.etag);
        let reported = Self::reported(Api::Call, known, is_undetectable);
        self.contests(|contests| contests.deletions.push(Deletion { key, version, reported }));
    }
}

#[cfg(test)]
mod tests {
    use super::Known::{Applied, NotApplied, Unknown};
    use super::*;
    use crate::chaos::ledger::{Reported, Version};

    fn key() -> Key {
        ("p".to_owned(), "r".to_owned())
    }

    fn violations(contests: &Contests) -> usize {
        let mut found = Findings::default();
        contests.check(&mut found);
        found.violations.len()
    }

    #[test]
    fn counters() {
        for (what, known, count, expected) in [
            ("nothing", vec![], 0, 0),
            ("one", vec![Applied], 1, 0),
            ("a lost one", vec![Applied, Applied], 1, 1),
            ("an unknown one that was applied", vec![Applied, Unknown], 2, 0),
            ("an unknown one that was not", vec![Applied, Unknown], 1, 0),
            ("a denied one that was applied", vec![Applied, NotApplied], 2, 1),
        ] {
            let increments = known.into_iter().map(|known| (key(), known)).collect();
            let counters = [(key(), count)].into_iter().collect();
            let contests = Contests { increments, counters, ..Contests::default() };
            assert_eq!(violations(&contests), expected, "{what}");
        }
    }

    #[test]
    fn claims() {
        let release = |etag: &str, known| Deletion {
            key: key(),
            version: Version { etag: etag.to_owned(), ..Version::default() },
            reported: Reported { known, api: Api::Call, is_undetectable: false },
        };
        for (what, inserts, deletions, is_there, expected) in [
            ("nothing", vec![], vec![], false, 0),
            ("claimed", vec![Applied], vec![], true, 0),
            ("claimed twice", vec![Applied, Applied], vec![], true, 1),
            ("lost", vec![Applied], vec![], false, 1),
            ("claimed and refused", vec![Applied, NotApplied, Unknown], vec![], true, 0),
            ("released", vec![Applied], vec![release("1", Applied)], false, 0),
            ("perhaps released", vec![Applied, Applied], vec![release("1", Unknown)], true, 0),
            ("claimed again", vec![Applied, Applied], vec![release("1", NotApplied)], true, 1),
            (
                "released twice",
                vec![Applied, Applied],
                vec![release("1", Applied), release("1", Applied)],
                false,
                1,
            ),
            (
                "released in two versions",
                vec![Applied, Applied],
                vec![release("1", Applied), release("2", Applied)],
                false,
                0,
            ),
        ] {
            let contests = Contests {
                inserts: inserts.into_iter().map(|known| (key(), known)).collect(),
                deletions,
                claims: is_there.then(key).into_iter().collect(),
                ..Contests::default()
            };
            assert_eq!(violations(&contests), expected, "{what}");
        }
    }
}
