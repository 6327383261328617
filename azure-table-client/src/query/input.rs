//! One request of a query: its position, and the pages that were read and not returned yet.

use std::collections::VecDeque;
use std::vec;

use super::fetch::FetchedPage;
use super::limits::PageLimits;
use super::source::PageRequest;
use crate::entity::{EntityKey, by_keys};
use crate::error::Error;
use crate::operation::cursor::{Cursor, Position};

/// A request with its buffered pages.
pub(super) struct Input<T> {
    pub(super) request: PageRequest,
    /// The position after the buffered pages.
    pub(super) next: Cursor,
    pages: VecDeque<BufferedPage<T>>,
    /// The last row that was read, if keys are read.
    last: Option<EntityKey>,
    /// Whether the next page could not be read ahead.
    pub(super) has_failed: bool,
}

struct BufferedPage<T> {
    start: Position,
    top: Option<u32>,
    request_id: Option<String>,
    /// The keys of the rows, if they were requested.
    keys: vec::IntoIter<EntityKey>,
    values: vec::IntoIter<T>,
}

impl<T> Input<T> {
    pub(super) fn new(request: PageRequest) -> Self {
        let (next, pages) = (Cursor::start(), VecDeque::new());
        Self { request, next, pages, last: None, has_failed: false }
    }

    /// The number of buffered pages.
    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The number of buffered rows.
    pub(super) fn rows(&self) -> usize {
        self.pages.iter().map(|page| page.values.len()).sum()
    }

    /// Whether the next row, or the end, is not known.
    pub(super) fn needs_page(&self) -> bool {
        self.pages.is_empty() && !self.next.is_over()
    }

    /// Whether all rows were returned.
    pub(super) fn is_over(&self) -> bool {
        self.pages.is_empty() && self.next.is_over()
    }

    /// The start of the page with the first row that was not returned.
    pub(super) fn position(&self) -> Position {
        self.pages.front().map_or_else(|| self.next.position(), |page| page.start.clone())
    }

    /// Buffers a page. Rows with keys must be in order, and follow the rows before them: otherwise a row would be
    /// dropped as already returned.
    pub(super) fn add(&mut self, page: FetchedPage<T>, keeps_empty: bool) -> Result<(), Error> {
        let mut last = self.last.as_ref();
        for key in &page.keys {
            if last.is_some_and(|last| by_keys(last, key).is_ge()) {
                return Err(Error::unexpected_reply(
                    "the rows of several queries cannot be merged because the service returned them out \
                     of key order: request fewer values at once, or raise max_comparisons",
                ));
            }
            last = Some(key);
        }
        // A refused page changes nothing, since it may be requested again.
        if let Some(last) = page.keys.last() {
            self.last = Some(last.clone());
        }
        let FetchedPage { rows, keys, top } = page;
        let (start, request_id) = (self.next.position(), rows.request_id);
        self.next.advance(rows.next);
        if keeps_empty || !rows.values.is_empty() {
            let (keys, values) = (keys.into_iter(), rows.values.into_iter());
            self.pages.push_back(BufferedPage { start, top, request_id, keys, values });
        }
        Ok(())
    }

    /// Drops a page that was read ahead and has more rows than can be used now: its continuation would skip the others.
    pub(super) fn drop_longer(&mut self, limits: PageLimits) {
        let is_longer =
            |page: &BufferedPage<T>| page.values.len() > limits.usable && page.top != limits.top;
        if self.pages.front().is_some_and(is_longer) {
            self.next = Cursor::from(self.position());
            self.pages.clear();
        }
    }

    /// Removes the first page. Returns its rows, and the service's id of its request.
    pub(super) fn take_page(&mut self) -> Option<(Vec<T>, Option<String>)> {
        self.pages.pop_front().map(|page| (page.values.collect(), page.request_id))
    }

    /// The key of the first row.
    pub(super) fn first_key(&self) -> Option<&EntityKey> {
        self.pages.front()?.keys.as_slice().first()
    }

    /// Removes the first row.
    pub(super) fn take_row(&mut self) -> Option<(EntityKey, T)> {
        let page = self.pages.front_mut()?;
        let row = page.keys.next().zip(page.values.next());
        if page.values.len() == 0 {
            self.pages.pop_front();
        }
        row
    }
}
