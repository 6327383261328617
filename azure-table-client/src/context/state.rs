//! What is known of each entity, and how calls change it. No I/O.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::entity::{EntityKey, Ownership};
use crate::error::Error;
use crate::etag::{ETag, IfMatch};

use super::attempts::OpenAttempt;
pub(super) use crate::outcome::Properties;

/// What a context has to do about an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntityState {
    /// It is to be inserted.
    Added,
    /// There is nothing to do.
    Unchanged,
    /// It is to be updated.
    Modified,
    /// It is to be deleted.
    Deleted,
    /// A change was sent, and its outcome is not known. The next save sends it again, and finds out.
    Unknown,
}

impl fmt::Display for EntityState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Unchanged => "unchanged",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
        })
    }
}

/// What an entity is told from others by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    table: String,
    key: EntityKey,
}

impl Identity {
    pub(super) fn new(dialect: Dialect, table: &str, key: &EntityKey) -> Self {
        Self { table: dialect.table_identity(table), key: key.clone() }
    }

    pub(super) fn is_in_table_of(&self, other: &Self) -> bool {
        self.table == other.table
    }

    /// The table and the PartitionKey.
    pub(super) fn partition(&self) -> (&str, &str) {
        (&self.table, &self.key.partition_key)
    }
}

/// How an entity that was added is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Add {
    Insert,
    InsertOrMerge,
    InsertOrReplace,
}

/// Which columns of the service's row are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    All,
    /// Those of a projection.
    Some(BTreeSet<String>),
    /// Those that were written: the entity was attached and never read.
    Written,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Nothing,
    Add(Add),
    Update,
    Delete,
}

/// A change as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    Add(Add, Properties),
    Merge(Properties),
    Put(Properties),
    Delete,
}

/// A tracked entity.
#[derive(Debug, Clone)]
pub(super) struct Tracked {
    /// As it was first named.
    pub(super) table: Arc<str>,
    pub(super) key: EntityKey,
    pub(super) pending: Pending,
    /// When the change was made, among all.
    pub(super) order: u64,
    /// What the service holds, as far as it is known; `None` for what was never read or written.
    pub(super) snapshot: Option<Properties>,
    pub(super) current: Properties,
    pub(super) known: Known,
    /// The columns of the projection by which it was read first, if others came later: a struct of then
    /// may still be about.
    pub(super) first_known: Option<BTreeSet<String>>,
    /// `None` for what is to be inserted.
    pub(super) condition: Option<IfMatch>,
    /// It was deleted and added again: it is to be replaced as a whole.
    pub(super) replaces: bool,
    /// A property of the struct that an attached entity does not have. A merge cannot remove it.
    pub(super) lacks: Option<String>,
    /// Whether the outcome of the last change that was sent is not known.
    pub(super) is_unknown: bool,
    /// The same before the attempt that is in flight.
    pub(super) was_unknown: bool,
    /// The attempts that may have been applied, or may still be, in their order.
    pub(super) attempts: Vec<OpenAttempt>,
    /// Why the last save of it failed.
    pub(super) error: Option<Error>,
}

/// The values of an entity as a struct has them.
pub(super) struct Values {
    pub(super) key: EntityKey,
    pub(super) properties: Properties,
    pub(super) ownership: Ownership,
    /// What the struct writes for the values that are tracked, without any change; empty if it cannot
    /// hold them.
    pub(super) baseline: Properties,
    /// The same for the columns that were read first, if others came later.
    pub(super) first_baseline: Option<Properties>,
    /// A column of the struct that has no value.
    pub(super) lacks: Option<String>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Tracker {
    /// Which names are of one table.
    dialect: Dialect,
    /// The column with the ids of writes.
    pub(super) write_id: Option<Arc<str>>,
    pub(super) entities: HashMap<Identity, Tracked>,
    last_order: u64,
}

pub(super) fn refusal(key: &EntityKey, message: impl fmt::Display) -> Error {
    Error::invalid_input(format!("entity {key}: {message}")).with_batch(None, Some(key.clone()))
}

impl Tracked {
    pub(super) fn state(&self) -> EntityState {
        match self.pending {
            _ if self.is_unknown => EntityState::Unknown,
            Pending::Nothing => EntityState::Unchanged,
            Pending::Add(_) => EntityState::Added,
            Pending::Update => EntityState::Modified,
            Pending::Delete => EntityState::Deleted,
        }
    }

    /// Whether the outcome of a change is not known, and there is nothing that can be sent to find out.
    pub(super) fn is_unsendable(&self) -> bool {
        self.is_unknown
            && match self.pending {
                Pending::Nothing => true,
                Pending::Delete => self.condition.is_none(),
                Pending::Add(_) | Pending::Update => false,
            }
    }

    /// The names of the properties that differ from what the service holds.
    pub(super) fn changed(&self) -> Vec<&str> {
        let Some(snapshot) = &self.snapshot else {
            return self.current.keys().map(String::as_str).collect();
        };
        let set = self.current.iter().filter(|(name, value)| snapshot.get(*name) != Some(value));
        let removed = snapshot.keys().filter(|name| !self.current.contains_key(*name));
        set.map(|(name, _)| name).chain(removed).map(String::as_str).collect()
    }

    fn differs(&self) -> bool {
        self.replaces || self.snapshot.as_ref() != Some(&self.current)
    }

    /// Whether an update is pending, from what differs.
    pub(super) fn settle(&mut self) {
        self.pending = if self.differs() { Pending::Update } else { Pending::Nothing };
    }

    /// What the service was found to hold.
    pub(super) fn take_server(&mut self, server: Properties, known: Known, etag: &ETag) {
        self.snapshot = Some(server);
        self.known = known;
        self.condition = Some(IfMatch::Tag(etag.clone()));
        self.lacks = None;
    }

    /// What a reply said: the change was made.
    pub(super) fn take_applied(&mut self, change: Change, etag: Option<&ETag>) {
        self.error = None;
        self.is_unknown = false;
        self.replaces = false;
        match change {
            Change::Add(Add::InsertOrMerge, written) => {
                self.known = Known::Written;
                self.snapshot = Some(written);
            }
            Change::Add(_, written) | Change::Put(written) => {
                self.known = Known::All;
                self.snapshot = Some(written);
            }
            Change::Merge(written) => self.snapshot.get_or_insert_default().extend(written),
            Change::Delete => {}
        }
        self.lacks = None;
        if let Some(etag) = etag {
            self.condition = Some(IfMatch::Tag(etag.clone()));
        }
        // It may have been changed again while the reply was not known.
        if self.pending != Pending::Delete {
            self.settle();
        }
    }
}

impl Tracker {
    pub(super) fn new(dialect: Dialect, write_id: Option<Arc<str>>) -> Self {
        Self { dialect, write_id, ..Self::default() }
    }

    pub(super) fn forget(&mut self, id: &Identity) {
        self.entities.remove(id);
    }

    pub(super) fn identity(&self, table: &str, key: &EntityKey) -> Identity {
        Identity::new(self.dialect, table, key)
    }

    pub(super) fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }

    pub(super) fn get(&self, id: &Identity) -> Option<&Tracked> {
        self.entities.get(id)
    }

    /// All of them in the order of their changes.
    pub(super) fn in_order(&self) -> Vec<(&Identity, &Tracked)> {
        let mut all: Vec<_> = self.entities.iter().collect();
        all.sort_by_key(|(_, tracked)| tracked.order);
        all
    }

    /// Tracks an entity that was not tracked.
    pub(super) fn track(
        &mut self,
        table: &Arc<str>,
        key: &EntityKey,
        pending: Pending,
        current: Properties,
    ) -> &mut Tracked {
        let order = self.next_order();
        let tracked = Tracked {
            table: Arc::clone(table),
            key: key.clone(),
            pending,
            order,
            snapshot: None,
            current,
            known: Known::All,
            first_known: None,
            condition: None,
            replaces: false,
            lacks: None,
            is_unknown: false,
            was_unknown: false,
            attempts: Vec::new(),
            error: None,
        };
        let id = self.identity(table, key);
        self.entities.entry(id).insert_entry(tracked).into_mut()
    }

    /// Drops the updates that a refresh has made equal to what the service holds.
    pub(super) fn settle_equal(&mut self) {
        for tracked in self.entities.values_mut() {
            if tracked.pending == Pending::Update && !tracked.is_unknown {
                tracked.settle();
            }
        }
    }

    pub(super) fn add(&mut self, table: &Arc<str>, values: Values, add: Add) -> Result<(), Error> {
        let id = self.identity(table, &values.key);
        let order = self.last_order + 1;
        match self.entities.get_mut(&id) {
            None => {
                self.track(table, &values.key, Pending::Add(add), values.properties);
            }
            Some(tracked) if tracked.pending == Pending::Delete && !tracked.is_unknown => {
                tracked.pending = Pending::Update;
                tracked.current = values.properties;
                tracked.replaces = true;
                tracked.order = order;
                self.last_order = order;
            }
            Some(tracked) => {
                return Err(refusal(
                    &values.key,
                    format_args!("it is tracked already, as {}", tracked.state()),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn attach(
        &mut self,
        table: &Arc<str>,
        values: Values,
        condition: IfMatch,
    ) -> Result<(), Error> {
        if let Some(tracked) = self.entities.get(&self.identity(table, &values.key)) {
            return Err(refusal(
                &values.key,
                format_args!("it is tracked already, as {}", tracked.state()),
            ));
        }
        let tracked = self.track(table, &values.key, Pending::Nothing, values.properties);
        tracked.known = Known::Written;
        tracked.condition = Some(condition);
        tracked.lacks = values.lacks;
        Ok(())
    }

    pub(super) fn update(&mut self, table: &Arc<str>, values: Values) -> Result<(), Error> {
        let order = self.last_order + 1;
        let Values { key, properties, ownership, baseline, first_baseline, lacks } = values;
        let tracked = self.tracked(table, &key)?;
        if tracked.pending == Pending::Delete {
            return Err(refusal(&key, "it is deleted; add it instead"));
        }
        if let (Some(first), Some(columns)) = (&first_baseline, &tracked.first_known) {
            let mut names = baseline.keys().chain(properties.keys());
            let unread = names.find(|name| {
                let value = properties.get(*name);
                !columns.contains(*name)
                    && value != baseline.get(*name)
                    && value == first.get(*name)
            });
            if let Some(name) = unread {
                return Err(refusal(
                    &key,
                    format_args!(
                        "property {name:?} is as a query left it that did not select it; to change it to \
                         that, detach the entity and read it again"
                    ),
                ));
            }
        }
        // Only what the struct says otherwise than it would without a change is one: what it reads by
        // a default, by another name or as another type, or did not read at all, stays as it is.
        for name in baseline.keys().filter(|name| !properties.contains_key(*name)) {
            tracked.current.remove(name);
            for former in ownership.former_names(name) {
                tracked.current.remove(former);
            }
        }
        for (name, value) in properties {
            if baseline.get(&name) != Some(&value) {
                tracked.current.insert(name, value);
            }
        }
        if tracked.known == Known::Written {
            tracked.lacks = lacks;
        }
        if matches!(tracked.pending, Pending::Add(_)) {
            return Ok(());
        }
        let was = tracked.pending;
        tracked.settle();
        if was == Pending::Nothing && tracked.pending == Pending::Update {
            tracked.order = order;
            self.last_order = order;
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, table: &Arc<str>, key: &EntityKey) -> Result<(), Error> {
        let order = self.last_order + 1;
        let tracked = self.tracked(table, key)?;
        match tracked.pending {
            // Nothing was ever sent.
            Pending::Add(_) if !tracked.is_unknown && tracked.attempts.is_empty() => {
                self.entities.remove(&Identity::new(self.dialect, table, key));
            }
            Pending::Delete => {}
            _ => {
                tracked.pending = Pending::Delete;
                tracked.order = order;
                self.last_order = order;
            }
        }
        Ok(())
    }

    pub(super) fn detach(&mut self, table: &str, key: &EntityKey) -> bool {
        self.entities.remove(&self.identity(table, key)).is_some()
    }

    pub(super) fn reset(&mut self, table: &Arc<str>, key: &EntityKey) -> Result<(), Error> {
        let tracked = self.tracked(table, key)?;
        if tracked.is_unknown {
            return Err(refusal(key, "its last change was sent, and its outcome is not known yet"));
        }
        match tracked.pending {
            Pending::Add(_) => return Err(refusal(key, "it is new; detach it instead")),
            Pending::Nothing => {}
            Pending::Update | Pending::Delete => {
                tracked.pending = Pending::Nothing;
                tracked.replaces = false;
                tracked.error = None;
                if let Some(snapshot) = &tracked.snapshot {
                    tracked.current.clone_from(snapshot);
                }
            }
        }
        Ok(())
    }

    fn tracked(&mut self, table: &str, key: &EntityKey) -> Result<&mut Tracked, Error> {
        let id = self.identity(table, key);
        self.entities.get_mut(&id).ok_or_else(|| {
            refusal(
                key,
                format_args!("{table} has no tracked entity with this key: read, add or attach it first; an entity whose key was changed is another one"),
            )
        })
    }
}
