//! One request of a query: its position, and the pages that were read and not returned yet.

use std::collections::VecDeque;
use std::vec;

use super::fetch::FetchedPage;
use super::limits::PageLimits;
use super::source::PageRequest;
use crate::entity::{EntityKey, by_keys};
use crate::error::Error;
use crate::operation::cursor::{PageCursor, Position};
use crate::operation::query::{AnyVec, RowValues};

/// A request with its buffered pages.
pub(super) struct Input {
    pub(super) request: PageRequest,
    /// The position after the buffered pages.
    pub(super) next: PageCursor,
    pages: VecDeque<BufferedPage>,
    /// The last row that was read, if keys are read.
    last: Option<EntityKey>,
    /// Whether the next page could not be read ahead.
    pub(super) has_failed: bool,
}

struct BufferedPage {
    start: Position,
    top: Option<u32>,
    request_id: Option<String>,
    /// The keys of the rows, if they were requested.
    keys: vec::IntoIter<EntityKey>,
    values: Box<dyn RowValues>,
}

impl Input {
    pub(super) fn new(request: PageRequest) -> Self {
        let (next, pages) = (PageCursor::start(), VecDeque::new());
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
    pub(super) fn add(&mut self, page: FetchedPage, keeps_empty: bool) -> Result<(), Error> {
        let mut last = self.last.as_ref();
        for key in &page.rows.keys {
            if last.is_some_and(|last| by_keys(last, key).is_ge()) {
                return Err(Error::unexpected_reply(
                    "the rows of several queries cannot be merged because the service returned them out \
                     of key order: request fewer values at once, or raise max_comparisons",
                ));
            }
            last = Some(key);
        }
        // A refused page changes nothing, since it may be requested again.
        if let Some(last) = page.rows.keys.last() {
            self.last = Some(last.clone());
        }
        let FetchedPage { rows, top } = page;
        let (start, request_id) = (self.next.position(), rows.request_id);
        self.next.advance(rows.next);
        if keeps_empty || rows.values.len() > 0 {
            let (keys, values) = (rows.keys.into_iter(), rows.values);
            self.pages.push_back(BufferedPage { start, top, request_id, keys, values });
        }
        Ok(())
    }

    /// Drops a page that was read ahead and has more rows than can be used now: its continuation would skip the others.
    pub(super) fn drop_longer(&mut self, limits: PageLimits) {
        let is_longer =
            |page: &BufferedPage| page.values.len() > limits.usable && page.top != limits.top;
        if self.pages.front().is_some_and(is_longer) {
            self.next = PageCursor::from(self.position());
            self.pages.clear();
        }
    }

    /// Removes the first page, and moves up to `most` of its rows to the end of `to`: a server may return more rows than
    /// requested. Returns their number, and the service's id of the request.
    pub(super) fn take_page(
        &mut self,
        to: &mut AnyVec,
        most: usize,
    ) -> Option<(usize, Option<String>)> {
        let mut page = self.pages.pop_front()?;
        let count = most.min(page.values.len());
        page.values.move_to(to, count);
        Some((count, page.request_id))
    }

    /// The key of the first row.
    pub(super) fn first_key(&self) -> Option<&EntityKey> {
        self.pages.front()?.keys.as_slice().first()
    }

    /// Removes the first row. If it comes after `after`, the last row that was returned, it is moved to the end of `to`,
    /// and the result is `true`.
    pub(super) fn take_row(&mut self, to: &mut AnyVec, after: &mut Option<EntityKey>) -> bool {
        let Some(page) = self.pages.front_mut() else { return false };
        let Some(key) = page.keys.next() else { return false };
        let is_next = after.as_ref().is_none_or(|after| by_keys(after, &key).is_lt());
        if is_next {
            page.values.move_to(to, 1);
            *after = Some(key);
        } else {
            page.values.drop_first();
        }
        if page.values.len() == 0 {
            self.pages.pop_front();
        }
        is_next
    }
}
