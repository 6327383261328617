//! Reads the parts of a query page by page, with a bounded number of requests in flight.
//!
//! The reader sends nothing itself: it lists the requests to send, and accepts their pages. Its position moves only when a
//! page is returned, so that a dropped request loses no row.

use std::collections::HashSet;
use std::future::Future;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::fetch::{Fetched, FetchedPage, PageRead, Slot};
use super::limits::{PageLimits, ReadMode};
use super::page::{PageHead, QueryCost};
use super::part::{PartKind, QueryPart};
use super::position::{Continuation, QueryId, ReadPosition};
use super::source::{PageRequest, Source};
use crate::Dialect;
use crate::error::Error;
use crate::operation::query::AnyVec;

/// The parts of a query, and the position in them.
pub(super) struct Reader {
    id: QueryId,
    parts: Vec<QueryPart>,
    /// The index of the first part that has rows left.
    at: usize,
    pub(super) mode: ReadMode,
    /// The cost since the last page was returned.
    pub(super) cost: QueryCost,
    /// The service's id of the last request.
    request_id: Option<String>,
}

/// The requests in flight.
pub(super) struct FetchWindow<F> {
    in_flight: FuturesUnordered<F>,
    slots: HashSet<Slot>,
}

impl<F> FetchWindow<F> {
    pub(super) fn new() -> Self {
        Self { in_flight: FuturesUnordered::new(), slots: HashSet::new() }
    }
}

impl Reader {
    pub(super) fn new(
        id: QueryId,
        dialect: Dialect,
        sources: &[Source],
        mode: ReadMode,
        start: Option<Continuation>,
    ) -> Result<Self, Error> {
        let requests = |source: usize| Some(sources.get(source)?.filters().len().max(1));
        let start = start.map(|start| start.of_query(id, requests)).transpose()?;
        let parts = QueryPart::of(dialect, sources);
        let cost = QueryCost::default();
        let mut reader = Self { id, parts, at: 0, mode, cost, request_id: None };
        if let Some(ReadPosition { source, after, positions }) = start {
            reader.at = reader.parts.partition_point(|part| !part.reaches(source));
            if let Some(part) = reader.parts.get_mut(reader.at) {
                part.after = after;
                part.resume(source, positions);
            }
            reader.leave_finished();
        }
        Ok(reader)
    }

    /// Whether a part is a row that is read by its keys.
    pub(super) fn has_points(&self) -> bool {
        let mut requests = self.parts.iter().flat_map(|part| &part.inputs);
        requests.any(|input| matches!(input.request, PageRequest::Point(_)))
    }

    pub(super) fn is_over(&self) -> bool {
        self.at >= self.parts.len()
    }

    /// Moves the rows of the next page to the end of `to`; `None` after the last part. Dropping the future loses no rows.
    pub(super) async fn next<F: Future<Output = Fetched>>(
        &mut self,
        window: &mut FetchWindow<F>,
        limits: PageLimits,
        to: &mut AnyVec,
        fetch: impl Fn(PageRead) -> F,
    ) -> Option<Result<PageHead, Error>> {
        if !self.mode.keeps_reading
            && let Some(QueryPart { kind: PartKind::Scan, inputs, .. }) =
                self.parts.get_mut(self.at)
        {
            for input in inputs {
                input.drop_longer(limits);
            }
        }
        loop {
            let ready = self.ready(limits);
            if ready.is_none() || self.mode.keeps_reading {
                for read in self.wanted(limits, &window.slots) {
                    window.slots.insert(read.slot);
                    window.in_flight.push(fetch(read));
                }
            }
            // A request that does not stay in flight is awaited with the others.
            if let Some(part) = ready
                && (self.mode.keeps_reading || window.slots.is_empty())
            {
                return Some(Ok(self.take_page(part, to, limits)));
            }
            let Some((slot, page)) = window.in_flight.next().await else {
                // Rows that are left must not look like the end.
                let is_over = self.is_over();
                debug_assert!(is_over, "a query with rows left sends a request");
                let stuck = || Error::unexpected_reply("the query has rows left and no request");
                return (!is_over).then(|| Err(stuck()));
            };
            window.slots.remove(&slot);
            if let Err(error) = self.add(slot, page) {
                return Some(Err(error));
            }
        }
    }

    /// The parts that have rows left, with their indexes.
    fn unfinished(&self) -> impl Iterator<Item = (usize, &QueryPart)> {
        self.parts.iter().enumerate().skip(self.at).filter(|(_, part)| !part.is_over())
    }

    /// Returns the part whose next page is buffered, and may be returned.
    fn ready(&self, limits: PageLimits) -> Option<usize> {
        let mut parts = self.unfinished().take(if self.mode.in_order { 1 } else { usize::MAX });
        parts.find(|(_, part)| part.is_ready(limits)).map(|(at, _)| at)
    }

    /// Returns the requests to send, in the order of the parts.
    fn wanted(&self, limits: PageLimits, in_flight: &HashSet<Slot>) -> Vec<PageRead> {
        let free = self.mode.requests.saturating_sub(in_flight.len());
        let (mut reads, mut usable) = (Vec::new(), limits.usable);
        for (at, part) in self.unfinished().take(self.mode.parts) {
            if usable == 0 || reads.len() >= free {
                break;
            }
            let most = limits.page_rows().min(usable);
            let (wanted, rows) = part.wanted(most, self.mode);
            let slots = wanted.into_iter().map(|input| Slot { part: at, input });
            let may_send = |slot: &Slot| {
                !in_flight.contains(slot)
                    && (self.is_due(at) || !part.inputs[slot.input].has_failed)
            };
            let slots = slots.filter(may_send).take(free - reads.len());
            reads.extend(slots.map(|slot| self.read_of(slot, limits)));
            usable = usable.saturating_sub(rows);
        }
        reads
    }

    fn read_of(&self, slot: Slot, limits: PageLimits) -> PageRead {
        let part = &self.parts[slot.part];
        let input = &part.inputs[slot.input];
        PageRead {
            slot,
            request: input.request.clone(),
            cursor: input.next.clone(),
            top: limits.top.filter(|_| part.kind != PartKind::Rows),
            has_keys: part.kind == PartKind::Merge,
        }
    }

    /// Whether no rows of other parts come before the page of a part.
    const fn is_due(&self, part: usize) -> bool {
        !self.mode.in_order || part == self.at
    }

    /// Buffers the page of a request. A request that failed ahead of its turn is sent again when it is its turn, after
    /// the rows before it.
    fn add(&mut self, slot: Slot, page: Result<FetchedPage, Error>) -> Result<(), Error> {
        let is_due = self.is_due(slot.part);
        let part = &mut self.parts[slot.part];
        let added = page.and_then(|page| {
            self.cost.add_page(&page.rows);
            self.request_id.clone_from(&page.rows.request_id);
            part.add(slot.input, page)
        });
        part.inputs[slot.input].has_failed = added.is_err();
        if is_due { added } else { Ok(()) }
    }

    /// Moves the rows of the buffered page of a part to the end of `to`, and this reader behind the page.
    fn take_page(&mut self, part: usize, to: &mut AnyVec, limits: PageLimits) -> PageHead {
        let (rows, own_id) = self.parts[part].take_page(to, limits);
        self.leave_finished();
        let (mut cost, last_id) = (std::mem::take(&mut self.cost), self.request_id.take());
        cost.rows = rows as u64;
        let (request_id, continuation) = (own_id.or(last_id), self.continuation());
        PageHead { continuation, request_id, cost }
    }

    fn leave_finished(&mut self) {
        while self.parts.get(self.at).is_some_and(QueryPart::is_over) {
            self.at += 1;
        }
    }

    /// Returns the position of the next page.
    fn continuation(&self) -> Option<Continuation> {
        let part = self.parts.get(self.at)?;
        let (source, positions) = part.position();
        Some(self.id.continuation(ReadPosition { source, after: part.after.clone(), positions }))
    }
}

#[cfg(test)]
mod tests;
