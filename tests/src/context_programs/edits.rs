//! The local changes of an entity, as the program made them, until the rows have them.

use std::collections::BTreeMap;

use azure_table_client::context::EntityState;

use super::requests::plain;
use super::rows::{Columns, Version};
use super::steps::{COLUMNS, Values};

/// The local changes of one entity.
#[derive(Debug, Clone, Default)]
pub(super) struct Edits {
    /// The value of each column that the program set, or removed, and the version of the row that was the last one then.
    columns: BTreeMap<&'static str, (Option<i32>, usize)>,
    /// The tracked values before these changes.
    before: BTreeMap<&'static str, Option<i32>>,
    /// The version of the row that was the last one when the program deleted the entity.
    deleted: Option<usize>,
    /// Some tracked values were not read at the tracked ETag: a projection, an attached entity, or one that was added by a
    /// merge. `AppendOnly` fills in the missing columns from later versions (rulings.md, Context).
    pub(super) is_partly_known: bool,
    /// A request had an unknown outcome since the row was read.
    pub(super) is_doubtful: bool,
}

impl Edits {
    pub(super) fn forget(&mut self) {
        self.columns.clear();
        self.before.clear();
        self.deleted = None;
    }

    pub(super) fn delete(&mut self, index: usize) {
        self.columns.clear();
        self.deleted.get_or_insert(index);
    }

    /// `is_new` is set for an entity that no request has written yet: an upsert removes no column that it does not send.
    /// `base` and `tracked` have the values of the version that the context knows, and the tracked values.
    pub(super) fn update(
        &mut self,
        edits: &[(&'static str, Option<i32>)],
        is_new: bool,
        (base, tracked): (Option<&Columns>, Option<&Columns>),
        index: usize,
    ) {
        for (name, value) in edits {
            // The values of an attached entity are not known, so that no merge removes one (context-semantics.md), and a struct
            // of a projection removes no other column.
            if value.is_none() && (self.is_partly_known || is_new) {
                self.columns.remove(name);
                continue;
            }
            // A value that equals the base is no change, unless a doubt was there (context-machine.md, rule 1).
            let is_known =
                |columns: &Columns| columns.get(*name).copied().map(plain) == value.map(plain);
            // A value that the tracked entity has already is no change, also in doubt, unless it is an earlier change.
            if let Some(tracked) = tracked
                && !self.columns.contains_key(name)
            {
                if is_known(tracked) {
                    continue;
                }
                self.before.insert(name, tracked.get(*name).copied());
            }
            let is_before =
                self.before.get(name).is_some_and(|before| before.map(plain) == value.map(plain));
            if !self.is_doubtful && (base.is_some_and(is_known) || is_before) {
                self.columns.remove(name);
                continue;
            }
            self.columns.insert(name, (*value, index));
        }
    }

    /// `replaces` is set for an entity that was deleted: the row gets exactly these columns.
    pub(super) fn add(&mut self, values: &Values, replaces: bool, index: usize) {
        self.forget();
        for name in COLUMNS {
            let value = values.get(name).copied();
            if value.is_some() || replaces {
                self.columns.insert(name, (value, index));
            }
        }
    }

    /// The local values are sent on top of another row (`PreserveChanges`, `KeepLocal`). The page does not say whether a
    /// column stays removed then.
    pub(super) fn preserve(&mut self) {
        self.columns.retain(|_, (value, _)| value.is_some());
        self.before.clear();
    }

    /// A refresh found no row: a deletion has nothing to do, and `OverwriteChanges` gives up the local changes.
    pub(super) fn refresh_missing(&mut self) {
        self.forget();
    }

    /// Returns a change that neither the row ever had nor the tracked values have. `since` returns the versions from an index
    /// on; `base` is the version that the context knows.
    pub(super) fn lost<'v>(
        &self,
        state: Option<EntityState>,
        since: impl Fn(usize) -> &'v [Version],
        base: Option<&Version>,
        tracked: Option<&Columns>,
    ) -> Option<String> {
        let is_pending = !matches!(state, None | Some(EntityState::Unchanged));
        if is_pending && (tracked.is_none() || self.deleted.is_some()) {
            return None;
        }
        if let Some(index) = self.deleted
            && self.columns.is_empty()
            && since(index).iter().all(|version| version.columns.is_some())
        {
            return Some("it was never deleted".to_owned());
        }
        if state.is_none() && self.deleted.is_some() {
            return None;
        }
        for (name, (value, index)) in &self.columns {
            let has = |version: &Version| {
                let stored = version.columns.as_ref().map(|columns| columns.get(*name).copied());
                stored.is_some_and(|stored| stored.map(plain) == value.map(plain))
            };
            let is_pending = is_pending
                && tracked.is_some_and(|columns| {
                    columns.get(*name).copied().map(plain) == value.map(plain)
                });
            if !is_pending && !since(*index).iter().any(has) && !base.is_some_and(has) {
                return Some(format!("the row never had {name}={value:?}"));
            }
        }
        None
    }
}
