//! The steps inside a call, for the benches and the fuzz targets: not part of the public interface.

use crate::Dialect;
use crate::auth::{SharedKey, canonicalized_resource, string_to_sign};
use crate::entity::{Entities, Form, TableEntity};
use crate::filter::{HasColumns, Projected, Projection};
use crate::wire::{atom, json_read, json_write};

/// Decodes the body of a query's reply.
pub fn decode_page<T: TableEntity>(body: &[u8]) -> Option<Vec<T>> {
    json_read::read_page(body, Form::WHOLE, &Entities).ok()
}

/// Decodes the body of a query's reply into what a projection reads.
pub fn decode_columns<E: HasColumns, P: Projection<E>>(
    body: &[u8],
    columns: impl FnOnce(E::Columns<E>) -> P,
) -> Option<Vec<P::Output>> {
    let projected = Projected::<E, P>::new(columns(E::typed_columns("")));
    json_read::read_page(body, Form { typed: true, selected: true }, &projected).ok()
}

/// Encodes the body of an insert.
pub fn encode<T: TableEntity>(entity: &T) -> Option<Vec<u8>> {
    let (partition_key, row_key) = (entity.partition_key().ok()?, entity.row_key().ok()?);
    let mut body = Vec::with_capacity(512);
    json_write::entity(&mut body, entity, &partition_key, &row_key, None, Dialect::default())
        .ok()?;
    Some(body)
}

/// Decodes the body of a query's response in Atom; the error describes the fault.
///
/// # Errors
/// The body is not a feed, or an entity in it does not match the struct.
pub fn decode_feed<T: TableEntity>(body: &[u8]) -> Result<Vec<T>, String> {
    atom::read_page(body, Form::WHOLE, &Entities).map_err(|error| error.to_string())
}

/// Decodes the body of a point query's response in Atom; the error describes the fault.
///
/// # Errors
/// The body is not an entry, or does not match the struct.
pub fn decode_entry<T: TableEntity>(body: &[u8]) -> Result<T, String> {
    atom::read_one(body, Form::WHOLE, &Entities).map_err(|error| error.to_string())
}

/// Encodes the body of an insert in Atom.
pub fn encode_entry<T: TableEntity>(entity: &T) -> Option<Vec<u8>> {
    let (partition_key, row_key) = (entity.partition_key().ok()?, entity.row_key().ok()?);
    let mut body = Vec::with_capacity(512);
    atom::entity(&mut body, entity, &partition_key, &row_key, None).ok()?;
    Some(body)
}

/// Signs a GET.
pub fn sign(key: &SharedKey, path: &str, date: &str) -> String {
    let resource = canonicalized_resource(key.account(), path, "");
    key.sign(&string_to_sign("GET", "", "", date, &resource))
}
