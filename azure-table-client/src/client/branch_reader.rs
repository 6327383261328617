//! Reads the branches of a query page by page.

use std::collections::VecDeque;

use futures_util::stream::{self, FuturesOrdered, StreamExt as _};

use super::branches::Branch;
use super::fetch::{CONCURRENT, PageFetcher, PageRequest, SubQuery};
use super::merge::Merge;
use super::page::{Page, Spent};
use crate::Dialect;
use crate::error::Error;
use crate::limits::PAGE_ENTITIES;
use crate::operation::continuation::{Continuation, Progress, QueryId};
use crate::operation::cursor::Cursor;
use crate::operation::page_token::PageToken;
use crate::operation::query::Rows;
use crate::pipeline::CallTrace;

/// The branches of a query, and the position in them.
pub(super) struct BranchReader<T> {
    id: QueryId,
    branches: Vec<BranchRequests>,
    /// The index of the branch that is read.
    at: usize,
    state: BranchState<T>,
    /// The first pages of the next branches whose first pages were not returned.
    ahead: VecDeque<Rows<T>>,
    concurrency: usize,
    /// Whether the first pages of later branches are read with the one of the current branch.
    pub(super) reads_ahead: bool,
    spent: Spent,
}

/// The requests of a branch.
enum BranchRequests {
    /// At most one row.
    Row(PageRequest),
    Query(PageRequest),
    /// Taken when the branch is read.
    Merged(Vec<PageRequest>),
}

/// The position in a branch.
enum BranchState<T> {
    One(Cursor<PageToken>),
    Merged(Merge<T>),
}

/// The limits of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLimits {
    /// `$top`.
    pub(super) top: Option<u32>,
    /// The number of rows left to take.
    pub(super) left: Option<u64>,
}

impl PageLimits {
    /// Returns the number of requests to send concurrently: no more than rows are left.
    fn concurrency(self, most: usize) -> usize {
        self.left.map_or(most, |left| most.min(usize::try_from(left).unwrap_or(most))).max(1)
    }
}

impl BranchRequests {
    fn new(dialect: Dialect, branch: Branch) -> Self {
        match branch {
            Branch::Table => Self::Query(PageRequest::Query(None)),
            Branch::Row(filter) => Self::Row(PageRequest::new(dialect, filter)),
            Branch::Query(filter) => Self::Query(PageRequest::new(dialect, filter)),
            Branch::Merged(filters) => {
                let requests = filters.into_iter().map(|filter| PageRequest::new(dialect, filter));
                Self::Merged(requests.collect())
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Row(_) | Self::Query(_) => 1,
            Self::Merged(requests) => requests.len(),
        }
    }

    const fn row(&self) -> Option<&PageRequest> {
        match self {
            Self::Row(request) => Some(request),
            _ => None,
        }
    }

    const fn query(&self) -> Option<&PageRequest> {
        match self {
            Self::Query(request) => Some(request),
            _ => None,
        }
    }
}

impl<T> BranchReader<T> {
    pub(super) fn new(
        id: QueryId,
        dialect: Dialect,
        branches: Vec<Branch>,
        concurrency: Option<usize>,
        start: Option<Continuation>,
    ) -> Result<Self, Error> {
        let branches = branches.into_iter().map(|branch| BranchRequests::new(dialect, branch));
        let branches: Vec<_> = branches.collect();
        let requests = |branch: usize| branches.get(branch).map(BranchRequests::len);
        let start = start.map(|start| start.of_query(id, requests)).transpose()?;
        let mut reader = Self {
            id,
            branches,
            at: 0,
            state: BranchState::One(Cursor::start()),
            ahead: VecDeque::new(),
            concurrency: concurrency.unwrap_or(CONCURRENT),
            reads_ahead: concurrency.is_some(),
            spent: Spent::default(),
        };
        reader.enter(start.as_ref().map_or(0, |start| start.branch));
        if let Some(Progress { after, mut positions, .. }) = start {
            match &mut reader.state {
                BranchState::One(cursor) => *cursor = Cursor::from(positions.swap_remove(0)),
                BranchState::Merged(merge) => merge.resume(positions, after),
            }
            reader.leave_finished();
        }
        Ok(reader)
    }

    /// Whether a branch reads a row by its keys.
    pub(super) fn has_points(&self) -> bool {
        let mut rows = self.branches.iter().filter_map(BranchRequests::row);
        rows.any(|row| matches!(row, PageRequest::Point(_)))
    }

    pub(super) fn is_over(&self) -> bool {
        self.at >= self.branches.len()
    }

    /// Moves to the first page of a branch.
    fn enter(&mut self, branch: usize) {
        self.at = branch;
        self.state = match self.branches.get_mut(branch) {
            Some(BranchRequests::Merged(requests)) => {
                let requests = std::mem::take(requests).into_iter();
                let queries = requests.map(|request| SubQuery { request, next: Cursor::start() });
                BranchState::Merged(Merge::new(queries))
            }
            _ => BranchState::One(Cursor::start()),
        };
    }

    /// Moves to the next branch if the current one has no more rows.
    fn leave_finished(&mut self) {
        let is_finished = match &self.state {
            BranchState::One(cursor) => cursor.is_over(),
            BranchState::Merged(merge) => merge.is_over(),
        };
        if is_finished {
            self.enter(self.at + 1);
        }
    }

    /// Returns the next page; `None` after the last branch. Dropping the future loses no rows.
    pub(super) async fn next(
        &mut self,
        fetcher: &PageFetcher<T>,
        limits: PageLimits,
        trace: &CallTrace<'_>,
    ) -> Option<Result<Page<T>, Error>> {
        if self.is_over() {
            return None;
        }
        Some(self.read_page(fetcher, limits, trace).await)
    }

    async fn read_page(
        &mut self,
        fetcher: &PageFetcher<T>,
        limits: PageLimits,
        trace: &CallTrace<'_>,
    ) -> Result<Page<T>, Error> {
        let entities = match &mut self.state {
            BranchState::Merged(merge) => {
                merge.next(fetcher, limits.top, trace, &mut self.spent).await?
            }
            BranchState::One(_) if self.branches[self.at].row().is_some() => {
                self.read_rows(fetcher, limits, trace).await?
            }
            BranchState::One(cursor) if cursor.token().is_some() => {
                self.read_next(fetcher, limits, trace).await?
            }
            BranchState::One(_) => self.read_first(fetcher, limits, trace).await?,
        };
        self.leave_finished();
        let Spent { mut cost, request_id } = std::mem::take(&mut self.spent);
        cost.rows = entities.len() as u64;
        Ok(Page { entities, continuation: self.continuation(), request_id, cost })
    }

    /// Returns the position of the next page.
    fn continuation(&self) -> Option<Continuation> {
        if self.is_over() {
            return None;
        }
        let (after, positions) = match &self.state {
            BranchState::One(cursor) => (None, vec![cursor.position()]),
            BranchState::Merged(merge) => merge.progress(),
        };
        Some(self.id.continuation(Progress { branch: self.at, after, positions }))
    }

    /// Reads the next branches of one row each as one page.
    async fn read_rows(
        &mut self,
        fetcher: &PageFetcher<T>,
        limits: PageLimits,
        trace: &CallTrace<'_>,
    ) -> Result<Vec<T>, Error> {
        let requests = self.branches[self.at..].iter().map_while(BranchRequests::row).fuse();
        let mut requests = requests.take(PAGE_ENTITIES as usize);
        let wanted = limits.top.unwrap_or(PAGE_ENTITIES) as usize;
        let (mut rows, mut read, mut spent) = (Vec::new(), 0, Spent::default());
        let mut in_flight = FuturesOrdered::new();
        loop {
            // Each request has at most one row, so no row is read in vain.
            while in_flight.len() < self.concurrency
                && rows.len() + in_flight.len() < wanted
                && let Some(request) = requests.next()
            {
                in_flight.push_back(read_row(fetcher, request, trace));
            }
            let Some(row) = in_flight.next().await else { break };
            let (row, cost) = row?;
            spent += cost;
            rows.extend(row);
            read += 1;
        }
        drop(in_flight);
        self.spent += spent;
        self.enter(self.at + read);
        Ok(rows)
    }

    /// Reads a later page of a query.
    async fn read_next(
        &mut self,
        fetcher: &PageFetcher<T>,
        limits: PageLimits,
        trace: &CallTrace<'_>,
    ) -> Result<Vec<T>, Error> {
        let (BranchRequests::Query(request), BranchState::One(cursor)) =
            (&self.branches[self.at], &self.state)
        else {
            return Ok(Vec::new());
        };
        let page = fetcher.fetch(request, &*fetcher.reader, limits.top, cursor, trace).await?;
        self.spent.add(&page);
        Ok(self.use_page(page))
    }

    /// Reads the first page of a query, and with it those of the queries after it; or uses the page that was read
    /// ahead.
    async fn read_first(
        &mut self,
        fetcher: &PageFetcher<T>,
        limits: PageLimits,
        trace: &CallTrace<'_>,
    ) -> Result<Vec<T>, Error> {
        // A page read ahead may have more rows than are left now. Its continuation would skip the others.
        let left = limits.left.unwrap_or(u64::MAX);
        if self.ahead.front().is_some_and(|page| page.values.len() as u64 > left) {
            self.ahead.clear();
        }
        if let Some(page) = self.ahead.pop_front() {
            return Ok(self.use_page(page));
        }
        let count = if self.reads_ahead { limits.concurrency(self.concurrency) } else { 1 };
        let queries = self.branches[self.at..].iter().map_while(BranchRequests::query).take(count);
        let (reader, start) = (&*fetcher.reader, Cursor::start());
        let mut reads = Vec::new();
        for query in queries {
            reads.push(fetcher.fetch(query, reader, limits.top, &start, trace));
        }
        let mut pages = stream::iter(reads).buffered(count).collect::<Vec<_>>().await.into_iter();
        let Some(first) = pages.next() else { return Ok(Vec::new()) };
        let first = first?;
        self.spent.add(&first);
        // A failed request is sent again when it is its turn, after the rows before it.
        for page in pages.map_while(Result::ok) {
            self.spent.add(&page);
            self.ahead.push_back(page);
        }
        Ok(self.use_page(first))
    }

    /// Moves behind a page, and returns its rows.
    fn use_page(&mut self, page: Rows<T>) -> Vec<T> {
        self.spent.request_id = page.request_id;
        if let BranchState::One(cursor) = &mut self.state {
            cursor.advance(page.next);
        }
        page.values
    }
}

/// Reads the row of a request. The service may return empty pages before it.
async fn read_row<T>(
    fetcher: &PageFetcher<T>,
    request: &PageRequest,
    trace: &CallTrace<'_>,
) -> Result<(Vec<T>, Spent), Error> {
    let (mut rows, mut spent, mut cursor) = (Vec::new(), Spent::default(), Cursor::start());
    while !cursor.is_over() {
        let page = fetcher.fetch(request, &*fetcher.reader, None, &cursor, trace).await?;
        spent.add(&page);
        cursor.advance(page.next);
        rows.extend(page.values);
    }
    Ok((rows, spent))
}
