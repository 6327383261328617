//! What must hold of rows that remember who wrote them.
//!
//! Every write has an id of its own and leaves a mark with that id in each row that it is about. An
//! increment also counts the row up by one, under the version that it has read. A row is deleted only
//! in a version that was read, and what was read is kept: so no mark disappears unseen.

use std::collections::{BTreeMap, BTreeSet};

/// PartitionKey and RowKey.
pub(super) type Key = (String, String);

/// What the client said of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Applied,
    NotApplied,
    Unknown,
}

/// What a write does to a row beside its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Mark,
    /// Counts up by one.
    Increment,
}

/// One write; all of its parts are done together or none is.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) id: u64,
    pub(super) parts: Vec<(Key, Effect)>,
    pub(super) known: Known,
}

/// A row as somebody saw it.
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
    pub(super) known: Known,
}

/// All that was done, and the rows that are there afterwards.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) writes: Vec<Write>,
    pub(super) deletions: Vec<Deletion>,
    pub(super) rows: BTreeMap<Key, Version>,
}

impl Ledger {
    /// Every contradiction between what the client said and what is stored.
    pub(super) fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let by_id: BTreeMap<u64, &Write> = self.writes.iter().map(|w| (w.id, w)).collect();
        // What was seen: it was so, whatever became of the deletion.
        let deleted = self.deletions.iter().map(|deletion| (&deletion.key, &deletion.version));
        for (key, version) in self.rows.iter().chain(deleted) {
            let mut increments = 0;
            for id in &version.marks {
                let write = by_id.get(id);
                let part = write.and_then(|write| write.parts.iter().find(|part| part.0 == *key));
                match (write, part) {
                    (Some(write), _) if write.known == Known::NotApplied => {
                        found.push(format!("{id} on {key:?} is there, but was \"not applied\""));
                    }
                    (_, Some((_, effect))) => increments += i64::from(*effect == Effect::Increment),
                    _ => found.push(format!("{id} is on {key:?}, where nobody wrote it")),
                }
            }
            if version.count != increments {
                found.push(format!(
                    "{key:?} was counted up {} times by {increments} increments: {:?}",
                    version.count, version.marks
                ));
            }
        }
        // A mark is in the row, or was there when the row was deleted.
        let mut marks: BTreeMap<&Key, BTreeSet<u64>> = BTreeMap::new();
        let possible = self.deletions.iter().filter(|d| d.known != Known::NotApplied);
        let possible = possible.map(|deletion| (&deletion.key, &deletion.version));
        for (key, version) in self.rows.iter().chain(possible) {
            marks.entry(key).or_default().extend(&version.marks);
        }
        for Write { id, parts, known } in &self.writes {
            let has = |key| marks.get(key).is_some_and(|marks| marks.contains(id));
            let there = parts.iter().filter(|(key, _)| has(key)).count();
            if there < parts.len() && *known == Known::Applied {
                found.push(format!("{id} is lost: in {there} of {parts:?}"));
            } else if there < parts.len() && there > 0 {
                found.push(format!("{id} was done by half: in {there} of {parts:?}"));
            }
        }
        for Deletion { key, version, known } in &self.deletions {
            let is_there = self.rows.get(key).is_some_and(|row| row.etag == version.etag);
            if is_there && *known == Known::Applied {
                found.push(format!("{key:?} was deleted and is there"));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Effect::{Increment, Mark};
    use super::Known::{Applied, NotApplied, Unknown};
    use super::*;

    fn key(row: &str) -> Key {
        ("p".to_owned(), row.to_owned())
    }

    fn write(id: u64, rows: &[&str], effect: Effect, known: Known) -> Write {
        Write { id, parts: rows.iter().map(|row| (key(row), effect)).collect(), known }
    }

    fn version(etag: &str, count: i64, marks: &[u64]) -> Version {
        Version { etag: etag.to_owned(), count, marks: marks.iter().copied().collect() }
    }

    /// What happened, the writes, the deletions, the rows afterwards, and what is found wrong.
    type Case<'a> = (&'a str, Vec<Write>, Vec<Deletion>, &'a [(&'a str, i64, &'a [u64])], &'a str);

    fn check<const CASES: usize>(cases: [Case<'_>; CASES]) {
        for (what, writes, deletions, rows, expected) in cases {
            let rows =
                rows.iter().map(|(row, count, marks)| (key(row), version("v", *count, marks)));
            let found = Ledger { writes, deletions, rows: rows.collect() }.violations();
            if expected.is_empty() {
                assert!(found.is_empty(), "{what}: {found:?}");
            } else {
                assert!(found.len() == 1 && found[0].contains(expected), "{what}: {found:?}");
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
        check([
            ("nothing", vec![], vec![], &[], ""),
            ("an insert", inserted_and(&[]), vec![], &[("a", 0, &[1])], ""),
            ("lost", inserted_and(&[]), vec![], &[], "1 is lost"),
            ("made", inserted_and(&[increment(2, Applied)]), vec![], &[("a", 1, &[1, 2])], ""),
            ("twice", inserted_and(&[increment(2, Applied)]), vec![], &[("a", 2, &[1, 2])], twice),
            ("rivals", inserted_and(&rivals), vec![], &[("a", 1, &[1, 2, 3])], overwritten),
            ("was made", inserted_and(&[increment(2, Unknown)]), vec![], &[("a", 1, &[1, 2])], ""),
            ("was not", inserted_and(&[increment(2, Unknown)]), vec![], &[("a", 0, &[1])], ""),
            ("ghost", vec![increment(2, NotApplied)], vec![], &[("a", 0, &[2])], "\"not applied\""),
            ("stranger", vec![], vec![], &[("a", 0, &[9])], "nobody wrote it"),
            ("elsewhere", both(Unknown), vec![], &[("c", 0, &[2])], "nobody wrote it"),
            ("a transaction", both(Applied), vec![], &[("a", 1, &[2]), ("b", 1, &[2])], ""),
            ("a lost half", both(Applied), vec![], &[("a", 1, &[2]), ("b", 0, &[])], "2 is lost"),
            ("half", both(Unknown), vec![], &[("a", 1, &[2]), ("b", 0, &[])], "by half"),
        ]);
    }

    #[test]
    fn histories_of_deletions() {
        let mark = |id, known| write(id, &["a"], Mark, known);
        let inserted = || vec![mark(1, Applied)];
        let delete = |known, marks: &[u64]| {
            vec![Deletion { key: key("a"), version: version("v", 0, marks), known }]
        };
        let written_since = vec![mark(1, Applied), mark(2, Applied)];
        let ghost = vec![mark(2, NotApplied)];
        check([
            ("made", inserted(), delete(Applied, &[1]), &[], ""),
            ("was made", inserted(), delete(Unknown, &[1]), &[], ""),
            ("was not", inserted(), delete(Unknown, &[1]), &[("a", 0, &[1])], ""),
            ("of an older version", written_since, delete(Applied, &[1]), &[], "2 is lost"),
            ("not to be", inserted(), delete(NotApplied, &[1]), &[], "1 is lost"),
            ("undone", inserted(), delete(Applied, &[1]), &[("a", 0, &[1])], "and is there"),
            ("of a ghost", ghost, delete(Applied, &[2]), &[], "\"not applied\""),
        ]);
    }
}
