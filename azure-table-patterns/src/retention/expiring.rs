//! Rows that expire one by one.

use std::fmt;
use std::time::{Duration, SystemTime};

use azure_table_client::bulk::BulkError;
use azure_table_client::client::Query;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::IntoKey;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::limits::check_property_name;
use azure_table_client::{DynamicEntity, ETag, TableClient, TableEntity};

use super::MARGIN;
use crate::Error;

/// A table whose rows expire at the time in one of their columns.
pub struct Expiring<T> {
    table: TableClient<T>,
    column: String,
    margin: Duration,
}

impl<T: TableEntity + Send + 'static> Expiring<T> {
    /// Creates the access to a table whose rows expire at the time in `column`, of type Edm.DateTime. A row without this
    /// column is neither returned nor removed: rows that never expire need a time in the far future.
    ///
    /// # Errors
    /// The column has an invalid name, or `T` does not have it.
    pub fn new(table: &TableClient<T>, column: &str) -> Result<Self, Error> {
        check_property_name(column).map_err(azure_table_client::Error::from)?;
        if !T::KEEPS_OTHERS && !T::COLUMNS.contains(&column) {
            return Err(Error::InvalidInput(format!(
                "the entity does not have a column {column:?}"
            )));
        }
        let table = Self { table: table.clone(), column: column.to_owned(), margin: MARGIN };
        // Refuses the words of filters, such as `not`.
        table.expiry(CompareOp::Gt, EdmDateTime::MIN)?;
        Ok(table)
    }

    /// Sets the time by which the clocks of any two programs may differ; the default is one day. Rows are removed by
    /// this time later.
    #[must_use]
    pub fn margin(self, margin: Duration) -> Self {
        Self { margin, ..self }
    }

    /// Reads a row and its version; `None` if it does not exist, or has expired by the clock of this program.
    ///
    /// # Errors
    /// A request failed, or the row is not a valid `T`.
    pub async fn get(&self, key: impl IntoKey) -> Result<Option<(T, ETag)>, Error> {
        let rows = self.table.with_entity::<DynamicEntity>();
        let Some(row) = rows.get_if_exists(key).primary_only().await? else { return Ok(None) };
        let expiry = match row.value(&self.column) {
            Some(EdmValue::DateTime(expiry)) => *expiry,
            _ => return Ok(None),
        };
        if expiry <= time(self.table.clock().now())? {
            return Ok(None);
        }
        let entity = row.to_entity().map_err(azure_table_client::Error::from)?;
        Ok(Some((entity, row.etag.clone())))
    }

    /// Returns a query of the rows that have not expired by now, by the clock of this program.
    ///
    /// # Errors
    /// The clock is outside the times that the service can store.
    pub fn query(&self) -> Result<Query<T>, Error> {
        let now = time(self.table.clock().now())?;
        let current = self.expiry(CompareOp::Gt, now)?;
        Ok(self.table.query().matching(&current).primary_only())
    }

    /// Removes the rows that have expired, and returns their number. A row that changes after it was found stays, so
    /// that its expiry can be extended at any time.
    ///
    /// `refine` narrows the sweep to a range of keys. Without a range, the sweep scans the table; for a client that
    /// refuses scans, `refine` calls `allow_scan`.
    ///
    /// # Errors
    /// A request failed, so that the sweep ended. Sweep again: it finds the remaining rows.
    pub async fn sweep(&self, refine: impl FnOnce(Query<T>) -> Query<T>) -> Result<u64, Error> {
        let bound = self.table.clock().now().checked_sub(self.margin);
        let bound = bound.and_then(|bound| EdmDateTime::from_system_time(bound).ok());
        let Some(bound) = bound else { return Ok(0) };
        let expired = self.expiry(CompareOp::Le, bound)?;
        let expired = refine(self.table.query().matching(&expired).primary_only());
        let run = self.table.bulk().delete_found(expired).await;
        let report = run.unwrap_or_else(BulkError::into_report);
        match report.stopped_by() {
            Some(error) => Err(error.clone().into()),
            None => Ok(report.progress.applied),
        }
    }

    /// Compares the expiry of rows with a time.
    fn expiry(&self, op: CompareOp, time: EdmDateTime) -> Result<Filter, Error> {
        let filter = Filter::compare(self.column.as_str(), op, time);
        Ok(filter.map_err(azure_table_client::Error::from)?)
    }
}

fn time(now: SystemTime) -> Result<EdmDateTime, azure_table_client::Error> {
    Ok(EdmDateTime::from_system_time(now)?)
}

impl<T> Clone for Expiring<T> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), column: self.column.clone(), margin: self.margin }
    }
}

impl<T> fmt::Debug for Expiring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expiring")
            .field("table", &self.table)
            .field("column", &self.column)
            .field("margin", &self.margin)
            .finish()
    }
}
