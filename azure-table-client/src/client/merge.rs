//! The rows of several requests in the order of their keys.

use std::cmp::Ordering;
use std::collections::VecDeque;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::pages::Page;
use super::results::QueryCost;
use super::source::{Part, Source};
use crate::entity::{EntityKey, Keyed, by_keys};
use crate::error::Error;
use crate::operation::continuation::{Continuation, Position, QueryId};

/// Requests that are sent at the same time.
const CONCURRENT: usize = 8;

/// The rows of several requests, each with its key.
pub(super) struct Merge<T> {
    parts: Vec<Merging<T>>,
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
    rows: VecDeque<(EntityKey, T)>,
}

impl<T> Merging<T> {
    fn is_wanting(&self) -> bool {
        self.rows.is_empty() && !self.part.is_over()
    }

    /// Where to go on for the rows that were not given out.
    fn position(&self) -> Position {
        if self.rows.is_empty() { self.part.next.clone() } else { self.page.clone() }
    }
}

impl<T> Merge<T> {
    pub(super) fn new(parts: impl Iterator<Item = Part>, after: Option<EntityKey>) -> Self {
        let parts =
            parts.map(|part| Merging { page: part.next.clone(), part, rows: VecDeque::new() });
        Self { parts: parts.collect(), after, cost: QueryCost::default(), request_id: None }
    }

    /// The next rows, `count` at most; `None` after the last one.
    pub(super) async fn next(
        &mut self,
        source: &Source<T>,
        count: usize,
        id: QueryId,
    ) -> Option<Result<Page<T>, Error>> {
        if self.parts.iter().all(|part| part.rows.is_empty() && part.part.is_over()) {
            return None;
        }
        // All must show their first row before it is known which one comes next.
        while self.parts.iter().any(Merging::is_wanting) {
            if let Err(error) = self.fill(source).await {
                return Some(Err(error));
            }
        }
        let mut entities = Vec::new();
        while entities.len() < count
            && !self.parts.iter().any(Merging::is_wanting)
            && let Some((key, entity)) = self.pop()
        {
            // Two requests may have the same row.
            if self.after.as_ref().is_none_or(|after| by_keys(after, &key).is_lt()) {
                self.after = Some(key);
                entities.push(entity);
            }
        }
        let is_over = self.parts.iter().all(|part| part.rows.is_empty() && part.part.is_over());
        let positions = self.parts.iter().map(Merging::position);
        let continuation = (!is_over).then(|| Continuation::new(id, self.after.clone(), positions));
        let mut cost = std::mem::take(&mut self.cost);
        cost.rows = entities.len() as u64;
        Some(Ok(Page { entities, continuation, request_id: self.request_id.take(), cost }))
    }

    /// Asks for a page of each request that has no rows at hand.
    async fn fill(&mut self, source: &Source<T>) -> Result<(), Error> {
        let reader = Keyed(&*source.reader);
        let wanting = self.parts.iter().enumerate().filter(|(_, part)| part.is_wanting());
        let wanting: Vec<(usize, &Part)> =
            wanting.map(|(at, Merging { part, .. })| (at, part)).collect();
        let mut wanting = wanting.into_iter();
        let mut sent = FuturesUnordered::new();
        let mut pages = Vec::new();
        loop {
            while sent.len() < CONCURRENT
                && let Some((at, part)) = wanting.next()
            {
                let fetch = source.fetch(&part.what, &reader, source.page_size, part.token());
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
            self.cost += QueryCost::of_page(page.values.len(), page.attempts);
            self.request_id = page.request_id;
            part.rows = page.values.into();
        }
        Ok(())
    }

    /// The row that comes first.
    fn pop(&mut self) -> Option<(EntityKey, T)> {
        let first = (0..self.parts.len()).filter(|at| !self.parts[*at].rows.is_empty()).min_by(
            |a, b| match (self.parts[*a].rows.front(), self.parts[*b].rows.front()) {
                (Some((a, _)), Some((b, _))) => by_keys(a, b),
                _ => Ordering::Equal,
            },
        )?;
        self.parts[first].rows.pop_front()
    }
}
