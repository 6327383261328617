//! The reader of JSON compared with `serde_json`: the same entities and the same errors of entities.

use std::fmt::Debug;

use azure_table_client::DynamicEntity;
use azure_table_client::TableEntity;
use azure_table_protocol::entity::{Entities, Form};
use azure_table_protocol::wire::{ReadError, json_read};

use super::entities::{Handwritten, Item, Lenient, Strict};
use super::oracle::{self, Refusal};

/// Reads a body in both ways: into entities without a struct, and into another type that depends on the body. Returns
/// whether the body is a page.
///
/// # Panics
/// The results differ.
pub fn readers(body: &[u8]) -> bool {
    let is_page = compare_pages::<DynamicEntity>(body, true);
    match body.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) % 6 {
        0 => compare::<Strict>(body, true),
        1 => compare::<Strict>(body, false),
        2 => compare::<Lenient>(body, true),
        3 => compare::<Item>(body, true),
        4 => compare::<Handwritten>(body, true),
        _ => compare::<DynamicEntity>(body, false),
    }
    is_page
}

fn compare<T: TableEntity + Debug>(body: &[u8], typed: bool) {
    compare_pages::<T>(body, typed);
    let form = Form { typed, selected: false };
    assert_same(&json_read::read_one(body, form, &Entities), &oracle::one::<T>(body, form), body);
}

fn compare_pages<T: TableEntity + Debug>(body: &[u8], typed: bool) -> bool {
    let form = Form { typed, selected: false };
    let read = json_read::read_page(body, form, &Entities);
    assert_same(&read, &oracle::page::<T>(body, form), body);
    read.is_ok()
}

/// Compares texts: NaN is the same as NaN, and 0 is not the same as -0.
fn assert_same<T: Debug>(read: &Result<T, ReadError>, expected: &Result<T, Refusal>, body: &[u8]) {
    let (read, expected) = match (read, expected) {
        (Ok(read), Ok(expected)) => (format!("{read:?}"), format!("{expected:?}")),
        (Err(ReadError::Decode(read)), Err(Refusal::Entity(expected))) => {
            (format!("{read:?}"), format!("{expected:?}"))
        }
        // The reader refuses an entity before it reads the rest of the body.
        (Err(ReadError::Json(_) | ReadError::Decode(_)), Err(Refusal::Body)) => return,
        (read, expected) => (format!("{read:?}"), format!("{expected:?}")),
    };
    assert_eq!(read, expected, "{}", body.escape_ascii());
}
