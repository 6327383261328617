#![doc = include_str!("../docs/event_stream.md")]
//! # Safety argument
//!
//! Two conditions guard each transaction. The head row must have the ETag under which its version was read, so that
//! a stale attempt is refused. The insert of each event fails if its version exists. Either would suffice for
//! streams whose rows are intact. Both agree, because the rows are always written together: events beyond the head
//! row cannot exist, and the head row never goes back.
//!
//! An attempt is a transaction under one ETag of the head row. While the head row has that ETag, the attempt may
//! still be applied, and a second attempt under the same ETag cannot be applied as well. Once the head row has
//! another ETag, the attempt is dead: either its events follow directly after the version that it was based on, or
//! they never will. So before an attempt, the append searches its id in all events that are new since the last
//! search:
//!
//! | the search finds | meaning |
//! |---|---|
//! | the id | an earlier attempt was applied, by this call, another one, or another program; its versions are the result |
//! | a new end of the stream, no id | all attempts under earlier ends are dead; for `Version`, this is the conflict |
//! | the same end as before the failed attempt | the error of the attempt is returned; unless the service refused the only attempt for another reason than being busy, it may still arrive, and the outcome is unknown |
//! | nothing, because a read failed | unknown: [`Failed`][`Error::Failed`], also if this call has not sent a transaction |
//!
//! For `Expected::Version(v)`, the id can only be at `v + 1`: one row is searched, even if the stream has grown. For
//! `Expected::AtLeast(v)`, the search begins after `v`, at the cost of a page for each 1,000 events. A `v` that the
//! stream reached only after the first call with this id would hide its events: that is why a repetition has the
//! same `v`.
//!
//! No refusal is trusted without this search. A proxy that delivers a transaction twice may return the 412 or 503 of
//! one delivery, although the other one was applied.
//!
//! A reader needs no lock. Events never change, so pages that are read one after another are a prefix of the order,
//! and a version that is not the next one is [`InvalidRow`][`Error::InvalidRow`]. All reads use the primary: the
//! secondary of an account may lack the last events.
//!
//! A snapshot is replaced only under the ETag of a snapshot with an earlier version, so that a late request of a
//! slow program is refused.

mod rows;
mod search;
mod snapshot;

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use azure_table_client::entity::codec::as_json;
use azure_table_client::{
    Confirmation, ETag, EntityKey, ErrorKind, Proof, TableClient, TableEntity,
};
use futures_util::{Stream, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::{Error, backoff, delivery, input};
use rows::{EventRow, GapCheck, HeadRow};
use search::Search;
pub use snapshot::Loaded;

/// The number of events in one append: the head row is the 100th row of the transaction.
pub const MAX_EVENTS: usize = 99;

/// The number of attempts of an append, and of a snapshot, while other programs write first.
const ROUNDS: u32 = 32;

/// The version that a stream must have for an append.
///
/// A call that repeats an append repeats it with the same value, append id and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// Exactly this version: the events follow it directly. 0 is an empty stream.
    Version(u64),
    /// This version, or a later one: the events are added at the end.
    ///
    /// The append id is searched in the events after this version, so it must be a version that the stream had before
    /// the first call with this id. 0 searches the whole stream.
    AtLeast(u64),
}

impl Expected {
    const fn version(self) -> u64 {
        match self {
            Self::Version(version) | Self::AtLeast(version) => version,
        }
    }
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<E> {
    /// The position of the event in the stream, from 1.
    pub version: u64,
    /// The id of the append that wrote the event.
    pub append: Uuid,
    /// The event itself.
    pub data: E,
}

/// A stream of events in a partition of its own, in one order. See the [module](self).
///
/// The value remembers the end of the stream after its last append, which saves a read. Several values of one stream, in
/// one program or in several, do not disturb each other.
pub struct EventStream<E> {
    heads: TableClient<HeadRow>,
    events: TableClient<EventRow>,
    stream: String,
    /// The end of the stream as the last append of this value left it. Only a hint.
    known: Option<Head>,
    event: PhantomData<fn() -> E>,
}

/// The end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    version: u64,
    /// `None` before the first event.
    etag: Option<ETag>,
}

impl<E> Clone for EventStream<E> {
    fn clone(&self) -> Self {
        Self {
            heads: self.heads.clone(),
            events: self.events.clone(),
            stream: self.stream.clone(),
            known: self.known.clone(),
            event: PhantomData,
        }
    }
}

impl<E> fmt::Debug for EventStream<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl<E: Serialize + DeserializeOwned> EventStream<E> {
    /// Returns the stream whose PartitionKey is `stream`. Sends nothing; the first append creates the rows.
    ///
    /// # Errors
    /// The name of the table or the PartitionKey is invalid.
    pub fn new<T: TableEntity>(
        table: &TableClient<T>,
        stream: impl Into<String>,
    ) -> Result<Self, Error> {
        let stream = stream.into();
        input::check_row(table, &EntityKey::new(&*stream, rows::LAST_KEY))?;
        Ok(Self {
            heads: table.with_entity(),
            events: table.with_entity(),
            stream,
            known: None,
            event: PhantomData,
        })
    }

    /// Returns the version of the last event; 0 if the stream is empty. One request.
    ///
    /// # Errors
    /// The request failed.
    pub async fn version(&self) -> Result<u64, Error> {
        Ok(self.head().await?.version)
    }

    /// Adds 1 to [`MAX_EVENTS`] events in one transaction, and returns their versions.
    ///
    /// `id` names this append. A second call with the same arguments, by this program or by another one, finds the
    /// events of the first call and returns their versions instead of adding them again.
    ///
    /// # Errors
    /// - [`Error::WrongVersion`]: the stream has another version than `expected`, and no events of this append.
    /// - [`Error::InvalidInput`], before anything is sent: no events, too many, or one without JSON.
    /// - [`Error::Contended`]: other appends were faster, many times in a row.
    /// - [`Error::InvalidRow`]: an event is missing.
    /// - [`Error::Client`] and [`Error::Failed`]: a request failed. If the [outcome](Error::outcome) is unknown, call
    ///   again with the same arguments, until the result is `Ok`, a conflict or contended.
    pub async fn append(
        &mut self,
        expected: Expected,
        id: Uuid,
        events: &[E],
    ) -> Result<RangeInclusive<u64>, Error> {
        let texts = texts(events)?;
        let mut search = Search::new(expected, id, texts.len());
        // The attempt that failed. A delivery of it may have been applied, or may still be.
        let mut attempt: Option<(Option<ETag>, azure_table_client::Error)> = None;
        for round in 0.. {
            let found = match self.search(&mut search).await {
                // An attempt of this call, or of an earlier one with this id, may have been applied.
                Err(Error::Client { error }) if error.kind() != ErrorKind::InvalidInput => {
                    return Err(Error::unknown(error));
                }
                found => found?,
            };
            let head = match found {
                search::Found::Applied(versions) => return Ok(versions),
                search::Found::Free(head) => head,
            };
            if let Some((etag, error)) = attempt.take()
                && etag == head.etag
            {
                let is_open = !delivery::is_refused_for_good(&error);
                return Err(Error::from(error).unless_proved(is_open));
            }
            if round == ROUNDS {
                break;
            }
            backoff::pause(self.heads.clock(), round).await;
            match self.commit(&head, id, &texts).await {
                Ok(versions) => return Ok(versions),
                Err(Error::Client { error }) if delivery::was_sent(&error) => {
                    attempt = Some((head.etag, error));
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended {
            what: format!("append to stream {:?}", self.stream),
            rounds: ROUNDS,
        })
    }

    /// Reads the events after this version, in order. 0 reads the whole stream. A request for each page of up to 1,000
    /// events.
    ///
    /// The events are a prefix of the stream's order without gaps. Events that are appended while the stream is read may be
    /// included.
    ///
    /// # Errors
    /// [`Error::InvalidRow`]: an event is missing, or is not the JSON of an `E`.
    pub fn read(&self, after: u64) -> impl Stream<Item = Result<Event<E>, Error>> + Send + use<E> {
        let mut gaps = GapCheck::after(&self.stream, after);
        let first = rows::key(after.saturating_add(1));
        let query = self.events.query().partition(self.stream.clone());
        let query = query.filter(|e| e.row.ge(&first) & e.row.le(rows::LAST_KEY));
        query.primary_only().stream().map(move |row| gaps.next(row?)?.into_event())
    }

    async fn head(&self) -> Result<Head, Error> {
        let key = (self.stream.clone(), rows::HEAD);
        let row = self.heads.get_if_exists(key).primary_only().await?;
        Ok(row.map_or(Head { version: 0, etag: None }, |row| Head {
            version: row.version,
            etag: Some(row.etag.clone()),
        }))
    }

    /// Adds the events after `head`, if it is still the end of the stream.
    async fn commit(
        &mut self,
        head: &Head,
        id: Uuid,
        texts: &[String],
    ) -> Result<RangeInclusive<u64>, Error> {
        self.known = None;
        let (first, last) = rows::versions(head.version, texts.len())?;
        let row = HeadRow::new(&self.stream, last, id);
        let transaction = self.heads.transaction();
        let transaction = match &head.etag {
            Some(etag) => transaction.merge(&row, etag),
            None => transaction.insert(&row),
        };
        let mut transaction = transaction.with_entity::<EventRow>();
        for (version, text) in (first..).zip(texts) {
            transaction = transaction.insert(&EventRow::new(&self.stream, version, id, text));
        }
        // The head row has the id of this append, so a matching state is this append's.
        let committed = transaction.proof(Proof::MatchingUpdate).await?;
        if committed.confirmation == Confirmation::Response {
            let etag = committed.operations.first().and_then(|head| head.etag.clone());
            self.known = etag.map(|etag| Head { version: last, etag: Some(etag) });
        }
        Ok(first..=last)
    }
}

/// Returns the JSON of each event.
fn texts<E: Serialize + DeserializeOwned>(events: &[E]) -> Result<Vec<String>, Error> {
    if events.is_empty() || events.len() > MAX_EVENTS {
        let count = events.len();
        let problem = format!("cannot append {count} events: an append has 1 to {MAX_EVENTS}");
        return Err(Error::invalid_input(problem));
    }
    let text = |event| as_json::encode(event);
    let texts = events.iter().map(text).collect::<Result<_, _>>();
    texts.map_err(|error| Error::invalid_input(format!("cannot append an event: {error}")))
}
