//! The rows that were read and are not settled, by partition and key. No I/O: time is an argument.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::operation::Row;
use super::pace::Pace;
use super::slice::Slice;
use crate::error::Error;
use crate::limits::TRANSACTION_OPERATIONS;
use crate::operation::Target;

/// Partitions without rows of which the pace is remembered.
const REMEMBERED: usize = 1024;
/// After so long, rows that would not fill a slice are sent although others would.
const AGE: Duration = Duration::from_secs(1);

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
    /// The keys of which an operation is not settled, and why: what follows it must not be done
    /// before it, which may be in another run.
    open: HashMap<String, Arc<Error>>,
    /// Why nothing more of it is sent.
    closed: Option<Arc<Error>>,
    /// Since when nothing was done, if something was tried.
    failing_since: Option<Instant>,
    pace: Pace,
    turn: Option<Turn>,
    /// When it took that turn.
    in_turn_since: Option<Instant>,
}

impl Partition {
    fn is_full(&self, most_bytes: usize) -> bool {
        !self.again.is_empty()
            || self.ready.len() >= TRANSACTION_OPERATIONS
            || self.ready_bytes >= most_bytes
    }

    fn put(&mut self, row: Row) {
        self.ready_bytes += row.bytes();
        self.ready.push_back(row);
    }

    /// Why a row of this key cannot be sent.
    fn obstacle(&self, row_key: &str) -> Option<&Arc<Error>> {
        self.closed.as_ref().or_else(|| self.open.get(row_key))
    }

    /// Whether there is nothing of it to remember once it has no rows.
    fn is_forgettable(&self) -> bool {
        self.behind.is_empty() && self.open.is_empty() && self.closed.is_none()
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

    /// Takes a row, unless something stands in its way.
    pub(super) fn push(&mut self, row: Row, now: Instant) -> Result<(), (Row, Arc<Error>)> {
        let name: Arc<str> = match self.partitions.get_key_value(&*row.key.partition_key) {
            Some((name, partition)) => {
                if let Some(error) = partition.obstacle(&row.key.row_key) {
                    return Err((row, Arc::clone(error)));
                }
                self.idle -= usize::from(partition.behind.is_empty());
                Arc::clone(name)
            }
            None => {
                self.forget_some(now);
                Arc::from(&*row.key.partition_key)
            }
        };
        self.rows += 1;
        self.bytes += row.bytes();
        let partition = self.partitions.entry(Arc::clone(&name)).or_default();
        match partition.behind.get_mut(&row.key.row_key) {
            Some(behind) => behind.push_back(row),
            None => {
                partition.behind.insert(row.key.row_key.clone(), VecDeque::new());
                partition.put(row);
            }
        }
        self.set_turn(&name, now);
        Ok(())
    }

    /// Forgets partitions without rows once they are many.
    fn forget_some(&mut self, now: Instant) {
        if self.idle > REMEMBERED {
            let mut idle = 0;
            self.partitions.retain(|_, partition| {
                // If most are still paced, half of them are as good as any.
                let keeps = !partition.is_forgettable()
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
            let turn = self.next_turn(now, flush)?;
            let name = self.turns.remove(&turn)?;
            let Some(partition) = self.partitions.get_mut(&name) else { continue };
            partition.turn = None;
            let at = partition.pace.next_at(now);
            if at > now {
                self.enter(&name, now, |n| Turn::Later(at, n));
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
                self.set_turn(&name, now);
                return Some(slice);
            }
        }
    }

    fn next_turn(&self, now: Instant, flush: bool) -> Option<Turn> {
        let is_old = |name| {
            let partition: Option<&Partition> = self.partitions.get(name);
            partition
                .and_then(|partition| partition.in_turn_since)
                .is_some_and(|at| at + AGE <= now)
        };
        let part = self.turns.range(Turn::Part(0)..=Turn::Part(u64::MAX)).next();
        if let Some((turn, name)) = part
            && is_old(name)
        {
            // Else it might wait for ever beside partitions that always have full slices.
            return Some(*turn);
        }
        match self.turns.first_key_value()? {
            (turn @ Turn::Full(_), _) => Some(*turn),
            (turn @ Turn::Part(_), _) if flush => Some(*turn),
            _ => None,
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
                self.set_turn(&name, now);
            }
        }
    }

    /// Lines the partition up, if it has something to send and does not wait.
    fn set_turn(&mut self, name: &Arc<str>, now: Instant) {
        let Some(partition) = self.partitions.get(name) else { return };
        let is_full = partition.is_full(self.target.protocol.dialect().transaction_bytes());
        match partition.turn {
            None if !is_full && partition.ready.is_empty() => {}
            None if is_full => self.enter(name, now, Turn::Full),
            None => self.enter(name, now, Turn::Part),
            Some(turn @ Turn::Part(_)) if is_full => {
                self.turns.remove(&turn);
                self.enter(name, now, Turn::Full);
            }
            Some(_) => {}
        }
    }

    fn enter(&mut self, name: &Arc<str>, now: Instant, turn: impl FnOnce(u64) -> Turn) {
        self.last_turn += 1;
        let turn = turn(self.last_turn);
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.turn = Some(turn);
            partition.in_turn_since = Some(now);
            self.turns.insert(turn, Arc::clone(name));
        }
    }

    /// Slices came back and are to be sent again, before anything else of their partition.
    pub(super) fn put_back(&mut self, name: &Arc<str>, again: Vec<Slice>, now: Instant) {
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.again.extend(again);
            self.set_turn(name, now);
        }
    }

    /// What is known of the partition's pace.
    pub(super) fn pace(&mut self, name: &str) -> Option<&mut Pace> {
        self.partitions.get_mut(name).map(|partition| &mut partition.pace)
    }

    /// Since when nothing of the partition was done.
    pub(super) fn failing_since(&mut self, name: &str) -> Option<&mut Option<Instant>> {
        self.partitions.get_mut(name).map(|partition| &mut partition.failing_since)
    }

    /// Why nothing more of the partition is sent.
    pub(super) fn closed(&self, name: &str) -> Option<&Arc<Error>> {
        self.partitions.get(name)?.closed.as_ref()
    }

    /// A row has its outcome. If that settles it, the next one of its key may be sent; else, those of
    /// its key cannot be sent any more, and are given back.
    pub(super) fn end(&mut self, row: &Row, open: Option<&Arc<Error>>, now: Instant) -> Vec<Row> {
        self.release(row);
        let Some((name, _)) = self.partitions.get_key_value(&*row.key.partition_key) else {
            return Vec::new();
        };
        let name = Arc::clone(name);
        let Some(partition) = self.partitions.get_mut(&name) else { return Vec::new() };
        let mut stuck = VecDeque::new();
        match open {
            Some(error) => {
                stuck = partition.behind.remove(&row.key.row_key).unwrap_or_default();
                if partition.closed.is_none() {
                    partition.open.insert(row.key.row_key.clone(), Arc::clone(error));
                }
            }
            None => {
                match partition.behind.get_mut(&row.key.row_key).and_then(VecDeque::pop_front) {
                    Some(next) => partition.put(next),
                    None => {
                        partition.behind.remove(&row.key.row_key);
                    }
                }
            }
        }
        if partition.behind.is_empty() {
            self.idle += 1;
        } else {
            self.set_turn(&name, now);
        }
        for row in &stuck {
            self.release(row);
        }
        stuck.into()
    }

    fn release(&mut self, row: &Row) {
        self.rows -= 1;
        self.bytes -= row.bytes();
    }

    /// Sends nothing more of a partition. Returns the rows that were not applied, and the slices that may
    /// have been, whose rows stay in the window until they have an outcome.
    pub(super) fn close(&mut self, name: &str, error: &Arc<Error>) -> (Vec<Row>, Vec<Slice>) {
        let Some(partition) = self.partitions.get_mut(name) else { return Default::default() };
        partition.closed.get_or_insert_with(|| Arc::clone(error));
        partition.open = HashMap::new();
        if let Some(turn) = partition.turn.take() {
            self.turns.remove(&turn);
        }
        partition.ready_bytes = 0;
        let mut rows: Vec<Row> = partition.ready.drain(..).collect();
        let (open, closed): (Vec<_>, Vec<_>) =
            partition.again.drain(..).partition(|slice| slice.open.is_some());
        rows.extend(closed.into_iter().flat_map(|slice| slice.rows));
        if !rows.is_empty() {
            let mut behind = Vec::new();
            for row in &rows {
                behind.extend(partition.behind.remove(&row.key.row_key).into_iter().flatten());
            }
            rows.extend(behind);
            self.idle += usize::from(partition.behind.is_empty());
        }
        // A row of each of these keys is in flight, or in a slice that may have been applied.
        rows.extend(partition.behind.values_mut().flat_map(std::mem::take));
        rows.sort_unstable_by_key(|row| row.index);
        for row in &rows {
            self.release(row);
        }
        (rows, open)
    }

    /// Sends nothing more at all; returns what [`close`](Self::close) does.
    pub(super) fn close_all(&mut self, error: &Arc<Error>) -> (Vec<Row>, Vec<Slice>) {
        let names: Vec<_> = self.partitions.keys().map(Arc::clone).collect();
        let (mut rows, mut open) = (Vec::new(), Vec::new());
        for name in names {
            let (more_rows, more_open) = self.close(&name, error);
            rows.extend(more_rows);
            open.extend(more_open);
        }
        rows.sort_unstable_by_key(|row| row.index);
        (rows, open)
    }
}

pub(super) fn count(slice: &Slice) -> u32 {
    u32::try_from(slice.rows.len()).unwrap_or(u32::MAX)
}
