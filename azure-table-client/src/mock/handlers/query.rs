//! Queries.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;

use super::evaluate;
use super::exchange::Exchange;
use super::select::Select;
use crate::edm::EdmCow;
use crate::filter::{Filter, FilterErrorKind, Plan, PlanKind};
use crate::limits::{PAGE_ENTITIES, check_table_name};
use crate::mock::core::Core;
use crate::mock::failure::Failure;
use crate::mock::payload::Item;
use crate::mock::reply::Reply;
use crate::mock::store::{StoredEntity, StoredKey, by_keys};
use crate::wire::headers;

/// The largest body of a page with more than one row.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The longest scan for a page, in real time. The page may then be empty.
///
/// Source: [Query timeout and pagination][timeout].
///
/// [timeout]: https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination
const MAX_PAGE_TIME: Duration = Duration::from_secs(5);
/// The number of rows between two checks of the time.
const ROWS_PER_TIME_CHECK: usize = 64;

/// The plan of a read, and the number of rows it scanned.
#[derive(Clone, Copy)]
pub(in crate::mock) struct Scan {
    pub(in crate::mock) plan: PlanKind,
    pub(in crate::mock) rows: usize,
}

/// `$filter`, if the request has one.
pub(super) fn filter(core: &Core, exchange: &Exchange<'_>) -> Result<Option<Filter>, Failure> {
    let text = exchange.request.raw.option("$filter");
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let filter = Filter::parse(&text).map_err(|error| match error.kind() {
        FilterErrorKind::Function => Failure::not_implemented(),
        _ => Failure::invalid_input(),
    })?;
    match core.rules.max_comparisons {
        Some(max) if filter.comparisons() > max => Err(Failure::invalid_input()),
        _ => Ok(Some(filter)),
    }
}

pub(super) fn query(
    core: &Core,
    exchange: &Exchange<'_>,
    table: &str,
    scan: &mut Option<Scan>,
) -> Result<Reply, Failure> {
    check_table_name(table)?;
    let filter = filter(core, exchange)?;
    let top = exchange.top()?.unwrap_or(PAGE_ENTITIES as usize);
    let plan = Plan::of(filter.as_ref());
    let select = Select::of(exchange.request)?;
    let token = token(exchange)?;
    let (granted, start) = (exchange.grant.keys(), start(token.as_ref(), &plan));
    let start = if by_keys(granted.start(), start).is_gt() { granted.start() } else { start };

    // The query holds only its table: it may take long, and must not delay changes to other tables.
    let now = core.clock.now();
    let store = core.store.at(exchange.grant.location, now);
    let table = Arc::clone(store.existing_table(table, now)?);
    drop(store);
    let mut body = Vec::with_capacity(1024);
    let payload = exchange.payload(table.name(), select.as_ref());
    payload.open_page(&mut body);
    let mut page = Page { started: Instant::now(), body, found: 0, scanned: 0, next: None };
    let page_end = exchange.effects.and_then(|effects| effects.page_end);
    // The offset and key of each row, if the fault plan may end the page there.
    let mut rows = Vec::new();
    table.scan(start, &mut |keys, entity| {
        if plan.is_past(keys.0, keys.1) || granted.is_past(keys) {
            return ControlFlow::Break(());
        }
        if page.found == top || page.is_out_of_time() {
            return page.end_before(keys);
        }
        page.scanned += 1;
        let property = |name: &str| property(keys, entity, name);
        if filter.as_ref().is_some_and(|filter| !evaluate::holds(filter, &property)) {
            return ControlFlow::Continue(());
        }
        let offset = page.body.len();
        if page_end.is_some() {
            rows.push((offset, StoredKey::new(keys.0, keys.1)));
        }
        payload.push(&mut page.body, Item::Entity(keys, entity), page.found == 0);
        if page.body.len() > MAX_PAGE_BYTES && page.found > 0 {
            page.body.truncate(offset);
            return page.end_before(keys);
        }
        page.found += 1;
        ControlFlow::Continue(())
    });
    let Page { mut body, found, scanned, mut next, .. } = page;
    // The tokens of the service advance: a page that starts at a row contains it.
    let token = token.as_ref().map(|(partition, row)| (&**partition, &**row));
    let starts_at_row =
        rows.first().is_some_and(|(_, key)| Some((&*key.partition, &*key.row)) == token);
    let cut = page_end.and_then(|cut| cut.of(found)).map(|cut| cut.max(usize::from(starts_at_row)));
    if let Some((offset, key)) = cut.and_then(|cut| rows.get(cut)) {
        body.truncate(*offset);
        next = Some(key.clone());
    }
    payload.close_page(&mut body, cut.unwrap_or(found) == 0);
    *scan = Some(Scan { plan: plan.kind(), rows: scanned });
    let mut reply = Reply::with_body(StatusCode::OK, exchange.format, body);
    if let Some(key) = next {
        Exchange::add_token(&mut reply, &headers::NEXT_PARTITION_KEY, &key.partition);
        Exchange::add_token(&mut reply, &headers::NEXT_ROW_KEY, &key.row);
    }
    Ok(reply)
}

/// A page while its table is scanned.
struct Page {
    started: Instant,
    body: Vec<u8>,
    found: usize,
    scanned: usize,
    /// The first row of the next page.
    next: Option<StoredKey>,
}

impl Page {
    /// Returns `true` if the time limit of the query has passed. Every page scans some rows.
    fn is_out_of_time(&self) -> bool {
        let checks = self.scanned > 0 && self.scanned.is_multiple_of(ROWS_PER_TIME_CHECK);
        checks && self.started.elapsed() >= MAX_PAGE_TIME
    }

    fn end_before(&mut self, (partition_key, row_key): (&str, &str)) -> ControlFlow<()> {
        self.next = Some(StoredKey::new(partition_key, row_key));
        ControlFlow::Break(())
    }
}

/// The keys in the continuation tokens. The RowKey is optional.
fn token(exchange: &Exchange<'_>) -> Result<Option<(String, String)>, Failure> {
    let Some(partition) = exchange.token("NextPartitionKey")? else {
        return Ok(None);
    };
    Ok(Some((partition, exchange.token("NextRowKey")?.unwrap_or_default())))
}

/// The first key of the page, which is the later one of the token's key and the plan's first key.
fn start<'k>(token: Option<&'k (String, String)>, plan: &'k Plan<'_>) -> (&'k str, &'k str) {
    let start = plan.start();
    match token {
        Some((partition, row)) => {
            let token = (&**partition, &**row);
            if by_keys(token, start).is_gt() { token } else { start }
        }
        None => start,
    }
}

fn property<'r>(
    (partition_key, row_key): (&'r str, &'r str),
    entity: &'r StoredEntity,
    name: &str,
) -> Option<EdmCow<'r>> {
    match name {
        "PartitionKey" => Some(EdmCow::String(partition_key.into())),
        "RowKey" => Some(EdmCow::String(row_key.into())),
        "Timestamp" => Some(EdmCow::DateTime(entity.version.time())),
        _ => entity.properties.member(name)?.read(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_ends_when_its_time_is_over_but_scans_some_rows() {
        let now = Instant::now();
        let page = |started, scanned| Page { started, body: vec![], found: 0, scanned, next: None };
        let early = now.checked_sub(MAX_PAGE_TIME).unwrap();
        for (started, scanned, expected) in
            [(early, 0, false), (early, 63, false), (early, 64, true), (now, 64, false)]
        {
            assert_eq!(page(started, scanned).is_out_of_time(), expected, "{scanned}");
        }
    }

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
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn every_matching_row_is_in_the_range_of_the_plan(
            filter in key_filter(),
            partition in "[ab\u{e000}\u{1f600}]{0,2}",
            row in "[ab\u{e000}\u{1f600}]{0,2}",
        ) {
            let plan = Plan::of(Some(&filter));
            let key = StoredKey::new(partition, row);
            let property = |name: &str| match name {
                "PartitionKey" => Some(EdmCow::String((&*key.partition).into())),
                "RowKey" => Some(EdmCow::String((&*key.row).into())),
                _ => None,
            };
            if evaluate::holds(&filter, &property) {
                let starts = by_keys(plan.start(), (&key.partition, &key.row)).is_le();
                prop_assert!(starts && !plan.is_past(&key.partition, &key.row), "{filter}");
            }
        }
    }
}
