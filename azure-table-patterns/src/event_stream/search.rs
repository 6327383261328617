//! The search for the events of an append that may have been applied before.

use std::ops::RangeInclusive;
use std::pin::pin;

use futures_util::TryStreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::rows::{self, GapCheck};
use super::{EventStream, Expected, Head};
use crate::Error;

/// An append, and how far the stream was searched for it.
#[derive(Debug)]
pub(super) struct Search {
    expected: Expected,
    id: Uuid,
    count: usize,
    /// No event after the expected version and up to this one is of this append.
    searched: u64,
}

impl Search {
    pub(super) const fn new(expected: Expected, id: Uuid, count: usize) -> Self {
        Self { expected, id, count, searched: expected.version() }
    }
}

/// The result of a search.
pub(super) enum Found {
    /// The append was applied; these are the versions of its events.
    Applied(RangeInclusive<u64>),
    /// The stream has this end and no event of the append. An attempt under an earlier end cannot be applied any more.
    Free(Head),
}

impl<E: Serialize + DeserializeOwned> EventStream<E> {
    /// Searches the events that are new since the last search.
    pub(super) async fn search(&mut self, search: &mut Search) -> Result<Found, Error> {
        let expected = search.expected.version();
        let known = self.known.take().filter(|head| head.version >= expected);
        let head = match known {
            Some(head) => head,
            None => self.head().await?,
        };
        // An exact append can only be directly after its version.
        let end = match search.expected {
            Expected::Version(_) => head.version.min(expected.saturating_add(1)),
            Expected::AtLeast(_) => head.version,
        };
        if search.searched < end {
            if let Some(first) = self.find(search.id, search.searched, end).await? {
                let (first, last) = rows::versions(first - 1, search.count)?;
                return Ok(Found::Applied(first..=last));
            }
            search.searched = end;
        }
        match search.expected {
            Expected::Version(version) if head.version == version => Ok(Found::Free(head)),
            Expected::AtLeast(version) if head.version >= version => Ok(Found::Free(head)),
            _ => Err(Error::WrongVersion {
                stream: self.stream.clone(),
                expected,
                version: head.version,
            }),
        }
    }

    /// Returns the version of the first event of the append `id` that is after `after` and not after `end`.
    async fn find(&self, id: Uuid, after: u64, end: u64) -> Result<Option<u64>, Error> {
        let mut gaps = GapCheck::after(&self.stream, after);
        let (first, last) = (rows::key(after + 1), rows::key(end));
        let query = self.events.query().partition(self.stream.clone());
        let query = query.filter(|e| e.row.ge(&first) & e.row.le(&last));
        let mut rows = pin!(query.select(|e| (e.row, e.append)).primary_only().stream());
        let mut version = after;
        while let Some((row, append)) = rows.try_next().await? {
            version = gaps.check(&row)?;
            if append == id {
                return Ok(Some(version));
            }
        }
        if version < end { Err(gaps.missing()) } else { Ok(None) }
    }
}
