//! The log of the last requests, and the page of one request.

use azure_table_client::ErrorCode;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::PlanKind;
use azure_table_client::mock::RecordedRequest;
use url::form_urlencoded;

use super::Page;
use super::html::Html;
use super::view::View;
use crate::shared::Shared;

/// The choices of requests, by the value of `show`.
const SHOWN: [(&str, &str); 3] = [("", "All"), ("errors", "Errors"), ("scans", "Table scans")];

pub(super) fn page(shared: &Shared, show: &str) -> Page {
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
    let kept = all.len();
    all.retain(|(_, request)| match show {
        "errors" => is_bad(request),
        "scans" => request.plan == Some(PlanKind::TableScan),
        _ => true,
    });
    let mut body = Html::default();
    body.raw("<h1>Requests</h1><nav class=\"tools\" aria-label=\"Shown requests\">");
    for (name, label) in SHOWN {
        body.raw("<a href=\"/-/requests").raw(if name.is_empty() { "" } else { "?show=" });
        body.raw(name).raw(if name == show { "\" aria-current=\"page\">" } else { "\">" });
        body.raw(label).raw("</a> ");
    }
    body.raw("</nav><div id=\"requests\" data-live>");
    if all.is_empty() {
        body.raw("<p class=\"empty\">No requests yet.</p></div>");
        return Page { title: "Requests".into(), body };
    }
    body.raw(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Requests\" tabindex=\"0\"><table>",
    );
    body.raw("<caption>");
    if all.len() < kept {
        body.count(all.len()).raw(" of the last ").count(kept).raw(" requests");
    } else {
        body.raw("The last ").count(kept).raw(" of ").counted(total, "request");
    }
    body.raw(", newest first; times in UTC</caption><thead><tr>");
    for column in ["Arrived", "Account", "Method", "Operation", "Table"] {
        body.raw("<th scope=\"col\">").raw(column).raw("</th>");
    }
    body.raw("<th scope=\"col\" class=\"number\">Status</th><th scope=\"col\">Error</th>");
    body.raw("<th scope=\"col\">Plan</th><th scope=\"col\">Filter</th>");
    for column in ["Rows scanned", "Attempt", "Body", "Time taken"] {
        body.raw("<th scope=\"col\" class=\"number\">").raw(column).raw("</th>");
    }
    body.raw("</tr></thead><tbody>");
    for (account, request) in all.iter().rev() {
        request_row(&mut body, account, request);
    }
    body.raw("</tbody></table></div></div>");
    Page { title: "Requests".into(), body }
}

fn arrived(request: &RecordedRequest) -> String {
    EdmDateTime::from_system_time(request.arrived).unwrap_or(EdmDateTime::MIN).to_string()
}

fn is_bad(request: &RecordedRequest) -> bool {
    request.status == 0 || request.status >= 400 || request.error_code.is_some()
}

fn request_row(body: &mut Html, account: &str, request: &RecordedRequest) {
    let arrived = arrived(request);
    body.raw("<tr><td class=\"time\"><time datetime=\"").text(&arrived).raw("\">");
    // The time with milliseconds of `2017-11-10T02:43:55.7662669Z`.
    body.text(arrived.get(11..23).unwrap_or(&arrived)).raw("</time></td><td>").text(account);
    body.raw("</td><td>").text(request.method.as_str()).raw("</td><th scope=\"row\">");
    body.raw("<a href=\"/-/requests/").text(account).raw("/").number(request.number).raw("\">");
    body.text(request.operation.as_str()).raw("</a>");
    if request.operations != 1 {
        body.raw(" <span class=\"type\">").counted(request.operations, "operation").raw("</span>");
    }
    body.raw("</th><td>").text(request.table.as_deref().unwrap_or_default());
    body.raw(if is_bad(request) {
        "</td><td class=\"number bad\">"
    } else {
        "</td><td class=\"number\">"
    });
    body.text(&request.status.to_string()).raw("</td><td>");
    if let (Some(index), Some(status)) = (request.failed_operation, request.error_status) {
        body.raw("operation ").number(index).raw(": ").text(&status.to_string()).raw(" ");
    }
    body.text(request.error_code.as_ref().map(ErrorCode::as_str).unwrap_or_default());
    body.raw(match request.plan {
        Some(PlanKind::TableScan) => "</td><td class=\"bad\">",
        _ => "</td><td>",
    });
    if let Some(plan) = request.plan {
        body.text(&plan.to_string());
    }
    body.raw("</td><td class=\"filter\">").text(&request.filter().unwrap_or_default());
    body.raw("</td><td class=\"number\">");
    if request.plan.is_some() {
        body.count(request.scanned_rows);
    }
    body.raw("</td><td class=\"number\">").count(request.attempt);
    body.raw("</td><td class=\"number\">").count(request.payload_len).raw(" B");
    body.raw("</td><td class=\"number\">").count(micros(request)).raw(" µs</td></tr>");
}

fn micros(request: &RecordedRequest) -> usize {
    usize::try_from(request.took.as_micros()).unwrap_or(usize::MAX)
}

/// Returns the page of one request, or `None` if it is not kept any more.
pub(super) fn one(shared: &Shared, account: &str, number: &str) -> Option<Page> {
    let number: usize = number.parse().ok()?;
    let all = shared.accounts.named(account)?.service.requests().all();
    let request = all.into_iter().find(|request| request.number == number)?;
    let mut body = Html::default();
    body.raw("<nav class=\"path\" aria-label=\"Path\"><a href=\"/-/requests\">Requests</a> / ");
    body.text(account).raw(" / ").number(number).raw("</nav><h1>");
    body.text(request.operation.as_str()).raw("</h1>");
    if let (Some(table), Some(filter)) = (&request.table, request.filter()) {
        let view = View { filter, ..View::default() };
        body.raw("<p class=\"tools\"><a class=\"button\" href=\"").path(account, table);
        body.text(&view.query()).raw("\">Query with this filter</a></p>");
    }
    body.raw("<table class=\"narrow\"><caption>Request ").number(number).raw(" of ");
    body.text(account).raw("</caption><tbody>");
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            body.raw("<tr><th scope=\"row\">").text(name).raw("</th><td class=\"value\">");
            body.bdi(value).raw("</td></tr>");
        }
    };
    line("Arrived", &arrived(&request));
    line("Method", request.method.as_str());
    line("URL", &request.url);
    let (_, query) = request.url.split_once('?').unwrap_or_default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        line(&name, &value);
    }
    line("Table", request.table.as_deref().unwrap_or_default());
    match request.status {
        0 => line("Status", "none: the client closed the connection before the response"),
        status => line("Status", &status.to_string()),
    }
    line("Error code", request.error_code.as_ref().map(ErrorCode::as_str).unwrap_or_default());
    line("Error message", request.error_message.as_deref().unwrap_or_default());
    if let Some(plan) = request.plan {
        line("Plan", &plan.to_string());
        line("Rows scanned", &request.scanned_rows.to_string());
    }
    line("Operations", &request.operations.to_string());
    line("Attempt", &request.attempt.to_string());
    line("Time taken", &format!("{} µs", micros(&request)));
    body.raw("</tbody></table>");
    payload(&mut body, &request);
    Some(Page { title: format!("Request {number} - {account}"), body })
}

fn payload(body: &mut Html, request: &RecordedRequest) {
    if request.payload_len == 0 {
        return;
    }
    body.raw("<h2>Body</h2>");
    if request.payload.is_empty() {
        body.raw("<p class=\"note\">").count(request.payload_len);
        body.raw(" bytes, which are not kept any more</p>");
        return;
    }
    if request.payload.len() < request.payload_len {
        body.raw("<p class=\"note\">The first ").count(request.payload.len()).raw(" of ");
        body.count(request.payload_len).raw(" bytes</p>");
    }
    let text = String::from_utf8_lossy(&request.payload).replace("\r\n", "\n");
    body.raw("<div class=\"tools\"><button data-copy=\"body\" hidden>Copy</button></div>");
    body.raw("<pre id=\"body\" tabindex=\"0\">").text(&text).raw("</pre>");
}
