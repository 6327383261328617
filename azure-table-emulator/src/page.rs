//! The page below `/-/`, which is not a valid account name. It is rendered for each request. Reading needs
//! no script; the script updates rows and copies text. Changes are forms with a token.
//!
//! The page is our own code without a web framework, a template engine or a JavaScript build, because the program stays
//! small and starts in about a millisecond.

mod copy;
mod draft;
mod edit;
mod entities;
mod entity;
mod export;
mod fields;
mod guard;
mod html;
mod requests;
mod rows;
mod tables;
mod values;
mod view;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::json;

use crate::accounts::Served;
use crate::limits::NoRoom;
use crate::shared::{BUSY, Shared};
use edit::Target;
use fields::Fields;
use html::Html;
use view::View;

/// The room for a page while it is written. Few pages are larger.
const PAGE_BYTES: usize = 1024 * 1024;

/// Allows only resources and forms of this program, and no frames.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The report of a page after an action, by the value of `done`.
const NOTICES: [(&str, &str); 5] = [
    ("table", "The table is created."),
    ("table-deleted", "The table is deleted."),
    ("inserted", "The entity is inserted."),
    ("saved", "The entity is saved."),
    ("deleted", "Deleted."),
];

struct Page {
    title: String,
    body: Html,
}

/// The response to a request for a page.
enum Reply {
    Page(StatusCode, Page),
    /// The page that shows the result of an action.
    SeeOther(String),
    /// A file for download: its name and its content.
    Csv(String, String),
    Missing,
}

impl Reply {
    fn ok(page: Page) -> Self {
        Self::Page(StatusCode::OK, page)
    }
}

/// Returns `true` if the path belongs to the page.
pub(crate) fn has_path(path: &str) -> bool {
    path == "/-" || path.starts_with("/-/")
}

pub(crate) async fn respond(
    shared: &Shared,
    request: &Parts,
    body: Incoming,
) -> Response<Full<Bytes>> {
    respond_to(shared, request, body).await.map(Full::new)
}

async fn respond_to(shared: &Shared, request: &Parts, body: Incoming) -> Response<Bytes> {
    let path = request.uri.path();
    let segments: Vec<_> = path.strip_prefix("/-").unwrap_or_default().split('/').skip(1).collect();
    let has_form = matches!(segments[..], [_, ""] | [_, _, _]);
    if !(matches!(request.method, Method::GET | Method::HEAD)
        || has_form && request.method == Method::POST)
    {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "The page is read with GET.\n");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if path == "/-/health" {
        return health(shared);
    }
    if !shared.has_page {
        return text(StatusCode::NOT_FOUND, "The page is disabled.\n");
    }
    if let Some(token) = &shared.control.token
        && !token.is_password(&request.headers)
    {
        let reason =
            "The page needs the token of --control-token as the password, with any user name.\n";
        let mut response = text(StatusCode::UNAUTHORIZED, reason);
        let scheme = HeaderValue::from_static("Basic realm=\"azure-table-emulator\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        return response;
    }
    // Changes that are made while the page is read count as later ones.
    let version = changes(shared);
    let can_write = shared.page.can_write;
    if request.method == Method::POST {
        let form = match guard::form(shared, request, body).await {
            Ok(form) => form,
            Err((StatusCode::SERVICE_UNAVAILABLE, _)) => return busy(),
            Err((status, reason)) => return text(status, reason),
        };
        let found = act(shared, &segments, &form).await;
        let response = finish(found, can_write, &version);
        let (parts, body) = response.into_parts();
        // A change was applied, so its response does not wait.
        return Response::from_parts(parts, shared.page_budget.share().hold(body));
    }
    let mut bytes = PAGE_BYTES;
    match segments[..] {
        [] => return moved("/-/"),
        ["style.css"] => {
            let style = concat!(include_str!("page/style.css"), include_str!("page/forms.css"));
            return file("text/css; charset=utf-8", style);
        }
        ["script.js"] => {
            return file("text/javascript; charset=utf-8", include_str!("page/script.js"));
        }
        ["icon.svg"] => return file("image/svg+xml", include_str!("page/icon.svg")),
        ["changes"] => {
            let body = json!({ "version": version }).to_string();
            return reply(StatusCode::OK, "application/json", body);
        }
        [_, _, "export"] if guard::is_foreign(request) => {
            let reason = "Another web site requested the export. Open it from its page.\n";
            return text(StatusCode::FORBIDDEN, reason);
        }
        [_, _, "export"] => bytes = export::BYTES,
        _ => {}
    }
    let mut share = shared.page_budget.share();
    if share.grow(bytes).await == Err(NoRoom) {
        return busy();
    }
    let query = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
    let found = read(shared, &segments, &query).await.unwrap_or(Reply::Missing);
    let (parts, body) = finish(found, can_write, &version).into_parts();
    match share.grow(body.len()).await {
        Ok(()) => Response::from_parts(parts, share.hold(body)),
        Err(NoRoom) => busy(),
    }
}

/// The response if other responses use the memory.
fn busy() -> Response<Bytes> {
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, BUSY);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Returns the page at a path, or `None` if it does not exist.
async fn read(shared: &Shared, segments: &[&str], query: &Fields) -> Option<Reply> {
    let done = query.get("done");
    let page = match *segments {
        [""] => tables::done(shared, done),
        ["requests"] => requests::page(shared, query.get("show")),
        ["requests", account, number] if number.parse::<usize>().is_ok() => {
            requests::one(shared, account, number)?
        }
        [account, table] => {
            let account = shared.accounts.named(account)?;
            entities::list(shared, &account, table, &View::of(query), done).await?
        }
        [account, table, action] => {
            let account = shared.accounts.named(account)?;
            match action {
                "entity" => entity::one(shared, &account, table, query.keys(), done)?,
                "copy" => return copy::page(&account, table, query).await,
                "export" => return export::file(&account, table, query).await,
                action if shared.page.can_write => {
                    let target = target(shared, &account, table)?;
                    match action {
                        "add" => target.add_form(),
                        "edit" => target.edit_form(query.keys())?,
                        "delete-table" => target.delete_table_form(None)?,
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Reply::ok(page))
}

/// Applies a form, which was checked.
async fn act(shared: &Shared, segments: &[&str], form: &Fields) -> Reply {
    let (account, table, action) = match *segments {
        [account, ""] => (account, "", ""),
        [account, table, action] => (account, table, action),
        _ => return Reply::Missing,
    };
    let Some(account) = shared.accounts.named(account) else { return Reply::Missing };
    if table.is_empty() {
        return edit::add_table(shared, &account, form).await;
    }
    let Some(target) = target(shared, &account, table) else { return Reply::Missing };
    match action {
        "add" => target.insert(form).await,
        "edit" => target.replace(form).await,
        "delete" => target.delete(form).await,
        "delete-table" => target.delete_table().await,
        _ => Reply::Missing,
    }
}

/// Returns a table, if it exists.
fn target<'a>(shared: &'a Shared, account: &'a Served, table: &'a str) -> Option<Target<'a>> {
    account.service.row_count(table).map(|_| Target { shared, account, table })
}

/// Returns a number that differs if something changed, for pages that update themselves.
fn changes(shared: &Shared) -> String {
    let mut hash = DefaultHasher::new();
    shared.page.writes().hash(&mut hash);
    for account in shared.accounts.iter() {
        let service = &account.service;
        service.requests().total().hash(&mut hash);
        for table in service.table_names() {
            service.row_count(&table).hash(&mut hash);
            table.hash(&mut hash);
        }
    }
    format!("{:016x}", hash.finish())
}

fn health(shared: &Shared) -> Response<Bytes> {
    let disk = shared.accounts.disk();
    let failures = disk.as_ref().map_or(&[][..], |disk| &disk.failures);
    let (status, word) = if failures.is_empty() {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the disk failed")
    };
    let mut body = json!({ "status": word, "version": VERSION });
    if let Some(disk) = &disk {
        body["disk"] = json!({ "commits": disk.commits, "failures": failures });
    }
    reply(status, "application/json", body.to_string())
}

fn missing() -> Page {
    let mut body = Html::default();
    body.raw("<h1>Not found</h1><p>The table, entity or request does not exist. ");
    body.raw("<a href=\"/-/\">All tables</a></p>");
    Page { title: "Not found".into(), body }
}

fn finish(response: Reply, can_write: bool, version: &str) -> Response<Bytes> {
    const HTML: &str = "text/html; charset=utf-8";
    match response {
        Reply::Page(status, page) => reply(status, HTML, page.finish(can_write, version)),
        Reply::Missing => reply(StatusCode::NOT_FOUND, HTML, missing().finish(can_write, version)),
        Reply::SeeOther(to) => {
            let mut response = text(StatusCode::SEE_OTHER, "");
            if let Ok(to) = HeaderValue::from_str(&to) {
                response.headers_mut().insert(header::LOCATION, to);
            }
            response
        }
        Reply::Csv(name, content) => {
            let mut response = reply(StatusCode::OK, "text/csv; charset=utf-8", content);
            // The name of a table has no quotes.
            if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
                response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
            }
            response
        }
    }
}

fn text(status: StatusCode, text: &'static str) -> Response<Bytes> {
    reply(status, "text/plain; charset=utf-8", text)
}

fn file(kind: &'static str, content: &'static str) -> Response<Bytes> {
    reply(StatusCode::OK, kind, content)
}

fn moved(to: &'static str) -> Response<Bytes> {
    let mut response = text(StatusCode::PERMANENT_REDIRECT, "");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(to));
    response
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    const POLICIES: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // Without referrers, browsers would hide the origin of this page's own forms.
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.extend(POLICIES);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
