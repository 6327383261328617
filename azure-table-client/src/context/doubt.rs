//! A request whose outcome is not known. No I/O.
//!
//! A request is recorded before it is sent and stays a doubt until its outcome is known, so that a save that is dropped loses
//! nothing. Until then its entities are in no other request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use uuid::Uuid;

use super::change::{Change, LastUpdate};
use crate::edm::EdmDateTime;
use crate::entity::EntityKey;
use crate::error::{Error, OpenWrite};
use crate::operation::{Confirmation, Request};
use crate::outcome::{Found, Properties};
use crate::{ETag, IfMatch};

/// The identity of an entity: its table and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(super) table: String,
    pub(super) key: EntityKey,
}

/// The number of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(pub(super) u64);

/// The change of one entity in a request.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(super) id: Identity,
    pub(super) table: Arc<str>,
    pub(super) key: EntityKey,
    /// The change as it is tracked.
    pub(super) change: Change,
    /// The change as it is sent, after the hook for writing.
    pub(super) wire: Change,
    pub(super) write_id: Option<Uuid>,
    /// The condition of an update or a delete.
    pub(super) condition: Option<IfMatch>,
    /// The properties that the tracked entity has once the change is applied; `None` for a delete. Those that were sent; or
    /// those of the program, if a hook for reading undoes what the hook for writing does.
    pub(super) kept: Option<Arc<Properties>>,
    pub(super) update: Option<Arc<LastUpdate>>,
    /// Its index in the report of the current save.
    pub(super) result: usize,
    /// Whether the program has detached the entity since.
    pub(super) is_released: bool,
}

/// A request whose outcome is not known.
#[derive(Debug, Clone)]
pub(crate) struct Doubt {
    pub(super) request: Arc<Request>,
    /// In the order of its operations.
    pub(super) members: Vec<Candidate>,
    pub(super) open: OpenWrite,
    /// A time, by the service's clock, before it was first sent.
    pub(super) since: Option<EdmDateTime>,
}

/// What a response, or the rows that were read back, say about a request.
#[derive(Debug, Clone)]
pub(super) enum Finding {
    /// `etags` are those in a response.
    Applied {
        confirmation: Confirmation,
        etags: Vec<Option<ETag>>,
        rows: HashMap<EntityKey, Found>,
    },
    NotApplied(Error),
    Unknown {
        error: Error,
        open: OpenWrite,
        since: Option<EdmDateTime>,
        evidence: Option<Evidence>,
    },
}

/// The rows that were read back, if they prove nothing.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) rows: HashMap<EntityKey, Found>,
    /// Whether the service would have refused each attempt before the rows were read.
    pub(super) is_expired: bool,
}

impl Candidate {
    /// Whether both write the same, and no id tells them apart.
    pub(super) fn is_same_write(&self, other: &Self) -> bool {
        self.write_id.is_none() && self.wire == other.wire && self.condition == other.condition
    }
}

impl Doubt {
    /// Extends the time in which it may arrive: it is sent at `first`, for the last time before `last`.
    pub(super) fn sent(&mut self, first: Instant, last: Instant) {
        self.open.first_sent.get_or_insert(first);
        self.open.last_sent = Some(last);
    }

    /// Takes over what is known about its attempts after a response, or after its rows were read.
    pub(super) fn examined(&mut self, open: OpenWrite, since: Option<EdmDateTime>) {
        // A success that cannot be read has no open attempt. It expires like the others.
        let last_sent = open.last_sent.or(self.open.last_sent);
        self.open = OpenWrite { last_sent, ..open };
        self.since = since.or(self.since);
    }

    /// Whether the service can refuse it: a row has another ETag by then, or exists.
    pub(super) fn is_guarded(&self) -> bool {
        self.members.iter().any(|it| it.change.is_insert())
            || self.request.writes.iter().any(|write| write.fence.is_some())
    }

    /// Whether the rows show that the service refuses it now.
    pub(super) fn is_refused_by(&self, rows: &HashMap<EntityKey, Found>) -> bool {
        self.members.iter().zip(&self.request.writes).any(|(member, write)| {
            let row = rows.get(&write.key);
            match &write.fence {
                Some(fence) => row.is_none_or(|row| row.etag != *fence),
                None => member.change.is_insert() && row.is_some(),
            }
        })
    }
}
