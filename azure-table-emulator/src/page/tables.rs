//! The start page: accounts and their tables.

use super::html::Html;
use super::{NOTICES, Page};
use crate::accounts::Served;
use crate::shared::Shared;

/// Returns the start page. An error is the one of the last action on an account.
pub(super) fn page(shared: &Shared, error: Option<(&str, &str)>) -> Page {
    let mut body = Html::default();
    body.raw("<h1>Tables</h1>");
    for account in shared.accounts.iter() {
        let error = error.filter(|(name, _)| *name == account.name);
        account_section(&mut body, shared, &account, error.map(|(_, error)| error));
    }
    Page { title: "Tables".into(), body }
}

/// Returns the start page after an action.
pub(super) fn done(shared: &Shared, done: &str) -> Page {
    let mut page = page(shared, None);
    if let Some((_, notice)) = NOTICES.iter().find(|(known, _)| *known == done) {
        let mut body = Html::default();
        body.raw("<p class=\"done\" role=\"status\">").raw(notice).raw("</p>").append(&page.body);
        page.body = body;
    }
    page
}

fn account_section(body: &mut Html, shared: &Shared, account: &Served, error: Option<&str>) {
    let Served { name, service, .. } = account;
    let requests = service.requests();
    body.raw("<section><h2>").text(name).raw("</h2>");
    if let Some(error) = error {
        body.alert(error);
    }
    if shared.page.can_write {
        body.raw("<form class=\"query\" method=\"post\" action=\"/-/").text(name);
        body.raw("/\">").secrets(&shared.page);
        body.raw("<label>New table<input name=\"table\" autocomplete=\"off\" required ");
        body.raw("pattern=\"[A-Za-z][A-Za-z0-9]{2,62}\" ");
        body.raw("title=\"3 to 63 letters and digits, the first a letter\"></label>");
        body.raw("<button>Create table</button></form>");
    }
    body.raw("<div data-live id=\"tables-").text(name).raw("\"><p class=\"note\">");
    body.counted(requests.total(), "request").raw(" so far, ");
    body.counted(requests.table_scans(), "table scan").raw("</p>");
    let tables = service.table_names();
    if tables.is_empty() {
        body.raw("<p class=\"empty\">No tables yet.</p></div></section>");
        return;
    }
    body.raw("<table class=\"narrow\"><caption>").counted(tables.len(), "table");
    body.raw(" of ").text(name).raw("</caption><thead><tr><th scope=\"col\">Table</th>");
    body.raw("<th scope=\"col\" class=\"number\">Rows</th></tr></thead><tbody>");
    for table in &tables {
        body.raw("<tr><th scope=\"row\"><a href=\"").path(name, table);
        body.raw("\">").text(table).raw("</a></th><td class=\"number\">");
        // Another request may have deleted the table.
        body.count(service.row_count(table).unwrap_or_default()).raw("</td></tr>");
    }
    body.raw("</tbody></table></div></section>");
}
