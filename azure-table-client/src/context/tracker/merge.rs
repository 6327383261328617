//! Merging rows of the service into the tracked entities.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{Add, EntityState, Pending};
use super::{Identity, Known, LastUpdate, Tracked, Tracker};
use crate::entity::{EntityKey, Ownership};
use crate::error::Error;
use crate::outcome::Properties;
use crate::{ETag, IfMatch};

/// Decides how a row of the service is merged into an entity that is tracked already. An entity whose last change
/// has an unknown outcome is merged by [`AppendOnly`](Self::AppendOnly), until a save or the write id in the row
/// resolves it. Only `PreserveChanges` merges it if an earlier change was resolved without the ETag of the row.
///
/// | option | a query returns | a query tracks |
/// |---|---|---|
/// | `AppendOnly`, the default | tracked entities with their local changes; the others with the service's values | the others |
/// | `OverwriteChanges` | the service's values | the same; local changes are lost |
/// | `PreserveChanges` | the service's values with the local changes applied | the same, with the new ETag: the client wins |
/// | `NoTracking` | the service's values | nothing |
///
/// | option | [`refresh`](crate::context::TableContext::refresh), where the row exists | where the row was deleted |
/// |---|---|---|
/// | `AppendOnly` | a tracked entity stays unchanged | stays unchanged |
/// | `OverwriteChanges` | the server's values; local changes are lost | detached |
/// | `PreserveChanges` | the server's values and ETag, with the local changes applied | `Added` and `Modified` are inserted by the next save; `Unchanged` and `Deleted` are detached |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MergeOption {
    /// Returns the service's values and tracks nothing.
    NoTracking,
    /// Returns a tracked entity unchanged, and tracks new entities.
    #[default]
    AppendOnly,
    /// Replaces the tracked values by the service's; local changes are lost.
    OverwriteChanges,
    /// Replaces the tracked values by the service's, except for local changes.
    ///
    /// The next save then satisfies the condition that would have found the conflict: the client wins.
    PreserveChanges,
}

/// A row of the service.
pub(crate) struct ServerRow {
    pub(crate) key: EntityKey,
    pub(crate) etag: ETag,
    pub(crate) properties: Properties,
    /// The properties before the hook for reading, if there is one.
    pub(crate) stored: Option<Properties>,
    pub(crate) known: Known,
}

impl Tracked {
    /// Sets the state that the service holds.
    fn set_server_state(&mut self, server: Arc<Properties>, known: Known, etag: ETag) {
        self.snapshot = Some(server);
        self.known = known;
        self.condition = Some(IfMatch::Tag(etag));
        self.lacks = None;
    }

    /// Adds the columns that a projection left out.
    fn add_columns(&mut self, server: &Properties, known: Known) {
        if self.known == Known::All || self.condition.is_none() {
            return;
        }
        let Some(snapshot) = &mut self.snapshot else { return };
        let (snapshot, current) = (Arc::make_mut(snapshot), Arc::make_mut(&mut self.current));
        let mut added = BTreeSet::new();
        for (name, value) in server {
            let is_known = match &self.known {
                Known::Some(names) => names.contains(name),
                _ => snapshot.contains_key(name),
            };
            if !is_known {
                if !current.contains_key(name) {
                    current.insert(name.clone(), value.clone());
                    added.insert(name.as_str());
                }
                snapshot.insert(name.clone(), value.clone());
            }
        }
        self.open.adopt(current, |name| added.contains(name));
        if let Known::Some(names) = &self.known {
            self.first_known.get_or_insert_with(|| names.clone());
        }
        match (&mut self.known, known) {
            (_, Known::All) => self.known = Known::All,
            (Known::Some(names), Known::Some(more)) => names.extend(more),
            _ => {}
        }
    }

    /// Gives the last update the service's new values of the properties that were not changed locally.
    fn rebase_update(&mut self, server: &Properties, known: &Known) {
        let Some(LastUpdate { written, ownership, .. }) = &mut self.update else { return };
        let empty = Properties::new();
        let snapshot = self.snapshot.as_deref().unwrap_or(&empty);
        let current = &self.current;
        let is_new = |name: &str| {
            let is_known = match known {
                Known::Some(columns) => columns.contains(name),
                _ => true,
            };
            let is_local = current.get(name) != snapshot.get(name);
            is_known && !is_local && snapshot.get(name) != server.get(name)
        };
        let written = Arc::make_mut(written);
        // A value that is stored by a former name keeps that name.
        let columns: Vec<String> = written.keys().cloned().collect();
        for column in &columns {
            let mut former = ownership.former_names(column);
            if let Some(former) = former.find(|former| is_new(former))
                && current.get(column) == snapshot.get(column)
                && let Some(value) = server.get(former)
            {
                written.remove(column);
                written.insert(former.to_owned(), value.clone());
            }
        }
        for name in snapshot.keys().chain(server.keys()).filter(|name| is_new(name)) {
            match server.get(name) {
                Some(value) if ownership.is_written(name) => {
                    written.insert(name.clone(), value.clone());
                }
                None => {
                    written.remove(name);
                }
                Some(_) => {}
            }
        }
    }

    /// Puts the local changes on top of the service's values.
    fn rebase(&mut self, mut server: Properties, mut known: Known, etag: ETag) {
        self.rebase_update(&server, &known);
        let changed: Vec<String> = self.changed().into_iter().map(str::to_owned).collect();
        if let Known::Some(columns) = &mut known {
            // A change in another column stays a change of the value that was known.
            for name in changed.iter().filter(|name| !columns.contains(*name)) {
                let old = self.snapshot.as_ref().and_then(|old| old.get(name));
                server.extend(old.map(|old| (name.clone(), old.clone())));
            }
            columns.extend(changed.iter().cloned());
        }
        let mut current = server.clone();
        for name in &changed {
            match self.current.get(name) {
                Some(value) => current.insert(name.clone(), value.clone()),
                None => current.remove(name),
            };
        }
        self.open.adopt(&current, |name| !changed.iter().any(|changed| changed == name));
        self.current = Arc::new(current);
        self.set_server_state(Arc::new(server), known, etag);
        self.pending = Pending::Update;
    }
}

impl Tracker {
    /// Merges a row, and returns the values for the caller.
    pub(crate) fn merge_row(
        &mut self,
        table: &Arc<str>,
        row: ServerRow,
        option: MergeOption,
    ) -> Arc<Properties> {
        let ServerRow { key, etag, properties, known, .. } = row;
        let server = Arc::new(properties);
        if option == MergeOption::NoTracking {
            return server;
        }
        let id = self.identity(table, &key);
        let Some(tracked) = self.entities.get_mut(&id) else {
            let tracked = self.track(table, &key, Pending::Nothing, Arc::clone(&server));
            tracked.set_server_state(Arc::clone(&server), known, etag);
            return server;
        };
        // An open change may be newer than the row.
        let option = match option {
            MergeOption::PreserveChanges if tracked.lacks_etag() && tracked.snapshot.is_some() => {
                option
            }
            _ if tracked.is_unknown() => MergeOption::AppendOnly,
            _ => option,
        };
        match option {
            MergeOption::NoTracking => return server,
            MergeOption::AppendOnly => tracked.add_columns(&server, known),
            MergeOption::OverwriteChanges => {
                tracked.current = Arc::clone(&server);
                tracked.set_server_state(server, known, etag);
                tracked.first_known = None;
                tracked.update = None;
                tracked.pending = Pending::Nothing;
                tracked.replaces = false;
                tracked.error = None;
            }
            MergeOption::PreserveChanges => match tracked.pending {
                Pending::Nothing | Pending::Delete => {
                    tracked.rebase_update(&server, &known);
                    tracked.current = Arc::clone(&server);
                    tracked.set_server_state(server, known, etag);
                }
                Pending::Update if tracked.replaces => {
                    tracked.condition = Some(IfMatch::Tag(etag));
                    tracked.snapshot = Some(server);
                }
                Pending::Update | Pending::Add(_) => {
                    tracked.rebase(Arc::unwrap_or_clone(server), known, etag);
                }
            },
        }
        Arc::clone(&tracked.current)
    }

    /// Merges the fact that the service has no row with this key.
    pub(crate) fn merge_missing(&mut self, table: &Arc<str>, key: &EntityKey, option: MergeOption) {
        let Some(tracked) = self.find(table, key) else { return };
        let state = tracked.state();
        match option {
            MergeOption::NoTracking | MergeOption::AppendOnly => {}
            // An open change may still be applied.
            _ if state == EntityState::Unknown => {}
            MergeOption::PreserveChanges if state == EntityState::Added => {}
            MergeOption::PreserveChanges if state == EntityState::Modified => {
                let (order, current) = (tracked.order, Arc::clone(&tracked.current));
                self.detach(table, key);
                self.track(table, key, Pending::Add(Add::Insert), current).order = order;
            }
            MergeOption::PreserveChanges | MergeOption::OverwriteChanges => {
                self.detach(table, key);
            }
        }
    }

    /// Prepares the resolution of a conflict of an entity that is replaced: its last update becomes a change, although
    /// maybe no property differs. If the row is gone, what the struct writes is inserted.
    pub(crate) fn keep_update(&mut self, id: &Identity, is_gone: bool) {
        let Some(tracked) = self.entities.get_mut(id) else { return };
        let Some(update) = &tracked.update else { return };
        if tracked.pending == Pending::Nothing {
            tracked.pending = Pending::Update;
        }
        if is_gone && tracked.pending == Pending::Update {
            tracked.current = Arc::clone(&update.written);
        }
    }

    /// Merges a row, or its absence.
    pub(crate) fn merge_found(
        &mut self,
        table: &Arc<str>,
        key: &EntityKey,
        row: Option<ServerRow>,
        option: MergeOption,
    ) {
        match row {
            Some(row) => {
                self.merge_row(table, row, option);
            }
            None => self.merge_missing(table, key, option),
        }
    }

    /// Merges a row or its absence, and makes these properties the only local change. The change
    /// keeps its position among the other changes.
    pub(crate) fn merge_resolution(
        &mut self,
        table: &Arc<str>,
        row: Option<ServerRow>,
        (key, properties): (EntityKey, Properties),
        ownership: Ownership,
    ) -> Result<(), Error> {
        let order = self.find(table, &key).map(|tracked| tracked.order);
        self.merge_found(table, &key, row, MergeOption::OverwriteChanges);
        self.replace_change(table, key, properties, ownership, order)
    }
}
