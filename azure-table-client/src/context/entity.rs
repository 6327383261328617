//! A tracked entity: what the service holds as far as it is known, and the local change on top of it. No I/O.
//!
//! A local change is stored as a list of edits and not computed as a difference, since the service changes the base too. Only
//! this module and [`merge`](super::merge), which brings in rows of the service, change an entity.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{Add, Change, EntityState, LastUpdate, refusal};
use super::doubt::{Candidate, RequestId};
use crate::difference::{Difference, apply, difference};
use crate::edm::EdmValue;
use crate::entity::{EncodeError, EntityKey, Ownership};
use crate::error::Error;
use crate::outcome::{Found, MapEntity, Properties};
use crate::{ETag, IfMatch};

/// The columns of the service's row that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    All,
    /// The columns of a projection.
    Selected(BTreeSet<String>),
    /// The columns that were written: the row was never read.
    Written,
}

/// What the service holds, as far as it is known.
#[derive(Debug, Clone)]
pub(super) enum Base {
    /// No row yet: the entity will be inserted.
    New,
    /// The row of an attached entity, which was never read. The values are those of the program.
    Unread { condition: IfMatch, values: Arc<Properties> },
    Read {
        values: Arc<Properties>,
        known: Known,
        /// The version that has these values. `None` if it is not known: the row is read before the next write.
        version: Option<IfMatch>,
    },
}

/// The local change.
#[derive(Debug, Clone)]
pub(super) enum Intent {
    /// Nothing, if there are no edits.
    Edit(Edits),
    Add(Add, Edits),
    /// Deleted and added again: these properties replace the row.
    Replace(Arc<Properties>),
    /// The edits are those from before; nothing sends them.
    Delete(Edits),
}

/// What the program has set and removed.
#[derive(Debug, Clone, Default)]
pub(super) struct Edits {
    pub(super) values: Difference,
    /// The last update, for a save that replaces the entity.
    pub(super) update: Option<Arc<LastUpdate>>,
}

/// The values of a struct.
pub(crate) struct Values {
    pub(crate) key: EntityKey,
    pub(crate) properties: Properties,
    pub(crate) ownership: Ownership,
    pub(crate) baseline: Result<Baseline, EncodeError>,
    /// A column of the struct that has no value.
    pub(crate) lacks: Option<String>,
}

/// The properties that a struct writes for tracked values, without any change.
#[derive(Default)]
pub(crate) struct Baseline {
    /// Empty if the struct cannot hold the values.
    pub(crate) all: Properties,
    /// For the columns that were read first, if others were read later.
    pub(crate) first: Option<Properties>,
}

/// What is not known about the requests of an entity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InDoubt {
    /// The request whose outcome is not known. Nothing else is sent for the entity until it is settled.
    pub(super) request: Option<RequestId>,
    /// Whether an earlier request has ended as unknown, for good, since the base was read: it may have been applied, and a
    /// refusal of the next one may be due to it.
    pub(super) ended_unknown: bool,
}

impl Edits {
    /// Sets all of these properties.
    fn all(properties: &Properties) -> Self {
        let set = properties.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
        Self { values: set.collect(), update: None }
    }
}

/// A tracked entity.
#[derive(Debug, Clone)]
pub(crate) struct Tracked {
    /// The table, spelled as when the entity was first tracked.
    table: Arc<str>,
    key: EntityKey,
    /// The position of the change among all changes.
    pub(super) order: u64,
    pub(super) base: Base,
    pub(super) intent: Intent,
    /// The columns of the projection by which the entity was read first, if others were read later: the program
    /// may still hold a struct with the first ones.
    pub(super) first_known: Option<BTreeSet<String>>,
    pub(super) doubt: InDoubt,
    /// The error of the last save.
    pub(super) error: Option<Error>,
}

impl Base {
    pub(super) fn values(&self) -> &Properties {
        static NONE: Properties = Properties::new();
        match self {
            Self::New => &NONE,
            Self::Unread { values, .. } | Self::Read { values, .. } => values,
        }
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        match self {
            Self::Read { known: Known::All, .. } => true,
            Self::Read { known: Known::Selected(names), .. } => names.contains(name),
            Self::Read { known: Known::Written, values, .. } => values.contains_key(name),
            Self::New | Self::Unread { .. } => false,
        }
    }

    /// Whether the row is known to have this value already.
    pub(super) fn has(&self, name: &str, value: Option<&EdmValue>) -> bool {
        self.knows(name) && self.values().get(name) == value
    }
}

impl Tracked {
    pub(super) fn new(
        table: &Arc<str>,
        key: EntityKey,
        order: u64,
        base: Base,
        intent: Intent,
    ) -> Self {
        let table = Arc::clone(table);
        Self {
            table,
            key,
            order,
            base,
            intent,
            first_known: None,
            doubt: InDoubt::default(),
            error: None,
        }
    }

    pub(super) fn added(
        table: &Arc<str>,
        key: EntityKey,
        order: u64,
        add: Add,
        properties: &Properties,
    ) -> Self {
        Self::new(table, key, order, Base::New, Intent::Add(add, Edits::all(properties)))
    }

    pub(super) fn attached(
        table: &Arc<str>,
        key: EntityKey,
        order: u64,
        condition: IfMatch,
        properties: Properties,
    ) -> Self {
        let base = Base::Unread { condition, values: Arc::new(properties) };
        Self::new(table, key, order, base, Intent::Edit(Edits::default()))
    }

    /// The same entity as a new one with these properties, since its row is gone. It keeps its position.
    pub(super) fn to_added(&self, properties: &Properties) -> Self {
        Self::added(&self.table, self.key.clone(), self.order, Add::Insert, properties)
    }

    pub(crate) const fn table(&self) -> &Arc<str> {
        &self.table
    }

    pub(crate) const fn key(&self) -> &EntityKey {
        &self.key
    }

    pub(crate) const fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// The properties with the local changes.
    pub(crate) fn values(&self) -> Cow<'_, Properties> {
        let edits = match &self.intent {
            Intent::Replace(values) => return Cow::Borrowed(values),
            Intent::Edit(edits) | Intent::Add(_, edits) | Intent::Delete(edits) => edits,
        };
        let mut values = Cow::Borrowed(self.base.values());
        if !edits.values.is_empty() {
            apply(&edits.values, values.to_mut());
        }
        values
    }

    pub(crate) fn current(&self) -> MapEntity<'_> {
        MapEntity::of(&self.key, self.values())
    }

    /// The properties without the local changes; `None` if the row was never read or written.
    pub(crate) fn original(&self) -> Option<MapEntity<'_>> {
        match &self.base {
            Base::Read { values, .. } => Some(MapEntity::new(&self.key, values)),
            Base::New | Base::Unread { .. } => None,
        }
    }

    /// The condition of an update or a delete; `None` if no row is known, or if its version is not.
    pub(crate) const fn condition(&self) -> Option<&IfMatch> {
        match &self.base {
            Base::New => None,
            Base::Unread { condition, .. } => Some(condition),
            Base::Read { version, .. } => version.as_ref(),
        }
    }

    /// The ETag of the condition.
    pub(crate) const fn etag(&self) -> Option<&ETag> {
        match self.condition() {
            Some(IfMatch::Tag(etag)) => Some(etag),
            _ => None,
        }
    }

    pub(crate) fn state(&self) -> EntityState {
        match &self.intent {
            _ if self.doubt.request.is_some() => EntityState::Unknown,
            Intent::Edit(edits) if edits.values.is_empty() => EntityState::Unchanged,
            Intent::Edit(_) | Intent::Replace(_) => EntityState::Modified,
            Intent::Add(..) => EntityState::Added,
            Intent::Delete(_) => EntityState::Deleted,
        }
    }

    pub(crate) const fn is_deleted(&self) -> bool {
        matches!(self.intent, Intent::Delete(_))
    }

    /// Whether the program has deleted an entity that it has added, by an insert or an upsert that may have been applied.
    pub(super) const fn is_add_undone(&self) -> bool {
        self.is_deleted() && matches!(self.base, Base::New)
    }

    /// Whether a projection left columns out.
    pub(crate) const fn is_partly_known(&self) -> bool {
        matches!(self.base, Base::Read { known: Known::Selected(_), .. })
    }

    /// Whether the version of the row is not known, so that it is read before the next write.
    pub(super) const fn has_lost_version(&self) -> bool {
        matches!(self.base, Base::Read { version: None, .. })
    }

    /// Returns the names of the properties that differ from the base.
    pub(crate) fn changed(&self) -> Vec<&str> {
        let edits = match &self.intent {
            Intent::Edit(edits) | Intent::Add(_, edits) | Intent::Delete(edits) => edits,
            Intent::Replace(values) => {
                let base = self.base.values();
                let set = values.iter().filter(|(name, value)| base.get(*name) != Some(value));
                let set = set.map(|(name, _)| name.as_str());
                let removed = base.keys().filter(|name| !values.contains_key(*name));
                return set.chain(removed.map(String::as_str)).collect();
            }
        };
        let names =
            edits.values.iter().filter(|(name, value)| !self.base.has(name, value.as_ref()));
        names.map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the change to send; `None` if there is nothing to do.
    ///
    /// The service ignores nulls in a merge, so that a merge cannot remove a property. The entity is then replaced,
    /// with the properties of other programs. With `replace_on_update`, each updated entity is replaced by what its
    /// struct writes, as in .NET.
    pub(crate) fn change(&self, replace_on_update: bool) -> Result<Option<Change>, Error> {
        let edits = match &self.intent {
            Intent::Add(add, _) => {
                return Ok(Some(Change::Add(*add, Arc::new(self.values().into_owned()))));
            }
            Intent::Delete(_) if self.is_add_undone() && self.doubt.request.is_some() => {
                return Ok(None);
            }
            Intent::Delete(_) => return Ok(Some(Change::Delete)),
            Intent::Replace(values) => {
                self.check_replaceable(false)?;
                return Ok(Some(Change::Put(Arc::clone(values))));
            }
            Intent::Edit(edits) => edits,
        };
        let update = edits.update.as_ref().filter(|_| replace_on_update);
        if let Some(update) = update {
            self.check_replaceable(update.is_partial)?;
            return Ok(Some(Change::Put(Arc::new(update.written.clone()))));
        }
        if edits.values.is_empty() {
            return Ok(None);
        }
        let removed = edits.values.iter().find(|(_, value)| value.is_none()).map(|(name, _)| name);
        if let (Some(name), false) = (removed, replace_on_update) {
            self.check_removable(name)?;
        } else if replace_on_update {
            self.check_replaceable(false)?;
        } else {
            let set = edits.values.iter();
            let set = set.filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
            return Ok(Some(Change::Merge(Arc::new(set.collect()))));
        }
        Ok(Some(Change::Put(Arc::new(self.values().into_owned()))))
    }

    fn check_replaceable(&self, is_partial: bool) -> Result<(), Error> {
        if is_partial || self.is_partly_known() {
            return Err(refusal(
                &self.key,
                "a replace would lose the columns that the query did not select: read all columns first",
            ));
        }
        Ok(())
    }

    fn check_removable(&self, name: &str) -> Result<(), Error> {
        match &self.base {
            Base::Read { known: Known::All, .. } | Base::New => Ok(()),
            Base::Read { known: Known::Selected(_), .. } => Err(refusal(
                &self.key,
                format_args!(
                    "property {name:?} was removed, which requires a replace, and a replace would lose the \
                     columns that the query did not select: read all columns first"
                ),
            )),
            Base::Read { known: Known::Written, .. } | Base::Unread { .. } => Err(refusal(
                &self.key,
                format_args!(
                    "it was not read, and a merge cannot remove property {name:?}, which has no \
                     value: save with `replace_on_update`, or read it first"
                ),
            )),
        }
    }

    pub(super) fn last_update(&self) -> Option<&Arc<LastUpdate>> {
        match &self.intent {
            Intent::Edit(edits) | Intent::Add(_, edits) => edits.update.as_ref(),
            Intent::Replace(_) | Intent::Delete(_) => None,
        }
    }

    /// Updates the values by those of a struct. `order` is the next position among the changes.
    pub(super) fn update(&mut self, values: Values, order: u64) -> Result<(), Error> {
        let Values { properties, ownership, baseline, lacks, .. } = values;
        if self.is_deleted() {
            return Err(refusal(&self.key, "it is deleted; add it instead"));
        }
        let Baseline { all: baseline, first } = baseline.map_err(|error| {
            refusal(
                &self.key,
                format_args!("its type cannot write the tracked values ({error}), so that a removed property would stay"),
            )
        })?;
        self.check_selected(&baseline, first.as_ref(), &properties)?;
        // Only a difference from the baseline is a change. Values that the struct reads by a default, by another
        // name or as another type, or does not read at all, keep their stored form.
        let changes = difference(&baseline, &properties, Some(&ownership));
        let is_first = self.last_update().is_none();
        let was_unchanged = matches!(&self.intent, Intent::Edit(edits) if edits.values.is_empty());
        let is_partial = self.is_partly_known();
        let ownership = Arc::new(ownership);
        let update = Some(Arc::new(LastUpdate { written: properties, ownership, is_partial }));
        match &mut self.intent {
            Intent::Replace(values) => apply(&changes, Arc::make_mut(values)),
            Intent::Add(_, edits) => {
                edits.values.extend(changes);
                edits.values.retain(|_, value| value.is_some());
                edits.update = update;
            }
            Intent::Edit(edits) => {
                if let Base::Unread { values, .. } = &self.base {
                    // No value of the row is known, so that all are sent.
                    let own = std::mem::take(&mut edits.values);
                    edits.values = Edits::all(values).values;
                    edits.values.extend(own);
                    edits.values.extend(lacks.map(|name| (name, None)));
                }
                edits.values.extend(changes);
                edits.update = update;
                self.drop_equal_edits();
                if was_unchanged && (is_first || self.state() != EntityState::Unchanged) {
                    self.order = order;
                }
            }
            Intent::Delete(_) => {}
        }
        Ok(())
    }

    /// Checks that a struct of an earlier projection does not set defaults for columns that were read later.
    fn check_selected(
        &self,
        baseline: &Properties,
        first: Option<&Properties>,
        now: &Properties,
    ) -> Result<(), Error> {
        let (Some(first), Some(columns)) = (first, &self.first_known) else { return Ok(()) };
        let mut names = baseline.keys().chain(now.keys());
        let unread = names.find(|name| {
            let value = now.get(*name);
            !columns.contains(*name) && value != baseline.get(*name) && value == first.get(*name)
        });
        let Some(name) = unread else { return Ok(()) };
        Err(refusal(
            &self.key,
            format_args!(
                "property {name:?} has the default of a struct whose query did not select it; to \
                 set this value, detach the entity and read it again"
            ),
        ))
    }

    /// Drops the edits that the row has already. After a request of unknown outcome they stay: the row may have other values.
    pub(super) fn drop_equal_edits(&mut self) {
        let Intent::Edit(edits) = &mut self.intent else { return };
        if self.doubt == InDoubt::default() {
            let base = &self.base;
            edits.values.retain(|name, value| !base.has(name, value.as_ref()));
        }
    }

    pub(super) fn delete(&mut self, order: u64) {
        let edits = match &mut self.intent {
            Intent::Delete(_) => return,
            Intent::Edit(edits) | Intent::Add(_, edits) => std::mem::take(edits),
            Intent::Replace(values) => {
                Edits { values: difference(self.base.values(), values, None), update: None }
            }
        };
        self.intent = Intent::Delete(Edits { update: None, ..edits });
        self.order = order;
    }

    /// Makes the deletion of an entity a replacement by these properties. If no row is known, they are added.
    pub(super) fn add_again(&mut self, properties: Properties, add: Add, order: u64) {
        self.intent = match self.base {
            Base::New => Intent::Add(add, Edits::all(&properties)),
            Base::Unread { .. } | Base::Read { .. } => Intent::Replace(Arc::new(properties)),
        };
        self.order = order;
    }

    pub(super) fn reset(&mut self) -> Result<(), Error> {
        if matches!(self.base, Base::New) {
            return Err(refusal(&self.key, "it is new; detach it instead"));
        }
        if self.state() != EntityState::Unchanged {
            self.error = None;
        }
        self.intent = Intent::Edit(Edits::default());
        Ok(())
    }

    /// Makes these properties the only local change of a row that was just read.
    pub(super) fn set_all(&mut self, properties: Properties, ownership: Ownership) {
        let values = difference(self.base.values(), &properties, None);
        let update =
            LastUpdate { written: properties, ownership: Arc::new(ownership), is_partial: false };
        self.intent = Intent::Edit(Edits { values, update: Some(Arc::new(update)) });
    }

    /// What is inserted if the row is gone.
    pub(super) fn to_insert(&self, replace_on_update: bool) -> Option<Properties> {
        match self.change(replace_on_update) {
            Ok(Some(Change::Put(values))) => Some(Arc::unwrap_or_clone(values)),
            Ok(None | Some(Change::Delete)) => None,
            Ok(Some(_)) | Err(_) => Some(self.values().into_owned()),
        }
    }

    /// Records that a change which leaves a row was applied. `etag` is the ETag in the response.
    pub(super) fn confirm(&mut self, sent: &Candidate, etag: Option<&ETag>) {
        let (Some(kept), Some(tracked)) = (&sent.kept, sent.change.properties()) else { return };
        self.error = None;
        self.drop_sent_edits(&sent.change, tracked, sent.update.as_ref());
        let is_whole = !sent.change.is_merge();
        let is_conditional = matches!(sent.condition, Some(IfMatch::Tag(_)));
        let is_of_version = is_conditional && self.condition() == sent.condition.as_ref();
        let etag = etag.filter(|_| is_whole || is_of_version || !is_conditional);
        let version = etag.cloned().map(IfMatch::Tag);
        let (mut values, known) = match &self.base {
            _ if is_whole => (Arc::default(), Known::All),
            // The row of an unconditional merge may have any values in the columns that were not sent.
            _ if version.is_some() && !is_conditional => (Arc::default(), Known::Written),
            Base::New | Base::Unread { .. } => (Arc::default(), Known::Written),
            Base::Read { values, known, .. } => (Arc::clone(values), known.clone()),
        };
        let known = match known {
            Known::Selected(mut names) => {
                names.extend(kept.keys().cloned());
                Known::Selected(names)
            }
            known => known,
        };
        if values.is_empty() {
            values = Arc::clone(kept);
        } else {
            let written = kept.iter().map(|(name, value)| (name.clone(), value.clone()));
            Arc::make_mut(&mut values).extend(written);
        }
        self.doubt.ended_unknown &= !is_whole && version.is_none();
        self.base = Base::Read { values, known, version };
    }

    /// Removes the edits that a request carried and that are still the same.
    fn drop_sent_edits(
        &mut self,
        sent: &Change,
        properties: &Properties,
        update: Option<&Arc<LastUpdate>>,
    ) {
        let is_merge = matches!(sent, Change::Merge(_));
        let is_sent = |name: &String, value: &Option<EdmValue>| {
            properties.get(name) == value.as_ref() && (value.is_some() || !is_merge)
        };
        let is_new_update = |own: &Arc<LastUpdate>| !update.is_some_and(|it| Arc::ptr_eq(it, own));
        let edits = match &self.intent {
            Intent::Edit(edits) => {
                let mut edits = edits.clone();
                edits.values.retain(|name, value| !is_sent(name, value));
                edits
            }
            // The intent has all values, and the program may have changed some since.
            Intent::Add(_, edits) => Edits {
                values: difference(properties, &self.values(), None),
                update: edits.update.clone(),
            },
            Intent::Replace(values) => {
                Edits { values: difference(properties, values, None), update: None }
            }
            Intent::Delete(_) => {
                self.intent = Intent::Delete(Edits::default());
                return;
            }
        };
        self.intent = Intent::Edit(Edits { update: edits.update.filter(is_new_update), ..edits });
    }

    /// Takes over the ETag of a row that was read back, if nobody else has changed the row since the base was read.
    /// `write_id` is the column with the ids of writes. Returns whether it did.
    pub(super) fn adopt_version(&mut self, row: Option<&Found>, write_id: Option<&str>) -> bool {
        let Base::Read { values, known, version } = &mut self.base else {
            return false;
        };
        let is_same = |row: &&Found| {
            let names = || values.keys().chain(row.properties.keys());
            let is_id = |name: &str| write_id == Some(name);
            *known == Known::All
                && names().all(|name| is_id(name) || values.get(name) == row.properties.get(name))
        };
        *version = row.filter(is_same).map(|row| IfMatch::Tag(row.etag.clone()));
        self.doubt.ended_unknown &= version.is_none();
        version.is_some()
    }

    /// Returns a column in which a change would overwrite a value that the context does not know.
    pub(super) fn overwritten(
        &self,
        change: &Change,
        row: &Properties,
        write_id: Option<&str>,
    ) -> Option<String> {
        let (base, none) = (self.base.values(), Properties::new());
        let written = change.properties().map_or(&none, |written| written);
        let is_lost = |name: &&String| {
            let value = row.get(*name);
            let is_known = self.base.knows(name) && value == base.get(*name);
            let is_absent = !self.base.knows(name) && value.is_none();
            let is_kept = value.is_some() && value == written.get(*name);
            !is_known && !is_absent && !is_kept && write_id != Some(name.as_str())
        };
        if self.is_add_undone() {
            // Nothing proves whose row it is.
            return Some("PartitionKey".to_owned());
        }
        let lost = if matches!(change, Change::Merge(_)) {
            written.keys().find(is_lost)
        } else {
            base.keys().chain(row.keys()).find(is_lost)
        };
        lost.cloned()
    }

    /// Whether the row is known to be in the state that an earlier request leaves.
    pub(super) fn has_state_of(&self, sent: &Candidate) -> bool {
        let Some(kept) = &sent.kept else { return false };
        if sent.change.is_merge() {
            return kept.iter().all(|(name, value)| self.base.has(name, Some(value)));
        }
        matches!(&self.base, Base::Read { values, known: Known::All, .. } if values == kept)
    }
}
