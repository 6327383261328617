//! A list of property names that is searched for the properties of many rows.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use crate::row::Member;

/// The length up to which a search from the start is faster than a hash.
const SHORT: usize = 8;

/// Distinct names, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Names<N> {
    list: Vec<N>,
    indexes: HashMap<N, usize>,
}

impl<N: Borrow<str> + Hash + Eq + Clone> Names<N> {
    /// Adds a name and returns its index. A known name is not added again.
    pub(super) fn add(&mut self, name: N) -> usize {
        let next = self.list.len();
        let index = *self.indexes.entry(name.clone()).or_insert(next);
        if index == next {
            self.list.push(name);
        }
        index
    }

    pub(super) fn list(&self) -> &[N] {
        &self.list
    }

    /// The index of a stored property.
    pub(super) fn index_of(&self, member: &Member<'_>) -> Option<usize> {
        if self.list.len() <= SHORT {
            return self.list.iter().position(|name| member.is(name.borrow()));
        }
        self.indexes.get(&*member.name()).copied()
    }
}
