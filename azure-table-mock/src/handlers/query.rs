//! Queries.

use std::sync::Arc;

use http::StatusCode;

use super::evaluate::Matcher;
use super::exchange::Exchange;
use super::page::PageBuilder;
use super::scan::{Partitions, range};
use super::syntax;
use super::token;
use crate::core::Core;
use crate::failure::Failure;
use crate::filter::{Filter, Plan, PlanKind};
use crate::limits::PAGE_ENTITIES;
use crate::reply::ResponseDraft;
use crate::row::{StoredKey, by_keys};
use crate::select::Select;
use crate::store::Snapshot;

/// The plan of a read, and the number of rows it scanned.
#[derive(Clone, Copy)]
pub(crate) struct Scan {
    pub(crate) plan: PlanKind,
    pub(crate) rows: usize,
}

/// `$filter`, if the request has one.
pub(super) fn filter(core: &Core, exchange: &Exchange<'_>) -> Result<Option<Filter>, Failure> {
    let text = exchange.request.raw.option("$filter");
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let filter = Filter::parse(&text).map_err(|error| syntax::failure(&text, &error))?;
    syntax::check_types(&filter)?;
    match core.rules.max_comparisons {
        Some(max) if filter.comparisons() > max => Err(Failure::invalid_input()),
        _ => Ok(Some(filter)),
    }
}

pub(super) async fn query(
    core: &Core,
    exchange: &Exchange<'_>,
    table: &str,
    scan: &mut Option<Scan>,
) -> Result<ResponseDraft, Failure> {
    core.rules.dialect.check_table_name_in_url(table)?;
    let filter = filter(core, exchange)?;
    let top = exchange.top()?.unwrap_or(PAGE_ENTITIES as usize);
    let plan = Plan::of(filter.as_ref());
    let select = Select::of(exchange.request)?;
    let token = token::row(exchange)?;
    let (granted, start) = (exchange.grant.keys(), start(token.as_ref(), &plan));
    let start = if by_keys(granted.start(), start).is_gt() { granted.start() } else { start };

    let now = core.clock.now();
    let table = {
        let store = core.store.at(exchange.grant.location, now);
        Arc::clone(store.existing_table(table, now)?)
    };
    let payload = exchange.payload(table.name(), select.as_ref());
    let matcher = filter.as_ref().map(|filter| Matcher::new(filter, &core.rules));
    let page_end = exchange.effects.and_then(|effects| effects.page_end);
    let room = exchange.request.raw.room;
    let mut page = PageBuilder::new(&payload, matcher.as_ref(), top, room, page_end.is_some());
    let is_past = |keys: (&str, &str)| plan.is_past(keys.0, keys.1) || granted.is_past(keys);
    'scan: for Snapshot { partition_key, rows } in Partitions::from(&table, start.0) {
        let start = if *partition_key == *start.0 { start.1 } else { "" };
        for chunk in rows.chunks_from(start) {
            let rows = range(chunk, start, |row_key| is_past((&partition_key, row_key)));
            let is_last = rows.end < chunk.rows().len();
            if page.add(&partition_key, chunk, rows).await.is_break() || is_last {
                break 'scan;
            }
        }
    }
    if table.is_deleted() {
        // A page with some of its rows would look complete.
        return Err(Failure::table_not_found());
    }
    let PageBuilder { mut body, found, scanned, mut next, rows, .. } = page;
    // The tokens of the service advance: a page that starts at a row contains it.
    let rows = rows.unwrap_or_default();
    let starts_at_row = rows.first().is_some_and(|(_, key)| Some(key) == token.as_ref());
    let cut = page_end.and_then(|cut| cut.of(found)).map(|cut| cut.max(usize::from(starts_at_row)));
    if let Some((offset, key)) = cut.and_then(|cut| rows.get(cut)) {
        body.truncate(*offset);
        next = Some(key.clone());
    }
    payload.close_page(&mut body, cut.unwrap_or(found) == 0);
    if body.capacity() > 2 * body.len() {
        body.shrink_to_fit();
    }
    *scan = Some(Scan { plan: plan.kind(), rows: scanned });
    let mut reply = ResponseDraft::with_body(StatusCode::OK, exchange.format, body);
    if let Some(key) = next {
        token::add_row(exchange, &mut reply, &key);
    }
    Ok(reply)
}

/// The first key of the page, which is the later one of the token's key and the plan's first key.
fn start<'k>(token: Option<&'k StoredKey>, plan: &'k Plan<'_>) -> (&'k str, &'k str) {
    let start = plan.start();
    match token {
        Some(token) => {
            let token = (&*token.partition, &*token.row);
            if by_keys(token, start).is_gt() { token } else { start }
        }
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::evaluate::ColumnCells;
    use super::*;
    use crate::edm::EdmDateTime;
    use crate::service::TableService;
    use crate::store::RowText;

    fn key_filter() -> impl Strategy<Value = Filter> {
        let ops = ["eq", "ne", "gt", "ge", "lt", "le"];
        let leaf = (
            proptest::sample::select(vec!["PartitionKey", "RowKey", "Other"]),
            proptest::sample::select(ops.to_vec()),
            "[ab\u{e000}\u{1f600}]{0,2}",
        )
            .prop_map(|(name, op, key)| Filter::parse(&format!("{name} {op} '{key}'")).unwrap());
        leaf.prop_recursive(4, 16, 2, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                pair.clone().prop_map(|(a, b)| a & b),
                pair.prop_map(|(a, b)| a | b),
                inner.prop_map(|filter| !filter),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::tests::sized(1000, 4000)))]

        #[test]
        fn every_matching_row_is_in_the_range_of_the_plan(
            filter in key_filter(),
            partition in "[ab\u{e000}\u{1f600}]{0,2}",
            row in "[ab\u{e000}\u{1f600}]{0,2}",
        ) {
            let plan = Plan::of(Some(&filter));
            let service = TableService::new();
            let rules = &service.core().rules;
            let stored = RowText::new(&row, &vec![]).written_at(EdmDateTime::MIN);
            let columns = ColumnCells::default();
            if Matcher::new(&filter, rules).matches(&partition, &stored, (&columns, 0)) {
                let starts = by_keys(plan.start(), (&partition, &row)).is_le();
                prop_assert!(starts && !plan.is_past(&partition, &row), "{filter}");
            }
        }
    }
}
