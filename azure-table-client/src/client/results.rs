//! Results and costs of queries.

use std::ops::{Deref, DerefMut};
use std::vec;

use super::Query;
use super::page::{Page, QueryCost};
use crate::entity::{DecodeError, Row};
use crate::error::Error;
use crate::filter::{Projection, Selection};
use crate::limits::PARTITION_KEY;

/// All results of a query, in the order of their keys. Derefs to the list of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Results<T> {
    /// The results.
    pub entities: Vec<T>,
    /// The cost of the query.
    pub cost: QueryCost,
}

impl<T> Results<T> {
    pub(super) fn new() -> Self {
        Self { entities: Vec::new(), cost: QueryCost::default() }
    }

    pub(super) fn add(&mut self, mut page: Page<T>) {
        self.cost += page.cost;
        if self.entities.is_empty() {
            self.entities = page.entities;
        } else {
            self.entities.append(&mut page.entities);
        }
    }

    /// Returns the list.
    pub fn into_vec(self) -> Vec<T> {
        self.entities
    }
}

impl<T> Deref for Results<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.entities
    }
}

impl<T> DerefMut for Results<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.entities
    }
}

impl<T> From<Results<T>> for Vec<T> {
    fn from(results: Results<T>) -> Self {
        results.entities
    }
}

impl<T> IntoIterator for Results<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entities.into_iter()
    }
}

impl<'r, T> IntoIterator for &'r Results<T> {
    type Item = &'r T;
    type IntoIter = std::slice::Iter<'r, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entities.iter()
    }
}

impl<T: PartialEq<U>, U> PartialEq<Vec<U>> for Results<T> {
    fn eq(&self, other: &Vec<U>) -> bool {
        self.entities == *other
    }
}

impl<T: PartialEq<U>, U> PartialEq<[U]> for Results<T> {
    fn eq(&self, other: &[U]) -> bool {
        self.entities == other
    }
}

impl<T: PartialEq<U>, U> PartialEq<&[U]> for Results<T> {
    fn eq(&self, other: &&[U]) -> bool {
        self.entities == *other
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for Results<T> {
    fn eq(&self, other: &[U; N]) -> bool {
        self.entities == *other
    }
}

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

    pub(super) fn keys_only(self) -> Query<E, ()> {
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
