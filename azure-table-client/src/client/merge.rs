//! Merges the rows of several queries in key order.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::fetch::{CONCURRENT, PageFetcher, SubQuery};
use super::page::Spent;
use crate::entity::{EntityKey, Keyed, by_keys};
use crate::error::Error;
use crate::limits::PAGE_ENTITIES;
use crate::operation::continuation::Position;
use crate::operation::cursor::Cursor;
use crate::pipeline::CallTrace;

/// The rows of several queries, merged by their keys.
pub(super) struct Merge<T> {
    inputs: Vec<Input<T>>,
    /// The first buffered row of each query that has one.
    heads: BinaryHeap<Head<T>>,
    /// The last row that was returned. Another query may return it too.
    after: Option<EntityKey>,
}

/// A query with its buffered rows.
struct Input<T> {
    query: SubQuery,
    /// The start of the page that is buffered.
    page: Position,
    /// The buffered rows after the head.
    rows: VecDeque<(EntityKey, T)>,
    has_head: bool,
    /// The last row that was read.
    last: Option<EntityKey>,
}

/// The first buffered row of a query. The first one in key order is the greatest, for the heap.
struct Head<T> {
    key: EntityKey,
    value: T,
    input: usize,
}

impl<T> Ord for Head<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        by_keys(&other.key, &self.key).then(other.input.cmp(&self.input))
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

impl<T> Input<T> {
    const fn needs_page(&self) -> bool {
        !self.has_head && !self.query.next.is_over()
    }

    /// The start of the page with the first row that was not returned.
    fn position(&self) -> Position {
        if self.has_head { self.page.clone() } else { self.query.next.position() }
    }

    /// Buffers the rows of a page. They must be in order, and follow the rows before them: otherwise a row
    /// would be dropped as already returned.
    fn buffer(&mut self, rows: Vec<(EntityKey, T)>) -> Result<(), Error> {
        for (key, value) in rows {
            if self.last.as_ref().is_some_and(|last| by_keys(last, &key).is_ge()) {
                return Err(Error::unexpected_reply(
                    "the rows of several queries cannot be merged because the service returned them out \
                     of key order: request fewer values at once, or raise max_comparisons",
                ));
            }
            self.last = Some(key.clone());
            self.rows.push_back((key, value));
        }
        Ok(())
    }
}

impl<T> Merge<T> {
    pub(super) fn new(queries: impl Iterator<Item = SubQuery>) -> Self {
        let inputs = queries.map(|query| Input {
            page: query.next.position(),
            query,
            rows: VecDeque::new(),
            has_head: false,
            last: None,
        });
        Self { inputs: inputs.collect(), heads: BinaryHeap::new(), after: None }
    }

    /// Continues at these positions, after the last row that was returned.
    pub(super) fn resume(&mut self, positions: Vec<Position>, after: Option<EntityKey>) {
        for (input, position) in self.inputs.iter_mut().zip(positions) {
            input.page = position.clone();
            input.query.next = Cursor::from(position);
        }
        self.after = after;
    }

    /// Returns the last row that was returned, and the positions to continue at.
    pub(super) fn progress(&self) -> (Option<EntityKey>, Vec<Position>) {
        (self.after.clone(), self.inputs.iter().map(Input::position).collect())
    }

    /// Returns the next rows, at most `top`.
    pub(super) async fn next(
        &mut self,
        fetcher: &PageFetcher<T>,
        top: Option<u32>,
        trace: &CallTrace<'_>,
        spent: &mut Spent,
    ) -> Result<Vec<T>, Error> {
        // The next row is known once each query has buffered its first row.
        while self.inputs.iter().any(Input::needs_page) {
            self.fill(fetcher, top, trace, spent).await?;
        }
        let count = top.unwrap_or(PAGE_ENTITIES) as usize;
        let mut entities = Vec::new();
        while entities.len() < count
            && let Some(Head { key, value, input }) = self.heads.pop()
        {
            // Several queries may return the same row.
            if self.after.as_ref().is_none_or(|after| by_keys(after, &key).is_lt()) {
                self.after = Some(key);
                entities.push(value);
            }
            self.inputs[input].has_head = false;
            self.push_head(input);
            if self.inputs[input].needs_page() {
                break;
            }
        }
        Ok(entities)
    }

    pub(super) fn is_over(&self) -> bool {
        self.inputs.iter().all(|input| !input.has_head && input.query.next.is_over())
    }

    /// Moves the first buffered row of a query to the heads.
    fn push_head(&mut self, input: usize) {
        if let Some((key, value)) = self.inputs[input].rows.pop_front() {
            self.inputs[input].has_head = true;
            self.heads.push(Head { key, value, input });
        }
    }

    /// Reads a page of each query that has no buffered rows.
    async fn fill(
        &mut self,
        fetcher: &PageFetcher<T>,
        top: Option<u32>,
        trace: &CallTrace<'_>,
        spent: &mut Spent,
    ) -> Result<(), Error> {
        let reader = Keyed(&*fetcher.reader);
        let mut requests = Vec::new();
        for (at, input) in self.inputs.iter().enumerate() {
            if input.needs_page() {
                let query = &input.query;
                let fetch = fetcher.fetch(&query.request, &reader, top, &query.next, trace);
                requests.push(async move { fetch.await.map(|rows| (at, rows)) });
            }
        }
        let pages: Vec<_> =
            stream::iter(requests).buffer_unordered(CONCURRENT).try_collect().await?;
        for (at, page) in pages {
            spent.add(&page);
            let input = &mut self.inputs[at];
            input.page = input.query.next.position();
            input.query.next.advance(page.next);
            input.buffer(page.values)?;
            self.push_head(at);
        }
        Ok(())
    }
}
