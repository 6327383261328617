//! Operations on one entity.

use std::sync::Arc;

use http::{HeaderName, StatusCode, header};

use super::exchange::Exchange;
use super::new_row::new_row;
use super::query::Scan;
use crate::check::{check_keys, check_properties};
use crate::core::Core;
use crate::failure::Failure;
use crate::filter::PlanKind;
use crate::payload::PayloadItem;
use crate::reply::ResponseDraft;
use crate::request::{EntityBody, EntityPath, Resource};
use crate::row::StoredKey;
use crate::select::Select;
use crate::store::{AppliedWrite, Precondition, RowChange, RowUpdate, StagedWrite};
use crate::wire::Operation;
use crate::wire::json_read::PropertyReader;

pub(super) fn get(
    core: &Core,
    exchange: &Exchange<'_>,
    path: &EntityPath,
    scan: &mut Option<Scan>,
) -> Result<ResponseDraft, Failure> {
    core.rules.dialect.check_table_name_in_url(&path.table)?;
    let select = Select::of(exchange.request)?;
    let now = core.clock.now();
    let table = {
        let store = core.store.at(exchange.grant.location, now);
        Arc::clone(store.existing_table(&path.table, now)?)
    };
    let key = (&*path.partition_key, &*path.row_key);
    // An entity outside of the grant's key range is not found, like in queries.
    let row = table.get(key).filter(|_| exchange.grant.keys().contains(key));
    *scan = Some(Scan { plan: PlanKind::Point, rows: usize::from(row.is_some()) });
    let entity = row.ok_or_else(Failure::resource_not_found)?;
    let payload = exchange.payload(table.name(), select.as_ref());
    let body = payload.one(PayloadItem::Entity(key.0, &entity));
    let mut reply = ResponseDraft::with_body(StatusCode::OK, exchange.format, body);
    reply.text_header(header::ETAG, entity.version.etag_in(core.rules.dialect));
    Ok(reply)
}

/// Applies a write outside of a batch.
pub(super) async fn write(core: &Core, exchange: &Exchange<'_>) -> Result<ResponseDraft, Failure> {
    let (table, write) = staged(core, exchange, &mut PropertyReader::default())?;
    let inserts = write.inserts();
    let (table, written) = core.apply(table, vec![write]).await?;
    let written = written.first().ok_or_else(Failure::internal_error)?;
    Ok(reply_to_write(exchange, table.name(), inserts, written))
}

/// The checked write of a request and the name of its table. Nothing is applied yet. `reader` is that of the transaction.
pub(super) fn staged<'a>(
    core: &Core,
    exchange: &Exchange<'a>,
    reader: &mut PropertyReader<'a>,
) -> Result<(&'a str, StagedWrite<'a>), Failure> {
    if exchange.request.verb()? == "PATCH" && !exchange.protocol.has_patch() {
        return Err(Failure::unsupported_verb());
    }
    let (table, write) = match (exchange.request.operation()?, exchange.request.resource()?) {
        (Operation::Insert, Resource::Entities(table)) => {
            (table, insertion(core, exchange, table, reader)?)
        }
        (Operation::Delete, Resource::Entity(path)) => {
            (&path.table, deletion(core, exchange, path)?)
        }
        (operation, Resource::Entity(path)) if operation.is_entity_write() => {
            (&path.table, update(core, exchange, operation, path)?)
        }
        _ => return Err(Failure::unsupported_verb()),
    };
    exchange.grant.covers((&write.key.partition, &write.key.row))?;
    Ok((table, write))
}

fn insertion<'a>(
    core: &Core,
    exchange: &Exchange<'a>,
    table: &str,
    reader: &mut PropertyReader<'a>,
) -> Result<StagedWrite<'a>, Failure> {
    let (dialect, max_key_units) = (core.rules.dialect, core.rules.max_key_units);
    dialect.check_table_name_in_url(table)?;
    let (key, row) = new_row(dialect, max_key_units, exchange.request.body()?, reader)?;
    Ok(StagedWrite::new(key, RowChange::Insert(row)))
}

fn deletion<'a>(
    core: &Core,
    exchange: &Exchange<'a>,
    path: &EntityPath,
) -> Result<StagedWrite<'a>, Failure> {
    core.rules.dialect.check_table_name_in_url(&path.table)?;
    let condition = core.rules.dialect.condition(exchange.request.raw.condition()?);
    if condition == Precondition::None {
        return Err(Failure::missing_header());
    }
    let key = StoredKey::new(&*path.partition_key, &*path.row_key);
    Ok(StagedWrite::new(key, RowChange::Delete(condition)))
}

fn update<'a>(
    core: &Core,
    exchange: &Exchange<'a>,
    operation: Operation,
    path: &EntityPath,
) -> Result<StagedWrite<'a>, Failure> {
    let dialect = core.rules.dialect;
    dialect.check_table_name_in_url(&path.table)?;
    let condition = dialect.condition(exchange.request.raw.condition()?);
    let key = StoredKey::new(&*path.partition_key, &*path.row_key);
    if condition == Precondition::None && !exchange.protocol.has(operation) {
        return Err(Failure::invalid_input());
    }
    // The keys in the body are read like other properties, and have no effect (recorded in
    // `test_operations_on_entity_with_partition_key_having_single_quote` of the Python client of 2021).
    let mut body = EntityBody::parse(exchange.request.body()?)?;
    dialect.check_keys_of_update(&body)?;
    check_keys(dialect, &key, core.rules.max_key_units)?;
    dialect.remove_system_properties(&mut body.properties);
    check_properties(dialect, &key, &body.properties)?;
    let update = match operation {
        Operation::Replace | Operation::InsertOrReplace => {
            RowUpdate::replace(&key.row, body.properties)
        }
        _ => RowUpdate::merge(body.properties),
    };
    Ok(StagedWrite::new(key, RowChange::Update(update, condition)))
}

/// The reply to a write that was applied.
pub(super) fn reply_to_write(
    exchange: &Exchange<'_>,
    table: &str,
    inserts: bool,
    written: &AppliedWrite,
) -> ResponseDraft {
    let mut reply = match written {
        AppliedWrite { key, row: Some(row) } if inserts => {
            exchange.body_of_creation(table, PayloadItem::Entity(&key.partition, row))
        }
        _ => ResponseDraft::no_content(),
    };
    put_headers_of_write(exchange, table, inserts, written, |name, value| {
        reply.text_header(name.clone(), value);
    });
    reply
}

/// Passes the headers of that reply to `put`, in their order, without that of the media type.
pub(super) fn put_headers_of_write(
    exchange: &Exchange<'_>,
    table: &str,
    inserts: bool,
    written: &AppliedWrite,
    mut put: impl FnMut(&HeaderName, &str),
) {
    let AppliedWrite { key, row: Some(row) } = written else { return };
    if inserts {
        let item = PayloadItem::Entity(&key.partition, row);
        exchange.put_headers_of_creation(table, item, &mut put);
    }
    put(&header::ETAG, &row.version.etag_in(exchange.request.dialect));
}
