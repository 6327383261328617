//! Rows that expire one by one.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt;
use std::time::{Duration, SystemTime};

use azure_table_client::bulk::BulkError;
use azure_table_client::client::Query;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::{DecodeError, IntoKey};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::limits::check_property_name;
use azure_table_client::{DynamicEntity, Error as ClientError, Stored, TableClient, TableEntity};

use super::MARGIN;
use crate::{Error, Swept, input};

/// A table whose rows expire at the time in one of their columns.
pub struct Expiring<T> {
    table: TableClient<T>,
    column: String,
    margin: Duration,
    /// The partitions that a sweep reads; `None` for all.
    partitions: Option<BTreeSet<String>>,
}

impl<T: TableEntity + Send + 'static> Expiring<T> {
    /// Creates the access to a table whose rows expire at the time in `column`, of type Edm.DateTime. A row without this
    /// column is neither returned nor removed: rows that never expire need a time in the far future.
    ///
    /// # Errors
    /// The name of the table is invalid, the column has an invalid name, or `T` does not have it.
    pub fn new(table: &TableClient<T>, column: impl Into<String>) -> Result<Self, Error> {
        let column = column.into();
        input::check_table(table)?;
        check_property_name(&column).map_err(ClientError::from)?;
        if !T::KEEPS_OTHERS && !T::COLUMNS.contains(&&*column) {
            return Err(Error::invalid_input(format!(
                "the entity does not have a column {column:?}"
            )));
        }
        let table = Self { table: table.clone(), column, margin: MARGIN, partitions: None };
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

    /// Limits a [`sweep`](Self::sweep) to these partitions, with one query each. By default, it scans the table.
    #[must_use]
    pub fn partitions<P: Into<String>>(self, partitions: impl IntoIterator<Item = P>) -> Self {
        Self { partitions: Some(partitions.into_iter().map(Into::into).collect()), ..self }
    }

    /// Reads a row; `None` if it does not exist, or has expired by the clock of this program.
    ///
    /// # Errors
    /// A request failed, or the row is not a valid `T`.
    pub async fn get(&self, key: impl IntoKey) -> Result<Option<Stored<T>>, Error> {
        let row = match self.table.get_if_exists(key).primary_only().await {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(error) if is_about(&error, &self.column) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let columns = DynamicEntity::from_entity(&row.entity)?;
        let now = time(self.table.clock().now())?;
        let is_current = matches!(
            columns.value(&self.column),
            Some(EdmValue::DateTime(expiry)) if *expiry > now
        );
        Ok(is_current.then_some(row))
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

    /// Removes the rows that have expired, in the table or in the [partitions](Self::partitions) that were set. A row that
    /// changes after it was found stays, so that its expiry can be extended at any time.
    ///
    /// # Errors
    /// A request failed, so that the sweep ended. Sweep again: it finds the remaining rows.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        let bound = self.table.clock().now().checked_sub(self.margin);
        let bound = bound.and_then(|bound| EdmDateTime::from_system_time(bound).ok());
        let Some(bound) = bound else { return Ok(swept) };
        let expired = self.expiry(CompareOp::Le, bound)?;
        let expired = self.table.query().matching(&expired).primary_only();
        match &self.partitions {
            None => self.remove(expired.allow_scan(), &mut swept).await?,
            Some(partitions) => {
                for partition_key in partitions {
                    self.remove(expired.clone().partition(partition_key), &mut swept).await?;
                }
            }
        }
        Ok(swept)
    }

    /// Removes the rows of a query that have not changed since.
    async fn remove(&self, expired: Query<T>, swept: &mut Swept) -> Result<(), Error> {
        let run = self.table.bulk().delete_found(expired).await;
        let report = run.unwrap_or_else(BulkError::into_report);
        swept.scanned += report.progress.read;
        swept.removed += report.progress.applied;
        report.stopped_by().map_or(Ok(()), |error| Err(error.clone().into()))
    }

    /// Compares the expiry of rows with a time.
    fn expiry(&self, op: CompareOp, time: EdmDateTime) -> Result<Filter, Error> {
        let filter = Filter::compare(self.column.as_str(), op, time);
        Ok(filter.map_err(ClientError::from)?)
    }
}

/// Whether a row could not be read because of this column: it is missing, or not a valid value of `T`.
fn is_about(error: &ClientError, column: &str) -> bool {
    let source = error.source().and_then(|it| it.downcast_ref::<DecodeError>());
    source.is_some_and(|error| error.property() == column)
}

fn time(now: SystemTime) -> Result<EdmDateTime, ClientError> {
    Ok(EdmDateTime::from_system_time(now)?)
}

impl<T> Clone for Expiring<T> {
    fn clone(&self) -> Self {
        let (table, column) = (self.table.clone(), self.column.clone());
        Self { table, column, margin: self.margin, partitions: self.partitions.clone() }
    }
}

impl<T> fmt::Debug for Expiring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expiring")
            .field("table", &self.table)
            .field("column", &self.column)
            .field("margin", &self.margin)
            .field("partitions", &self.partitions)
            .finish()
    }
}
