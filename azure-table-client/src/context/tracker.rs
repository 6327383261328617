//! The tracked entities of a context, and the requests whose outcome is not known. No I/O.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::change::{Add, Change, EntityState, refusal};
use super::doubt::{Doubt, Identity, RequestId};
use super::entity::{Known, Tracked, Values};
use super::merge::{MergeOption, ServerRow};
use crate::Dialect;
use crate::edm::EdmValue;
use crate::entity::{EntityKey, Ownership};
use crate::error::Error;
use crate::operation::{Confirmation, WriteOutcome, WriteResult};
use crate::outcome::{Found, Properties};
use crate::{ETag, IfMatch};

#[derive(Debug, Default, Clone)]
pub(crate) struct Tracker {
    /// Decides which names denote the same table.
    dialect: Dialect,
    /// The column with the ids of writes.
    pub(super) write_id: Option<Arc<str>>,
    entities: HashMap<Identity, Tracked>,
    pub(super) doubts: BTreeMap<RequestId, Doubt>,
    /// Outcomes that the rows of queries have proved since the last save. The next report names them.
    pub(super) proved: Vec<WriteResult>,
    /// Requests that have ended as unknown, until a save has completed its report.
    pub(super) unsettled: Vec<WriteResult>,
    last_order: u64,
    last_request: u64,
}

impl Tracker {
    pub(crate) fn new(dialect: Dialect, write_id: Option<Arc<str>>) -> Self {
        Self { dialect, write_id, ..Self::default() }
    }

    pub(super) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn identity(&self, table: &str, key: &EntityKey) -> Identity {
        Identity { table: self.dialect.table_identity(table), key: key.clone() }
    }

    pub(crate) fn get(&self, id: &Identity) -> Option<&Tracked> {
        self.entities.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &Identity) -> Option<&mut Tracked> {
        self.entities.get_mut(id)
    }

    pub(crate) fn find(&self, table: &str, key: &EntityKey) -> Option<&Tracked> {
        self.get(&self.identity(table, key))
    }

    /// Returns all entities in the order of their changes.
    pub(crate) fn in_order(&self) -> Vec<(&Identity, &Tracked)> {
        let mut all: Vec<_> = self.entities.iter().collect();
        all.sort_by_key(|(_, tracked)| tracked.order);
        all
    }

    pub(crate) fn has_changes(&self) -> bool {
        self.entities.values().any(|it| it.state() != EntityState::Unchanged)
    }

    /// Forgets an entity. A request of unknown outcome is then no longer about it.
    pub(crate) fn forget(&mut self, id: &Identity) -> bool {
        let Some(tracked) = self.entities.remove(id) else { return false };
        if let Some(request) = tracked.doubt.request
            && let Some(doubt) = self.doubts.get_mut(&request)
        {
            doubt.members.iter_mut().filter(|it| it.id == *id).for_each(|it| it.is_released = true);
            if doubt.members.iter().all(|it| it.is_released) {
                self.doubts.remove(&request);
            }
        }
        true
    }

    /// Forgets the entities for which `is_gone` holds, and returns their number.
    pub(crate) fn forget_where(&mut self, is_gone: impl Fn(&Tracked) -> bool) -> usize {
        let gone = self.entities.iter().filter(|(_, tracked)| is_gone(tracked));
        let gone: Vec<_> = gone.map(|(id, _)| id.clone()).collect();
        gone.iter().filter(|id| self.release(id)).count()
    }

    /// Drops the edits that a refresh made equal to the service's values.
    pub(super) fn drop_equal_edits(&mut self) {
        self.entities.values_mut().for_each(Tracked::drop_equal_edits);
    }

    fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }

    fn track(&mut self, tracked: Tracked) {
        let id = self.identity(tracked.table(), tracked.key());
        self.entities.insert(id, tracked);
    }

    pub(crate) fn add(&mut self, table: &Arc<str>, values: Values, add: Add) -> Result<(), Error> {
        let order = self.next_order();
        match self.entities.get_mut(&self.identity(table, &values.key)) {
            None => {
                self.track(Tracked::added(table, values.key, order, add, &values.properties));
                Ok(())
            }
            Some(tracked) if tracked.doubt.request.is_some() => Err(in_doubt(&values.key)),
            Some(tracked) if tracked.is_deleted() => {
                tracked.add_again(values.properties, add, order);
                Ok(())
            }
            Some(tracked) => Err(already_tracked(tracked)),
        }
    }

    pub(crate) fn attach(
        &mut self,
        table: &Arc<str>,
        values: Values,
        condition: IfMatch,
    ) -> Result<(), Error> {
        if let Some(tracked) = self.find(table, &values.key) {
            return Err(already_tracked(tracked));
        }
        let order = self.next_order();
        self.track(Tracked::attached(table, values.key, order, condition, values.properties));
        Ok(())
    }

    pub(crate) fn update(&mut self, table: &Arc<str>, values: Values) -> Result<(), Error> {
        let order = self.next_order();
        self.tracked(table, &values.key)?.update(values, order)
    }

    pub(crate) fn delete(&mut self, table: &str, key: &EntityKey) -> Result<(), Error> {
        let order = self.next_order();
        let tracked = self.tracked(table, key)?;
        if tracked.state() == EntityState::Added && !tracked.doubt.ended_unknown {
            // No request may have written a row.
            self.forget(&self.identity(table, key));
        } else {
            tracked.delete(order);
        }
        Ok(())
    }

    pub(crate) fn detach(&mut self, table: &str, key: &EntityKey) -> bool {
        self.release(&self.identity(table, key))
    }

    /// Forgets an entity that the program does not want to know about any more.
    fn release(&mut self, id: &Identity) -> bool {
        let dialect = self.dialect;
        let is_other = |it: &WriteResult| {
            dialect.table_identity(&it.table) != id.table || it.key.as_ref() != Some(&id.key)
        };
        self.proved.retain(is_other);
        self.unsettled.retain(is_other);
        self.forget(id)
    }

    pub(crate) fn reset(&mut self, table: &str, key: &EntityKey) -> Result<(), Error> {
        let tracked = self.tracked(table, key)?;
        if tracked.doubt.request.is_some() {
            return Err(in_doubt(key));
        }
        tracked.reset()
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

    /// Merges a row, and returns the values for the caller.
    pub(crate) fn merge_row(
        &mut self,
        table: &Arc<str>,
        row: ServerRow,
        option: MergeOption,
    ) -> Properties {
        if option == MergeOption::NoTracking {
            return row.found.properties;
        }
        let id = self.identity(table, &row.key);
        let was_in_doubt = self.get(&id).is_some_and(|it| it.doubt.request.is_some());
        // The program may have changed the entity while its request was in doubt.
        let option = if was_in_doubt { MergeOption::AppendOnly } else { option };
        self.settle_by_write_id(&id, &row);
        match self.entities.get_mut(&id) {
            Some(tracked) => tracked.merge(row, option, self.write_id.as_deref()),
            None => {
                let order = self.next_order();
                let tracked = Tracked::read(table, row, order);
                let values = tracked.values().into_owned();
                self.track(tracked);
                values
            }
        }
    }

    /// Merges the fact that the service has no row with this key. `replace_on_update` is the option of the save.
    pub(crate) fn merge_missing(&mut self, id: &Identity, option: MergeOption, replace: bool) {
        let Some(tracked) = self.get(id) else { return };
        match option {
            MergeOption::NoTracking | MergeOption::AppendOnly => {}
            // The request may still be applied.
            _ if tracked.doubt.request.is_some() => {}
            MergeOption::PreserveChanges if tracked.state() == EntityState::Added => {}
            MergeOption::PreserveChanges | MergeOption::OverwriteChanges => {
                let values = match option {
                    MergeOption::PreserveChanges => tracked.to_insert(replace),
                    _ => None,
                };
                let added = values.map(|values| tracked.to_added(&values));
                self.forget(id);
                if let Some(added) = added {
                    self.track(added);
                }
            }
        }
    }

    /// Merges a row or its absence, and makes these properties the only local change. The change keeps its position.
    pub(super) fn merge_resolution(
        &mut self,
        id: &Identity,
        row: Option<ServerRow>,
        properties: Properties,
        ownership: Ownership,
    ) {
        let write_id = self.write_id.clone();
        let Some(tracked) = self.entities.get_mut(id) else { return };
        if let Some(row) = row {
            tracked.merge(row, MergeOption::OverwriteChanges, write_id.as_deref());
            tracked.set_all(properties, ownership);
            return;
        }
        let added = tracked.to_added(&properties);
        self.track(added);
    }

    /// Records a request that is about to be sent.
    pub(super) fn begin(&mut self, doubt: Doubt) -> RequestId {
        self.last_request += 1;
        let request = RequestId(self.last_request);
        for member in &doubt.members {
            if let Some(tracked) = self.entities.get_mut(&member.id) {
                tracked.doubt.request = Some(request);
            }
        }
        self.doubts.insert(request, doubt);
        request
    }

    /// Removes a doubt. Its entities have no request any more.
    pub(super) fn end(&mut self, request: RequestId) -> Option<Doubt> {
        let doubt = self.doubts.remove(&request)?;
        for member in doubt.members.iter().filter(|member| !member.is_released) {
            if let Some(tracked) = self.entities.get_mut(&member.id) {
                tracked.doubt.request = None;
                tracked.drop_equal_edits();
            }
        }
        Some(doubt)
    }

    /// Records that a request was applied: `etags` are those in its response, `rows` were read back.
    pub(super) fn applied(
        &mut self,
        request: RequestId,
        etags: &[Option<ETag>],
        rows: &HashMap<EntityKey, Found>,
    ) -> Option<Doubt> {
        let doubt = self.doubts.remove(&request)?;
        for (at, member) in doubt.members.iter().enumerate() {
            if member.is_released {
                continue;
            }
            if member.change == Change::Delete {
                self.entities.remove(&member.id);
                continue;
            }
            let Some(tracked) = self.entities.get_mut(&member.id) else { continue };
            let etag = etags.get(at).and_then(Option::as_ref);
            tracked.doubt.request = None;
            tracked.confirm(member, etag);
            if etag.is_none() {
                tracked.adopt_version(rows.get(&member.key), self.write_id.as_deref());
            }
            tracked.drop_equal_edits();
        }
        Some(doubt)
    }

    /// Ends a request whose outcome will not be known.
    pub(super) fn end_unknown(&mut self, request: RequestId) -> Option<Doubt> {
        for member in &self.doubts.get(&request)?.members {
            if let Some(tracked) = self.entities.get_mut(&member.id)
                && !member.is_released
            {
                tracked.doubt.ended_unknown = true;
            }
        }
        self.end(request)
    }

    /// Applies the proof in a row that a query found: the request whose write id is in the row was applied.
    fn settle_by_write_id(&mut self, id: &Identity, row: &ServerRow) {
        let Some(column) = &self.write_id else { return };
        let Some(EdmValue::Guid(found)) = row.found.properties.get(&**column) else { return };
        let Some(request) = self.get(id).and_then(|tracked| tracked.doubt.request) else { return };
        let has_id = |doubt: &Doubt| {
            doubt.members.iter().any(|it| it.id == *id && it.write_id.as_ref() == Some(found))
        };
        if !self.doubts.get(&request).is_some_and(has_id) {
            return;
        }
        // A projection does not show whether another program has changed the other columns.
        let whole = (row.known == Known::All).then(|| (id.key.clone(), row.found.clone()));
        let Some(doubt) = self.applied(request, &[], &whole.into_iter().collect()) else { return };
        for member in doubt.members.into_iter().filter(|member| !member.is_released) {
            let etag = (member.id == *id).then(|| row.found.etag.clone());
            self.proved.push(WriteResult {
                index: 0,
                operation: member.change.operation(),
                table: member.table,
                key: Some(member.key),
                outcome: WriteOutcome::Applied { etag, confirmation: Confirmation::WriteId },
            });
        }
    }

    /// Whether a change of this entity may have been applied by a request that has ended as unknown.
    pub(super) fn may_have_changed(&self, id: &Identity) -> bool {
        self.get(id).is_some_and(|tracked| tracked.doubt.ended_unknown)
    }

    /// Whether something newer than this request is to be sent for one of its entities.
    pub(super) fn is_outdated(&self, doubt: &Doubt, replace_on_update: bool) -> bool {
        doubt.members.iter().filter(|it| !it.is_released).any(|member| {
            self.get(&member.id).is_some_and(|tracked| {
                !matches!(tracked.change(replace_on_update), Ok(Some(now)) if now == member.change)
            })
        })
    }

    /// Whether a request adds an entity that the program has deleted since.
    pub(super) fn is_undone(&self, doubt: &Doubt) -> bool {
        let is_undone = |id| self.get(id).is_some_and(Tracked::is_add_undone);
        doubt.members.iter().any(|it| !it.is_released && is_undone(&it.id))
    }
}

fn already_tracked(tracked: &Tracked) -> Error {
    refusal(tracked.key(), format_args!("it is tracked already, as {}", tracked.state()))
}

fn in_doubt(key: &EntityKey) -> Error {
    refusal(
        key,
        "its last change was sent, and its outcome is not known yet: save first, or detach the entity",
    )
}
