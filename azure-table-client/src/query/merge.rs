//! Merges the rows of several requests in key order.

use std::cmp::Ordering;

use super::input::Input;
use crate::entity::{EntityKey, by_keys};

/// Merges the buffered rows by their keys. Returns up to `count`, until an input needs a page. `after` is the last row that
/// was returned: another input may return it too.
pub(super) fn merge<T>(
    inputs: &mut [Input<T>],
    after: &mut Option<EntityKey>,
    count: usize,
) -> Vec<T> {
    let mut values = Vec::new();
    // The inputs with rows; the one with the first row is the last.
    let mut order = Vec::new();
    for input in 0..inputs.len() {
        queue(&mut order, inputs, input);
    }
    while values.len() < count
        && let Some(first) = order.pop()
        && let Some((key, value)) = inputs[first].take_row()
    {
        if after.as_ref().is_none_or(|after| by_keys(after, &key).is_lt()) {
            *after = Some(key);
            values.push(value);
        }
        if inputs[first].needs_page() {
            break;
        }
        queue(&mut order, inputs, first);
    }
    values
}

/// Inserts an input at the place of its first row, if it has one. Inserting each input costs less than a sort, whose code
/// the compiler would repeat for each type of rows.
fn queue<T>(order: &mut Vec<usize>, inputs: &[Input<T>], input: usize) {
    if inputs[input].first_key().is_some() {
        let is_later = |&other: &usize| compare(&inputs[other], &inputs[input]).is_gt();
        let at = order.partition_point(is_later);
        order.insert(at, input);
    }
}

/// Compares the first rows of two inputs.
fn compare<T>(a: &Input<T>, b: &Input<T>) -> Ordering {
    match (a.first_key(), b.first_key()) {
        (Some(a), Some(b)) => by_keys(a, b),
        _ => Ordering::Equal,
    }
}
