//! Rules for rows that are overwritten and deleted unconditionally.
//!
//! No version guards them, so the service may apply an attempt at any time after its client gave it
//! up, and may apply a retried call twice. Only a call that took no time had a single attempt; it
//! must not undo a later call.

use std::collections::BTreeMap;

use super::ledger::{Api, Findings, Key, Kind, Known};

/// A call that writes a value, or deletes the row.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) key: Key,
    pub(super) value: Option<u64>,
    /// The times of the call and of its return, in steps of the test.
    pub(super) time: (u64, u64),
    pub(super) had_one_attempt: bool,
    pub(super) known: Known,
}

/// All operations, and the values that exist afterwards.
#[derive(Debug, Default)]
pub(super) struct Registers {
    pub(super) settings: Vec<Setting>,
    pub(super) rows: BTreeMap<Key, u64>,
}

impl Setting {
    /// The latest time at which it can have been applied.
    fn latest(&self) -> Option<u64> {
        match self.known {
            Known::NotApplied => None,
            Known::Applied if self.had_one_attempt => Some(self.time.1),
            _ => Some(u64::MAX),
        }
    }
}

impl Registers {
    /// Every row whose value the reports of the client exclude.
    pub(super) fn check(&self, found: &mut Findings) {
        let mut by_key: BTreeMap<&Key, Vec<&Setting>> = BTreeMap::new();
        for setting in &self.settings {
            by_key.entry(&setting.key).or_default().push(setting);
        }
        for key in self.rows.keys() {
            by_key.entry(key).or_default();
        }
        for (key, settings) in by_key {
            let value = self.rows.get(key).copied();
            // No row existed at first.
            let at_first = value.is_none().then_some(0);
            let made = settings.iter().filter(|setting| setting.value == value);
            let latest = made.filter_map(|setting| setting.latest()).chain(at_first).max();
            let Some(latest) = latest else {
                let text = format!("{key:?} is {value:?}, which no call wrote");
                found.add(Kind::Register, Some(Api::Call), text);
                continue;
            };
            let is_undone = |setting: &&&Setting| {
                setting.known == Known::Applied && setting.value != value && setting.time.0 > latest
            };
            if let Some(undone) = settings.iter().find(is_undone) {
                let text = format!("{key:?} is {value:?}, which undoes {undone:?}");
                found.add(Kind::Register, Some(Api::Call), text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories() {
        use Known::{Applied, NotApplied, Unknown};
        let set = |value, time, had_one_attempt, known| Setting {
            key: ("p".to_owned(), "r".to_owned()),
            value,
            time,
            had_one_attempt,
            known,
        };
        let first = set(Some(1), (1, 2), true, Applied);
        for (what, settings, value, is_right) in [
            ("nothing", vec![], None, true),
            ("from nowhere", vec![], Some(1), false),
            ("a write", vec![first.clone()], Some(1), true),
            ("a lost write", vec![first.clone()], None, false),
            ("a refused write", vec![set(Some(1), (1, 2), true, NotApplied)], Some(1), false),
            ("unknown and made", vec![set(Some(1), (1, 2), true, Unknown)], Some(1), true),
            ("unknown and not made", vec![set(Some(1), (1, 2), true, Unknown)], None, true),
            (
                "the later one",
                vec![first.clone(), set(Some(2), (3, 4), true, Applied)],
                Some(2),
                true,
            ),
            (
                "the earlier one",
                vec![first.clone(), set(Some(2), (3, 4), true, Applied)],
                Some(1),
                false,
            ),
            (
                "at the same time",
                vec![first.clone(), set(Some(2), (2, 4), true, Applied)],
                Some(1),
                true,
            ),
            (
                "the earlier one came late",
                vec![set(Some(1), (1, 2), false, Applied), set(Some(2), (3, 4), true, Applied)],
                Some(1),
                true,
            ),
            (
                "the earlier one came late, and it was a deletion",
                vec![set(None, (1, 2), true, Unknown), first.clone()],
                None,
                true,
            ),
            (
                "the deletion was earlier",
                vec![set(None, (1, 2), true, Applied), set(Some(2), (3, 4), true, Applied)],
                None,
                false,
            ),
            (
                "the deletion was lost",
                vec![first.clone(), set(None, (3, 4), true, Applied)],
                Some(1),
                false,
            ),
        ] {
            let rows = value.map(|value| (("p".to_owned(), "r".to_owned()), value));
            let mut found = Findings::default();
            Registers { settings, rows: rows.into_iter().collect() }.check(&mut found);
            assert_eq!(found.violations.is_empty(), is_right, "{what}: {found:?}");
        }
    }
}
