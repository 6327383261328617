//! What happened to the rows: all their versions, and which values the program was shown.

use std::collections::{BTreeMap, BTreeSet};

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, Operation};

use super::requests::{Write, plain};

pub(super) const TABLE: &str = "Rows";

pub(super) type Columns = BTreeMap<String, i32>;

/// The columns of an entity that have numbers.
pub(super) fn columns_of(entity: &DynamicEntity) -> Columns {
    let names = entity.properties().map(|(name, _)| name);
    names.filter_map(|name| Some((name.to_owned(), entity.get::<i32>(name)?.ok()?))).collect()
}

/// A version of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Version {
    /// Milliseconds since the program began.
    pub(super) time: u64,
    pub(super) etag: Option<String>,
    /// `None` if the row does not exist.
    pub(super) columns: Option<Columns>,
}

/// One value of a row: row, column, value without the hook's change.
type Cell = (usize, String, i32);

/// The versions of all rows, and who knows them.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The versions of each row in their order; the first one is from before the program.
    versions: Vec<Vec<Version>>,
    /// The values that other programs wrote.
    foreign: BTreeSet<Cell>,
    /// The values that the program itself passed to the context.
    own: BTreeSet<Cell>,
    /// The values that the program was shown.
    seen: BTreeSet<Cell>,
}

impl Rows {
    pub(super) fn new(rows: usize) -> Self {
        Self { versions: vec![vec![Version::default()]; rows], ..Self::default() }
    }

    /// Records the versions that are new, at this time.
    pub(super) fn record(&mut self, mock: &MockTableService, time: u64, is_foreign: bool) {
        let stored = mock.rows(TABLE).unwrap_or_default();
        for (row, versions) in self.versions.iter_mut().enumerate() {
            let entity = stored.iter().find(|entity| entity.key().row_key == row.to_string());
            let etag = entity.and_then(|entity| entity.etag()).map(ToString::to_string);
            let last = versions.last().expect("the first version");
            if last.etag == etag {
                continue;
            }
            let columns = entity.map(columns_of);
            if is_foreign {
                let before = last.columns.clone().unwrap_or_default();
                for (name, value) in columns.iter().flatten() {
                    if before.get(name) != Some(value) {
                        self.foreign.insert((row, name.clone(), plain(*value)));
                    }
                }
            }
            versions.push(Version { time, etag, columns });
        }
    }

    /// The last version of a row.
    pub(super) fn last(&self, row: usize) -> &Version {
        self.versions[row].last().expect("the first version")
    }

    /// The index of the last version of a row.
    pub(super) fn index(&self, row: usize) -> usize {
        self.versions[row].len() - 1
    }

    pub(super) fn first_etag(&self, row: usize) -> Option<&str> {
        self.versions[row].iter().find_map(|version| version.etag.as_deref())
    }

    /// The version with this ETag.
    pub(super) fn version(&self, row: usize, etag: &str) -> Option<&Version> {
        self.versions[row].iter().find(|version| version.etag.as_deref() == Some(etag))
    }

    /// The versions of a row from an index on.
    pub(super) fn since(&self, row: usize, index: usize) -> &[Version] {
        &self.versions[row][index..]
    }

    /// The versions that existed at some time from `start` to `end`.
    pub(super) fn during(
        &self,
        row: usize,
        start: u64,
        end: u64,
    ) -> impl Iterator<Item = &Version> {
        let versions = &self.versions[row];
        let first = versions.iter().rposition(|version| version.time < start).unwrap_or(0);
        versions[first..].iter().take_while(move |version| version.time <= end)
    }

    pub(super) fn pass(&mut self, row: usize, name: &str, value: i32) {
        self.own.insert((row, name.to_owned(), plain(value)));
    }

    /// The program was shown these values.
    pub(super) fn show(&mut self, row: usize, columns: &Columns) {
        self.seen.extend(columns.iter().map(|(name, value)| (row, name.clone(), plain(*value))));
    }

    /// The values of another program that this write is about to overwrite, although the program was not shown them. An
    /// unconditional write counts as having seen the row (context-machine.md, property 2), so that it records them as shown.
    pub(super) fn overwritten(&mut self, write: &Write) -> Vec<(String, i32)> {
        let Some(before) = self.last(write.row).columns.clone() else { return vec![] };
        if !write.is_under_an_etag() {
            self.show(write.row, &before);
            return vec![];
        }
        let is_merge = write.operation == Operation::Merge;
        let is_unseen = |name: &str, value: i32| {
            let cell = (write.row, name.to_owned(), plain(value));
            self.foreign.contains(&cell) && !self.own.contains(&cell) && !self.seen.contains(&cell)
        };
        let is_overwritten = |name: &str, value: i32| match write.columns.get(name) {
            Some(new) => plain(*new) != plain(value),
            None => !is_merge,
        };
        let lost = before.into_iter();
        lost.filter(|(name, value)| is_overwritten(name, *value) && is_unseen(name, *value))
            .collect()
    }
}
