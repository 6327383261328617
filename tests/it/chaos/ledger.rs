//! Rules for rows that record who wrote them.
//!
//! Every write has its own id and leaves a mark with that id in each row that it writes. An
//! increment also adds one to the row's count, under the version that the caller read. A row is
//! deleted only in a version that was read, and the ledger keeps that version, so no mark can
//! disappear unnoticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// PartitionKey and RowKey.
pub(super) type Key = (String, String);

/// The outcome that the client reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    Applied,
    NotApplied,
    Unknown,
}

/// The part of the client that reported an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Api {
    Call,
    Transaction,
    Context,
    Bulk,
    /// The deletion of the whole table.
    Table,
}

/// The effect of a write on a row besides its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Mark,
    /// Adds one to the count.
    Increment,
}

/// An outcome as one part of the client reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) known: Known,
    pub(super) api: Api,
    /// A proxy delivered the request twice, without evidence that the client could have noticed.
    pub(super) is_undetectable: bool,
}

/// One write; either all of its parts are applied or none is.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) id: u64,
    pub(super) parts: Vec<(Key, Effect)>,
    pub(super) reported: Reported,
}

/// A row as a task read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) etag: String,
    pub(super) count: i64,
    pub(super) marks: BTreeSet<u64>,
}

/// The deletion of a row in this version.
#[derive(Debug, Clone)]
pub(super) struct Deletion {
    pub(super) key: Key,
    pub(super) version: Version,
    pub(super) reported: Reported,
}

/// All operations, and the rows that exist afterwards.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) writes: Vec<Write>,
    pub(super) deletions: Vec<Deletion>,
    pub(super) rows: BTreeMap<Key, Version>,
}

/// The kind of a contradiction between a report and the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The client reported a write as not applied, and the row has its mark.
    FalselyNotApplied,
    /// A mark disappeared: its write was not applied, or a deletion was applied that the client
    /// denied.
    Lost,
    PartlyApplied,
    /// The count of a row differs from the number of its increments.
    Miscounted,
    /// The row has a mark of a write to other rows.
    Stranger,
    /// The client reported a deletion as applied, and the row exists in the deleted version.
    NotDeleted,
    /// A row without versions has a value that the reports exclude.
    Register,
    /// More callers hold or released a claim than the row allows.
    TwoWinners,
    /// The accounts have more or less together than at first.
    NotConserved,
}

/// A contradiction between a report and the store.
#[derive(Debug, Clone)]
pub(super) struct Violation {
    pub(super) kind: Kind,
    /// `None` if the row does not show the cause.
    pub(super) api: Option<Api>,
    pub(super) text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The result of a check.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    /// False reports that no client can avoid: a proxy delivered the request twice.
    pub(super) undetectable: usize,
}

impl Findings {
    pub(super) fn add(&mut self, kind: Kind, api: Option<Api>, text: String) {
        self.violations.push(Violation { kind, api, text });
    }
}

impl Ledger {
    /// Every contradiction between the reports and the store.
    pub(super) fn check(&self) -> Findings {
        let mut found = Findings::default();
        self.check_marks(&mut found);
        self.check_writes(&mut found);
        for Deletion { key, version, reported } in &self.deletions {
            let exists = self.rows.get(key).is_some_and(|row| row.etag == version.etag);
            if exists && reported.known == Known::Applied {
                let text = format!("{key:?} was deleted and exists");
                found.add(Kind::NotDeleted, Some(reported.api), text);
            }
        }
        found
    }

    /// Checks every version that a task read: it existed, regardless of its deletion.
    fn check_marks(&self, found: &mut Findings) {
        let by_id: BTreeMap<u64, &Write> = self.writes.iter().map(|w| (w.id, w)).collect();
        let deleted = self.deletions.iter().map(|deletion| (&deletion.key, &deletion.version));
        let mut false_reports = BTreeSet::new();
        let mut checked = BTreeSet::new();
        for (key, version) in self.rows.iter().chain(deleted) {
            if !checked.insert((key, &version.etag, &version.marks)) {
                continue;
            }
            let mut increments = 0;
            for id in &version.marks {
                let write = by_id.get(id);
                let part = write.and_then(|write| write.parts.iter().find(|part| part.0 == *key));
                match (write, part) {
                    (Some(write), _) if write.reported.known == Known::NotApplied => {
                        if false_reports.insert(*id) {
                            false_report(write, key, found);
                        }
                    }
                    (_, Some(_)) => {}
                    _ => {
                        let text = format!("{id} is on {key:?}, which it did not write");
                        found.add(Kind::Stranger, write.map(|write| write.reported.api), text);
                    }
                }
                increments += part.map_or(0, |part| i64::from(part.1 == Effect::Increment));
            }
            if version.count != increments {
                let text = format!(
                    "{key:?} was counted up {} times by {increments} increments: {:?}",
                    version.count, version.marks
                );
                found.add(Kind::Miscounted, None, text);
            }
        }
    }

    /// Checks that each mark is in its row, or was in a version that was deleted.
    fn check_writes(&self, found: &mut Findings) {
        let mut marks: BTreeMap<&Key, BTreeSet<u64>> = BTreeMap::new();
        let mut undetectable: BTreeMap<&Key, BTreeSet<u64>> = BTreeMap::new();
        for (key, version) in &self.rows {
            marks.entry(key).or_default().extend(&version.marks);
        }
        for Deletion { key, version, reported } in &self.deletions {
            if reported.known != Known::NotApplied {
                marks.entry(key).or_default().extend(&version.marks);
            } else if reported.is_undetectable {
                undetectable.entry(key).or_default().extend(&version.marks);
            }
        }
        for Write { id, parts, reported } in &self.writes {
            let missing: Vec<_> =
                parts.iter().map(|(key, _)| key).filter(|key| !has(&marks, key, *id)).collect();
            let there = parts.len() - missing.len();
            let kind = match reported.known {
                _ if missing.is_empty() => continue,
                Known::Applied => Kind::Lost,
                _ if there > 0 => Kind::PartlyApplied,
                _ => continue,
            };
            if missing.iter().all(|key| has(&undetectable, key, *id)) {
                found.undetectable += 1;
                continue;
            }
            let what = if kind == Kind::Lost { "lost" } else { "partly applied" };
            let text = format!("{id} is {what}: in {there} of {parts:?}");
            found.add(kind, Some(reported.api), text);
        }
    }
}

fn has(marks: &BTreeMap<&Key, BTreeSet<u64>>, key: &Key, id: u64) -> bool {
    marks.get(key).is_some_and(|marks| marks.contains(&id))
}

fn false_report(write: &Write, key: &Key, found: &mut Findings) {
    if write.reported.is_undetectable {
        found.undetectable += 1;
        return;
    }
    let text = format!("{} on {key:?} exists, but was reported \"not applied\"", write.id);
    found.add(Kind::FalselyNotApplied, Some(write.reported.api), text);
}

#[cfg(test)]
mod tests {
    use super::Effect::{Increment, Mark};
    use super::Known::{Applied, NotApplied, Unknown};
    use super::*;

    fn key(row: &str) -> Key {
        ("p".to_owned(), row.to_owned())
    }

    fn reported(known: Known) -> Reported {
        Reported { known, api: Api::Call, is_undetectable: false }
    }

    fn write(id: u64, rows: &[&str], effect: Effect, known: Known) -> Write {
        let parts = rows.iter().map(|row| (key(row), effect)).collect();
        Write { id, parts, reported: reported(known) }
    }

    fn version(etag: &str, count: i64, marks: &[u64]) -> Version {
        Version { etag: etag.to_owned(), count, marks: marks.iter().copied().collect() }
    }

    /// The name, the writes, the deletions, the rows afterwards, and the expected violation.
    type Case<'a> = (&'a str, Vec<Write>, Vec<Deletion>, &'a [(&'a str, i64, &'a [u64])], &'a str);

    fn ledger(
        writes: Vec<Write>,
        deletions: Vec<Deletion>,
        rows: &[(&str, i64, &[u64])],
    ) -> Ledger {
        let rows = rows.iter().map(|(row, count, marks)| (key(row), version("v", *count, marks)));
        Ledger { writes, deletions, rows: rows.collect() }
    }

    fn check<const CASES: usize>(cases: [Case<'_>; CASES]) {
        for (what, writes, deletions, rows, expected) in cases {
            let found = ledger(writes, deletions, rows).check().violations;
            if expected.is_empty() {
                assert!(found.is_empty(), "{what}: {found:?}");
            } else {
                assert!(found.len() == 1 && found[0].text.contains(expected), "{what}: {found:?}");
            }
        }
    }

    #[test]
    fn histories_of_writes() {
        let increment = |id, known| write(id, &["a"], Increment, known);
        let inserted_and = |others: &[Write]| [&[write(1, &["a"], Mark, Applied)], others].concat();
        let both = |known| vec![write(2, &["a", "b"], Increment, known)];
        let rivals = [increment(2, Applied), increment(3, Unknown)];
        let twice = "counted up 2 times by 1";
        let overwritten = "counted up 1 times by 2";
        let denied = "\"not applied\"";
        check([
            ("nothing", vec![], vec![], &[], ""),
            ("an insert", inserted_and(&[]), vec![], &[("a", 0, &[1])], ""),
            ("lost", inserted_and(&[]), vec![], &[], "1 is lost"),
            ("applied", inserted_and(&[increment(2, Applied)]), vec![], &[("a", 1, &[1, 2])], ""),
            ("twice", inserted_and(&[increment(2, Applied)]), vec![], &[("a", 2, &[1, 2])], twice),
            ("rivals", inserted_and(&rivals), vec![], &[("a", 1, &[1, 2, 3])], overwritten),
            ("unknown", inserted_and(&[increment(2, Unknown)]), vec![], &[("a", 1, &[1, 2])], ""),
            ("missing", inserted_and(&[increment(2, Unknown)]), vec![], &[("a", 0, &[1])], ""),
            ("denied", vec![increment(2, NotApplied)], vec![], &[("a", 1, &[2])], denied),
            ("stranger", vec![], vec![], &[("a", 0, &[9])], "which it did not write"),
            ("elsewhere", both(Unknown), vec![], &[("c", 0, &[2])], "which it did not write"),
            ("a transaction", both(Applied), vec![], &[("a", 1, &[2]), ("b", 1, &[2])], ""),
            ("a lost half", both(Applied), vec![], &[("a", 1, &[2]), ("b", 0, &[])], "2 is lost"),
            ("half", both(Unknown), vec![], &[("a", 1, &[2]), ("b", 0, &[])], "partly applied"),
        ]);
    }

    fn delete(known: Known, marks: &[u64]) -> Deletion {
        Deletion { key: key("a"), version: version("v", 0, marks), reported: reported(known) }
    }

    #[test]
    fn histories_of_deletions() {
        let mark = |id, known| write(id, &["a"], Mark, known);
        let inserted = || vec![mark(1, Applied)];
        let deletion = |known, marks| vec![delete(known, marks)];
        let written_since = vec![mark(1, Applied), mark(2, Applied)];
        let denied = vec![mark(2, NotApplied)];
        check([
            ("applied", inserted(), deletion(Applied, &[1]), &[], ""),
            ("unknown", inserted(), deletion(Unknown, &[1]), &[], ""),
            ("unknown, not applied", inserted(), deletion(Unknown, &[1]), &[("a", 0, &[1])], ""),
            ("of an older version", written_since, deletion(Applied, &[1]), &[], "2 is lost"),
            ("denied", inserted(), deletion(NotApplied, &[1]), &[], "1 is lost"),
            ("undone", inserted(), deletion(Applied, &[1]), &[("a", 0, &[1])], "and exists"),
            ("of a denied write", denied, deletion(Applied, &[2]), &[], "\"not applied\""),
        ]);
    }

    #[test]
    fn repeated_deliveries_are_counted_separately() {
        let undetectable = Reported { is_undetectable: true, ..reported(NotApplied) };
        let denied = Write { reported: undetectable, ..write(1, &["a"], Increment, NotApplied) };
        let found = ledger(vec![denied], vec![], &[("a", 1, &[1])]).check();
        assert_eq!((found.violations.len(), found.undetectable), (0, 1));

        let deletion = Deletion { reported: undetectable, ..delete(NotApplied, &[1]) };
        let found = ledger(vec![write(1, &["a"], Mark, Applied)], vec![deletion], &[]).check();
        assert_eq!((found.violations.len(), found.undetectable), (0, 1));
    }
}
