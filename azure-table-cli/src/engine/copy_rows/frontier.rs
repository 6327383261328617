//! The rows of a copy that were read and not resolved, and the position up to which all others are resolved.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use azure_table_client::{DynamicEntity, EntityKey};
use serde::{Deserialize, Serialize};

use crate::engine::row_list::LostRow;
use crate::engine::write_run::HeldRow;

/// The limit on the unresolved rows up to the position, which a checkpoint lists.
pub(super) const MAX_UNRESOLVED: usize = 10_000;

/// The state of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RowState {
    /// The row was read.
    Open,
    /// The target has the row.
    Copied,
    /// The row cannot be copied.
    Refused(LostRow),
    /// The row was not sent, or it is not known whether the target has it; then it is listed at the end. A resumed run
    /// copies it again.
    Unresolved(Option<LostRow>),
}

/// The rows in the order of reading. Once the first row has an outcome, the position moves over it.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    rows: VecDeque<Row>,
    /// The rows of the bulk run without an outcome. Its window bounds their number.
    held: HashMap<u64, Arc<DynamicEntity>>,
    /// The index of the next row in the bulk run.
    next_index: u64,
    saved: Saved,
    /// The rows that the position moved over, that did not get through, and that were not taken yet.
    lost: Vec<LostRow>,
}

/// The part of the state that a checkpoint keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// All rows of the source up to this key are resolved, except `unresolved`; `None` at the start.
    #[serde(rename = "after")]
    pub(super) position: Option<EntityKey>,
    pub(crate) unresolved: HashSet<EntityKey>,
    /// The number of rows up to the position that were copied.
    pub(crate) copied: u64,
    /// The number of rows up to the position that were refused.
    pub(crate) refused: u64,
}

#[derive(Debug)]
struct Row {
    /// The index of the row in the bulk run. A row that was refused before it was sent has the index of the next one.
    index: u64,
    key: EntityKey,
    /// Whether the position moves to this key: not if a resumed run copies it again.
    is_in_order: bool,
    state: RowState,
}

impl Frontier {
    pub(crate) fn new(saved: Saved) -> Self {
        Self { saved, ..Self::default() }
    }

    pub(super) const fn saved(&self) -> &Saved {
        &self.saved
    }

    /// Adds the row that the bulk run reads next. Returns its index.
    pub(super) fn read(&mut self, row: &HeldRow, is_in_order: bool) -> u64 {
        let (index, key) = (self.next_index, row.0.key().clone());
        self.held.insert(index, Arc::clone(&row.0));
        self.rows.push_back(Row { index, key, is_in_order, state: RowState::Open });
        self.next_index += 1;
        index
    }

    /// Returns a row that the bulk run has read, once it has an outcome.
    pub(super) fn take_row(&mut self, index: u64) -> Option<Arc<DynamicEntity>> {
        self.held.remove(&index)
    }

    /// Adds a row that the bulk run does not read.
    pub(super) fn refuse(&mut self, is_in_order: bool, row: LostRow) {
        let (key, state) = (row.key.clone(), RowState::Refused(row));
        self.rows.push_back(Row { index: self.next_index, key, is_in_order, state });
    }

    /// Adds a row that was not resolved and that the target has.
    pub(super) fn skip(&mut self, key: EntityKey) {
        let (index, state) = (self.next_index, RowState::Copied);
        self.rows.push_back(Row { index, key, is_in_order: false, state });
    }

    /// Sets the outcome of the row with this index.
    pub(super) fn end(&mut self, index: u64, state: RowState) {
        // The last of several rows with one index is the one that was sent.
        let after = self.rows.partition_point(|row| row.index <= index);
        if let Some(row) = after.checked_sub(1).and_then(|at| self.rows.get_mut(at))
            && row.index == index
        {
            row.state = state;
        }
    }

    /// Moves the position over all rows that have an outcome, as long as the unresolved ones can be listed. Returns the
    /// number of these rows, without those that [`take_lost`](Self::take_lost) returns.
    pub(super) fn advance(&mut self) -> usize {
        let mut moved = 0;
        while self.rows.front().is_some_and(|row| self.saved.can_move_over(row))
            && let Some(Row { key, is_in_order, state, .. }) = self.rows.pop_front()
        {
            moved +=
                usize::from(!matches!(state, RowState::Refused(_) | RowState::Unresolved(Some(_))));
            match state {
                RowState::Open => {}
                RowState::Copied => {
                    self.saved.copied += 1;
                    self.saved.unresolved.remove(&key);
                }
                RowState::Refused(row) => {
                    self.saved.refused += 1;
                    self.saved.unresolved.remove(&key);
                    self.lost.push(row);
                }
                RowState::Unresolved(row) => {
                    self.saved.unresolved.insert(key.clone());
                    self.lost.extend(row);
                }
            }
            if is_in_order {
                self.saved.position = Some(key);
            }
        }
        moved
    }

    /// Whether the position cannot move over an unresolved row, because the list is full.
    pub(super) fn is_full(&self) -> bool {
        let is_stuck = |row: &Row| {
            matches!(row.state, RowState::Unresolved(_)) && !self.saved.can_move_over(row)
        };
        self.rows.front().is_some_and(is_stuck)
    }

    /// Forgets a row of an earlier run that the source does not have any more.
    pub(super) fn forget(&mut self, key: &EntityKey) {
        self.saved.unresolved.remove(key);
    }

    /// The number of rows that [`take_lost`](Self::take_lost) returns.
    pub(super) fn lost_rows(&self) -> usize {
        self.lost.len()
    }

    /// Returns the rows that the position moved over since the last call and that did not get through.
    pub(super) fn take_lost(&mut self) -> Vec<LostRow> {
        std::mem::take(&mut self.lost)
    }
}

impl Saved {
    /// Whether the position can move over this row.
    fn can_move_over(&self, row: &Row) -> bool {
        match row.state {
            RowState::Open => false,
            RowState::Copied | RowState::Refused(_) => true,
            RowState::Unresolved(_) => {
                self.unresolved.len() < MAX_UNRESOLVED || self.unresolved.contains(&row.key)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::row_list::Lost;

    fn row(n: u64) -> HeldRow {
        DynamicEntity::new("p", key(n).row_key).into()
    }

    fn refused(n: u64, reason: &str) -> LostRow {
        LostRow::new(key(n), Lost::Refused, reason)
    }

    fn key(n: u64) -> EntityKey {
        EntityKey::new("p", format!("{n:06}"))
    }

    #[test]
    fn rows_refused_before_sending_share_an_index_with_the_next_one() {
        let mut frontier = Frontier::default();
        frontier.read(&row(0), true);
        frontier.refuse(true, refused(1, "a"));
        frontier.refuse(true, refused(2, "b"));
        frontier.read(&row(3), true);
        frontier.end(1, RowState::Copied);
        frontier.end(7, RowState::Copied);
        assert_eq!(frontier.advance(), 0);
        frontier.end(0, RowState::Copied);
        assert_eq!((frontier.advance(), frontier.lost_rows()), (2, 2));
        assert_eq!((frontier.saved().copied, frontier.saved().refused), (2, 2));
        assert_eq!(frontier.saved().position, Some(key(3)));
        assert_eq!(frontier.take_lost(), [refused(1, "a"), refused(2, "b")]);
        // An outcome that comes twice changes nothing.
        frontier.end(1, RowState::Unresolved(None));
        assert_eq!(frontier.advance(), 0);
    }

    #[test]
    fn a_row_is_unresolved_until_a_later_run_copies_it() {
        let mut frontier = Frontier::default();
        for n in 0..3 {
            frontier.read(&row(n), true);
            frontier.end(n, if n == 1 { RowState::Copied } else { RowState::Unresolved(None) });
        }
        frontier.advance();
        let text = serde_json::to_string(frontier.saved()).unwrap();
        let saved: Saved = serde_json::from_str(&text).unwrap();
        assert_eq!(&saved, frontier.saved());
        assert_eq!(saved.unresolved, HashSet::from([key(0), key(2)]));
        assert_eq!(saved.position, Some(key(2)));

        let mut frontier = Frontier::new(saved);
        frontier.read(&row(0), false);
        frontier.end(0, RowState::Copied);
        frontier.forget(&key(2));
        frontier.advance();
        let saved = frontier.saved();
        assert_eq!((saved.copied, saved.unresolved.len()), (2, 0));
        assert_eq!(saved.position, Some(key(2)));
    }

    #[test]
    fn the_position_stays_once_the_list_of_unresolved_rows_is_full() {
        let limit = MAX_UNRESOLVED as u64;
        let mut frontier = Frontier::default();
        for n in 0..limit + 3 {
            assert!(!frontier.is_full());
            frontier.read(&row(n), true);
            frontier.end(n, if n < 2 { RowState::Copied } else { RowState::Unresolved(None) });
            frontier.advance();
        }
        assert!(frontier.is_full());
        let saved = frontier.saved().clone();
        assert_eq!(saved.unresolved.len(), MAX_UNRESOLVED);
        assert_eq!(saved.position, Some(key(limit + 1)));

        // A resumed run tries the listed rows again first.
        let mut frontier = Frontier::new(saved);
        for (index, n, is_in_order, state) in [
            (0, 2, false, RowState::Unresolved(None)),
            (1, 3, false, RowState::Copied),
            (2, limit + 2, true, RowState::Unresolved(None)),
            (3, limit + 3, true, RowState::Open),
        ] {
            frontier.read(&row(n), is_in_order);
            frontier.end(index, state);
        }
        assert_eq!((frontier.advance(), frontier.is_full()), (3, false));
        assert_eq!(frontier.saved().position, Some(key(limit + 2)));
        frontier.end(3, RowState::Unresolved(None));
        assert_eq!((frontier.advance(), frontier.is_full()), (0, true));
    }

    proptest! {
        /// Whenever a run is killed, the rows after the position and the unresolved ones include every row that the
        /// target may lack, and no row counts twice.
        #[test]
        fn nothing_is_lost_whatever_the_order_of_outcomes(
            order in Just((0_u64..40).collect::<Vec<_>>()).prop_shuffle(),
            states in proptest::collection::vec(0_u8..3, 40),
            stop in 0_usize..=40,
        ) {
            let mut frontier = Frontier::default();
            for n in 0..40 {
                frontier.read(&row(n), true);
            }
            let mut ended = BTreeMap::new();
            for n in order.into_iter().take(stop) {
                let state = match states[usize::try_from(n).unwrap()] {
                    0 => RowState::Copied,
                    1 => RowState::Refused(refused(n, "r")),
                    _ => RowState::Unresolved(None),
                };
                ended.insert(n, state.clone());
                frontier.end(n, state);
                frontier.advance();
            }
            let saved = frontier.saved();
            for n in 0..40 {
                let is_done = saved.position.as_ref().is_some_and(|position| key(n).row_key <= position.row_key);
                let is_again = !is_done || saved.unresolved.contains(&key(n));
                let is_resolved = matches!(ended.get(&n), Some(RowState::Copied | RowState::Refused(_)));
                prop_assert!(is_again || is_resolved);
            }
            let done = saved.copied + saved.refused + saved.unresolved.len() as u64;
            let position = saved.position.as_ref().map_or(0, |key| key.row_key.parse::<u64>().unwrap() + 1);
            prop_assert_eq!(done, position);
        }
    }
}
