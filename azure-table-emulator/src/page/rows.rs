//! Reading the rows of a view, for the page, copies and exports.

use azure_table_client::client::{Continuation, Query, QueryPlan};
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::filter::{CompareOp, Filter, PlanKind};
use azure_table_client::{DynamicEntity, Error, TableClient};

use super::values::compare;
use super::view::View;
use crate::accounts::Served;

/// The number of rows on a page.
const PAGE_ROWS: u32 = 50;

/// The rows of a page, in the order of the view.
pub(super) struct Rows {
    pub(super) entities: Vec<DynamicEntity>,
    pub(super) next: Option<String>,
    pub(super) plan: String,
    pub(super) is_scan: bool,
}

/// Reads the rows of a page. Its requests are not recorded.
pub(super) async fn read(account: &Served, table: &str, view: &View) -> Result<Rows, Error> {
    let client = account.service.direct_client().table_named::<DynamicEntity>(table);
    let mut query = query(&client, view).page_size(PAGE_ROWS);
    let filter = filter(view);
    let (plan, kind) = (query.plan()?, PlanKind::of(filter.as_ref()));
    if !view.at.is_empty() {
        query = query.start_at(view.at.parse::<Continuation>()?);
    }
    let page = query.page().await?;
    let next = page.continuation.map(|next| next.to_string());
    let mut entities = page.entities;
    sort(&mut entities, view);
    let is_scan = kind == PlanKind::TableScan && filter.is_some();
    Ok(Rows { entities, next, plan: plan_text(kind, plan), is_scan })
}

/// The query of a view, from its first page on.
pub(super) fn query(client: &TableClient<DynamicEntity>, view: &View) -> Query<DynamicEntity> {
    let query = client.query();
    // The query reports an invalid filter.
    let query = if view.filter.is_empty() { query } else { query.filter_text(&view.filter) };
    match from(view) {
        Some(from) => query.matching(&from),
        None => query,
    }
}

/// The whole filter of a view, if it is valid.
fn filter(view: &View) -> Option<Filter> {
    let own = Filter::parse(&view.filter).ok();
    own.into_iter().chain(from(view)).reduce(|all, one| all & one)
}

fn from(view: &View) -> Option<Filter> {
    let from = Some(&*view.from).filter(|from| !from.is_empty())?;
    Filter::compare("PartitionKey", CompareOp::Ge, from).ok()
}

/// The plan of one query, as the clients of all languages send it. The client of this library may split it.
fn plan_text(kind: PlanKind, plan: QueryPlan) -> String {
    match plan.queries {
        0 | 1 => plan.to_string(),
        _ => format!("{kind} in one query; the Rust client sends {plan}"),
    }
}

fn sort(rows: &mut [DynamicEntity], view: &View) {
    if view.sort.is_empty() {
        return;
    }
    rows.sort_by(|a, b| {
        let (a, b) = (value(a, &view.sort), value(b, &view.sort));
        let order = compare(a.as_ref(), b.as_ref());
        let is_turned = view.is_descending && a.is_some() && b.is_some();
        if is_turned { order.reverse() } else { order }
    });
}

/// Returns the value of a column, which may be a key or the Timestamp.
fn value(row: &DynamicEntity, column: &str) -> Option<EdmValue> {
    match column {
        "PartitionKey" => Some(EdmValue::from(&*row.key().partition_key)),
        "RowKey" => Some(EdmValue::from(&*row.key().row_key)),
        "Timestamp" => row.timestamp().map(EdmValue::DateTime),
        name => row.value(name).cloned(),
    }
}

/// The Timestamp of a row as text.
pub(super) fn time(row: &DynamicEntity) -> String {
    row.timestamp().map(EdmDateTime::trimmed).map(|time| time.to_string()).unwrap_or_default()
}
