//! The tracked entities of a context, and the transitions between their states. No I/O.
//!
//! Only this module changes a tracked entity: [`edit`] for calls of the program, [`sent`] for requests and
//! their outcomes, [`merge`] for rows of the service.

mod change;
mod edit;
mod merge;
mod open_changes;
mod sent;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::Dialect;
use crate::entity::{EntityKey, Ownership};
use crate::error::Error;
use crate::outcome::{MapEntity, Properties};
use crate::{ETag, IfMatch};

pub use change::EntityState;
pub(crate) use change::{Add, Change, Wire};
pub(crate) use edit::Values;
pub use merge::MergeOption;
pub(crate) use merge::ServerRow;
pub(crate) use open_changes::OpenChange;
pub(crate) use sent::Sending;

use change::Pending;
use open_changes::OpenChanges;

/// The identity of an entity: its table and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    table: String,
    key: EntityKey,
}

impl Identity {
    pub(crate) fn is_in_table_of(&self, other: &Self) -> bool {
        self.table == other.table
    }

    /// The table and the PartitionKey.
    pub(crate) fn partition(&self) -> (&str, &str) {
        (&self.table, &self.key.partition_key)
    }
}

/// The columns of the service's row that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    All,
    /// The columns of a projection.
    Some(BTreeSet<String>),
    /// The columns that were written: the entity was attached and never read.
    Written,
}

/// The last update of an entity.
#[derive(Debug, Clone)]
struct LastUpdate {
    /// The properties that its struct writes. Columns without a field are not among them.
    written: Arc<Properties>,
    ownership: Arc<Ownership>,
    /// Whether a projection had left columns out: the struct may hold defaults in their place.
    is_partial: bool,
}

/// A tracked entity.
#[derive(Debug, Clone)]
pub(crate) struct Tracked {
    /// The table, spelled as when the entity was first tracked.
    table: Arc<str>,
    key: EntityKey,
    pending: Pending,
    /// The position of the change among all changes.
    order: u64,
    /// The properties that the service holds, as far as they are known; `None` if the entity was never read or
    /// written.
    snapshot: Option<Arc<Properties>>,
    current: Arc<Properties>,
    /// The last update, for a save that replaces the entity.
    update: Option<LastUpdate>,
    known: Known,
    /// The columns of the projection by which the entity was read first, if others were read later: the program
    /// may still hold a struct with the first ones.
    first_known: Option<BTreeSet<String>>,
    /// `None` for an entity that will be inserted.
    condition: Option<IfMatch>,
    /// The entity was deleted and added again: the next update replaces it.
    replaces: bool,
    /// A property of the struct that an attached entity does not have. A merge cannot remove it.
    lacks: Option<String>,
    open: OpenChanges,
    /// The error of the last save.
    error: Option<Error>,
}

impl Tracked {
    pub(crate) const fn table(&self) -> &Arc<str> {
        &self.table
    }

    pub(crate) const fn key(&self) -> &EntityKey {
        &self.key
    }

    /// The properties with the local changes.
    pub(crate) fn current(&self) -> MapEntity<'_> {
        MapEntity::new(&self.key, &self.current)
    }

    /// The properties without the local changes.
    pub(crate) fn snapshot(&self) -> Option<MapEntity<'_>> {
        self.snapshot.as_deref().map(|snapshot| MapEntity::new(&self.key, snapshot))
    }

    pub(crate) const fn condition(&self) -> Option<&IfMatch> {
        self.condition.as_ref()
    }

    /// The ETag of the condition.
    pub(crate) const fn etag(&self) -> Option<&ETag> {
        match &self.condition {
            Some(IfMatch::Tag(etag)) => Some(etag),
            _ => None,
        }
    }

    pub(crate) const fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Whether the outcome of a change that was sent is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        !self.open.all().is_empty()
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.pending == Pending::Delete
    }

    /// Whether no change can be sent since the ETag of the row is not known.
    pub(crate) fn lacks_etag(&self) -> bool {
        self.condition.is_none() && !matches!(self.pending, Pending::Add(_))
    }

    /// Whether a projection left columns out.
    pub(crate) const fn is_partly_known(&self) -> bool {
        matches!(self.known, Known::Some(_))
    }

    /// Returns the names of the properties that differ from the snapshot.
    pub(crate) fn changed(&self) -> Vec<&str> {
        let Some(snapshot) = &self.snapshot else {
            return self.current.keys().map(String::as_str).collect();
        };
        let set = self.current.iter().filter(|(name, value)| snapshot.get(*name) != Some(value));
        let removed = snapshot.keys().filter(|name| !self.current.contains_key(*name));
        set.map(|(name, _)| name).chain(removed).map(String::as_str).collect()
    }

    /// Sets whether an update is pending, by comparing the properties with the snapshot.
    fn compare(&mut self) {
        let is_changed = self.replaces || self.snapshot.as_ref() != Some(&self.current);
        self.pending = if is_changed { Pending::Update } else { Pending::Nothing };
    }
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Tracker {
    /// Decides which names denote the same table.
    dialect: Dialect,
    /// The column with the ids of writes.
    write_id: Option<Arc<str>>,
    entities: HashMap<Identity, Tracked>,
    last_order: u64,
}

impl Tracker {
    pub(crate) fn new(dialect: Dialect, write_id: Option<Arc<str>>) -> Self {
        Self { dialect, write_id, ..Self::default() }
    }

    pub(crate) const fn has_write_id(&self) -> bool {
        self.write_id.is_some()
    }

    pub(crate) fn identity(&self, table: &str, key: &EntityKey) -> Identity {
        Identity { table: self.dialect.table_identity(table), key: key.clone() }
    }

    pub(crate) fn get(&self, id: &Identity) -> Option<&Tracked> {
        self.entities.get(id)
    }

    pub(crate) fn find(&self, table: &str, key: &EntityKey) -> Option<&Tracked> {
        self.get(&self.identity(table, key))
    }

    pub(crate) fn is_unknown(&self, id: &Identity) -> bool {
        self.get(id).is_some_and(Tracked::is_unknown)
    }

    /// Returns all entities in the order of their changes.
    pub(crate) fn in_order(&self) -> Vec<(&Identity, &Tracked)> {
        let mut all: Vec<_> = self.entities.iter().collect();
        all.sort_by_key(|(_, tracked)| tracked.order);
        all
    }

    pub(crate) fn has_changes(&self) -> bool {
        self.entities.values().any(|it| it.pending != Pending::Nothing || it.is_unknown())
    }

    pub(crate) fn forget(&mut self, id: &Identity) {
        self.entities.remove(id);
    }

    /// Forgets the entities for which `is_gone` holds, and returns their number.
    pub(crate) fn forget_where(&mut self, is_gone: impl Fn(&Tracked) -> bool) -> usize {
        let before = self.entities.len();
        self.entities.retain(|_, tracked| !is_gone(tracked));
        before - self.entities.len()
    }

    /// Drops the updates that a refresh made equal to the service's values.
    pub(crate) fn drop_equal_updates(&mut self) {
        for tracked in self.entities.values_mut() {
            if tracked.pending == Pending::Update {
                tracked.compare();
            }
        }
    }

    /// Whether an unknown change, which is still pending, keeps the changes of an atomic save from being sent together.
    pub(crate) fn has_unsendable_change(&self, replace_on_update: bool) -> bool {
        let mut entities = self.entities.values();
        entities.any(|it| it.is_unsendable(replace_on_update) && it.has_pending(replace_on_update))
    }

    /// Removes the open changes of an entity, none of which can arrive any more.
    pub(crate) fn close_all(&mut self, id: &Identity) {
        if let Some(tracked) = self.entities.get_mut(id) {
            tracked.open = OpenChanges::default();
        }
    }

    fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }

    /// Tracks an entity that was not tracked.
    fn track(
        &mut self,
        table: &Arc<str>,
        key: &EntityKey,
        pending: Pending,
        current: Arc<Properties>,
    ) -> &mut Tracked {
        let tracked = Tracked {
            table: Arc::clone(table),
            key: key.clone(),
            pending,
            order: self.next_order(),
            snapshot: None,
            current,
            update: None,
            known: Known::All,
            first_known: None,
            condition: None,
            replaces: false,
            lacks: None,
            open: OpenChanges::default(),
            error: None,
        };
        let id = self.identity(table, key);
        self.entities.entry(id).insert_entry(tracked).into_mut()
    }
}

pub(crate) fn refusal(key: &EntityKey, message: impl fmt::Display) -> Error {
    Error::invalid_input(format!("entity {key}: {message}")).of_entity(Some(key.clone()))
}
