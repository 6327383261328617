//! The methods that send a query for something else than its pages.

use super::Query;
use crate::entity::{DecodeError, Row};
use crate::error::Error;
use crate::filter::{Projection, Selection};
use crate::limits::PARTITION_KEY;

impl<E: 'static, T: Send + 'static> Query<E, T> {
    /// Returns the first result in key order; `None` if the query has no result. Each request transfers one row.
    ///
    /// # Errors
    /// The errors of the query. Paging is transparent, including empty pages that carry a continuation token, so the
    /// call may send several requests.
    pub async fn first(self) -> Result<Option<T>, Error> {
        Ok(self.take_at_most(1).await?.pop())
    }

    /// Returns the only result; `None` if the query has no result.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if there are several.
    pub async fn single_or_none(self) -> Result<Option<T>, Error> {
        let table = self.table();
        let mut entities = self.take_at_most(2).await?;
        if entities.len() > 1 {
            return Err(Error::not_single(format!(
                "the query of {table} has more than one result"
            )));
        }
        Ok(entities.pop())
    }

    /// Returns the only result.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if there is none, or if there are
    /// several.
    pub async fn single(self) -> Result<T, Error> {
        let table = self.table();
        self.single_or_none()
            .await?
            .ok_or_else(|| Error::not_single(format!("the query of {table} has no result")))
    }

    /// Whether the query has a result. Each request transfers one key.
    ///
    /// # Errors
    /// The errors of the query.
    pub async fn any(self) -> Result<bool, Error> {
        Ok(!self.keys_only().take_at_most(1).await?.is_empty())
    }

    /// The number of results. The service cannot count, so one key of each result is transferred, page by
    /// page; the keys are not kept.
    ///
    /// # Errors
    /// The errors of the query.
    pub async fn count(self) -> Result<u64, Error> {
        let mut count = 0;
        let mut pages = self.keys_only().pages();
        while let Some(page) = pages.next().await {
            count += page?.cost.rows;
        }
        Ok(count)
    }

    pub(in crate::client) fn keys_only(self) -> Query<E, ()> {
        self.project(KeyOnly)
    }
}

/// A projection that reads nothing. A request must select at least one property.
struct KeyOnly;

impl<E> Projection<E> for KeyOnly {
    type Output = ();

    fn select(&self, selection: &mut Selection) {
        selection.system(PARTITION_KEY);
    }

    fn read(&self, _: &mut Row<'_>, _: &mut usize) -> Result<(), DecodeError> {
        Ok(())
    }
}
