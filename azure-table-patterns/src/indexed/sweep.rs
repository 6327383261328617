//! Cleans up after programs that stopped.

use azure_table_client::Stored;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{HasIndexes, IndexDefinition, KeyRange};
use azure_table_client::filter::{CompareOp, Filter};
use futures_util::TryStreamExt as _;

use super::attempt::Settled;
use super::rows::{HELPERS, IndexRow, MARKERS, Marker};
use super::{Indexed, MARKER_RETENTION};
use crate::{Error, Swept};

impl<T: HasIndexes + Send + Sync + 'static> Indexed<T> {
    /// Ends the attempts of programs that stopped, removes the index rows that point to nothing, and old markers.
    /// [`scanned`](Swept::scanned) counts index rows.
    ///
    /// Only space and speed depend on it: readers verify entities, and a writer that meets an unfinished attempt
    /// ends it. Run it once a day, or after a crash. It reads both tables once and each entity once for each of its
    /// index rows, and waits once for the grace time.
    ///
    /// # Errors
    /// The first error of a request. A second sweep continues the work.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        if T::INDEXES.iter().any(|index| !index.in_partition) {
            self.sweep_rows(&mut swept).await?;
        }
        self.sweep_markers(&mut swept).await?;
        Ok(swept)
    }

    async fn sweep_rows(&self, swept: &mut Swept) -> Result<(), Error> {
        let mut unfinished = Vec::new();
        let mut rows = self.global_rows.query().allow_scan().primary_only().stream();
        while let Some(row) = rows.try_next().await? {
            swept.scanned += 1;
            if row.confirmed {
                self.verify(&row, swept).await?;
            } else {
                unfinished.push(row);
            }
        }
        if !unfinished.is_empty() {
            self.entities.clock().sleep(self.grace).await;
        }
        for row in unfinished {
            let now = self.global_rows.get_if_exists(row.key()).primary_only().await?;
            if let Some(now) = now.filter(|now| row.etag.as_ref() == Some(&now.etag)) {
                swept.unfinished += 1;
                self.end(&now.target_partition, now.attempt).await?;
                self.settle_counted(&now, swept).await?;
            }
        }
        Ok(())
    }

    async fn verify(&self, row: &IndexRow, swept: &mut Swept) -> Result<(), Error> {
        let Some((index, text)) = Self::index_of(row) else { return Ok(()) };
        if self.has_value(&row.target(), index, text).await? {
            return Ok(());
        }
        // The row that the query found may be older than the entity.
        match self.global_rows.get_if_exists(row.key()).primary_only().await? {
            Some(now) if row.etag.as_ref() == Some(&now.etag) => {
                self.settle_counted(&now, swept).await
            }
            _ => Ok(()),
        }
    }

    async fn settle_counted(&self, row: &Stored<IndexRow>, swept: &mut Swept) -> Result<(), Error> {
        if let Some((index, text)) = Self::index_of(row)
            && self.settle(row, index, text).await? == Settled::Removed
        {
            swept.removed += 1;
        }
        Ok(())
    }

    /// Returns the index of a row and the text of its value; `None` if `T` does not declare the index.
    fn index_of(row: &IndexRow) -> Option<(&'static IndexDefinition, &str)> {
        let (property, text) = row.value()?;
        let index =
            T::INDEXES.iter().find(|index| index.property == property && !index.in_partition)?;
        Some((index, text))
    }

    async fn sweep_markers(&self, swept: &mut Swept) -> Result<(), Error> {
        let Some(now) = self.service_time().await? else { return Ok(()) };
        let retention = i64::try_from(MARKER_RETENTION.as_nanos() / 100).unwrap_or(i64::MAX);
        let Ok(limit) = EdmDateTime::from_ticks(now.ticks().saturating_sub(retention)) else {
            return Ok(());
        };
        let old = Filter::compare("Timestamp", CompareOp::Lt, limit);
        let old = old.map_err(azure_table_client::Error::from)?;
        let markers = Filter::rows_in(&KeyRange::of_prefix(MARKERS));
        let query = self.markers.query().matching(&(markers & old)).allow_scan().primary_only();
        let report = match self.markers.bulk().delete_found(query).await {
            Ok(report) => report,
            Err(error) => error.into_report(),
        };
        swept.removed += report.progress.applied;
        report.stopped_by().map_or(Ok(()), |error| Err(error.clone().into()))
    }

    /// The time of the service: the Timestamp of a row written now. The clock of this machine may be off.
    async fn service_time(&self) -> Result<Option<EdmDateTime>, Error> {
        let mut row = Marker::new(HELPERS, self.markers.clock().random_id()?, false);
        row.row = format!("{HELPERS}sweep");
        self.markers.insert_or_replace(&row).await?;
        Ok(self
            .markers
            .get_if_exists((&*row.partition, &*row.row))
            .primary_only()
            .await?
            .and_then(|it| it.written))
    }
}
