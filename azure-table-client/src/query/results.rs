//! All results of a query.

use std::ops::{Deref, DerefMut};
use std::vec;

use super::page::QueryCost;

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
