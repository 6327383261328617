//! The page of the last requests.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::PlanKind;
use azure_table_client::mock::RecordedRequest;

use super::Page;
use super::html::Html;
use crate::exchange::Shared;

pub(super) fn page(shared: &Shared) -> Page {
    let mut all: Vec<(&str, RecordedRequest)> = Vec::new();
    let mut total = 0;
    let accounts = shared.accounts.all();
    for account in accounts.iter() {
        let requests = account.service.requests();
        total += requests.total();
        all.extend(requests.all().into_iter().map(|request| (&*account.name, request)));
    }
    // The stable sort keeps the order of responses within an account.
    all.sort_by_key(|(_, request)| request.arrived);
    let mut body = Html::default();
    body.raw("<h1>Requests</h1>");
    if all.is_empty() {
        body.raw("<p class=\"empty\">No requests yet.</p>");
        return Page { title: "Requests".into(), body };
    }
    body.raw(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Requests\" tabindex=\"0\"><table>",
    );
    body.raw("<caption>The last ").count(all.len()).raw(" of ").counted(total, "request");
    body.raw(", newest first; times in UTC</caption><thead><tr>");
    for column in ["Arrived", "Account", "Method", "Operation", "Table"] {
        body.raw("<th scope=\"col\">").raw(column).raw("</th>");
    }
    body.raw("<th scope=\"col\" class=\"number\">Status</th><th scope=\"col\">Plan</th>");
    for column in ["Rows scanned", "Attempt", "Body", "Time taken"] {
        body.raw("<th scope=\"col\" class=\"number\">").raw(column).raw("</th>");
    }
    body.raw("</tr></thead><tbody>");
    for (account, request) in all.iter().rev() {
        request_row(&mut body, account, request);
    }
    body.raw("</tbody></table></div>");
    Page { title: "Requests".into(), body }
}

fn request_row(body: &mut Html, account: &str, request: &RecordedRequest) {
    let arrived = EdmDateTime::from_system_time(request.arrived).unwrap_or(EdmDateTime::MIN);
    let arrived = arrived.to_string();
    body.raw("<tr><td class=\"time\"><time datetime=\"").text(&arrived).raw("\">");
    // The time with milliseconds of `2017-11-10T02:43:55.7662669Z`.
    body.text(arrived.get(11..23).unwrap_or(&arrived)).raw("</time></td><td>").text(account);
    body.raw("</td><td>").text(request.method.as_str()).raw("</td><th scope=\"row\">");
    body.text(request.operation.as_str());
    if request.operations != 1 {
        body.raw(" <span class=\"type\">").counted(request.operations, "operation").raw("</span>");
    }
    body.raw("</th><td>").text(request.table.as_deref().unwrap_or_default());
    body.raw(match request.status {
        ..400 => "</td><td class=\"number\">",
        _ => "</td><td class=\"number bad\">",
    });
    body.text(&request.status.to_string());
    body.raw(match request.plan {
        Some(PlanKind::TableScan) => "</td><td class=\"bad\">",
        _ => "</td><td>",
    });
    if let Some(plan) = request.plan {
        body.text(&plan.to_string());
    }
    body.raw("</td><td class=\"number\">");
    if request.plan.is_some() {
        body.count(request.scanned_rows);
    }
    body.raw("</td><td class=\"number\">").count(request.attempt);
    body.raw("</td><td class=\"number\">").count(request.payload_len).raw(" B");
    body.raw("</td><td class=\"number\">");
    let micros = usize::try_from(request.took.as_micros()).unwrap_or(usize::MAX);
    body.count(micros).raw(" µs</td></tr>");
}
