//! Merging rows of the service into a tracked entity.

use std::sync::Arc;

use super::change::LastUpdate;
use super::entity::{Base, Edits, InDoubt, Intent, Known, Tracked};
use crate::IfMatch;
use crate::entity::EntityKey;
use crate::outcome::{Found, Properties};

/// Decides how a row of the service is merged into an entity that is tracked already. An entity whose last change
/// has an unknown outcome is merged by [`AppendOnly`](Self::AppendOnly), until a save or the write id in the row
/// settles it.
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
    pub(crate) found: Found,
    pub(crate) known: Known,
}

impl Tracked {
    pub(super) fn read(table: &Arc<str>, row: ServerRow, order: u64) -> Self {
        let intent = Intent::Edit(Edits::default());
        let mut tracked = Self::new(table, row.key, order, Base::New, intent);
        tracked.set_base(row.found, row.known);
        tracked
    }

    /// Sets the state that the service holds.
    fn set_base(&mut self, row: Found, known: Known) {
        let (values, version) = (Arc::new(row.properties), Some(IfMatch::Tag(row.etag)));
        self.base = Base::Read { values, known, version };
        self.doubt.ended_unknown = false;
    }

    /// Merges a row, and returns the values for the caller.
    pub(super) fn merge(
        &mut self,
        row: ServerRow,
        option: MergeOption,
        write_id: Option<&str>,
    ) -> Properties {
        match option {
            MergeOption::NoTracking | MergeOption::AppendOnly => return self.append(row, write_id),
            MergeOption::OverwriteChanges => {
                self.intent = Intent::Edit(Edits::default());
                (self.first_known, self.error) = (None, None);
            }
            MergeOption::PreserveChanges => {
                self.rebase_update(&row);
                self.follow(&row);
                match &mut self.intent {
                    Intent::Add(_, edits) => self.intent = Intent::Edit(std::mem::take(edits)),
                    Intent::Delete(edits) => edits.values.clear(),
                    Intent::Edit(_) | Intent::Replace(_) => {}
                }
            }
        }
        self.set_base(row.found, row.known);
        self.values().into_owned()
    }

    /// An edit with the value that the base has already has nothing left to send. It follows the new row, so that it does not
    /// bring the old value back.
    fn follow(&mut self, row: &ServerRow) {
        let Intent::Edit(edits) = &mut self.intent else { return };
        if self.doubt == InDoubt::default() {
            let done =
                edits.values.iter_mut().filter(|(name, it)| self.base.has(name, it.as_ref()));
            done.for_each(|(name, it)| *it = row.found.properties.get(name).cloned());
        }
    }

    /// Adds the columns that a projection left out, if the row still has the version of the others. Otherwise, the caller
    /// receives them and the context does not keep them.
    fn append(&mut self, row: ServerRow, write_id: Option<&str>) -> Properties {
        let ServerRow { found, known: more, .. } = row;
        if self.has_lost_version() && more == Known::All {
            self.adopt_version(Some(&found), write_id);
        }
        let is_of_version = self.etag() == Some(&found.etag);
        let current = self.values().into_owned();
        let mut unknown = found.properties;
        unknown.retain(|name, _| !self.base.knows(name));
        let Base::Read { values, known, .. } = &mut self.base else { return current };
        if !is_of_version {
            return unknown.into_iter().chain(current).collect();
        }
        if *known != Known::All {
            Arc::make_mut(values).extend(unknown);
            if let Known::Selected(names) = &*known {
                self.first_known.get_or_insert_with(|| names.clone());
            }
            match (&mut *known, more) {
                (_, Known::All) => *known = Known::All,
                (Known::Selected(names), Known::Selected(more)) => names.extend(more),
                _ => {}
            }
        }
        self.values().into_owned()
    }

    /// Gives the last update the service's new values of the properties that were not changed locally.
    fn rebase_update(&mut self, row: &ServerRow) {
        let base = self.base.values();
        let (Intent::Edit(own) | Intent::Add(_, own)) = &mut self.intent else { return };
        let Edits { values: edits, update: Some(update) } = own else { return };
        let server = &row.found.properties;
        // What the base has already is no local change, unless a doubt is there.
        let is_sure = self.doubt == InDoubt::default();
        let is_done = |name: &str, it: &Option<_>| is_sure && self.base.has(name, it.as_ref());
        let is_edit = |name: &str| edits.get(name).is_some_and(|it| !is_done(name, it));
        let is_new = |name: &str| {
            let is_known = match &row.known {
                Known::Selected(columns) => columns.contains(name),
                _ => true,
            };
            is_known && !is_edit(name) && base.get(name) != server.get(name)
        };
        let LastUpdate { written, ownership, .. } = Arc::make_mut(update);
        // A value that is stored by a former name keeps that name.
        let columns: Vec<String> = written.keys().cloned().collect();
        for column in &columns {
            let mut former = ownership.former_names(column);
            if let Some(former) = former.find(|former| is_new(former))
                && !is_edit(column)
                && let Some(value) = server.get(former)
            {
                written.remove(column);
                written.insert(former.to_owned(), value.clone());
            }
        }
        for name in base.keys().chain(server.keys()).filter(|name| is_new(name)) {
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
}
