#![doc = include_str!("../docs/versioned_partition.md")]
//! # Safety argument
//!
//! A read requests the header row, then the pages, then the header row again. Each write changes the ETag of the
//! header row, and an ETag does not return. If both ETags are equal, no write was applied between the two responses,
//! so all pages are of the same state. If they differ, the second header row is the first one of the next round.
//! After 8 rounds the result is [`Contended`][`Error::Contended`].
//!
//! Late and repeated writes change nothing about that: when they are applied, they change the header row, and under
//! an ETag that is gone they are refused.
//!
//! All these requests use the primary. If one of them could use the secondary of an account, an older header row
//! could follow newer pages, and two equal ETags would prove nothing.

use std::fmt;

use azure_table_client::client::{Query, Transaction};
use azure_table_client::entity::IntoKey;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{EntityKey, Stored, TableClient, TableEntity};

use crate::{Error, input};

/// The number of reads of the rows before [`read`](VersionedPartition::read) gives up.
const ROUNDS: u32 = 8;

/// A partition whose writes all change a header row, so that a read of several pages can be proved to be of one moment.
/// See the [module](self).
///
/// `H` is the header row, and `T` are the other rows.
pub struct VersionedPartition<H, T> {
    headers: TableClient<H>,
    rows: TableClient<T>,
    header: EntityKey,
}

/// The rows of a partition as they all were at one moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct View<H, T> {
    /// The header row, with the version that a [transaction](VersionedPartition::transaction) needs.
    pub header: Stored<H>,
    /// The other rows, in the order of their RowKeys.
    pub rows: Vec<T>,
}

impl<H, T> Clone for VersionedPartition<H, T> {
    fn clone(&self) -> Self {
        Self { headers: self.headers.clone(), rows: self.rows.clone(), header: self.header.clone() }
    }
}

impl<H, T> fmt::Debug for VersionedPartition<H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionedPartition").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<H, T> VersionedPartition<H, T>
where
    H: TableEntity + Send + 'static,
    T: TableEntity + Send + 'static,
{
    /// Returns the partition of the header row with this key. Sends nothing. Insert the header row before the first
    /// read.
    ///
    /// # Errors
    /// The name of the table or the key is invalid.
    pub fn new<U: TableEntity>(
        table: &TableClient<U>,
        header: impl IntoKey,
    ) -> Result<Self, Error> {
        let header = header.into_key()?;
        input::check_row(table, &header)?;
        Ok(Self { headers: table.with_entity(), rows: table.with_entity(), header })
    }

    /// Reads all rows as they were at one moment. One request for the header row, one for each page, and one for the
    /// header row again. If a write intervened, the pages and the header row are read again.
    ///
    /// All rows are in memory at once.
    ///
    /// # Errors
    /// - [`Error::Contended`]: a write intervened in each of 8 reads.
    /// - [`Error::Client`]: a request failed. [404](azure_table_client::Error::is_not_found) if the header row is missing.
    pub async fn read(&self) -> Result<View<H, T>, Error> {
        self.read_with(|query| query).await
    }

    /// Reads the rows of a query that `narrow` restricts, for example to a range of RowKeys. The same as
    /// [`read`](Self::read) in all other respects.
    ///
    /// # Errors
    /// The same errors as [`read`](Self::read).
    pub async fn read_with(
        &self,
        narrow: impl Fn(Query<T>) -> Query<T>,
    ) -> Result<View<H, T>, Error> {
        let others = Filter::compare("RowKey", CompareOp::Ne, self.header.row_key.clone())
            .map_err(azure_table_client::Error::from)?;
        let mut before = self.header().await?;
        for _ in 0..ROUNDS {
            let query = self.rows.query().partition(&self.header.partition_key).matching(&others);
            let rows = narrow(query).primary_only().await?;
            let after = self.header().await?;
            if after.etag == before.etag {
                return Ok(View { header: after, rows: rows.into_vec() });
            }
            // A pause would be between the two header rows of the next round, and give writes more time to intervene.
            before = after;
        }
        let what = format!("read of partition {:?}", self.header.partition_key);
        Err(Error::Contended { what, rounds: ROUNDS })
    }

    /// Reads the header row. One request. The rows have not changed since a [`View`] whose header has the same ETag.
    ///
    /// # Errors
    /// The request failed; [404](azure_table_client::Error::is_not_found) if the header row is missing.
    pub async fn header(&self) -> Result<Stored<H>, Error> {
        Ok(self.headers.get(self.header.clone()).primary_only().await?)
    }

    /// Begins a write: a transaction whose first operation writes the header row under the ETag that was read. Add the
    /// operations on the other rows, at most 99, and await it.
    ///
    /// The service refuses the transaction (412) if another write came between.
    ///
    /// # Errors
    /// [`Error::InvalidInput`]: `header` is not the header row of this partition.
    pub fn transaction(&self, header: &Stored<H>) -> Result<Transaction<T>, Error> {
        let key = header.entity.entity_key().map_err(azure_table_client::Error::from)?;
        if key != self.header {
            let problem = format!("{key} is not the header row of the partition, {}", self.header);
            return Err(Error::invalid_input(problem));
        }
        let transaction = self.headers.transaction().merge(&header.entity, &header.etag);
        Ok(transaction.with_entity())
    }
}
