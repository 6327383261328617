//! The start page: accounts and their tables.

use super::Page;
use super::html::Html;
use crate::accounts::Served;
use crate::exchange::Shared;

pub(super) fn page(shared: &Shared) -> Page {
    let mut body = Html::default();
    body.raw("<h1>Tables</h1>");
    for account in shared.accounts.iter() {
        account_section(&mut body, &account);
    }
    Page { title: "Tables".into(), body }
}

fn account_section(body: &mut Html, account: &Served) {
    let Served { name, service } = account;
    let requests = service.requests();
    body.raw("<section><h2>").text(name).raw("</h2><p class=\"note\">");
    body.counted(requests.total(), "request").raw(" so far, ");
    body.counted(requests.table_scans(), "table scan").raw("</p>");
    let tables = service.table_names();
    if tables.is_empty() {
        body.raw("<p class=\"empty\">No tables yet.</p></section>");
        return;
    }
    body.raw("<table class=\"narrow\"><caption>").counted(tables.len(), "table");
    body.raw(" of ").text(name).raw("</caption><thead><tr><th scope=\"col\">Table</th>");
    body.raw("<th scope=\"col\" class=\"number\">Rows</th></tr></thead><tbody>");
    for table in &tables {
        body.raw("<tr><th scope=\"row\"><a href=\"/-/").text(name).raw("/").text(table);
        body.raw("\">").text(table).raw("</a></th><td class=\"number\">");
        // Another request may have deleted the table.
        body.count(service.row_count(table).unwrap_or_default()).raw("</td></tr>");
    }
    body.raw("</tbody></table></section>");
}
