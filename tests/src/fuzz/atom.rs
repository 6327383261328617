//! The readers of Atom with arbitrary bodies.

use azure_table_client::{DynamicEntity, measure};

use super::entities::{Item, Lenient, Strict};

/// A body in Atom, as a page and as a single entity: into structs, an enum, and entities without a
/// struct.
pub fn atom(body: &[u8]) {
    for entity in read(measure::decode_feed::<DynamicEntity>(body)).into_iter().flatten() {
        written_and_read(&entity);
    }
    read(measure::decode_feed::<Strict>(body));
    read(measure::decode_feed::<Lenient>(body));
    read(measure::decode_feed::<Item>(body));
    if let Some(entity) = read(measure::decode_entry::<DynamicEntity>(body)) {
        written_and_read(&entity);
    }
    read(measure::decode_entry::<Strict>(body));
    read(measure::decode_entry::<Lenient>(body));
}

/// Every error has a text.
fn read<T>(result: Result<T, String>) -> Option<T> {
    result.map_err(|error| assert!(!error.is_empty())).ok()
}

/// An entity that was read can be written, unless a rule forbids it, and is then read as the same
/// entity.
fn written_and_read(entity: &DynamicEntity) {
    let Some(body) = measure::encode_entry(entity) else { return };
    let read = measure::decode_entry::<DynamicEntity>(&body).expect("an entry");
    assert_eq!(read.key(), entity.key());
    assert!(read.properties().eq(entity.properties()), "{read:?} is not {entity:?}");
}
