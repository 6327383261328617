//! Queries of Cosmos DB, whose results are in the order of their creation instead of the order of the keys.

use std::cmp::Ordering;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;

use super::evaluate::{Columns, Matcher};
use super::exchange::Exchange;
use super::scan::{Partitions, columns, range};
use super::select::Select;
use crate::filter::{Filter, Plan};
use crate::mock::core::Core;
use crate::mock::dialect::CreationOrder;
use crate::mock::failure::Failure;
use crate::mock::payload::{Item, Payload};
use crate::mock::reply::Reply;
use crate::mock::step::Work;
use crate::mock::store::{Snapshot, StoredEntity, StoredKey, Table, by_keys};
use crate::wire::headers;

/// The largest body of a page with more than one row.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The parts of a query.
pub(super) struct Read<'f> {
    pub(super) filter: Option<&'f Filter>,
    pub(super) plan: Plan<'f>,
    pub(super) select: Option<Select>,
    pub(super) top: usize,
}

/// The place of a row in a table, or of a table among the others: the number of its creation, and its keys,
/// since those of a data file have the number 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    number: u64,
    key: StoredKey,
}

impl Place {
    fn order(&self, other: &Self) -> Ordering {
        let (own, others) = (&self.key, &other.key);
        let keys = || by_keys((&own.partition, &own.row), (&others.partition, &others.row));
        self.number.cmp(&other.number).then_with(keys)
    }

    /// The place in a continuation token.
    fn text(&self) -> String {
        let Self { number, key } = self;
        STANDARD.encode(format!("{number}/{}/{}", key.partition, key.row))
    }

    fn read(text: &str) -> Option<Self> {
        let text = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
        let mut parts = text.splitn(3, '/');
        let number = parts.next()?.parse().ok()?;
        Some(Self { number, key: StoredKey::new(parts.next()?, parts.next()?) })
    }
}

/// Returns the reply to a query, and the number of rows scanned.
pub(super) async fn query(
    core: &Core,
    order: &CreationOrder,
    exchange: &Exchange<'_>,
    table: &str,
    read: &Read<'_>,
) -> Result<(Reply, usize), Failure> {
    let token = exchange.request.raw.option("NextPartitionKey").filter(|token| !token.is_empty());
    // `{"token":"…","range":…}`
    let in_json =
        |token: &str| Some(token.split_once("\"token\":\"")?.1.split_once('"')?.0.to_owned());
    let from = token.as_deref().map(|token| in_json(token).and_then(|text| Place::read(&text)));
    let from = from.map(|place| place.ok_or_else(Failure::invalid_input)).transpose()?;
    let now = core.clock.now();
    let table = {
        let store = core.store.at(exchange.grant.location, now);
        Arc::clone(store.existing_table(table, now)?)
    };
    let (mut rows, scanned) = matching(exchange, &table, read).await;
    order.read(|numbers| {
        for (place, _) in &mut rows {
            place.number = numbers.of_row(table.name(), &place.key);
        }
    });
    if table.is_deleted() {
        // A page with some of its rows would look complete.
        return Err(Failure::table_not_found());
    }
    let payload = exchange.payload(table.name(), read.select.as_ref());
    let page = Page::of(exchange, rows, from.as_ref(), read.top);
    let (body, next) = page.write(&payload, |(place, row)| Item::Entity(&place.key.partition, row));
    let mut reply = Reply::with_body(StatusCode::OK, exchange.format, body);
    if let Some(next) = next {
        let token = format!(r#"{{"token":"{}","range":{{"min":"","max":"FF"}}}}"#, next.text());
        reply.text_header(headers::NEXT_PARTITION_KEY.clone(), token);
        reply.text_header(headers::NEXT_ROW_KEY.clone(), "NA");
    }
    Ok((reply, scanned))
}

/// Lists tables.
pub(super) async fn list(
    core: &Core,
    order: &CreationOrder,
    exchange: &Exchange<'_>,
    payload: &Payload<'_>,
    filter: Option<&Filter>,
    top: usize,
) -> Result<Reply, Failure> {
    let token = exchange.request.raw.option("NextTableName").filter(|token| !token.is_empty());
    let from = token.as_deref().map(|token| Place::read(token).ok_or_else(Failure::invalid_input));
    let from = from.transpose()?;
    let tables: Vec<Arc<Table>> = {
        let store = core.store.at(exchange.grant.location, core.clock.now());
        store.tables_from("").cloned().collect()
    };
    let (matcher, mut work) = (filter.map(Matcher::new), Work::default());
    let mut found = Vec::new();
    for table in tables {
        work.add(matcher.as_ref().map_or(1, Matcher::cost));
        work.step().await;
        if matcher.as_ref().is_none_or(|matcher| matcher.matches_table(table.name())) {
            let number = order.read(|numbers| numbers.of_table(table.name()));
            found.push((Place { number, key: StoredKey::new(&**table.name(), "") }, ()));
        }
    }
    let page = Page::of(exchange, found, from.as_ref(), top);
    let (body, next) = page.write(payload, |(place, ())| Item::Table(&place.key.partition));
    let mut reply = Reply::with_body(StatusCode::OK, exchange.format, body);
    if let Some(next) = next {
        reply.text_header(headers::NEXT_TABLE_NAME.clone(), next.text());
    }
    Ok(reply)
}

/// The rows that match and that the request may read, and the number of rows scanned.
async fn matching(
    exchange: &Exchange<'_>,
    table: &Table,
    read: &Read<'_>,
) -> (Vec<(Place, StoredEntity)>, usize) {
    let (plan, granted) = (&read.plan, exchange.grant.keys());
    let start = plan.start();
    let start = if by_keys(granted.start(), start).is_gt() { granted.start() } else { start };
    let is_past = |keys: (&str, &str)| plan.is_past(keys.0, keys.1) || granted.is_past(keys);
    let matcher = read.filter.map(Matcher::new);
    let (mut found, mut scanned) = (Vec::new(), 0);
    for Snapshot { partition_key, rows } in Partitions::from(table, start.0) {
        let start = if *partition_key == *start.0 { start.1 } else { "" };
        for chunk in rows.chunks_from(start) {
            let mut rows = range(chunk, start, |row_key| is_past((&partition_key, row_key)));
            let is_last = rows.end < chunk.rows().len();
            while !rows.is_empty() {
                // Each page scans the whole range, however long that takes.
                let mut work = Work::default();
                let mut compared = rows.clone();
                let columns = match &matcher {
                    Some(matcher) => columns(chunk, &mut compared, matcher, &mut work).await,
                    None => Columns::default(),
                };
                for at in compared.clone() {
                    let row = &chunk.rows()[at];
                    work.add(matcher.as_ref().map_or(1, Matcher::cost));
                    work.step().await;
                    let cells = (&columns, at - columns.first);
                    let is_match =
                        |matcher: &Matcher<'_>| matcher.matches(&partition_key, row, cells);
                    if matcher.as_ref().is_none_or(is_match) {
                        let key = StoredKey::new(&*partition_key, row.row_key());
                        found.push((Place { number: 0, key }, row.clone()));
                    }
                }
                scanned += compared.len();
                rows.start = compared.end;
            }
            if is_last {
                return (found, scanned);
            }
        }
    }
    (found, scanned)
}

/// A page of items, each with its place.
struct Page<T> {
    /// All items from the first one of the page on, in their order.
    left: Vec<(Place, T)>,
    len: usize,
    is_last: bool,
}

impl<T> Page<T> {
    fn of(
        exchange: &Exchange<'_>,
        mut items: Vec<(Place, T)>,
        from: Option<&Place>,
        top: usize,
    ) -> Self {
        items.retain(|(place, _)| from.is_none_or(|from| place.order(from).is_ge()));
        items.sort_by(|(a, _), (b, _)| a.order(b));
        let len = items.len().min(top);
        let cut = exchange.effects.and_then(|effects| effects.page_end?.of(len));
        // A page with a token has a row, so that a list advances.
        let len = cut.map_or(len, |cut| cut.max(usize::from(from.is_some())).min(len));
        Self { left: items, len, is_last: top == 0 }
    }

    /// Returns the body and the place at which the next page begins.
    fn write<'i>(
        &'i self,
        payload: &Payload<'_>,
        item: impl Fn(&'i (Place, T)) -> Item<'i>,
    ) -> (Vec<u8>, Option<&'i Place>) {
        let mut body = Vec::with_capacity(1024);
        payload.open_page(&mut body);
        let mut written = 0;
        for one in &self.left[..self.len] {
            let offset = body.len();
            payload.push(&mut body, item(one), written == 0);
            if body.len() > MAX_PAGE_BYTES && written > 0 {
                body.truncate(offset);
                break;
            }
            written += 1;
        }
        payload.close_page(&mut body, written == 0);
        // A page of no rows by `$top=0` is the last one.
        let next = self.left.get(written).filter(|_| !self.is_last);
        (body, next.map(|(place, _)| place))
    }
}
