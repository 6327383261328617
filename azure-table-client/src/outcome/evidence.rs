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

use std::collections::HashMap;

use super::properties::{MapEntity, Properties};
use crate::ETag;
use crate::edm::{EdmDateTime, EdmValue};
use crate::entity::{Entities, EntityKey, Form};
use crate::error::{MatchingState, OpenWrite};
use crate::operation::{Confirmation, Effect, Proof, Request, Wrote};
use crate::wire::PayloadFormat;

/// A row as the service holds it now.
#[derive(Debug)]
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

/// The decision about a request, and the state of its rows.
#[derive(Debug)]
pub(crate) struct Judgment {
    pub(crate) verdict: Verdict,
    /// For each write, whether its row has the properties that it left.
    pub(crate) left: Vec<bool>,
}

/// Decides whether the writes of a request were applied.
pub(crate) fn judge(evidence: Evidence<'_>, proof: Proof) -> Judgment {
    let Evidence { writes, rows, write_id, since, .. } = evidence;
    let row = |write: &SentWrite<'_>| rows.get(write.key());
    let states = writes.iter().map(|write| write.compare(write_id, since, row(write)));
    let states: Vec<_> = states.collect();
    let left = writes.iter().map(|write| row(write).is_some_and(|row| write.is_left_in(row)));
    let left = left.collect();
    Judgment { verdict: decide(evidence, &states, proof), left }
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
