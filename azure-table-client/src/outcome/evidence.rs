//! The evidence in rows that a write was applied, and the rules that decide by it. No I/O.
//!
//! - A write id that is found in a row proves that the write was applied, and with it the whole
//!   transaction. A missing id proves nothing.
//! - An ETag that the write names and that the row still has proves that no attempt has been applied so
//!   far. An open attempt may still be, unless the service would refuse it by now.
//! - A row that has another ETag, or is gone, stops every later attempt under the old ETag. It proves
//!   nothing about earlier attempts.
//! - A row in the state that the write leaves counts as success for inserts, deletes and unconditional
//!   writes. It proves nothing for an update that is conditional on an ETag, unless the program accepts
//!   it, since another program may compute the same value.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::edm::{EdmDateTime, EdmValue};
use crate::entity::{
    DecodeError, DynamicEntity, EncodeError, Entities, EntityKey, Form, KeyError, PropertyWriter,
    Row, TableEntity,
};
use crate::error::{MatchingState, OpenWrite};
use crate::operation::{Confirmation, Effect, Proof, Request, Wrote};
use crate::wire::PayloadFormat;
use crate::{Dialect, ETag};

/// Properties by name: rows are compared, and changes are tracked and sent, in this form.
pub(crate) type Properties = BTreeMap<String, EdmValue>;

/// Returns the key of an entity, and the properties that it would be stored with.
pub(crate) fn properties_of<T: TableEntity>(
    entity: &T,
    dialect: Dialect,
) -> Result<(EntityKey, Properties), EncodeError> {
    T::check_columns()?;
    let (key, mut properties) = (entity.entity_key()?, Properties::new());
    let writer = PropertyWriter::new(&mut properties, &key.partition_key, &key.row_key);
    let mut writer = writer.dialect(dialect);
    entity.write_properties(&mut writer)?;
    writer.finish()?;
    Ok((key, properties))
}

/// An entity whose properties are in a map.
#[derive(Debug)]
pub(crate) struct MapEntity<'m> {
    key: Cow<'m, EntityKey>,
    properties: Cow<'m, Properties>,
}

impl<'m> MapEntity<'m> {
    pub(crate) const fn new(key: &'m EntityKey, properties: &'m Properties) -> Self {
        Self::of(key, Cow::Borrowed(properties))
    }

    pub(crate) const fn of(key: &'m EntityKey, properties: Cow<'m, Properties>) -> Self {
        Self { key: Cow::Borrowed(key), properties }
    }

    pub(crate) fn into_parts(self) -> (EntityKey, Properties) {
        (self.key.into_owned(), self.properties.into_owned())
    }

    /// Returns the entity as a struct, as if it was read in this version.
    pub(crate) fn to_entity<T: TableEntity>(&self, etag: Option<&ETag>) -> Result<T, DecodeError> {
        let properties = self.properties.iter().map(|(name, value)| (name.as_str(), value));
        let mut row = Row::of::<T>(Form::WHOLE);
        row.fill(&self.key, etag, None, properties);
        T::from_row(&mut row)
    }

    /// Returns a copy that a program may read and change.
    pub(crate) fn to_dynamic(&self) -> DynamicEntity {
        let mut entity = DynamicEntity::new(&*self.key.partition_key, &*self.key.row_key);
        let properties = self.properties.iter().map(|(name, value)| (name.clone(), value.clone()));
        entity.replace_properties(properties.collect());
        entity
    }
}

impl TableEntity for MapEntity<'_> {
    const COLUMNS: &'static [&'static str] = &[];
    const KEEPS_OTHERS: bool = true;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.partition_key))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.row_key))
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        self.properties.iter().try_for_each(|(name, value)| writer.put_named(name, value.as_cow()))
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        let properties = row.take_others()?.into_iter().collect();
        let key = EntityKey { partition_key: row.partition_key()?, row_key: row.row_key()? };
        Ok(Self { key: Cow::Owned(key), properties: Cow::Owned(properties) })
    }
}

/// A row as the service holds it now.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) etag: ETag,
    pub(crate) timestamp: Option<EdmDateTime>,
    pub(crate) properties: Properties,
}

/// The state of a row compared with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowState {
    /// The row has the id of the write, or of a later write of the same program.
    HasWriteId,
    /// The row is in the state that the write leaves. Another program may have left it.
    Matches,
    /// The row still has the ETag of the write's condition: no attempt has been applied so far.
    Unchanged,
    /// The row is in another state.
    Differs,
}

/// A write with the properties that it sent.
#[derive(Debug)]
pub(crate) struct SentWrite<'w> {
    wrote: &'w Wrote,
    properties: Properties,
}

impl<'w> SentWrite<'w> {
    /// Whether the write is conditional on an ETag.
    pub(super) const fn is_conditional(&self) -> bool {
        self.wrote.fence.is_some()
    }

    pub(super) const fn is_delete(&self) -> bool {
        matches!(self.wrote.effect, Effect::Gone)
    }

    /// The id of the write in the column `write_id`.
    pub(super) fn id(&self, write_id: Option<&str>) -> Option<&EdmValue> {
        self.properties.get(write_id?)
    }

    /// Compares the row with the write. A row that was last written before `since`, by the service's clock, is not
    /// a match.
    pub(super) fn compare(
        &self,
        write_id: Option<&str>,
        since: Option<EdmDateTime>,
        row: Option<&Found>,
    ) -> RowState {
        let Some(row) = row else {
            return if self.is_delete() { RowState::Matches } else { RowState::Differs };
        };
        if let (Some(id), Some(column)) = (self.id(write_id), write_id) {
            if row.properties.get(column) == Some(id) {
                return RowState::HasWriteId;
            }
            let is_unchanged = self.wrote.fence.as_ref() == Some(&row.etag);
            return if is_unchanged { RowState::Unchanged } else { RowState::Differs };
        }
        if self.wrote.fence.as_ref() == Some(&row.etag) {
            return RowState::Unchanged;
        }
        let is_older = row.timestamp.zip(since).is_some_and(|(at, since)| at < since);
        if !is_older && self.is_left_in(row) { RowState::Matches } else { RowState::Differs }
    }

    /// Whether the row has the properties that the write left, the id of the write included.
    pub(crate) fn is_left_in(&self, row: &Found) -> bool {
        match self.wrote.effect {
            Effect::Gone => false,
            Effect::Whole => self.properties == row.properties,
            Effect::Merged => {
                let mut sent = self.properties.iter();
                sent.all(|(name, value)| row.properties.get(name) == Some(value))
            }
        }
    }

    pub(crate) const fn key(&self) -> &'w EntityKey {
        &self.wrote.key
    }

    /// Decodes the writes of a request whose bodies are in this format; `None` if a body cannot be read.
    pub(crate) fn all_of(request: &'w Request, format: PayloadFormat) -> Option<Vec<Self>> {
        let sent = |wrote| Some(Self { wrote, properties: decode(request, wrote, format)? });
        request.writes.iter().map(sent).collect()
    }
}

fn decode(request: &Request, wrote: &Wrote, format: PayloadFormat) -> Option<Properties> {
    if wrote.effect == Effect::Gone {
        return Some(Properties::new());
    }
    let form = Form { typed: true, selected: false };
    let body = request.body.get(wrote.body.clone())?;
    let entity: MapEntity<'_> = format.read_one(body, form, &Entities).ok()?;
    Some(entity.into_parts().1)
}

/// The evidence about a write whose last attempt was refused or got no response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'e> {
    /// The write, or the operations of a transaction, which are all applied or not at all.
    pub(crate) writes: &'e [SentWrite<'e>],
    /// The rows that the primary holds now.
    pub(crate) rows: &'e HashMap<EntityKey, Found>,
    /// The column with the ids of writes.
    pub(crate) write_id: Option<&'e str>,
    /// A time, by the service's clock, before the first attempt.
    pub(crate) since: Option<EdmDateTime>,
    /// The open attempts.
    pub(crate) open: Option<OpenWrite>,
    /// Whether the service would have refused each open attempt before the rows were read.
    pub(crate) is_expired: bool,
}

/// The decision about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Applied(Confirmation),
    NotApplied,
    Unknown {
        /// Set if the rows are in the state that the write leaves.
        matching_state: Option<MatchingState>,
    },
}

/// Decides whether the writes of a request were applied.
pub(crate) fn judge(evidence: Evidence<'_>, proof: Proof) -> Verdict {
    let Evidence { writes, rows, write_id, since, .. } = evidence;
    let states = writes.iter().map(|write| write.compare(write_id, since, rows.get(write.key())));
    let states: Vec<_> = states.collect();
    decide(evidence, &states, proof)
}

fn decide(evidence: Evidence<'_>, states: &[RowState], proof: Proof) -> Verdict {
    let Evidence { writes, write_id, open, is_expired, .. } = evidence;
    if states.contains(&RowState::HasWriteId) {
        return Verdict::Applied(Confirmation::WriteId);
    }
    let Some(open) = open else { return Verdict::NotApplied };
    if states.contains(&RowState::Unchanged) {
        // The rows may be read one after another, and an attempt may be applied between two reads. An ETag that was
        // gone counts only if it was gone before this row was read.
        return if open.is_fenced || is_expired {
            Verdict::NotApplied
        } else {
            Verdict::Unknown { matching_state: None }
        };
    }
    if states.iter().any(|state| *state != RowState::Matches) {
        return Verdict::Unknown { matching_state: None };
    }
    let is_conditional = writes.iter().any(|write| write.is_conditional() && !write.is_delete());
    let required = if is_conditional { Proof::MatchingUpdate } else { Proof::MatchingState };
    if proof < required {
        let lacks_write_id = write_id.is_none() && writes.iter().any(|write| !write.is_delete());
        return Verdict::Unknown { matching_state: Some(MatchingState { lacks_write_id }) };
    }
    Verdict::Applied(Confirmation::Comparison)
}

/// Decides whether a request with an open attempt created or deleted a table, or deleted a row, which leave no id.
/// `matches` states whether the table or the row is in the state that the request leaves.
pub(crate) fn judge_without_id(matches: bool, proof: Proof) -> Verdict {
    match (matches, proof >= Proof::MatchingState) {
        (true, true) => Verdict::Applied(Confirmation::Comparison),
        (true, false) => {
            Verdict::Unknown { matching_state: Some(MatchingState { lacks_write_id: false }) }
        }
        (false, _) => Verdict::Unknown { matching_state: None },
    }
}

#[cfg(test)]
mod tests;
