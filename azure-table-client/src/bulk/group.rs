//! The rows that were read and are not settled, by partition and key. No I/O: time is an argument.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use tokio::time::Instant;

use super::operation::Row;
use super::pace::Pace;
use super::slice::{Slice, Target};
use crate::limits::{TRANSACTION_BYTES, TRANSACTION_OPERATIONS};

/// Partitions without rows of which the pace is remembered.
const REMEMBERED: usize = 1024;

/// The rows that were read and are not settled.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) target: Target,
    partitions: HashMap<Arc<str>, Partition>,
    /// The partitions that have something to send.
    turns: BTreeMap<Turn, Arc<str>>,
    last_turn: u64,
    /// Partitions without rows.
    idle: usize,
    rows: usize,
    bytes: usize,
    most_rows: usize,
    most_bytes: usize,
}

/// Whose rows are sent next: among equals, who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// It has a slice that will not grow.
    Full(u64),
    /// It has some rows, and more may come.
    Part(u64),
    /// It has to wait until then.
    Later(Instant, u64),
}

#[derive(Debug, Default)]
struct Partition {
    /// What can be sent: no two of one key.
    ready: VecDeque<Row>,
    ready_bytes: usize,
    /// Of each key that is ready or on its way, what has to wait for it.
    behind: HashMap<String, VecDeque<Row>>,
    /// Slices that have to be sent again.
    again: VecDeque<Slice>,
    pace: Pace,
    turn: Option<Turn>,
}

impl Partition {
    fn is_full(&self) -> bool {
        !self.again.is_empty()
            || self.ready.len() >= TRANSACTION_OPERATIONS
            || self.ready_bytes >= TRANSACTION_BYTES
    }

    fn put(&mut self, row: Row) {
        self.ready_bytes += row.bytes();
        self.ready.push_back(row);
    }
}

impl Window {
    pub(super) fn new(target: Target, most_rows: usize, most_bytes: usize) -> Self {
        Self {
            target,
            partitions: HashMap::new(),
            turns: BTreeMap::new(),
            last_turn: 0,
            idle: 0,
            rows: 0,
            bytes: 0,
            most_rows,
            most_bytes,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(super) const fn is_full(&self) -> bool {
        self.rows >= self.most_rows || self.bytes >= self.most_bytes
    }

    pub(super) fn push(&mut self, row: Row, now: Instant) {
        self.rows += 1;
        self.bytes += row.bytes();
        let name: Arc<str> = match self.partitions.get_key_value(&*row.key.partition_key) {
            Some((name, partition)) => {
                self.idle -= usize::from(partition.behind.is_empty());
                Arc::clone(name)
            }
            None => {
                self.forget_some(now);
                Arc::from(&*row.key.partition_key)
            }
        };
        let partition = self.partitions.entry(Arc::clone(&name)).or_default();
        match partition.behind.get_mut(&row.key.row_key) {
            Some(behind) => behind.push_back(row),
            None => {
                partition.behind.insert(row.key.row_key.clone(), VecDeque::new());
                partition.put(row);
            }
        }
        self.set_turn(&name);
    }

    /// Forgets partitions without rows once they are many.
    fn forget_some(&mut self, now: Instant) {
        if self.idle > REMEMBERED {
            let mut idle = 0;
            self.partitions.retain(|_, partition| {
                // If most are still paced, half of them are as good as any.
                let keeps = !partition.behind.is_empty()
                    || (idle < REMEMBERED / 2 && !partition.pace.is_fresh(now));
                idle += usize::from(keeps && partition.behind.is_empty());
                keeps
            });
            self.idle = idle;
        }
    }

    /// The next slice to send. Rows that would not fill one are sent with `flush` only.
    pub(super) fn take(&mut self, now: Instant, flush: bool) -> Option<Slice> {
        self.wake(now);
        loop {
            let (&turn, name) = self.turns.first_key_value()?;
            if matches!(turn, Turn::Later(..)) || (matches!(turn, Turn::Part(_)) && !flush) {
                return None;
            }
            let name = Arc::clone(name);
            self.turns.remove(&turn);
            let Some(partition) = self.partitions.get_mut(&name) else { continue };
            partition.turn = None;
            let at = partition.pace.next_at(now);
            if at > now {
                self.enter(&name, |n| Turn::Later(at, n));
                continue;
            }
            let slice = partition.again.pop_front().or_else(|| {
                let most = TRANSACTION_OPERATIONS;
                let slice = Slice::take(&self.target, &name, &mut partition.ready, most)?;
                partition.ready_bytes -= slice.rows.iter().map(Row::bytes).sum::<usize>();
                Some(slice)
            });
            if let Some(slice) = slice {
                partition.pace.sent(now, count(&slice));
                self.set_turn(&name);
                return Some(slice);
            }
        }
    }

    /// When a partition that waits is to go on.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        match self.first_later() {
            Some(Turn::Later(at, _)) => Some(at),
            _ => None,
        }
    }

    /// Whether rows could be sent that would not fill a slice.
    pub(super) fn has_part(&self) -> bool {
        matches!(self.turns.first_key_value(), Some((Turn::Full(_) | Turn::Part(_), _)))
    }

    fn first_later(&self) -> Option<Turn> {
        let later = (Excluded(Turn::Part(u64::MAX)), Unbounded);
        self.turns.range(later).next().map(|(turn, _)| *turn)
    }

    fn wake(&mut self, now: Instant) {
        while let Some(turn @ Turn::Later(at, _)) = self.first_later()
            && at <= now
        {
            if let Some(name) = self.turns.remove(&turn)
                && let Some(partition) = self.partitions.get_mut(&name)
            {
                partition.turn = None;
                self.set_turn(&name);
            }
        }
    }

    /// Lines the partition up, if it has something to send and does not wait.
    fn set_turn(&mut self, name: &Arc<str>) {
        let Some(partition) = self.partitions.get(name) else { return };
        let is_full = partition.is_full();
        match partition.turn {
            None if !is_full && partition.ready.is_empty() => {}
            None if is_full => self.enter(name, Turn::Full),
            None => self.enter(name, Turn::Part),
            Some(turn @ Turn::Part(_)) if is_full => {
                self.turns.remove(&turn);
                self.enter(name, Turn::Full);
            }
            Some(_) => {}
        }
    }

    fn enter(&mut self, name: &Arc<str>, turn: impl FnOnce(u64) -> Turn) {
        self.last_turn += 1;
        let turn = turn(self.last_turn);
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.turn = Some(turn);
            self.turns.insert(turn, Arc::clone(name));
        }
    }

    /// Slices came back and are to be sent again, before anything else of their partition.
    pub(super) fn put_back(&mut self, name: &Arc<str>, again: Vec<Slice>) {
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.again.extend(again);
            self.set_turn(name);
        }
    }

    /// What is known of the partition's pace.
    pub(super) fn pace(&mut self, name: &str) -> Option<&mut Pace> {
        self.partitions.get_mut(name).map(|partition| &mut partition.pace)
    }

    /// A row has its outcome; the next one of its key may be sent.
    pub(super) fn settle(&mut self, row: &Row) {
        self.rows -= 1;
        self.bytes -= row.bytes();
        let Some((name, _)) = self.partitions.get_key_value(&*row.key.partition_key) else {
            return;
        };
        let name = Arc::clone(name);
        let Some(partition) = self.partitions.get_mut(&name) else { return };
        if let Some(behind) = partition.behind.get_mut(&row.key.row_key) {
            match behind.pop_front() {
                Some(next) => partition.put(next),
                None => {
                    partition.behind.remove(&row.key.row_key);
                }
            }
        }
        if partition.behind.is_empty() {
            self.idle += 1;
        } else {
            self.set_turn(&name);
        }
    }

    /// All rows that are not on their way, which are to be settled without being sent.
    pub(super) fn drain(&mut self) -> Vec<Row> {
        self.turns.clear();
        let mut rows = Vec::new();
        for partition in self.partitions.values_mut() {
            partition.turn = None;
            partition.ready_bytes = 0;
            rows.extend(partition.ready.drain(..));
            rows.extend(partition.again.drain(..).flat_map(|slice| slice.rows));
            rows.extend(partition.behind.values_mut().flat_map(std::mem::take));
        }
        rows.sort_unstable_by_key(|row| row.index);
        rows
    }
}

pub(super) fn count(slice: &Slice) -> u32 {
    u32::try_from(slice.rows.len()).unwrap_or(u32::MAX)
}
