//! The rules that decide whether a write was applied. No I/O.
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

use super::evidence::{Found, RowState, SentWrite};
use crate::edm::EdmDateTime;
use crate::entity::EntityKey;
use crate::error::MatchingState;
use crate::operation::{Confirmation, Proof};

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
    /// Whether any attempt is open.
    pub(crate) is_open: bool,
    /// Whether the service refused an attempt because an ETag is gone, before the rows were read.
    pub(crate) is_fenced: bool,
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
    let Evidence { writes, write_id, is_open, is_fenced, is_expired, .. } = evidence;
    if states.contains(&RowState::HasWriteId) {
        return Verdict::Applied(Confirmation::WriteId);
    }
    if !is_open {
        return Verdict::NotApplied;
    }
    if states.contains(&RowState::Unchanged) {
        // The rows may be read one after another, and an attempt may be applied between two reads. An ETag that was
        // gone counts only if it was gone before this row was read.
        return if is_fenced || is_expired {
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
mod tests {
    use super::*;
    use crate::edm::EdmValue;
    use crate::entity::DynamicEntity;
    use crate::operation::entity::{Update, Write};
    use crate::operation::transaction::Batch;
    use crate::operation::{Request, Target};
    use crate::outcome::Properties;
    use crate::wire::Protocol;
    use crate::{ETag, IfMatch};

    const ID: &str = "Id";

    fn properties(text: &str, id: Option<u128>) -> Properties {
        let id = id.map(|id| (ID.to_owned(), EdmValue::from(uuid::Uuid::from_u128(id))));
        [("Text".to_owned(), EdmValue::from(text))].into_iter().chain(id).collect()
    }

    fn found(etag: &str, text: &str, id: Option<u128>) -> Found {
        Found { etag: ETag::from(etag), timestamp: None, properties: properties(text, id) }
    }

    fn entity(row_key: &str, text: &str, id: Option<u128>) -> DynamicEntity {
        let mut entity = DynamicEntity::new("p", row_key);
        for (name, value) in properties(text, id) {
            entity.set(name, value);
        }
        entity
    }

    /// The writes of a transaction, in the rows `0`, `1` and so on.
    fn request(parts: &[(&str, Option<u128>)]) -> Request {
        let tag = IfMatch::Tag(ETag::from("W/\"1\""));
        let mut batch = Batch::new(Target::of_test(Protocol::default()));
        for (at, (kind, id)) in parts.iter().enumerate() {
            let row = entity(&at.to_string(), "mine", *id);
            let added = match *kind {
                "insert" => batch.write(None, &row, Write::Insert),
                "upsert" => batch.write(None, &row, Write::Upsert(Update::Merge)),
                "merge" => batch.write(None, &row, Write::Update(Update::Merge, &tag)),
                "replace" => batch.write(None, &row, Write::Update(Update::Replace, &tag)),
                "merge any" => batch.write(None, &row, Write::Update(Update::Merge, &IfMatch::Any)),
                "delete" => batch.delete(row.key(), &tag),
                other => panic!("{other}"),
            };
            added.unwrap();
        }
        batch.finish().unwrap()
    }

    fn writes(request: &Request) -> Vec<SentWrite<'_>> {
        SentWrite::all_of(request, Protocol::default().format()).unwrap()
    }

    fn rows(found: Vec<Option<Found>>) -> HashMap<EntityKey, Found> {
        let rows = found.into_iter().enumerate();
        rows.filter_map(|(at, row)| Some((EntityKey::new("p", at.to_string()), row?))).collect()
    }

    /// The evidence on a write with an open attempt.
    fn evidence<'e>(
        writes: &'e [SentWrite<'e>],
        rows: &'e HashMap<EntityKey, Found>,
    ) -> Evidence<'e> {
        Evidence {
            writes,
            rows,
            write_id: Some(ID),
            since: None,
            is_open: true,
            is_fenced: false,
            is_expired: false,
        }
    }

    fn decide(parts: &[(&str, Option<u128>)], found: Vec<Option<Found>>, proof: Proof) -> Verdict {
        let (request, rows) = (request(parts), rows(found));
        let writes = writes(&request);
        judge(evidence(&writes, &rows), proof).verdict
    }

    const MATCHES: Verdict = matches(false);
    const UNKNOWN: Verdict = Verdict::Unknown { matching_state: None };
    const BY_STATE: Verdict = Verdict::Applied(Confirmation::Comparison);
    const BY_ID: Verdict = Verdict::Applied(Confirmation::WriteId);

    const fn matches(lacks_write_id: bool) -> Verdict {
        Verdict::Unknown { matching_state: Some(MatchingState { lacks_write_id }) }
    }

    #[test]
    fn a_write_id_is_missed_where_it_would_decide() {
        let mine = || Some(found("W/\"2\"", "mine", None));
        for (parts, found, lacks_write_id) in [
            ([("merge", None), ("merge", None)], vec![mine(), mine()], true),
            ([("insert", None), ("delete", None)], vec![mine(), None], true),
            ([("delete", None), ("delete", None)], vec![None, None], false),
        ] {
            let (request, rows) = (request(&parts), rows(found));
            let writes = writes(&request);
            let evidence = Evidence { write_id: None, ..evidence(&writes, &rows) };
            assert_eq!(
                judge(evidence, Proof::WriteId).verdict,
                matches(lacks_write_id),
                "{parts:?}"
            );
        }
    }

    #[test]
    fn single_writes() {
        let row = |etag, text| Some(found(etag, text, None));
        for (kind, row, default, strict, lenient) in [
            ("insert", row("W/\"2\"", "mine"), BY_STATE, MATCHES, BY_STATE),
            ("insert", row("W/\"2\"", "theirs"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("insert", None, UNKNOWN, UNKNOWN, UNKNOWN),
            ("upsert", row("W/\"2\"", "mine"), BY_STATE, MATCHES, BY_STATE),
            ("merge any", row("W/\"2\"", "mine"), BY_STATE, MATCHES, BY_STATE),
            ("merge", row("W/\"2\"", "mine"), MATCHES, MATCHES, BY_STATE),
            ("replace", row("W/\"2\"", "mine"), MATCHES, MATCHES, BY_STATE),
            ("merge", row("W/\"1\"", "old"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("merge", row("W/\"3\"", "theirs"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("merge", None, UNKNOWN, UNKNOWN, UNKNOWN),
            ("delete", None, BY_STATE, MATCHES, BY_STATE),
            ("delete", row("W/\"1\"", "old"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("delete", row("W/\"3\"", "theirs"), UNKNOWN, UNKNOWN, UNKNOWN),
        ] {
            let what = format!("{kind}: {row:?}");
            for (proof, expected) in [
                (Proof::MatchingState, default),
                (Proof::WriteId, strict),
                (Proof::MatchingUpdate, lenient),
            ] {
                let row = row.as_ref().map(|row| Found {
                    etag: row.etag.clone(),
                    timestamp: None,
                    properties: row.properties.clone(),
                });
                assert_eq!(decide(&[(kind, None)], vec![row], proof), expected, "{what} {proof:?}");
            }
        }
    }

    #[test]
    fn a_write_id_outranks_everything() {
        let id = Some(1);
        for kind in ["insert", "upsert", "merge", "replace"] {
            for proof in [Proof::WriteId, Proof::MatchingState, Proof::MatchingUpdate] {
                let of = |row| decide(&[(kind, id)], vec![Some(row)], proof);
                assert_eq!(of(found("W/\"2\"", "merged into", id)), BY_ID, "{kind}");
                assert_eq!(of(found("W/\"2\"", "mine", Some(2))), UNKNOWN, "{kind}");
                assert_eq!(of(found("W/\"2\"", "mine", None)), UNKNOWN, "{kind}");
            }
        }
    }

    #[test]
    fn one_member_proves_its_transaction() {
        let of = |parts: &[_], found| decide(parts, found, Proof::default());
        let theirs = || Some(found("W/\"9\"", "theirs", Some(9)));
        let mine = |id| Some(found("W/\"2\"", "mine", id));
        let both = [("insert", Some(1)), ("merge", Some(2))];
        assert_eq!(of(&both, vec![mine(Some(1)), theirs()]), BY_ID);
        assert_eq!(of(&both, vec![theirs(), theirs()]), UNKNOWN);
        let deletes = [("delete", None), ("delete", None)];
        assert_eq!(of(&deletes, vec![None, None]), BY_STATE, "by comparison only");
        assert_eq!(of(&deletes, vec![None, theirs()]), UNKNOWN);
        let inserts = [("insert", None), ("upsert", None)];
        assert_eq!(of(&inserts, vec![mine(None), mine(None)]), BY_STATE);
        assert_eq!(of(&inserts, vec![mine(None), None]), UNKNOWN);
        let mixed = [("insert", None), ("merge", None)];
        assert_eq!(of(&mixed, vec![mine(None), mine(None)]), MATCHES);
        let updates = [("merge", None), ("merge", None)];
        let old = || Some(found("W/\"1\"", "old", None));
        assert_eq!(of(&updates, vec![old(), old()]), UNKNOWN);
        // The rows may have been read before and after the transaction was applied.
        assert_eq!(of(&updates, vec![old(), theirs()]), UNKNOWN);
    }

    #[test]
    fn an_unchanged_row_proves_more_once_the_attempts_have_expired() {
        let request = request(&[("merge", None)]);
        let writes = writes(&request);
        let rows = rows(vec![Some(found("W/\"1\"", "old", None))]);
        let evidence = evidence(&writes, &rows);
        let of = |evidence| judge(evidence, Proof::default()).verdict;
        assert_eq!(of(evidence), UNKNOWN);
        assert_eq!(of(Evidence { is_expired: true, ..evidence }), Verdict::NotApplied);
        assert_eq!(of(Evidence { is_fenced: true, ..evidence }), Verdict::NotApplied);
        assert_eq!(of(Evidence { is_open: false, ..evidence }), Verdict::NotApplied);
    }
}
