//! What became of a change whose reply never came, from what the service holds now. No I/O.

use super::state::{Add, Change, Identity, Known as KnownColumns, Pending, Sent, Tracked, Tracker};
use crate::etag::IfMatch;
use crate::operation::evidence::{Effect, Evidence, Found, Known};

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolution {
    /// The change was made.
    Applied,
    /// It was not, as far as the service shows; it is pending again.
    ///
    /// An attempt that is still on its way meets the version that it carries, or the key that the next
    /// one inserted. One without a version, an upsert or one with `Any`, may yet be done.
    NotApplied,
    /// Another program wrote since, or before, so that it does not show; it is pending again.
    Unclear,
    /// It was not, as far as the service shows; and the entity was to be deleted, so that there is
    /// nothing left to do, unless the attempt is still on its way.
    Forgotten,
}

impl Tracked {
    /// Compares what was sent with the row that the service holds now, `None` if there is none.
    fn evidence(
        &self,
        Sent { change, wire, .. }: &Sent,
        write_id: Option<&str>,
        row: Option<&Found>,
    ) -> Evidence {
        let effect = match wire {
            Change::Delete => Effect::Gone,
            Change::Merge(set) | Change::Add(Add::InsertOrMerge, set) => Effect::Some(set),
            Change::Put(whole) | Change::Add(_, whole) => Effect::Whole(whole),
        };
        let fence = match (&self.condition, change) {
            (Some(IfMatch::Tag(tag)), Change::Merge(_) | Change::Put(_) | Change::Delete) => {
                Some(tag)
            }
            _ => None,
        };
        effect.evidence(fence, Known { write_id, since: None }, row)
    }

    /// Whether the row is what is known of it with what was written: nobody wrote behind the change.
    fn is_exact(&self, Sent { change, wire, .. }: &Sent, row: &Found) -> bool {
        let (Change::Merge(_), KnownColumns::All, Some(snapshot)) =
            (change, &self.known, &self.snapshot)
        else {
            return true;
        };
        let is_written = |name: &str| wire.properties().is_some_and(|set| set.contains_key(name));
        let mut others = row.properties.iter().filter(|(name, _)| !is_written(name));
        others.all(|(name, value)| snapshot.get(name) == Some(value))
            && snapshot.keys().all(|name| is_written(name) || row.properties.contains_key(name))
    }
}

impl Tracker {
    /// What became of changes that were sent in one request, from the rows that the service holds now.
    pub(super) fn resolve(
        &mut self,
        changes: &[(Identity, Option<Found>)],
        write_id: Option<&str>,
    ) -> Vec<Resolution> {
        let evidence = |(id, row): &(Identity, Option<Found>)| {
            let tracked = self.entities.get(id)?;
            Some(tracked.evidence(tracked.sent.as_ref()?, write_id, row.as_ref()))
        };
        let evidence: Vec<_> = changes.iter().map(evidence).collect();
        let all = Evidence::of_all(evidence.iter().copied().flatten());
        let mut resolutions = Vec::with_capacity(changes.len());
        for ((id, row), evidence) in changes.iter().zip(evidence) {
            let row = row.as_ref().filter(|_| evidence.is_some_and(Evidence::is_made));
            resolutions.push(self.conclude(id, row, all));
        }
        resolutions
    }

    /// Takes over that a change was made, or not. Without its row, its version is not known.
    fn conclude(&mut self, id: &Identity, row: Option<&Found>, all: Evidence) -> Resolution {
        let Some(tracked) = self.entities.get_mut(id) else { return Resolution::NotApplied };
        let Some(sent) = tracked.sent.take() else { return Resolution::NotApplied };
        if !all.is_made() {
            // It was to be added, and is to be deleted now: there is nothing to delete.
            if tracked.pending == Pending::Delete && tracked.condition.is_none() {
                self.entities.remove(id);
                return Resolution::Forgotten;
            }
            return match all {
                Evidence::NotMade => Resolution::NotApplied,
                _ => Resolution::Unclear,
            };
        }
        if sent.change == Change::Delete {
            self.entities.remove(id);
            return Resolution::Applied;
        }
        // With the old version, the next update finds the conflict with whoever wrote behind this one.
        let etag = row.filter(|row| tracked.is_exact(&sent, row)).map(|row| &row.etag);
        tracked.take_applied(sent.change, etag);
        Resolution::Applied
    }
}
