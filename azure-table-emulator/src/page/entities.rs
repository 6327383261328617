//! The page of a table's rows.

use azure_table_client::edm::EdmValue;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, ETag};
use url::form_urlencoded;

use super::fields::query_of;
use super::html::Html;
use super::rows::{self, Rows, time};
use super::values::shown;
use super::view::View;
use super::{NOTICES, Page};
use crate::accounts::Served;
use crate::shared::Shared;

/// The largest number of property columns. Others can be selected.
const COLUMNS: usize = 40;
/// The longest value that is not wrapped, which is a little longer than a Guid.
const LINE_CHARACTERS: usize = 40;
/// The largest number of characters of a value in a column.
const CELL_CHARACTERS: usize = 120;

/// Returns a page of rows, or `None` if the table does not exist.
pub(super) async fn list(
    shared: &Shared,
    account: &Served,
    table: &str,
    view: &View,
    done: &str,
) -> Option<Page> {
    let Served { name, service, .. } = account;
    let count = service.row_count(table)?;
    let read = rows::read(account, table, view).await;
    let rows = read.as_ref().map(|read| &*read.entities).unwrap_or_default();
    let known = shared.page.columns(name, table, rows);
    let mut body = Html::default();
    body.trail(name, table, None).raw("<h1>").text(table).raw("</h1>");
    if let Some((_, notice)) = NOTICES.iter().find(|(known, _)| *known == done) {
        body.raw("<p class=\"done\" role=\"status\">").raw(notice).raw("</p>");
    }
    query_form(&mut body, account, table, view, &known);
    match &read {
        Ok(read) => {
            body.raw("<p class=\"plan\">Plan: <span").raw(if read.is_scan {
                " class=\"bad\">"
            } else {
                ">"
            });
            body.text(&read.plan).raw("</span></p>");
        }
        Err(error) => _ = body.alert(&error.to_string()),
    }
    toolbar(&mut body, shared, account, table, view);
    body.raw("<div id=\"rows\" data-live><p class=\"note\">").counted(count, "row");
    body.raw(" in the table</p>");
    if let Ok(read) = &read {
        let grid = Grid { shared, account, table, view, known: &known };
        grid.write(&mut body, read);
    }
    body.raw("</div>");
    Some(Page { title: format!("{table} - {name}"), body })
}

fn query_form(body: &mut Html, account: &Served, table: &str, view: &View, known: &[String]) {
    body.raw("<form class=\"query\" role=\"search\" method=\"get\" action=\"");
    body.path(&account.name, table).raw("\"><label class=\"wide\">Filter (OData)");
    body.raw("<input name=\"filter\" autocomplete=\"off\" spellcheck=\"false\" ");
    body.raw("placeholder=\"PartitionKey eq &#39;a&#39; and Rating ge 3\" value=\"");
    body.text(&view.filter).raw("\"></label><label>From PartitionKey<input name=\"from\" ");
    body.raw("autocomplete=\"off\" spellcheck=\"false\" value=\"").text(&view.from);
    body.raw("\"></label>");
    if !view.sort.is_empty() {
        body.hidden("sort", &view.order());
    }
    body.raw("<button class=\"main\">Query</button><a class=\"button\" href=\"");
    body.path(&account.name, table).raw("\">Clear</a>");
    if !known.is_empty() {
        body.raw("<details").raw(if view.columns.is_empty() { ">" } else { " open>" });
        body.raw("<summary>Select columns</summary><fieldset><legend>Columns to show; all if ");
        body.raw("none is selected</legend>");
        for column in known {
            body.raw("<label><input type=\"checkbox\" name=\"column\" value=\"").text(column);
            let is_selected = view.columns.contains(column);
            body.raw(if is_selected { "\" checked> " } else { "\"> " }).text(column);
            body.raw("</label>");
        }
        body.raw("</fieldset></details>");
    }
    body.raw("</form>");
}

fn toolbar(body: &mut Html, shared: &Shared, account: &Served, table: &str, view: &View) {
    body.raw("<div class=\"tools\">");
    if shared.page.can_write {
        body.raw("<a class=\"button\" href=\"").path(&account.name, table);
        body.raw("/add\">Add</a><button form=\"selected\">Delete selected</button>");
    }
    body.raw("<a class=\"button\" href=\"").path(&account.name, table).raw("/export");
    body.text(&view.first().query()).raw("\">Export as CSV</a><span>Copy as ");
    let query = view.query();
    let query = query.strip_prefix('?').unwrap_or(&query);
    for (format, label) in super::copy::FORMATS {
        body.raw("<a href=\"").path(&account.name, table).raw("/copy?as=").raw(format);
        body.text(if query.is_empty() { "" } else { "&" }).text(query).raw("\">").raw(label);
        body.raw("</a> ");
    }
    body.raw("</span>");
    if shared.page.can_write {
        body.raw("<a class=\"button danger\" href=\"").path(&account.name, table);
        body.raw("/delete-table\">Delete table</a>");
    }
    body.raw("</div>");
}

/// The table of rows.
struct Grid<'a> {
    shared: &'a Shared,
    account: &'a Served,
    table: &'a str,
    view: &'a View,
    known: &'a [String],
}

impl Grid<'_> {
    fn write(&self, body: &mut Html, read: &Rows) {
        let rows = &read.entities;
        if rows.is_empty() {
            body.raw("<p class=\"empty\">").raw(match (&read.next, self.view) {
                (Some(_), _) => "No rows on this page. More may follow.</p>",
                (None, view) if view.query().is_empty() => "No rows yet.</p>",
                (None, _) => "No rows match.</p>",
            });
        } else if self.shared.page.can_write {
            body.raw("<form id=\"selected\" method=\"post\" action=\"");
            body.path(&self.account.name, self.table).raw("/delete\">");
            body.secrets(&self.shared.page);
            body.hidden("view", &self.view.query());
            self.rows(body, rows);
            body.raw("</form>");
        } else {
            self.rows(body, rows);
        }
        body.raw("<nav class=\"pages\" aria-label=\"Pages of rows\">");
        if !self.view.at.is_empty() {
            self.link(body, "<a rel=\"first\" href=\"", &self.view.first(), "First page");
        }
        if let Some(previous) = self.view.previous() {
            self.link(body, "<a rel=\"prev\" href=\"", &previous, "Previous page");
        }
        if let Some(next) = &read.next {
            let next = self.view.next(next.clone());
            self.link(body, "<a rel=\"next\" href=\"", &next, "Next page");
        }
        body.raw("</nav>");
    }

    fn link(&self, body: &mut Html, start: &'static str, view: &View, text: &'static str) {
        body.raw(start).path(&self.account.name, self.table).text(&view.query());
        body.raw("\">").raw(text).raw("</a> ");
    }

    fn rows(&self, body: &mut Html, rows: &[DynamicEntity]) {
        let columns = if self.view.columns.is_empty() {
            &self.known[..self.known.len().min(COLUMNS)]
        } else {
            &self.view.columns[..]
        };
        body.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Rows\" tabindex=\"0\">");
        body.raw("<table class=\"rows\"><caption>").counted(rows.len(), "row").raw(" in ");
        if self.view.sort.is_empty() {
            body.raw("key order");
        } else {
            body.raw("the order of ").text(&self.view.sort).raw(" within this page");
        }
        if self.view.columns.is_empty() && self.known.len() > COLUMNS {
            body.raw("; ").count(self.known.len() - COLUMNS).raw(" more columns can be selected");
        }
        body.raw("</caption><thead><tr>");
        self.heading(body, "PartitionKey", "pk");
        self.heading(body, "RowKey", "rk");
        for column in columns {
            self.heading(body, column, "");
        }
        self.heading(body, "Timestamp", "");
        body.raw("</tr></thead><tbody>");
        for row in rows {
            self.row(body, row, columns);
        }
        body.raw("</tbody></table></div>");
    }

    fn heading(&self, body: &mut Html, column: &str, class: &'static str) {
        body.raw("<th scope=\"col\" class=\"").raw(class).raw("\"");
        let mark = match (self.view.sort == column, self.view.is_descending) {
            (false, _) => "",
            (true, false) => {
                body.raw(" aria-sort=\"ascending\"");
                " ▲"
            }
            (true, true) => {
                body.raw(" aria-sort=\"descending\"");
                " ▼"
            }
        };
        body.raw(">");
        if class == "pk" && self.shared.page.can_write {
            body.raw("<input type=\"checkbox\" data-select hidden aria-label=\"Select all\"> ");
        }
        body.raw("<a href=\"").path(&self.account.name, self.table);
        body.text(&self.view.sorted_by(column).query()).raw("\" title=\"Sort this page\">");
        body.text(column).raw("</a><span aria-hidden=\"true\">").raw(mark).raw("</span></th>");
    }

    fn row(&self, body: &mut Html, row: &DynamicEntity, columns: &[String]) {
        let key = row.key();
        body.raw("<tr><td class=\"pk ").raw(width(&key.partition_key)).raw("\">");
        if self.shared.page.can_write {
            body.raw("<input type=\"checkbox\" name=\"row\" value=\"").text(&version_of(row));
            body.raw("\" aria-label=\"Select ").text(&key.partition_key).raw(", ");
            body.text(&key.row_key).raw("\"> ");
        }
        let partition = Filter::compare("PartitionKey", CompareOp::Eq, &*key.partition_key);
        let filter = partition.map(|filter| filter.to_string()).unwrap_or_default();
        let columns_of = self.view.columns.clone();
        let jump = View { filter, columns: columns_of, ..View::default() };
        body.raw("<a title=\"Query this partition\" href=\"");
        body.path(&self.account.name, self.table).text(&jump.query()).raw("\">");
        body.bdi(or_empty(&key.partition_key));
        body.raw("</a></td><th scope=\"row\" class=\"rk ").raw(width(&key.row_key));
        body.raw("\"><a title=\"Open this entity\" href=\"").path(&self.account.name, self.table);
        body.raw("/entity").text(&query_of((&key.partition_key, &key.row_key))).raw("\">");
        body.bdi(or_empty(&key.row_key)).raw("</a></th>");
        for column in columns {
            match row.value(column) {
                Some(value) => cell(body, value),
                None => _ = body.raw("<td></td>"),
            }
        }
        body.raw("<td class=\"time\">").text(&time(row)).raw("</td></tr>");
    }
}

/// The keys and the version of a row as a field of a form.
pub(super) fn version_of(row: &DynamicEntity) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.append_pair("PartitionKey", &row.key().partition_key);
    text.append_pair("RowKey", &row.key().row_key);
    text.append_pair("ETag", row.etag().map(ETag::as_str).unwrap_or_default());
    text.finish()
}

fn or_empty(key: &str) -> &str {
    if key.is_empty() { "(empty)" } else { key }
}

fn cell(body: &mut Html, value: &EdmValue) {
    let text = shown(value);
    body.raw("<td class=\"").raw(width(&text)).raw("\">");
    match text.char_indices().nth(CELL_CHARACTERS) {
        None => _ = body.bdi(&text),
        Some((end, _)) => {
            body.bdi(&text[..end]);
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
