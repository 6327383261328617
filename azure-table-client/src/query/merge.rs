//! Merges the rows of several requests in key order.

use std::cmp::Ordering;

use super::input::Input;
use crate::entity::{EntityKey, by_keys};
use crate::operation::query::AnyVec;

/// Merges the buffered rows by their keys, and moves up to `most` to the end of `to`, until an input needs a page. Returns
/// their number. `after` is the last row that was returned: another input may return it too.
pub(super) fn merge(
    inputs: &mut [Input],
    after: &mut Option<EntityKey>,
    to: &mut AnyVec,
    most: usize,
) -> usize {
    let mut count = 0;
    // The inputs with rows; the one with the first row is the last.
    let mut order = Vec::new();
    for input in 0..inputs.len() {
        queue(&mut order, inputs, input);
    }
    while count < most
        && let Some(first) = order.pop()
    {
        count += usize::from(inputs[first].take_row(to, after));
        if inputs[first].needs_page() {
            break;
        }
        queue(&mut order, inputs, first);
    }
    count
}

/// Inserts an input at the place of its first row, if it has one.
fn queue(order: &mut Vec<usize>, inputs: &[Input], input: usize) {
    if inputs[input].first_key().is_some() {
        let is_later = |&other: &usize| compare(&inputs[other], &inputs[input]).is_gt();
        let at = order.partition_point(is_later);
        order.insert(at, input);
    }
}

/// Compares the first rows of two inputs.
fn compare(a: &Input, b: &Input) -> Ordering {
    match (a.first_key(), b.first_key()) {
        (Some(a), Some(b)) => by_keys(a, b),
        _ => Ordering::Equal,
    }
}
