//! Snapshots: the state after the events up to a version.

use azure_table_client::Stored;
use azure_table_client::entity::codec::as_json;
use futures_util::TryStreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rows::{self, SnapshotRow};
use super::{Event, EventStream, ROUNDS};
use crate::{Error, backoff, delivery};

/// The state of a program after the events of a stream up to a version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded<S> {
    /// The state.
    pub state: S,
    /// The version of the last event in the state.
    pub version: u64,
    /// The stream of the events.
    stream: String,
}

impl<E: Serialize + DeserializeOwned> EventStream<E> {
    /// Loads the state of the stream: the snapshot, or `S::default()`, and then each event after it by `apply`. One request
    /// for the snapshot, and one for each page of events.
    ///
    /// A stream has one snapshot: use one `S` and one `apply` for all loads of it.
    ///
    /// # Errors
    /// A request failed, or [`Error::InvalidRow`]: an event is missing, or a row is not the JSON of an `E` or an `S`.
    pub async fn load<S>(&self, mut apply: impl FnMut(&mut S, Event<E>)) -> Result<Loaded<S>, Error>
    where
        S: Default + Serialize + DeserializeOwned,
    {
        let stream = self.stream.clone();
        let mut loaded = match self.snapshot().await? {
            None => Loaded { state: S::default(), version: 0, stream },
            Some(row) => {
                let row = row.into_inner();
                let state = as_json::decode(row.state).map_err(|error| {
                    rows::invalid_row(&self.stream, rows::SNAPSHOT, error.to_string())
                })?;
                Loaded { state, version: row.version, stream }
            }
        };
        let mut events = std::pin::pin!(self.read(loaded.version));
        while let Some(event) = events.try_next().await? {
            loaded.version = event.version;
            apply(&mut loaded.state, event);
        }
        Ok(loaded)
    }

    /// Stores the state as the snapshot of the stream, unless a snapshot of this version or a later one is stored. Two
    /// requests. The state is JSON of at most 64 KiB in UTF-16.
    ///
    /// # Errors
    /// - [`Error::InvalidInput`], before anything is sent: the state has no JSON, or is of another stream.
    /// - [`Error::Client`] and [`Error::Failed`]: a request failed. The stream is complete without the snapshot.
    /// - [`Error::Contended`]: other programs stored snapshots of earlier versions, many times in a row.
    pub async fn save_snapshot<S>(&self, loaded: &Loaded<S>) -> Result<(), Error>
    where
        S: Serialize + DeserializeOwned,
    {
        if loaded.stream != self.stream {
            let (from, to) = (&loaded.stream, &self.stream);
            let problem =
                format!("cannot store a state of stream {from:?} as a snapshot of {to:?}");
            return Err(Error::invalid_input(problem));
        }
        let state = as_json::encode(&loaded.state)
            .map_err(|error| Error::invalid_input(format!("cannot store a snapshot: {error}")))?;
        let row = SnapshotRow::new(&self.stream, loaded.version, state);
        let snapshots = self.events.with_entity::<SnapshotRow>();
        for round in 0.. {
            let stored = match self.snapshot().await {
                // The snapshot of an earlier round may have been applied.
                Err(Error::Client { error }) if round > 0 => return Err(Error::unknown(error)),
                stored => stored?,
            };
            let written = match stored {
                Some(stored) if stored.version >= loaded.version => return Ok(()),
                _ if round == ROUNDS => break,
                Some(stored) => snapshots.replace(&row, &stored.etag).await,
                None => snapshots.insert(&row).await,
            };
            match written {
                Ok(_) => return Ok(()),
                // The next round reads the snapshot that is stored instead, or this one.
                Err(error) if error.is_conflict() || error.is_precondition_failed() => {}
                Err(error) => {
                    let is_open = !delivery::is_refused_for_good(&error);
                    return Err(Error::from(error).unless_proved(is_open));
                }
            }
            backoff::pause(self.events.clock(), round + 1).await;
        }
        Err(Error::Contended {
            what: format!("snapshot of stream {:?}", self.stream),
            rounds: ROUNDS,
        })
    }

    async fn snapshot(&self) -> Result<Option<Stored<SnapshotRow>>, Error> {
        let key = (self.stream.clone(), rows::SNAPSHOT);
        let snapshots = self.events.with_entity::<SnapshotRow>();
        Ok(snapshots.get_if_exists(key).primary_only().await?)
    }
}
