//! The rows of a partition, as a list of chunks that snapshots share.

use std::sync::Arc;

use super::chunk::{CHUNK_ROWS, RowChunk};
use super::row::StoredEntity;
use crate::key::ordinal;

/// The rows of a partition in the order of their keys. A clone shares the rows, and a change copies at
/// most the list and one chunk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Partition {
    /// No chunk is empty.
    chunks: Vec<Arc<RowChunk>>,
}

impl Partition {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns the chunk of the first row from this key on, and all chunks after it.
    pub(crate) fn chunks_from(&self, row_key: &str) -> &[Arc<RowChunk>] {
        &self.chunks[self.chunk_of(row_key)..]
    }

    pub(crate) fn into_chunks(self) -> Vec<Arc<RowChunk>> {
        self.chunks
    }

    /// The index of the first chunk whose last row is not before this key.
    fn chunk_of(&self, row_key: &str) -> usize {
        // Rows often arrive in the order of their keys, and a search reads a distant row for each of its steps.
        if self.chunks.last().is_some_and(|last| ordinal(last.last_key(), row_key).is_lt()) {
            return self.chunks.len();
        }
        self.chunks.partition_point(|chunk| ordinal(chunk.last_key(), row_key).is_lt())
    }

    pub(super) fn get(&self, row_key: &str) -> Option<&StoredEntity> {
        let chunk = self.chunks_from(row_key).first()?;
        chunk.find(row_key).ok().map(|at| &chunk.rows()[at])
    }

    /// Stores a row. Returns `true` if its key is new.
    pub(super) fn put(&mut self, row: StoredEntity) -> bool {
        let at = self.chunk_of(row.row_key());
        if at == self.chunks.len() {
            match self.chunks.last_mut().filter(|last| last.rows().len() < CHUNK_ROWS) {
                Some(last) => Arc::make_mut(last).rows_mut().push(row),
                None => self.chunks.push(Arc::new(RowChunk::of(row))),
            }
            return true;
        }
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        match chunk.find(row.row_key()) {
            Ok(found) => {
                chunk.rows_mut()[found] = row;
                false
            }
            Err(place) => {
                let rows = chunk.rows_mut();
                rows.insert(place, row);
                if rows.len() > CHUNK_ROWS {
                    let mut upper = RowChunk::default();
                    upper.rows_mut().extend(rows.drain(CHUNK_ROWS / 2..));
                    self.chunks.insert(at + 1, Arc::new(upper));
                }
                true
            }
        }
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, row_key: &str) -> Option<StoredEntity> {
        let at = self.chunk_of(row_key);
        let found = self.chunks.get(at)?.find(row_key).ok()?;
        let rows = Arc::make_mut(&mut self.chunks[at]).rows_mut();
        let removed = rows.remove(found);
        if rows.is_empty() {
            self.chunks.remove(at);
        } else if rows.len() < CHUNK_ROWS / 4 {
            self.join_with_next(at);
            if at > 0 {
                self.join_with_next(at - 1);
            }
        }
        Some(removed)
    }

    /// Joins a chunk with the next one if both together are small.
    fn join_with_next(&mut self, at: usize) {
        let Some(next) = self.chunks.get(at + 1) else {
            return;
        };
        if self.chunks[at].rows().len() + next.rows().len() <= CHUNK_ROWS / 2 {
            let next = self.chunks.remove(at + 1);
            Arc::make_mut(&mut self.chunks[at]).rows_mut().extend_from_slice(next.rows());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::{RowText, Version};
    use super::*;
    use crate::edm::{EdmCow, EdmDateTime};
    use crate::tests::sized;

    fn row(key: &str, number: i32) -> StoredEntity {
        let properties = vec![("N".into(), EdmCow::Int32(number))];
        RowText::new(key, &properties).at(Version::at(EdmDateTime::MIN))
    }

    fn all(partition: &Partition) -> Vec<(String, String)> {
        let rows = partition.chunks.iter().flat_map(|chunk| chunk.rows());
        rows.map(|row| (row.row_key().to_owned(), row.properties().text().to_owned())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sized(32, 256)))]

        #[test]
        fn a_partition_is_an_ordered_map(
            steps in proptest::collection::vec((0..900_u16, any::<bool>(), 0..9_i32), 0..3000),
        ) {
            let (mut partition, mut model) = (Partition::default(), BTreeMap::new());
            for (key, puts, number) in steps {
                let key = format!("{key:03}");
                if puts {
                    let text = format!("\"N\":{number},");
                    let is_new = model.insert(key.clone(), text).is_none();
                    prop_assert_eq!(partition.put(row(&key, number)), is_new);
                } else {
                    let was = model.remove(&key);
                    prop_assert_eq!(partition.remove(&key).is_some(), was.is_some());
                }
                prop_assert_eq!(partition.get(&key).is_some(), puts);
            }
            prop_assert_eq!(all(&partition), model.into_iter().collect::<Vec<_>>());
            let sizes = partition.chunks.iter().map(|chunk| chunk.rows().len());
            prop_assert!(sizes.clone().all(|size| (1..=CHUNK_ROWS).contains(&size)));
        }
    }

    #[test]
    fn a_snapshot_keeps_its_rows() {
        let mut partition = Partition::default();
        for key in 0..600 {
            partition.put(row(&format!("{key:03}"), 1));
        }
        assert_eq!(partition.chunks.len(), 3, "rows in ascending order fill their chunks");
        let snapshot = partition.clone();
        let before = all(&snapshot);
        partition.put(row("300", 2));
        partition.remove("301");
        assert_eq!(all(&snapshot), before);
        assert!(Arc::ptr_eq(&snapshot.chunks[0], &partition.chunks[0]), "shared");
        assert!(!Arc::ptr_eq(&snapshot.chunks[1], &partition.chunks[1]));
    }

    #[test]
    fn many_removals_leave_few_chunks() {
        let mut partition = Partition::default();
        for key in 0..10_000 {
            partition.put(row(&format!("{key:05}"), 1));
        }
        for key in (0..10_000).filter(|key| key % 100 != 0) {
            partition.remove(&format!("{key:05}"));
        }
        assert!(partition.chunks.len() <= 4, "{}", partition.chunks.len());
        assert_eq!(partition.chunks_from("09900").len(), 1);
        assert!(partition.chunks_from("09901").is_empty());
    }
}
