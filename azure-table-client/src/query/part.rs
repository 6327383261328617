//! A part of a query: rows that are read one by one, a scan, or several scans that are merged.

use std::ops::Range;

use super::fetch::FetchedPage;
use super::input::Input;
use super::limits::{PageLimits, ReadMode};
use super::merge::merge;
use super::source::{PageRequest, Source};
use crate::Dialect;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::limits::PAGE_ENTITIES;
use crate::operation::cursor::{PageCursor, Position};
use crate::operation::query::AnyVec;

/// Sources that are read together, with the rows that were read and not returned yet.
pub(super) struct QueryPart {
    pub(super) kind: PartKind,
    /// The index of the first source.
    first_source: usize,
    pub(super) inputs: Vec<Input>,
    /// The index of the first input that has rows left. The inputs of a scan or a merge end together.
    at: usize,
    /// The index of the first input that was not read to its end, if the inputs are rows.
    read: usize,
    /// The number of buffered rows before it.
    read_rows: usize,
    /// The last row of a merge that was returned. Another input may return it too.
    pub(super) after: Option<EntityKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// Sources of one row each, with an input each. A page has the rows of many.
    Rows,
    /// One input, whose pages are returned as they are.
    Scan,
    /// Inputs whose rows are merged by their keys.
    Merge,
}

impl QueryPart {
    /// Returns the parts of a query.
    pub(super) fn of(dialect: Dialect, sources: &[Source]) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for (first_source, source) in sources.iter().enumerate() {
            let input = |filter| Input::new(PageRequest::new(dialect, filter));
            let inputs = source.filters().iter().map(input);
            let (kind, inputs) = match (source, parts.last_mut()) {
                (Source::Row(_), Some(part)) if part.kind == PartKind::Rows => {
                    part.inputs.extend(inputs);
                    continue;
                }
                (Source::Row(_), _) => (PartKind::Rows, inputs.collect()),
                (Source::Merge(_), _) => (PartKind::Merge, inputs.collect()),
                (Source::Scan(None), _) => {
                    (PartKind::Scan, vec![Input::new(PageRequest::Scan(None))])
                }
                (Source::Scan(Some(_)), _) => (PartKind::Scan, inputs.collect()),
            };
            parts.push(Self {
                kind,
                first_source,
                inputs,
                at: 0,
                read: 0,
                read_rows: 0,
                after: None,
            });
        }
        parts
    }

    /// Whether all pages were returned.
    pub(super) fn is_over(&self) -> bool {
        self.at >= self.inputs.len()
    }

    /// The inputs of the next row.
    fn current(&self) -> Range<usize> {
        match self.kind {
            PartKind::Rows => self.at..self.at + 1,
            PartKind::Scan | PartKind::Merge => self.at..self.inputs.len(),
        }
    }

    /// Returns the index of the source of the next row, and the positions of its requests.
    pub(super) fn position(&self) -> (usize, Vec<Position>) {
        let positions = self.inputs[self.current()].iter().map(Input::position).collect();
        (self.first_source + self.at, positions)
    }

    /// Whether the rows of a source are in this part or in a later one.
    pub(super) fn reaches(&self, source: usize) -> bool {
        match self.kind {
            PartKind::Rows => source < self.first_source + self.inputs.len(),
            PartKind::Scan | PartKind::Merge => source <= self.first_source,
        }
    }

    /// Moves to the positions of the requests of a source.
    pub(super) fn resume(&mut self, source: usize, positions: Vec<Position>) {
        self.at = source - self.first_source;
        self.read = self.at;
        let current = self.current();
        for (input, position) in self.inputs[current].iter_mut().zip(positions) {
            input.next = PageCursor::from(position);
        }
        self.leave_finished();
    }

    /// Buffers the page of an input.
    pub(super) fn add(&mut self, input: usize, page: FetchedPage) -> Result<(), Error> {
        self.inputs[input].add(page, self.kind == PartKind::Scan)?;
        // A row is known once its request is over: the service may return empty pages before it.
        while self.kind == PartKind::Rows
            && let Some(input) = self.inputs.get(self.read)
            && input.next.is_over()
        {
            self.read_rows += input.rows();
            self.read += 1;
        }
        Ok(())
    }

    fn leave_finished(&mut self) {
        if self.inputs[self.current()].iter().all(Input::is_over) {
            self.at = self.current().end;
        }
    }

    /// The end of the inputs of rows that the next page may have.
    fn end_of_page(&self) -> usize {
        self.inputs.len().min(self.at + PAGE_ENTITIES as usize)
    }

    /// Moves the rows of the next page to the end of `to`, and returns their number.
    fn take_rows(&mut self, to: &mut AnyVec, limits: PageLimits) -> usize {
        let (mut count, end) = (0, self.end_of_page());
        while count < limits.page_rows() && self.at < self.read.min(end) {
            while let Some((rows, _)) = self.inputs[self.at].take_page(to, limits.usable - count) {
                count += rows;
            }
            self.at += 1;
        }
        self.read_rows = self.read_rows.saturating_sub(count);
        count
    }

    /// Whether the next page is buffered. The next row of a merge is known once each input has buffered a row.
    pub(super) fn is_ready(&self, limits: PageLimits) -> bool {
        match self.kind {
            PartKind::Rows => {
                self.read >= self.end_of_page() || self.read_rows >= limits.page_rows()
            }
            PartKind::Scan | PartKind::Merge => !self.inputs.iter().any(Input::needs_page),
        }
    }

    /// Returns the inputs to read, if up to `most` rows can be used, and the number of rows that are buffered or expected.
    pub(super) fn wanted(&self, most: usize, mode: ReadMode) -> (Vec<usize>, usize) {
        if self.kind != PartKind::Rows {
            let wants = |&at: &usize| {
                !self.inputs[at].next.is_over() && self.inputs[at].pages() < mode.pages
            };
            let rows: usize = self.inputs.iter().map(Input::rows).sum();
            return ((0..self.inputs.len()).filter(wants).collect(), rows.max(1));
        }
        let (mut wanted, mut count) = (Vec::new(), self.read_rows);
        for at in self.read..self.end_of_page() {
            if count >= most || wanted.len() >= mode.requests {
                break;
            }
            let input = &self.inputs[at];
            if input.next.is_over() {
                count += input.rows();
            } else {
                // A request for a row has at most one.
                wanted.push(at);
                count += 1;
            }
        }
        (wanted, count)
    }

    /// Moves the rows of the buffered page to the end of `to`, and this part behind the page. Returns their number, and the
    /// service's id of the request if it is the page of one request.
    pub(super) fn take_page(
        &mut self,
        to: &mut AnyVec,
        limits: PageLimits,
    ) -> (usize, Option<String>) {
        let page = match self.kind {
            PartKind::Rows => return (self.take_rows(to, limits), None),
            PartKind::Scan => self.inputs[0].take_page(to, limits.usable).unwrap_or_default(),
            PartKind::Merge => {
                (merge(&mut self.inputs, &mut self.after, to, limits.page_rows()), None)
            }
        };
        self.leave_finished();
        page
    }
}
