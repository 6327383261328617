//! The rows of several requests in the order of their keys.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::page::{Page, QueryCost};
use super::source::{Part, Source};
use crate::entity::{EntityKey, Keyed, by_keys};
use crate::error::Error;
use crate::limits::PAGE_ENTITIES;
use crate::operation::continuation::{Continuation, Position, QueryId};
use crate::pipeline::CallTrace;

/// Requests that are sent at the same time.
const CONCURRENT: usize = 8;

/// The rows of several requests, each with its key.
pub(super) struct Merge<T> {
    parts: Vec<Merging<T>>,
    /// The first row of each request that has rows at hand.
    heads: BinaryHeap<Head<T>>,
    /// The last row that was given out. Another request may have it too.
    after: Option<EntityKey>,
    /// Of the requests whose rows are not given out yet.
    cost: QueryCost,
    request_id: Option<String>,
}

struct Merging<T> {
    part: Part,
    /// Where the page begins that the rows are of.
    page: Position,
    /// Behind the head.
    rows: VecDeque<(EntityKey, T)>,
    has_head: bool,
    /// The last row that was read.
    last: Option<EntityKey>,
}

/// A row that may come next. The greatest one is the first in key order.
struct Head<T> {
    key: EntityKey,
    value: T,
    part: usize,
}

impl<T> Ord for Head<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        by_keys(&other.key, &self.key).then(other.part.cmp(&self.part))
    }
}

impl<T> PartialOrd for Head<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Head<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Head<T> {}

impl<T> Merging<T> {
    const fn is_wanting(&self) -> bool {
        !self.has_head && !self.part.is_over()
    }

    /// Where to go on for the rows that were not given out.
    fn position(&self) -> Position {
        if self.has_head { self.page.clone() } else { self.part.next.clone() }
    }

    /// Takes the rows of a page. They must be in order, also with those before them: a row out of its
    /// place would pass for one that was given out.
    fn take(&mut self, rows: Vec<(EntityKey, T)>) -> Result<(), Error> {
        for (key, value) in rows {
            if self.last.as_ref().is_some_and(|last| by_keys(last, &key).is_ge()) {
                return Err(Error::unexpected_reply(
                    "the service's rows are not in the order of their keys, so that those of several \
                     queries cannot be merged: ask for fewer values at once, or raise max_comparisons",
                ));
            }
            self.last = Some(key.clone());
            self.rows.push_back((key, value));
        }
        Ok(())
    }
}

impl<T> Merge<T> {
    pub(super) fn new(parts: impl Iterator<Item = Part>, after: Option<EntityKey>) -> Self {
        let parts = parts.map(|part| Merging {
            page: part.next.clone(),
            part,
            rows: VecDeque::new(),
            has_head: false,
            last: None,
        });
        Self {
            parts: parts.collect(),
            heads: BinaryHeap::new(),
            after,
            cost: QueryCost::default(),
            request_id: None,
        }
    }

    /// The next rows, as many as `top` says at most; `None` after the last one.
    pub(super) async fn next(
        &mut self,
        source: &Source<T>,
        top: Option<u32>,
        id: QueryId,
        trace: &CallTrace<'_>,
    ) -> Option<Result<Page<T>, Error>> {
        if self.is_over() {
            return None;
        }
        // All must show their first row before it is known which one comes next.
        while self.parts.iter().any(Merging::is_wanting) {
            if let Err(error) = self.fill(source, top, trace).await {
                return Some(Err(error));
            }
        }
        let count = top.unwrap_or(PAGE_ENTITIES) as usize;
        let mut entities = Vec::new();
        while entities.len() < count
            && let Some(Head { key, value, part }) = self.heads.pop()
        {
            // Two requests may have the same row.
            if self.after.as_ref().is_none_or(|after| by_keys(after, &key).is_lt()) {
                self.after = Some(key);
                entities.push(value);
            }
            self.parts[part].has_head = false;
            self.lift(part);
            if self.parts[part].is_wanting() {
                break;
            }
        }
        let positions = self.parts.iter().map(Merging::position);
        let continuation =
            (!self.is_over()).then(|| Continuation::new(id, self.after.clone(), positions));
        let mut cost = std::mem::take(&mut self.cost);
        cost.rows = entities.len() as u64;
        Some(Ok(Page { entities, continuation, request_id: self.request_id.take(), cost }))
    }

    pub(super) fn is_over(&self) -> bool {
        self.parts.iter().all(|part| !part.has_head && part.part.is_over())
    }

    /// Puts the first row of a request among the heads.
    fn lift(&mut self, part: usize) {
        if let Some((key, value)) = self.parts[part].rows.pop_front() {
            self.parts[part].has_head = true;
            self.heads.push(Head { key, value, part });
        }
    }

    /// Asks for a page of each request that has no rows at hand.
    async fn fill(
        &mut self,
        source: &Source<T>,
        top: Option<u32>,
        trace: &CallTrace<'_>,
    ) -> Result<(), Error> {
        let reader = Keyed(&*source.reader);
        let wanting = self.parts.iter().enumerate().filter(|(_, part)| part.is_wanting());
        let wanting: Vec<(usize, &Part)> = wanting.map(|(at, part)| (at, &part.part)).collect();
        let mut wanting = wanting.into_iter();
        let mut sent = FuturesUnordered::new();
        let mut pages = Vec::new();
        loop {
            while sent.len() < CONCURRENT
                && let Some((at, part)) = wanting.next()
            {
                let fetch = source.fetch(&part.what, &reader, top, part.token(), trace);
                sent.push(async move { (at, fetch.await) });
            }
            let Some((at, rows)) = sent.next().await else { break };
            pages.push((at, rows?));
        }
        drop(sent);
        for (at, page) in pages {
            let part = &mut self.parts[at];
            let next = Position::from(page.next);
            part.page = std::mem::replace(&mut part.part.next, next);
            self.cost += QueryCost::of_page(page.values.len(), page.attempts, page.location);
            self.request_id = page.request_id;
            part.take(page.values)?;
            self.lift(at);
        }
        Ok(())
    }
}
