//! Table operations.

use std::sync::Arc;

use http::StatusCode;

use super::evaluate::Matcher;
use super::exchange::Exchange;
use super::new_row::entity_with_keys;
use super::query::filter;
use super::token;
use crate::core::Core;
use crate::failure::Failure;
use crate::limits::PAGE_ENTITIES;
use crate::payload::PayloadItem;
use crate::reply::ResponseDraft;
use crate::request::BelowTable;
use crate::step::Work;
use crate::store::{JournalEntry, Table};

/// The name of the set of all tables.
const TABLES: &str = "Tables";

/// The cost of dropping the rows of a chunk, in units of [`Work`].
const CHUNK_COST: usize = 2 * 1024;

pub(super) fn create(core: &Core, exchange: &Exchange<'_>) -> Result<ResponseDraft, Failure> {
    let name = exchange.request.body()?.table_name()?;
    let name = name.ok_or_else(Failure::properties_need_value)?;
    core.rules.dialect.check_new_table_name(&name)?;
    let mut store = core.store.write();
    let table = store.create(&name, core.clock.now())?;
    core.log(|| JournalEntry::created(table));
    drop(store);
    Ok(exchange.created(TABLES, PayloadItem::Table(&name)))
}

pub(super) fn get(
    core: &Core,
    exchange: &Exchange<'_>,
    name: &str,
) -> Result<ResponseDraft, Failure> {
    core.rules.dialect.check_table_name_in_url(name)?;
    let store = core.store.at(exchange.grant.location, core.clock.now());
    let table = store.table(name).ok_or_else(Failure::resource_not_found)?;
    let body = exchange.payload(TABLES, None).one(PayloadItem::Table(table.name()));
    Ok(ResponseDraft::with_body(StatusCode::OK, exchange.format, body))
}

pub(super) async fn delete(
    core: &Core,
    exchange: &Exchange<'_>,
    name: &str,
) -> Result<ResponseDraft, Failure> {
    core.rules.dialect.check_own_table_name_in_url(name)?;
    let now = core.clock.now();
    let held = exchange.effects.map(|effects| effects.hold_name).unwrap_or_default();
    let table = {
        let mut store = core.store.write();
        let table = store.delete(name, now, held)?;
        core.log(|| JournalEntry::Deleted(Arc::clone(table.name())));
        // A compaction that runs now may already have left the table out.
        core.log(|| JournalEntry::LastDeleted(store.last_deleted()));
        table
    };
    let deleted = &core.store.journal.deleted;
    deleted.add(table);
    let mut work = Work::default();
    while let Some(chunk) = deleted.pop() {
        work.add(CHUNK_COST);
        work.step().await;
        drop(chunk);
    }
    Ok(ResponseDraft::no_content())
}

pub(super) async fn list(core: &Core, exchange: &Exchange<'_>) -> Result<ResponseDraft, Failure> {
    let filter = filter(core, exchange)?;
    let top = exchange.top()?.unwrap_or(PAGE_ENTITIES as usize);
    let from = token::table(exchange)?.unwrap_or_default();
    let tables = tables_from(core, exchange, &from)?;
    let matcher = filter.as_ref().map(|filter| Matcher::new(filter, &core.rules));
    let (mut page, mut next, mut work) = (Vec::new(), None, Work::default());
    for table in &tables {
        work.add(matcher.as_ref().map_or(1, Matcher::cost));
        work.step().await;
        if work.fills_page() {
            next = Some(table);
            break;
        }
        if matcher.as_ref().is_some_and(|matcher| !matcher.matches_table(table.name())) {
            continue;
        }
        if page.len() == top {
            // No source shows a continuation token with `$top=0`.
            next = Some(table).filter(|_| top > 0);
            break;
        }
        page.push(table);
    }
    let mut body = Vec::new();
    let payload = exchange.payload(TABLES, None);
    payload.open_page(&mut body);
    // The tokens of the service advance: a page that starts at a table contains it.
    let starts_at_table = page.first().is_some_and(|table| position(exchange, table) == from);
    let cut = exchange.effects.and_then(|effects| effects.page_end?.of(page.len()));
    let cut = cut.map(|cut| cut.max(usize::from(starts_at_table))).filter(|cut| *cut < page.len());
    for (index, table) in page.iter().take(cut.unwrap_or(top)).enumerate() {
        payload.push(&mut body, PayloadItem::Table(table.name()), index == 0);
    }
    payload.close_page(&mut body, cut.unwrap_or(page.len()) == 0);
    let mut reply = ResponseDraft::with_body(StatusCode::OK, exchange.format, body);
    if let Some(next) = cut.map_or(next, |cut| page.get(cut).copied()) {
        token::add_table(exchange, &mut reply, &position(exchange, next));
    }
    Ok(reply)
}

/// The failure of a request below a table: the body is read as an entity, then the table of the first segment is
/// searched, and its keys are compared with those of the path.
pub(super) fn below(core: &Core, exchange: &Exchange<'_>, path: &BelowTable) -> Failure {
    let request = exchange.request;
    let fails = || -> Result<(), Failure> {
        core.rules.dialect.check_table_name(&path.table)?;
        let body = if request.raw.body.is_empty() { None } else { Some(request.body()?) };
        let store = core.store.at(exchange.grant.location, core.clock.now());
        if store.table(&path.table).is_none() {
            return Err(Failure::table_not_found());
        }
        drop(store);
        if request.verb()? == "GET" {
            return Err(Failure::not_implemented());
        }
        if path.has_other_keys {
            return Err(Failure::other_keys(&path.table));
        }
        match body {
            Some(body) if request.verb()? == "POST" => {
                entity_with_keys(core.rules.dialect, core.rules.max_key_units, body).map(|_| ())
            }
            _ => Ok(()),
        }
    };
    fails().err().unwrap_or_else(Failure::table_not_found)
}

/// Returns the tables from a position on. In Cosmos DB they are in the order of their creation.
fn tables_from(
    core: &Core,
    exchange: &Exchange<'_>,
    from: &str,
) -> Result<Vec<Arc<Table>>, Failure> {
    let now = core.clock.now();
    if !exchange.request.dialect.is_cosmos() {
        let store = core.store.at(exchange.grant.location, now);
        return Ok(store.tables_from(from).cloned().collect());
    }
    let first: u64 = match from {
        "" => 0,
        _ => from.parse().map_err(|_| Failure::invalid_input())?,
    };
    let mut tables = core.store.at(exchange.grant.location, now).all();
    tables.retain(|table| table.number() >= first);
    tables.sort_unstable_by_key(|table| table.number());
    Ok(tables)
}

/// The position of a table in a list, from which a continuation token is made.
fn position(exchange: &Exchange<'_>, table: &Table) -> String {
    if exchange.request.dialect.is_cosmos() {
        return table.number().to_string();
    }
    table.name().to_string()
}
