//! Queries over the rows of a table.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;

use super::MockTableService;
use super::evaluate;
use super::failure::Failure;
use super::payload::Item;
use super::reply::Reply;
use super::respond::{Asked, Note};
use super::select::Select;
use super::store::{StoredEntity, StoredKey, by_keys};
use crate::edm::EdmCow;
use crate::filter::{Filter, FilterErrorKind, Plan, PlanKind};
use crate::limits::{PAGE_ENTITIES, check_table_name};
use crate::wire::headers;

/// A page ends where its body would grow beyond this; it has one row at least.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A page ends where it has taken so long, in real time, though nothing may have been found.
///
/// Source: [Query timeout and pagination][timeout].
///
/// [timeout]: https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination
const MAX_PAGE_TIME: Duration = Duration::from_secs(5);
/// After so many rows the time is looked at.
const ROWS_BETWEEN_LOOKS: usize = 64;

/// What a query looked at.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub(super) plan: PlanKind,
    pub(super) rows: usize,
}

impl MockTableService {
    /// `$filter`, if there is one.
    pub(super) fn filter(&self, asked: &Asked<'_>) -> Result<Option<Filter>, Failure> {
        let Some(text) = asked.request.option("$filter").filter(|text| !text.trim().is_empty())
        else {
            return Ok(None);
        };
        let filter = Filter::parse(&text).map_err(|error| match error.kind() {
            FilterErrorKind::Function => Failure::not_implemented(),
            _ => Failure::invalid_input(),
        })?;
        match self.0.max_comparisons {
            Some(max) if filter.comparisons() > max => Err(Failure::invalid_input()),
            _ => Ok(Some(filter)),
        }
    }

    pub(super) fn query(
        &self,
        asked: &Asked<'_>,
        table: &str,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        check_table_name(table)?;
        let filter = self.filter(asked)?;
        let top = asked.top()?.unwrap_or(PAGE_ENTITIES as usize);
        let plan = Plan::of(filter.as_ref());
        let select = Select::of(asked)?;
        let token = token(asked)?;
        let (reach, start) = (asked.grant.keys(), start(token.as_ref(), &plan));
        let start = if by_keys(reach.start(), start).is_gt() { reach.start() } else { start };

        // A query can take long, and who creates or deletes a table must not wait for it.
        let table = Arc::clone(self.store_at(asked.grant.place).entities_of(table, self.now())?);
        let mut body = Vec::with_capacity(1024);
        let payload = asked.payload(table.name(), select.as_ref());
        payload.open_page(&mut body);
        let mut page = Page { begun: Instant::now(), body, found: 0, scanned: 0, next: None };
        let page_end = asked.fate.and_then(|fate| fate.page_end);
        // Where each row begins, if the page may have to end there.
        let mut begins = Vec::new();
        table.scan(start, &mut |keys, entity| {
            if plan.is_past(keys.0, keys.1) || reach.is_past(keys) {
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
            let end = page.body.len();
            if page_end.is_some() {
                begins.push((end, StoredKey::new(keys.0, keys.1)));
            }
            payload.push(&mut page.body, Item::Entity(keys, entity), page.found == 0);
            if page.body.len() > MAX_PAGE_BYTES && page.found > 0 {
                page.body.truncate(end);
                return page.end_before(keys);
            }
            page.found += 1;
            ControlFlow::Continue(())
        });
        let Page { mut body, found, scanned, mut next, .. } = page;
        let cut = page_end.and_then(|cut| cut.of(found));
        if let Some((end, key)) = cut.and_then(|cut| begins.get(cut)) {
            body.truncate(*end);
            next = Some(key.clone());
        }
        payload.close_page(&mut body, cut.unwrap_or(found) == 0);
        note.scan = Some(Scan { plan: plan.kind(), rows: scanned });
        let mut reply = Reply::with_body(StatusCode::OK, asked.format, body);
        if let Some(key) = next {
            Asked::give_token(&mut reply, &headers::NEXT_PARTITION_KEY, &key.partition);
            Asked::give_token(&mut reply, &headers::NEXT_ROW_KEY, &key.row);
        }
        Ok(reply)
    }
}

/// A page in the making.
struct Page {
    begun: Instant,
    body: Vec<u8>,
    found: usize,
    scanned: usize,
    /// The row with which the next page begins.
    next: Option<StoredKey>,
}

impl Page {
    /// Whether this has taken as long as a query may. A page gets on by some rows at least.
    fn is_out_of_time(&self) -> bool {
        let is_looked_at = self.scanned > 0 && self.scanned.is_multiple_of(ROWS_BETWEEN_LOOKS);
        is_looked_at && self.begun.elapsed() >= MAX_PAGE_TIME
    }

    fn end_before(&mut self, (partition_key, row_key): (&str, &str)) -> ControlFlow<()> {
        self.next = Some(StoredKey::new(partition_key, row_key));
        ControlFlow::Break(())
    }
}

/// The keys in the continuation tokens. A token may leave out the RowKey.
fn token(asked: &Asked<'_>) -> Result<Option<(String, String)>, Failure> {
    let Some(partition) = asked.token("NextPartitionKey")? else {
        return Ok(None);
    };
    Ok(Some((partition, asked.token("NextRowKey")?.unwrap_or_default())))
}

/// Where the page begins: at the token, but not before the plan does.
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

/// `1!<length>!<base64>`, with `-` for `=`: what the service's own tokens look like.
pub(super) fn write_token(key: &str) -> String {
    let text = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{text}", text.len())
}

pub(super) fn read_token(token: &str) -> Option<String> {
    let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(text.len()) {
        return None;
    }
    String::from_utf8(STANDARD.decode(text.replace('-', "=")).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_ends_when_its_time_is_over_but_gets_on() {
        let now = Instant::now();
        let page = |begun, scanned| Page { begun, body: vec![], found: 0, scanned, next: None };
        let early = now.checked_sub(MAX_PAGE_TIME).unwrap();
        for (begun, scanned, expected) in
            [(early, 0, false), (early, 63, false), (early, 64, true), (now, 64, false)]
        {
            assert_eq!(page(begun, scanned).is_out_of_time(), expected, "{scanned}");
        }
    }

    #[test]
    fn tokens_are_those_of_the_service() {
        assert_eq!(write_token("pk801016e8"), "1!16!cGs4MDEwMTZlOA--");
        for key in ["", "r", "rk801016e8123", "é\u{1f600}"] {
            assert_eq!(read_token(&write_token(key)).as_deref(), Some(key));
        }
        for bad in ["", "1!", "1!3!cGs4", "2!4!cGs4", "1!4!c$s4", "x"] {
            assert_eq!(read_token(bad), None, "{bad}");
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
        fn no_row_that_matches_is_out_of_range(
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
