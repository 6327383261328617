//! The pages of a table's rows, and the page of one row.

use std::borrow::Cow;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::html::Html;
use super::{Page, query_of};
use crate::accounts::Served;

/// The number of rows on a page.
const PAGE_ROWS: usize = 50;
/// The largest number of property columns. The page of one entity shows all properties.
const COLUMNS: usize = 40;
/// The longest value that is not wrapped, which is a little longer than a Guid.
const LINE_CHARACTERS: usize = 40;
/// The largest number of characters of a value in a column.
const CELL_CHARACTERS: usize = 120;

type Keys<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Returns a page of rows from a key on, or `None` if the table does not exist.
pub(super) fn list(account: &Served, table: &str, from: &Keys<'_>) -> Option<Page> {
    let Served { name, service, .. } = account;
    let count = service.row_count(table)?;
    let mut rows = service.rows_from(table, (&from.0, &from.1), PAGE_ROWS + 1)?;
    let next = if rows.len() > PAGE_ROWS { rows.pop() } else { None };
    let mut body = Html::default();
    body.raw("<nav class=\"path\" aria-label=\"Path\"><a href=\"/-/\">").text(name);
    body.raw("</a> / ").text(table).raw("</nav><h1>").text(table).raw("</h1>");
    body.raw("<p class=\"note\">").counted(count, "row").raw("</p>");
    let is_first = from.0.is_empty() && from.1.is_empty();
    if rows.is_empty() {
        body.raw("<p class=\"empty\">No rows");
        body.raw(if is_first { " yet.</p>" } else { " from this key on.</p>" });
    } else {
        rows_table(&mut body, account, table, &rows);
    }
    body.raw("<nav class=\"pages\" aria-label=\"Pages of rows\">");
    if !is_first {
        body.raw("<a rel=\"first\" href=\"/-/").text(name).raw("/").text(table);
        body.raw("\">First page</a> ");
    }
    if let Some(next) = next {
        let key = next.key();
        body.raw("<a rel=\"next\" href=\"/-/").text(name).raw("/").text(table);
        body.text(&query_of((&key.partition_key, &key.row_key))).raw("\">Next page</a>");
    }
    body.raw("</nav>");
    Some(Page { title: format!("{table} - {name}"), body })
}

fn rows_table(body: &mut Html, account: &Served, table: &str, rows: &[DynamicEntity]) {
    let (columns, left_out) = columns(rows);
    body.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Rows\" tabindex=\"0\"><table>");
    body.raw("<caption>").counted(rows.len(), "row").raw(" in key order");
    if left_out > 0 {
        body.raw("; ").count(left_out).raw(" more properties on the pages of the rows");
    }
    body.raw(
        "</caption><thead><tr><th scope=\"col\">PartitionKey</th><th scope=\"col\">RowKey</th>",
    );
    for name in &columns {
        body.raw("<th scope=\"col\">").text(name).raw("</th>");
    }
    body.raw("<th scope=\"col\">Timestamp</th></tr></thead><tbody>");
    for row in rows {
        let key = row.key();
        body.raw("<tr><td class=\"").raw(width(&key.partition_key)).raw("\">");
        bdi(body, &key.partition_key);
        body.raw("</td><th scope=\"row\" class=\"").raw(width(&key.row_key));
        body.raw("\"><a href=\"/-/").text(&account.name).raw("/").text(table);
        body.raw("/entity").text(&query_of((&key.partition_key, &key.row_key))).raw("\">");
        bdi(body, if key.row_key.is_empty() { "(empty)" } else { &key.row_key });
        body.raw("</a></th>");
        for name in &columns {
            match row.value(name) {
                Some(value) => cell(body, value),
                None => _ = body.raw("<td></td>"),
            }
        }
        body.raw("<td class=\"time\">");
        if let Some(time) = row.timestamp() {
            body.text(&time.trimmed().to_string());
        }
        body.raw("</td></tr>");
    }
    body.raw("</tbody></table></div>");
}

/// Returns the properties with a column, in order of appearance, and the number of the others.
fn columns(rows: &[DynamicEntity]) -> (Vec<&str>, usize) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(DynamicEntity::properties) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let left_out = names.len().saturating_sub(COLUMNS);
    names.truncate(COLUMNS);
    (names, left_out)
}

fn cell(body: &mut Html, value: &EdmValue) {
    let text = shown(value);
    body.raw("<td class=\"").raw(width(&text)).raw("\">");
    match text.char_indices().nth(CELL_CHARACTERS) {
        None => bdi(body, &text),
        Some((end, _)) => {
            bdi(body, &text[..end]);
            body.raw("<span class=\"more\">… ").count(text.chars().count());
            body.raw(" characters</span>");
        }
    }
    body.raw(" <span class=\"type\">").text(value.edm_type().as_str()).raw("</span></td>");
}

/// The CSS class of a cell. Only long text is wrapped.
fn width(text: &str) -> &'static str {
    if text.chars().count() > LINE_CHARACTERS { "long" } else { "short" }
}

/// Returns the page of one row, or `None` if the row does not exist.
pub(super) fn one(account: &Served, table: &str, key: &Keys<'_>) -> Option<Page> {
    let Served { name, service, .. } = account;
    let row = service.row(table, &key.0, &key.1)?;
    let mut body = Html::default();
    body.raw("<nav class=\"path\" aria-label=\"Path\"><a href=\"/-/\">").text(name);
    body.raw("</a> / <a href=\"/-/").text(name).raw("/").text(table).raw("\">").text(table);
    body.raw("</a> / entity</nav><h1>Entity</h1>");
    body.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Properties\" tabindex=\"0\">");
    body.raw("<table class=\"narrow\"><caption>").counted(row.properties().len(), "value");
    body.raw(" besides the keys</caption><thead><tr><th scope=\"col\">Property</th>");
    body.raw("<th scope=\"col\">Edm type</th><th scope=\"col\">Value</th></tr></thead><tbody>");
    property(&mut body, "PartitionKey", "Edm.String", &key.0);
    property(&mut body, "RowKey", "Edm.String", &key.1);
    if let Some(time) = row.timestamp() {
        property(&mut body, "Timestamp", "Edm.DateTime", &time.trimmed().to_string());
    }
    if let Some(etag) = row.etag() {
        property(&mut body, "ETag", "", etag.as_str());
    }
    for (name, value) in row.properties() {
        property(&mut body, name, value.edm_type().as_str(), &shown(value));
    }
    body.raw("</tbody></table></div>");
    Some(Page { title: format!("{}, {} - {table} - {name}", key.0, key.1), body })
}

fn property(body: &mut Html, name: &str, edm_type: &str, value: &str) {
    body.raw("<tr><th scope=\"row\">").text(name).raw("</th><td class=\"type\">").text(edm_type);
    body.raw("</td><td class=\"value\">");
    bdi(body, value);
    body.raw("</td></tr>");
}

/// Writes text that is isolated from the direction of the text around it.
fn bdi(body: &mut Html, text: &str) {
    body.raw("<bdi>").text(text).raw("</bdi>");
}

fn shown(value: &EdmValue) -> Cow<'_, str> {
    match value {
        EdmValue::String(text) => Cow::Borrowed(text),
        EdmValue::Boolean(value) => value.to_string().into(),
        EdmValue::Int32(value) => value.to_string().into(),
        EdmValue::Int64(value) => value.to_string().into(),
        // Debug shows 5.0, since 5 would be an integer.
        EdmValue::Double(value) => format!("{value:?}").into(),
        EdmValue::DateTime(value) => value.trimmed().to_string().into(),
        EdmValue::Guid(value) => value.to_string().into(),
        EdmValue::Binary(value) => STANDARD.encode(value).into(),
    }
}
