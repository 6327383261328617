//! A page of rows while a query fills it.

use std::ops::{ControlFlow, Range};

use super::evaluate::{ColumnCells, Matcher};
use super::scan::columns;
use crate::payload::{Payload, PayloadItem};
use crate::room::Room;
use crate::row::StoredKey;
use crate::step::Work;
use crate::store::{RowChunk, StoredEntity};

/// The largest body of a page with more than one row.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// More than the usual number of bytes of a row in a body beside its stored properties: keys, Timestamp, ETag and
/// annotations.
const MEMBERS_BYTES: usize = 384;

/// The unit in which a page requests room from its host.
const ROOM_STEP: usize = 16 * 1024;

pub(super) struct PageBuilder<'p> {
    payload: &'p Payload<'p>,
    matcher: Option<&'p Matcher<'p>>,
    /// The largest number of rows.
    top: usize,
    work: Work,
    room: Room<'p>,
    /// The bytes for which the host has room.
    granted: usize,
    pub(super) body: Vec<u8>,
    pub(super) found: usize,
    pub(super) scanned: usize,
    /// The first row of the next page.
    pub(super) next: Option<StoredKey>,
    /// The offset and the key of each row, if the fault plan may end the page there.
    pub(super) rows: Option<Vec<(usize, StoredKey)>>,
}

impl<'p> PageBuilder<'p> {
    pub(super) fn new(
        payload: &'p Payload<'p>,
        matcher: Option<&'p Matcher<'p>>,
        top: usize,
        room: Room<'p>,
        keeps_rows: bool,
    ) -> Self {
        let mut body = Vec::with_capacity(1024);
        payload.open_page(&mut body);
        Self {
            payload,
            matcher,
            top,
            work: Work::default(),
            room,
            granted: 0,
            body,
            found: 0,
            scanned: 0,
            next: None,
            rows: keeps_rows.then(Vec::new),
        }
    }

    /// Adds the rows of a range in a chunk that match. Breaks if the page is full.
    pub(super) async fn add(
        &mut self,
        partition_key: &str,
        chunk: &RowChunk,
        range: Range<usize>,
    ) -> ControlFlow<()> {
        let rows = chunk.rows();
        let (Some(first), Some(last)) = (rows.get(range.start), rows[..range.end].last()) else {
            return ControlFlow::Continue(());
        };
        if self.is_full() {
            return self.end_before(partition_key, first);
        }
        if let Some(matcher) = self.matcher {
            self.wait_for(matcher.cost()).await;
        }
        let for_all = |matcher: &Matcher<'_>| matcher.for_all(partition_key, (first, last));
        match self.matcher.map_or(Some(true), for_all) {
            Some(true) => {
                self.reserve(&rows[range.clone()], range.end == rows.len());
                self.add_matching(partition_key, chunk, range, None).await
            }
            Some(false) => {
                self.scanned += range.len();
                ControlFlow::Continue(())
            }
            None => self.add_matching(partition_key, chunk, range, self.matcher).await,
        }
    }

    /// Allocates the body at once if all rows match, since a body of many rows is copied each time it grows.
    fn reserve(&mut self, rows: &[StoredEntity], has_more: bool) {
        if self.found > 0 {
            return;
        }
        let expected = if has_more { self.top } else { self.top.min(rows.len()) };
        let of_row = |row: &StoredEntity| MEMBERS_BYTES + row.properties().text().len();
        let bytes = expected.saturating_mul(rows.first().map_or(0, of_row)).min(MAX_PAGE_BYTES);
        if self.grow(bytes) {
            self.body.reserve(bytes);
        }
    }

    /// Returns `true` if the host has room for a body of this size.
    fn grow(&mut self, bytes: usize) -> bool {
        let needed = bytes.max(self.body.capacity());
        if needed > self.granted {
            let bytes = needed.next_multiple_of(ROOM_STEP);
            if !self.room.has(bytes) {
                return false;
            }
            self.granted = bytes;
        }
        true
    }

    async fn add_matching(
        &mut self,
        partition_key: &str,
        chunk: &RowChunk,
        range: Range<usize>,
        matcher: Option<&Matcher<'_>>,
    ) -> ControlFlow<()> {
        let mut compared = range.clone();
        let columns = match matcher {
            Some(matcher) => columns(chunk, &mut compared, matcher, &mut self.work).await,
            None => ColumnCells::default(),
        };
        let cost = matcher.map_or(1, Matcher::cost);
        for at in range {
            let row = &chunk.rows()[at];
            if self.is_full() || at == compared.end {
                return self.end_before(partition_key, row);
            }
            self.scanned += 1;
            self.wait_for(cost).await;
            let cells = (&columns, at - columns.first);
            if matcher.is_none_or(|matcher| matcher.matches(partition_key, row, cells)) {
                self.push(partition_key, row)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn push(&mut self, partition_key: &str, row: &StoredEntity) -> ControlFlow<()> {
        let offset = self.body.len();
        let has_room = self.grow(offset + MEMBERS_BYTES + row.properties().text().len());
        if !has_room && self.found > 0 {
            return self.end_before(partition_key, row);
        }
        if let Some(rows) = &mut self.rows {
            rows.push((offset, StoredKey::new(partition_key, row.row_key())));
        }
        self.payload.push(&mut self.body, PayloadItem::Entity(partition_key, row), self.found == 0);
        if self.body.len() > MAX_PAGE_BYTES && self.found > 0 {
            self.body.truncate(offset);
            return self.end_before(partition_key, row);
        }
        self.found += 1;
        self.work.add(Work::of_bytes(self.body.len() - offset));
        ControlFlow::Continue(())
    }

    /// Returns `true` if the next page must begin. Every page scans some rows.
    fn is_full(&self) -> bool {
        self.found == self.top || (self.scanned > 0 && self.work.fills_page())
    }

    async fn wait_for(&mut self, cost: usize) {
        self.work.add(cost);
        self.work.step().await;
    }

    fn end_before(&mut self, partition_key: &str, row: &StoredEntity) -> ControlFlow<()> {
        // No source shows a continuation token with `$top=0`.
        self.next = (self.top > 0).then(|| StoredKey::new(partition_key, row.row_key()));
        ControlFlow::Break(())
    }
}
