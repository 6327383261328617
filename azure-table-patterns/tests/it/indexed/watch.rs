//! Watches the stored entities before and after each request, without the code under test.

use std::sync::{Arc, Mutex};

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::Transport;
use azure_table_tests::scripted::{Scripted, Step};

use super::users::{TABLE, User, place, target};

pub(super) const GROUPS: [&str; 2] = ["a", "b"];
pub(super) const IDS: [&str; 3] = ["1", "2", "3"];
pub(super) const VALUES: [&str; 2] = ["x", "y"];
const KEYS: usize = GROUPS.len() * IDS.len();
/// The number of indexes across partitions, which come first in `User::INDEXES`.
const GLOBAL: usize = 2;
/// A value of an index across partitions, or in one of two partitions.
const SLOTS: usize = VALUES.len() * (1 + 1 + 2 + 2);

/// The key with this number.
pub(super) fn key(number: usize) -> (&'static str, &'static str) {
    (GROUPS[number / IDS.len()], IDS[number % IDS.len()])
}

pub(super) fn number(user: &User) -> usize {
    let group = GROUPS.iter().position(|it| *it == user.group).unwrap();
    group * IDS.len() + IDS.iter().position(|it| *it == user.id).unwrap()
}

/// The number of a value; `index` is the position of the index in `User::INDEXES`.
pub(super) fn slot(index: usize, value: &str, group: &str) -> usize {
    let value = VALUES.iter().position(|it| *it == value).unwrap();
    let group = usize::from(group == GROUPS[1]);
    let scope = [0, 1, 2 + group, 4 + group][index];
    scope * VALUES.len() + value
}

/// Whether no two entities may have the value.
fn is_unique(slot: usize) -> bool {
    [true, false, true, true, false, false][slot / VALUES.len()]
}

/// The last sample at which something was so, unless it is so now.
#[derive(Debug, Clone, Copy)]
struct Last {
    now: bool,
    at: u64,
}

#[derive(Debug)]
struct State {
    sample: u64,
    entities: [Option<User>; KEYS],
    has: [[Last; KEYS]; SLOTS],
    lacks: [[Last; KEYS]; SLOTS],
    unowned: [Last; SLOTS],
    /// The stamps of all versions that ever existed, and of those that are gone.
    seen: Vec<i64>,
    gone: Vec<i64>,
    /// Whether each index row is missing, or exists without a reason.
    is_wrong: Vec<bool>,
    violations: Vec<String>,
}

/// The index row that an entity with a value has.
#[derive(Debug)]
struct IndexRow {
    /// The number of the entity's key.
    number: usize,
    index: usize,
    value: &'static str,
    place: (&'static str, (String, String)),
}

/// The stored entities at each request.
#[derive(Debug)]
pub(super) struct Watch {
    mock: MockTableService,
    rows: Vec<IndexRow>,
    state: Mutex<State>,
}

impl Watch {
    pub(super) fn new(mock: &MockTableService) -> Arc<Self> {
        let mut rows = Vec::new();
        for (number, index) in (0..KEYS).flat_map(|number| (0..4).map(move |it| (number, it))) {
            rows.extend(VALUES.map(|value| {
                let place = place(index, value, key(number));
                IndexRow { number, index, value, place }
            }));
        }
        let (so, not) = (Last { now: true, at: 0 }, Last { now: false, at: 0 });
        let state = State {
            sample: 1,
            entities: [const { None }; KEYS],
            has: [[not; KEYS]; SLOTS],
            lacks: [[so; KEYS]; SLOTS],
            unowned: [so; SLOTS],
            seen: Vec::new(),
            gone: Vec::new(),
            is_wrong: vec![false; rows.len()],
            violations: Vec::new(),
        };
        Arc::new(Self { mock: mock.clone(), rows, state: Mutex::new(state) })
    }

    /// Reads the entities. Returns the number of the sample.
    pub(super) fn sample(&self) -> u64 {
        let state = &mut *self.state.lock().unwrap();
        let mut has_changed = false;
        for (number, old) in state.entities.iter_mut().enumerate() {
            let (group, id) = key(number);
            let row = self.mock.row(TABLE, group, id);
            let new: Option<User> = row.map(|row| row.to_entity().unwrap());
            if *old == new {
                continue;
            }
            has_changed = true;
            if let Some(old) = &old {
                state.gone.push(old.stamp);
            }
            if let Some(new) = &new {
                if state.gone.contains(&new.stamp) {
                    state.violations.push(format!("a late request restored {new:?}"));
                }
                state.seen.push(new.stamp);
            }
            *old = new;
        }
        if has_changed {
            state.update();
        }
        self.check_rows(state);
        state.sample += 1;
        state.sample
    }

    /// An entity that has a value has its index row. The row of an index within the partition exists as long as the
    /// entity has the value; the row of an index across partitions exists before that, and may remain until a sweep.
    fn check_rows(&self, state: &mut State) {
        for (at, row) in self.rows.iter().enumerate() {
            let user = state.entities[row.number].as_ref();
            let has_value = user.is_some_and(|user| user.values()[row.index] == Some(row.value));
            if !has_value && row.index < GLOBAL {
                state.is_wrong[at] = false;
                continue;
            }
            let (table, (partition, id)) = &row.place;
            let found = self.mock.row(table, partition, id);
            let key = key(row.number);
            let has_row = found.is_some_and(|row| target(&row) == (key.0.into(), key.1.into()));
            let was_wrong = std::mem::replace(&mut state.is_wrong[at], has_row != has_value);
            if has_row != has_value && !was_wrong {
                let wrong = if has_value { "no index row" } else { "a wrong index row" };
                let (index, value) = (row.index, row.value);
                state.violations.push(format!("{wrong} of {key:?} for {index} = {value}"));
            }
        }
    }

    /// Whether the write with this stamp was ever applied.
    pub(super) fn was_seen(&self, stamp: i64) -> bool {
        self.sample();
        self.state.lock().unwrap().seen.contains(&stamp)
    }

    pub(super) fn is_gone(&self, stamp: i64) -> bool {
        self.sample();
        self.state.lock().unwrap().gone.contains(&stamp)
    }

    /// Checks the result of a lookup that began at a sample.
    pub(super) fn check_lookup(&self, since: u64, slot: usize, found: &[usize]) -> Vec<String> {
        self.sample();
        let state = self.state.lock().unwrap();
        let since = |last: Last| last.now || last.at >= since;
        let mut violations = Vec::new();
        for number in 0..KEYS {
            if found.contains(&number) && !since(state.has[slot][number]) {
                violations.push(format!("found {:?}, which never had {slot}", key(number)));
            }
            if !found.contains(&number) && !since(state.lacks[slot][number]) {
                violations.push(format!("missed {:?}, which always had {slot}", key(number)));
            }
        }
        if is_unique(slot) && found.is_empty() && !since(state.unowned[slot]) {
            violations.push(format!("missed the owner of {slot}, which always had one"));
        }
        violations
    }

    pub(super) fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().violations)
    }
}

impl State {
    fn update(&mut self) {
        let mut owners = [[false; KEYS]; SLOTS];
        for (number, user) in self.entities.iter().enumerate() {
            let Some(user) = user else { continue };
            for (index, value) in user.values().iter().enumerate() {
                if let Some(value) = value {
                    owners[slot(index, value, &user.group)][number] = true;
                }
            }
        }
        let last = self.sample;
        let set = |it: &mut Last, now: bool| {
            if it.now && !now {
                it.at = last;
            }
            it.now = now;
        };
        for (slot, owners) in owners.iter().enumerate() {
            let count = owners.iter().filter(|owns| **owns).count();
            set(&mut self.unowned[slot], count == 0);
            for (number, owns) in owners.iter().enumerate() {
                set(&mut self.has[slot][number], *owns);
                set(&mut self.lacks[slot][number], !owns);
            }
            if is_unique(slot) && count > 1 {
                self.violations.push(format!("{count} owners of {slot}: {:?}", self.entities));
            }
        }
    }
}

/// A transport that takes a sample before and after each request.
pub(super) fn watched(service: Arc<dyn Transport>, watch: &Arc<Watch>) -> Arc<Scripted> {
    let watch = Arc::clone(watch);
    Scripted::new(service, move |_| {
        let [before, after] = [(); 2].map(|()| Arc::clone(&watch));
        Step::pass()
            .after(async move {
                before.sample();
            })
            .then(async move {
                after.sample();
            })
    })
}
