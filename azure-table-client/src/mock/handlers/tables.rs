//! Table operations.

use http::StatusCode;

use super::evaluate;
use super::exchange::Exchange;
use super::query::filter;
use crate::edm::EdmCow;
use crate::limits::{PAGE_ENTITIES, check_own_table_name, check_table_name};
use crate::mock::core::Core;
use crate::mock::failure::Failure;
use crate::mock::payload::Item;
use crate::mock::reply::Reply;
use crate::mock::store::JournalEntry;
use crate::wire::headers;

/// The name of the set of all tables.
const TABLES: &str = "Tables";

pub(super) fn create(core: &Core, exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    let name = exchange.request.body()?.table_name()?;
    let name = name.ok_or_else(Failure::properties_need_value)?;
    check_own_table_name(&name)?;
    let mut store = core.store.write();
    store.create(&name, core.clock.now())?;
    core.log(|| JournalEntry::Created((&*name).into()));
    drop(store);
    Ok(exchange.created(TABLES, Item::Table(&name)))
}

pub(super) fn get(core: &Core, exchange: &Exchange<'_>, name: &str) -> Result<Reply, Failure> {
    check_table_name(name)?;
    let store = core.store.at(exchange.grant.location, core.clock.now());
    let table = store.table(name).ok_or_else(Failure::resource_not_found)?;
    let body = exchange.payload(TABLES, None).one(Item::Table(table.name()));
    Ok(Reply::with_body(StatusCode::OK, exchange.format, body))
}

pub(super) fn delete(core: &Core, exchange: &Exchange<'_>, name: &str) -> Result<Reply, Failure> {
    check_own_table_name(name)?;
    let now = core.clock.now();
    let held = exchange.effects.map(|effects| effects.hold_name).unwrap_or_default();
    let mut store = core.store.write();
    store.delete(name, now, held)?;
    core.log(|| JournalEntry::Deleted(name.into()));
    Ok(Reply::no_content())
}

pub(super) fn list(core: &Core, exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    let filter = filter(core, exchange)?;
    let top = exchange.top()?.unwrap_or(PAGE_ENTITIES as usize);
    let from = exchange.token("NextTableName")?.unwrap_or_default();
    let store = core.store.at(exchange.grant.location, core.clock.now());
    let mut tables = store.tables_from(&from).filter(|table| {
        let name = |property: &str| {
            (property == "TableName").then(|| EdmCow::String((&**table.name()).into()))
        };
        filter.as_ref().is_none_or(|filter| evaluate::holds(filter, &name))
    });
    let mut body = Vec::new();
    let payload = exchange.payload(TABLES, None);
    payload.open_page(&mut body);
    let page: Vec<_> = tables.by_ref().take(top).collect();
    // The tokens of the service advance: a page that starts at a table contains it.
    let starts_at_table = page.first().is_some_and(|table| **table.name() == *from);
    let cut = exchange.effects.and_then(|effects| effects.page_end?.of(page.len()));
    let cut = cut.map(|cut| cut.max(usize::from(starts_at_table))).filter(|cut| *cut < page.len());
    for (index, table) in page.iter().take(cut.unwrap_or(top)).enumerate() {
        payload.push(&mut body, Item::Table(table.name()), index == 0);
    }
    payload.close_page(&mut body, cut.unwrap_or(page.len()) == 0);
    let mut reply = Reply::with_body(StatusCode::OK, exchange.format, body);
    if let Some(next) = cut.map_or_else(|| tables.next(), |cut| page.get(cut).copied()) {
        Exchange::add_token(&mut reply, &headers::NEXT_TABLE_NAME, next.name());
    }
    Ok(reply)
}
