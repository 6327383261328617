//! The two readers of JSON: the one made for what the service writes, and the general one. Their results and errors
//! must be the same.

use std::fmt::Debug;

use azure_table_client::{DynamicEntity, TableEntity, measure};

use super::entities::{Handwritten, Item, Lenient, Strict};

/// Reads a body by both readers: into entities without a struct, and into another type that depends on the body.
///
/// # Panics
/// The readers differ.
pub fn readers(body: &[u8]) {
    compare_pages::<DynamicEntity>(body, true);
    match body.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) % 6 {
        0 => compare::<Strict>(body, true),
        1 => compare::<Strict>(body, false),
        2 => compare::<Lenient>(body, true),
        3 => compare::<Item>(body, true),
        4 => compare::<Handwritten>(body, true),
        _ => compare::<DynamicEntity>(body, false),
    }
}

fn compare<T: TableEntity + Debug>(body: &[u8], typed: bool) {
    compare_pages::<T>(body, typed);
    let [fast, general] = measure::decode_one_twice::<T>(body, typed);
    assert_same(&fast, &general, body);
}

fn compare_pages<T: TableEntity + Debug>(body: &[u8], typed: bool) {
    let [fast, general] = measure::decode_page_twice::<T>(body, typed);
    assert_same(&fast, &general, body);
}

/// Compares texts: NaN is the same as NaN, and 0 is not the same as -0.
fn assert_same(fast: &impl Debug, general: &impl Debug, body: &[u8]) {
    let (fast, general) = (format!("{fast:?}"), format!("{general:?}"));
    assert_eq!(fast, general, "{}", body.escape_ascii());
}
