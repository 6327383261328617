use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::clock::SharedClock;
use crate::error::Error;

/// The indices of the resolved rows of an input, for [`Bulk::resume`](super::Bulk::resume), also in another
/// process. A checkpoint can be stored as text (`Display` and `FromStr`) or with serde.
///
/// A row is resolved once it was applied, or refused because of its content. A row is unresolved if it was not
/// sent, if its outcome is unknown, or if it was given up because the service could not be reached. The
/// checkpoint also counts the refused rows. Its size grows with the number of gaps between resolved rows.
///
/// A checkpoint that comes from a monitor, a report or a text is that of an earlier run, also if it has no resolved
/// row. Only [`Checkpoint::new`] begins a fresh run.
///
/// ```
/// use azure_table_client::bulk::Checkpoint;
///
/// let checkpoint: Checkpoint = "1.0-1200,1300-1400".parse()?;
/// assert_eq!(checkpoint.next(), 1200);
/// assert!(checkpoint.is_resolved(1300) && !checkpoint.is_resolved(1200));
/// assert_eq!(checkpoint.resolved(), 1300);
/// # Ok::<(), azure_table_client::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The ranges of resolved rows, by their starts; they do not touch.
    ranges: BTreeMap<u64, u64>,
    /// The number of resolved rows that were refused.
    refused: u64,
    /// Whether it comes from a run, which may have applied unresolved rows.
    is_of_run: bool,
    /// The id of the run, if it is known. The write ids of its rows follow from it.
    run_id: Option<Uuid>,
}

impl Checkpoint {
    /// Creates the checkpoint of a fresh run: no earlier run applied a row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it comes from a run, which may have applied unresolved rows.
    pub(super) const fn is_of_run(&self) -> bool {
        self.is_of_run
    }

    /// Makes it the checkpoint of a run. Returns the id of the run, which is drawn if it has none.
    pub(super) fn begin(&mut self, clock: &SharedClock) -> Result<Uuid, Error> {
        self.is_of_run = true;
        let id = self.run_id.map_or_else(|| clock.random_id(), Ok)?;
        self.run_id = Some(id);
        Ok(id)
    }

    /// The index of the first unresolved row.
    pub fn next(&self) -> u64 {
        self.ranges.get(&0).copied().unwrap_or_default()
    }

    /// Whether the row of this index is resolved.
    pub fn is_resolved(&self, index: u64) -> bool {
        self.ranges.range(..=index).next_back().is_some_and(|(_, end)| index < *end)
    }

    /// The number of resolved rows.
    pub fn resolved(&self) -> u64 {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }

    /// The number of resolved rows that were refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Resolves a row that was refused.
    pub(super) fn refuse(&mut self, index: u64) {
        self.refused += u64::from(!self.is_resolved(index));
        self.resolve(index);
    }

    pub(super) fn resolve(&mut self, index: u64) {
        if self.is_resolved(index) {
            return;
        }
        let mut end = index.saturating_add(1);
        if let Some(later) = self.ranges.remove(&end) {
            end = later;
        }
        match self.ranges.range_mut(..index).next_back() {
            Some((_, before)) if *before == index => *before = end,
            _ => {
                self.ranges.insert(index, end);
            }
        }
    }
}

const VERSION: &str = "1.";

/// Writes `1.<from>-<to>,<from>-<to>…` without the row `<to>`. Then `;` and the number of refused rows, if it is
/// not 0 or an id follows; then `;` and the id of the run, if it is known.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(VERSION)?;
        for (n, (start, end)) in self.ranges.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{start}-{end}")?;
        }
        if self.refused > 0 || self.run_id.is_some() {
            write!(f, ";{}", self.refused)?;
        }
        match self.run_id {
            Some(id) => write!(f, ";{id}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Checkpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).ok_or_else(|| Error::invalid_input("the text is not a checkpoint"))
    }
}

fn parse(text: &str) -> Option<Checkpoint> {
    let mut ranges = BTreeMap::new();
    let mut last = None;
    let text = text.strip_prefix(VERSION)?;
    let mut parts = text.splitn(3, ';');
    let text = parts.next()?;
    let refused = parts.next().map_or(Ok(0), str::parse).ok()?;
    let run_id = parts.next().map(Uuid::try_parse).transpose().ok()?;
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (start, end) = range.split_once('-')?;
        let (start, end) = (start.parse().ok()?, end.parse().ok()?);
        if start >= end || last.is_some_and(|last| start <= last) {
            return None;
        }
        ranges.insert(start, end);
        last = Some(end);
    }
    let checkpoint = Checkpoint { ranges, refused, is_of_run: true, run_id };
    (refused <= checkpoint.resolved()).then_some(checkpoint)
}

serde_as_text!(Checkpoint);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn other_text_is_not_a_checkpoint() {
        for bad in [
            "",
            "2.",
            "1.5",
            "1.5-5",
            "1.6-5",
            "1.0-5,5-6",
            "1.0-5,3-8",
            "1.a-b",
            "1.-1-2",
            "1.;1",
            "1.0-5;6",
            "1.0-5;",
            "1.0-5;x",
            "1.0-5;1;1",
        ] {
            let error = bad.parse::<Checkpoint>().unwrap_err();
            assert_eq!(error.to_string(), "the text is not a checkpoint", "{bad}");
        }
    }

    #[test]
    fn a_stored_checkpoint_is_of_a_run() {
        let fresh = Checkpoint::new();
        assert!(!fresh.is_of_run());
        let stored: Checkpoint = fresh.to_string().parse().unwrap();
        assert!(stored.is_of_run() && stored.resolved() == 0 && stored != fresh);
        let mut begun = Checkpoint::new();
        let clock: SharedClock = Arc::new(SystemClock);
        let id = begun.begin(&clock).unwrap();
        let mut stored: Checkpoint = begun.to_string().parse().unwrap();
        assert_eq!((&stored, stored.is_of_run()), (&begun, true));
        assert_eq!(stored.begin(&clock).unwrap(), id);
    }

    proptest! {
        #[test]
        fn it_lists_the_resolved_rows(indices in proptest::collection::vec(0_u64..60, 0..80)) {
            let mut checkpoint: Checkpoint = "1.".parse().unwrap();
            let mut refused = BTreeSet::new();
            for index in &indices {
                if index % 7 == 0 {
                    checkpoint.refuse(*index);
                    refused.insert(*index);
                } else {
                    checkpoint.resolve(*index);
                }
            }
            prop_assert_eq!(checkpoint.refused(), refused.len() as u64);
            let all: BTreeSet<u64> = indices.into_iter().collect();
            for index in 0..70 {
                prop_assert_eq!(checkpoint.is_resolved(index), all.contains(&index));
            }
            prop_assert_eq!(checkpoint.resolved(), all.len() as u64);
            prop_assert!((0..checkpoint.next()).all(|index| all.contains(&index)));
            prop_assert!(!all.contains(&checkpoint.next()));
            let ranges: Vec<_> = checkpoint.ranges.iter().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
            let text = checkpoint.to_string();
            prop_assert_eq!(&text.parse::<Checkpoint>().unwrap(), &checkpoint);
            let json = serde_json::to_string(&checkpoint).unwrap();
            prop_assert_eq!(serde_json::from_str::<Checkpoint>(&json).unwrap(), checkpoint);
        }

        #[test]
        fn no_text_panics(text in "(1\\.)?[0-9,;-]{0,30}") {
            if let Ok(checkpoint) = text.parse::<Checkpoint>() {
                let _ = (checkpoint.next(), checkpoint.resolved(), checkpoint.is_resolved(u64::MAX));
            }
        }
    }
}
