//! The rows that were read and have no outcome, by partition and key. No I/O: time is an argument.

mod partition;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::chunk::Chunk;
use super::operation::Row;
use super::rate_limit::RateLimit;
use crate::error::Error;
use crate::limits::TRANSACTION_OPERATIONS;
use crate::max_rate::MaxRate;
use crate::operation::Target;
use partition::{PartitionQueue, Turn};

/// The number of partitions without rows whose rate limits are kept.
const REMEMBERED: usize = 1024;
/// The age at which rows that do not fill a chunk take precedence over full chunks.
const AGE: Duration = Duration::from_secs(1);

/// The rows that were read and have no outcome.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) target: Target,
    partitions: HashMap<Arc<str>, PartitionQueue>,
    /// The rate limit of the account.
    account: RateLimit,
    /// The rate that the program sets.
    max_rate: Option<MaxRate>,
    /// The time until which the limits of the run allow no rows.
    waits_until: Option<Instant>,
    /// The partitions that have rows to send.
    turns: BTreeMap<Turn, Arc<str>>,
    last_turn: u64,
    /// The number of partitions without rows.
    idle: usize,
    rows: usize,
    bytes: usize,
    most_rows: usize,
    most_bytes: usize,
}

impl Window {
    pub(super) fn new(
        target: Target,
        max_rate: Option<MaxRate>,
        most_rows: usize,
        most_bytes: usize,
    ) -> Self {
        Self {
            target,
            partitions: HashMap::new(),
            account: RateLimit::of_account(),
            max_rate,
            waits_until: None,
            turns: BTreeMap::new(),
            last_turn: 0,
            idle: 0,
            rows: 0,
            bytes: 0,
            most_rows,
            most_bytes,
        }
    }

    /// The number of rows that its partitions have memory for.
    #[cfg(test)]
    pub(super) fn row_capacity(&self) -> usize {
        let of = |it: &PartitionQueue| {
            let waiting = it.ready.capacity() + it.waiting.capacity() + it.again.capacity();
            waiting + it.open.capacity()
        };
        self.partitions.values().map(of).sum()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(super) const fn is_full(&self) -> bool {
        self.rows >= self.most_rows || self.bytes >= self.most_bytes
    }

    /// Adds a row, unless an earlier error prevents it from being sent.
    pub(super) fn push(&mut self, row: Row, now: Instant) -> Result<(), (Row, Arc<Error>)> {
        let name: Arc<str> = match self.partitions.get_key_value(&*row.key.partition_key) {
            Some((name, partition)) => {
                if let Some(error) = partition.obstacle(&row.key.row_key) {
                    return Err((row, Arc::clone(error)));
                }
                self.idle -= usize::from(partition.waiting.is_empty());
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
        match partition.waiting.get_mut(&row.key.row_key) {
            Some(waiting) => waiting.push_back(row),
            None => {
                partition.waiting.insert(row.key.row_key.clone(), VecDeque::new());
                partition.put(row);
            }
        }
        self.set_turn(&name, now);
        Ok(())
    }

    /// Forgets partitions without rows if there are many.
    fn forget_some(&mut self, now: Instant) {
        if self.idle > REMEMBERED {
            let mut idle = 0;
            // If too many have a rate limit, half of them are kept, by their names, so that a run can repeat itself.
            let is_limited =
                |it: &PartitionQueue| it.is_forgettable() && !it.rate_limit.is_fresh(now);
            let limited = self.partitions.iter().filter(|(_, partition)| is_limited(partition));
            let mut kept: Vec<_> = limited.map(|(name, _)| Arc::clone(name)).collect();
            kept.sort_unstable();
            let idle_anyway = |it: &&PartitionQueue| it.waiting.is_empty() && !it.is_forgettable();
            let others = self.partitions.values().filter(idle_anyway).count();
            kept.truncate((REMEMBERED / 2).saturating_sub(others));
            self.partitions.retain(|name, partition| {
                let keeps = !partition.is_forgettable() || kept.binary_search(name).is_ok();
                idle += usize::from(keeps && partition.waiting.is_empty());
                keeps
            });
            self.idle = idle;
        }
    }

    /// Takes the next chunk to send. With `flush`, it need not be full.
    pub(super) fn take(&mut self, now: Instant, flush: bool) -> Option<Chunk> {
        self.wake(now);
        let max_rate = self.max_rate.as_ref();
        let next_at = max_rate.map_or(now, |max| max.next_at(now)).max(self.account.next_at(now));
        self.waits_until = Some(next_at).filter(|at| *at > now);
        if self.waits_until.is_some() {
            return None;
        }
        let most = max_rate.map_or(TRANSACTION_OPERATIONS, |max| max.rows_at_once(now));
        loop {
            let turn = self.next_turn(now, flush)?;
            let name = self.turns.remove(&turn)?;
            let Some(partition) = self.partitions.get_mut(&name) else { continue };
            partition.turn = None;
            let at = partition.rate_limit.next_at(now);
            if at > now {
                self.enter(&name, now, |n| Turn::Later(at, n));
                continue;
            }
            let chunk = partition.again.pop_front().or_else(|| {
                let chunk = Chunk::take(&self.target, &name, &mut partition.ready, most)?;
                partition.ready_bytes -= chunk.rows.iter().map(Row::bytes).sum::<usize>();
                Some(chunk)
            });
            if let Some(chunk) = chunk {
                partition.rate_limit.sent(now, count(&chunk));
                self.account.sent(now, count(&chunk));
                if let Some(max_rate) = &mut self.max_rate {
                    max_rate.sent(now, count(&chunk));
                }
                self.set_turn(&name, now);
                return Some(chunk);
            }
        }
    }

    fn next_turn(&self, now: Instant, flush: bool) -> Option<Turn> {
        let is_old = |name| {
            let partition: Option<&PartitionQueue> = self.partitions.get(name);
            partition.and_then(|partition| partition.queued_since).is_some_and(|at| at + AGE <= now)
        };
        let part = self.turns.range(Turn::Part(0)..=Turn::Part(u64::MAX)).next();
        if let Some((turn, name)) = part
            && is_old(name)
        {
            // Other partitions may always have full chunks.
            return Some(*turn);
        }
        match self.turns.first_key_value()? {
            (turn @ Turn::Full(_), _) => Some(*turn),
            (turn @ Turn::Part(_), _) if flush => Some(*turn),
            _ => None,
        }
    }

    /// Returns the time at which the wait of the run, or the first wait of a partition, ends.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.waits_until.or_else(|| match self.first_later() {
            Some(Turn::Later(at, _)) => Some(at),
            _ => None,
        })
    }

    /// Whether there are rows to send now, even if they do not fill a chunk.
    pub(super) fn has_part(&self) -> bool {
        self.waits_until.is_none()
            && matches!(self.turns.first_key_value(), Some((Turn::Full(_) | Turn::Part(_), _)))
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

    /// Queues the partition, if it has rows to send and does not wait.
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
            partition.queued_since = Some(now);
            self.turns.insert(turn, Arc::clone(name));
        }
    }

    /// Queues chunks to be sent again, before the other rows of their partition.
    pub(super) fn put_back(&mut self, name: &Arc<str>, again: Vec<Chunk>, now: Instant) {
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.again.extend(again);
            self.set_turn(name, now);
        }
    }

    /// Records that a chunk was applied.
    pub(super) fn done(&mut self, name: &str, now: Instant, rows: u32) {
        self.account.done(now, rows);
        if let Some(rate_limit) = self.rate_limit(name) {
            rate_limit.done(now, rows);
        }
    }

    /// Records that a chunk which was sent at `sent_at` was throttled; see [`RateLimit::throttled_in`].
    pub(super) fn throttled(
        &mut self,
        name: &str,
        now: Instant,
        sent_at: Instant,
        rows: u32,
        random: f64,
    ) -> bool {
        let Some(partition) = self.partitions.get_mut(name) else { return false };
        partition.rate_limit.throttled_in(&mut self.account, now, sent_at, rows, random)
    }

    /// The rate limit of the partition.
    pub(super) fn rate_limit(&mut self, name: &str) -> Option<&mut RateLimit> {
        self.partitions.get_mut(name).map(|partition| &mut partition.rate_limit)
    }

    /// The time of the first failure of the partition since its last success.
    pub(super) fn failing_since(&mut self, name: &str) -> Option<&mut Option<Instant>> {
        self.partitions.get_mut(name).map(|partition| &mut partition.failing_since)
    }

    /// The error after which no more rows of the partition are sent.
    pub(super) fn closed(&self, name: &str) -> Option<&Arc<Error>> {
        self.partitions.get(name)?.closed.as_ref()
    }

    /// Ends a row, unresolved if it has an `open` error. Then returns the other rows with its key, which cannot be sent
    /// any more. Otherwise, makes the next row with its key ready.
    pub(super) fn end(&mut self, row: &Row, open: Option<&Arc<Error>>, now: Instant) -> Vec<Row> {
        self.release(row);
        let Some((name, _)) = self.partitions.get_key_value(&*row.key.partition_key) else {
            return Vec::new();
        };
        let name = Arc::clone(name);
        let Some(partition) = self.partitions.get_mut(&name) else { return Vec::new() };
        let mut blocked = VecDeque::new();
        match open {
            Some(error) => {
                blocked = partition.waiting.remove(&row.key.row_key).unwrap_or_default();
                if partition.closed.is_none() {
                    partition.open.insert(row.key.row_key.clone(), Arc::clone(error));
                }
            }
            None => {
                match partition.waiting.get_mut(&row.key.row_key).and_then(VecDeque::pop_front) {
                    Some(next) => partition.put(next),
                    None => {
                        partition.waiting.remove(&row.key.row_key);
                    }
                }
            }
        }
        if partition.waiting.is_empty() {
            self.idle += 1;
            partition.release_memory();
        } else {
            self.set_turn(&name, now);
        }
        for row in &blocked {
            self.release(row);
        }
        blocked.into()
    }

    fn release(&mut self, row: &Row) {
        self.rows -= 1;
        self.bytes -= row.bytes();
    }

    /// Stops sending rows of a partition. Returns the rows that were not applied, and the chunks that may have been,
    /// whose rows stay in the window until they have an outcome.
    pub(super) fn close(&mut self, name: &str, error: &Arc<Error>) -> (Vec<Row>, Vec<Chunk>) {
        let Some(partition) = self.partitions.get_mut(name) else { return Default::default() };
        partition.closed.get_or_insert_with(|| Arc::clone(error));
        partition.open = HashMap::new();
        if let Some(turn) = partition.turn.take() {
            self.turns.remove(&turn);
        }
        partition.ready_bytes = 0;
        let mut rows: Vec<Row> = partition.ready.drain(..).collect();
        let (open, closed): (Vec<_>, Vec<_>) =
            partition.again.drain(..).partition(|chunk| chunk.open.is_some());
        rows.extend(closed.into_iter().flat_map(|chunk| chunk.rows));
        if !rows.is_empty() {
            let mut waiting = Vec::new();
            for row in &rows {
                waiting.extend(partition.waiting.remove(&row.key.row_key).into_iter().flatten());
            }
            rows.extend(waiting);
            self.idle += usize::from(partition.waiting.is_empty());
        }
        // A row with each of these keys is in flight, or in a chunk that may have been applied.
        rows.extend(partition.waiting.values_mut().flat_map(std::mem::take));
        rows.sort_unstable_by_key(|row| row.index);
        for row in &rows {
            self.release(row);
        }
        (rows, open)
    }

    /// Closes all partitions; see [`close`](Self::close).
    pub(super) fn close_all(&mut self, error: &Arc<Error>) -> (Vec<Row>, Vec<Chunk>) {
        let mut names: Vec<_> = self.partitions.keys().map(Arc::clone).collect();
        names.sort_unstable();
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

pub(super) fn count(chunk: &Chunk) -> u32 {
    u32::try_from(chunk.rows.len()).unwrap_or(u32::MAX)
}
