//! Reads the branches of a query page by page.

use std::collections::VecDeque;

use futures_util::stream::{self, FuturesOrdered, StreamExt as _};

use super::branches::Branch;
use super::fetch::{CONCURRENT, PageFetcher, PageRequest, SubQuery};
use super::merge::Merge;
use super::page::{Page, Spent};
use crate::dialect::Dialect;
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
    One(PageRequest),
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
            Branch::Table => Self::One(PageRequest::Query(None)),
            Branch::Query(filter) => Self::One(PageRequest::new(dialect, filter)),
            Branch::Merged(filters) => {
                let requests = filters.into_iter().map(|filter| PageRequest::new(dialect, filter));
                Self::Merged(requests.collect())
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Merged(requests) => requests.len(),
        }
    }

    const fn point(&self) -> Option<&PageRequest> {
        match self {
            Self::One(request @ PageRequest::Point(_)) => Some(request),
            _ => None,
        }
    }

    const fn query(&self) -> Option<&PageRequest> {
        match self {
            Self::One(request @ PageRequest::Query(_)) => Some(request),
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
        self.branches.iter().any(|branch| branch.point().is_some())
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
            BranchState::One(_) if self.branches[self.at].point().is_some() => {
                self.read_points(fetcher, limits, trace).await?
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

    /// Reads the rows of the next points as one page.
    async fn read_points(
        &mut self,
        fetcher: &PageFetcher<T>,
        limits: PageLimits,
        trace: &CallTrace<'_>,
    ) -> Result<Vec<T>, Error> {
        let points = self.branches[self.at..].iter().map_while(BranchRequests::point).fuse();
        let mut points = points.take(PAGE_ENTITIES as usize);
        let wanted = limits.top.unwrap_or(PAGE_ENTITIES) as usize;
        let (mut rows, mut read, mut spent) = (Vec::new(), 0, Spent::default());
        let start = Cursor::start();
        let mut in_flight = FuturesOrdered::new();
        loop {
            // A point has at most one row, so no row is read in vain.
            while in_flight.len() < self.concurrency
                && rows.len() + in_flight.len() < wanted
                && let Some(point) = points.next()
            {
                in_flight.push_back(fetcher.fetch(point, &*fetcher.reader, None, &start, trace));
            }
            let Some(page) = in_flight.next().await else { break };
            let page = page?;
            spent.add(&page);
            rows.extend(page.values);
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
        let (BranchRequests::One(request), BranchState::One(cursor)) =
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
