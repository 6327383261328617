//! The page below `/-/`, which is not a valid account name. It is read-only, has no scripts, and is rendered
//! for each request.

mod entities;
mod html;
mod requests;
mod tables;

use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::json;
use url::form_urlencoded;

use crate::exchange::Shared;
use html::Html;

/// Allows only resources of this program, and no scripts, forms or frames.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);
const VERSION: &str = env!("CARGO_PKG_VERSION");

struct Page {
    title: String,
    body: Html,
}

/// Returns `true` if the path belongs to the page.
pub(crate) fn has_path(path: &str) -> bool {
    path == "/-" || path.starts_with("/-/")
}

pub(crate) fn respond(shared: &Shared, request: &Parts) -> Response<Full<Bytes>> {
    if !matches!(request.method, Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "This page is read-only.\n");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = request.uri.path();
    if path == "/-/health" {
        return health(shared);
    }
    if !shared.has_page {
        return text(StatusCode::NOT_FOUND, "The page is disabled.\n");
    }
    if shared.address.ip().is_loopback() && !names_this_machine(request) {
        return text(
            StatusCode::FORBIDDEN,
            "The page is available only under the local names of this machine.\n",
        );
    }
    let segments: Vec<_> = path.strip_prefix("/-").unwrap_or_default().split('/').skip(1).collect();
    let query = request.uri.query().unwrap_or_default();
    let page = match segments[..] {
        [] => return moved("/-/"),
        [""] => Some(tables::page(shared)),
        ["style.css"] => return file("text/css; charset=utf-8", include_str!("page/style.css")),
        ["icon.svg"] => return file("image/svg+xml", include_str!("page/icon.svg")),
        ["requests"] => Some(requests::page(shared)),
        [account, table] => {
            let account = shared.accounts.named(account);
            account.and_then(|account| entities::list(&account, table, &keys(query)))
        }
        [account, table, "entity"] => {
            let account = shared.accounts.named(account);
            account.and_then(|account| entities::one(&account, table, &keys(query)))
        }
        _ => None,
    };
    match page {
        Some(page) => html(StatusCode::OK, page),
        None => html(StatusCode::NOT_FOUND, missing()),
    }
}

fn health(shared: &Shared) -> Response<Full<Bytes>> {
    let accounts: Vec<_> = shared.accounts.iter().map(|account| account.name.clone()).collect();
    let disk = shared.accounts.disk();
    let failures = disk.as_ref().map_or(&[][..], |disk| &disk.failures);
    let (status, word) = if failures.is_empty() {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the disk failed")
    };
    let mut body = json!({ "status": word, "version": VERSION, "accounts": accounts });
    if let Some(disk) = &disk {
        body["disk"] = json!({ "commits": disk.commits, "failures": failures });
    }
    reply(status, "application/json", body.to_string())
}

/// Returns `true` if the `Host` is an address or a local name. Any other name that resolves to this machine
/// may be a DNS rebinding attack by a web page.
fn names_this_machine(request: &Parts) -> bool {
    let named = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = named.or_else(|| request.uri.authority().map(Authority::as_str)) else {
        return true;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    is_address || name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost")
}

/// The PartitionKey and RowKey in a query. Missing keys are empty.
fn keys(query: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    let key = |name: &str| {
        let mut options = form_urlencoded::parse(query.as_bytes());
        options.find(|(known, _)| known == name).map(|(_, value)| value).unwrap_or_default()
    };
    (key("PartitionKey"), key("RowKey"))
}

/// `?PartitionKey=…&RowKey=…`
fn query_of((partition_key, row_key): (&str, &str)) -> String {
    let mut query = form_urlencoded::Serializer::new(String::from("?"));
    query.append_pair("PartitionKey", partition_key).append_pair("RowKey", row_key);
    query.finish()
}

fn missing() -> Page {
    let mut body = Html::default();
    body.raw("<h1>Not found</h1><p>The table or entity does not exist. ");
    body.raw("<a href=\"/-/\">All tables</a></p>");
    Page { title: "Not found".into(), body }
}

fn html(status: StatusCode, page: Page) -> Response<Full<Bytes>> {
    reply(status, "text/html; charset=utf-8", page.finish())
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    reply(status, "text/plain; charset=utf-8", text)
}

fn file(kind: &'static str, content: &'static str) -> Response<Full<Bytes>> {
    reply(StatusCode::OK, kind, content)
}

fn moved(to: &'static str) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::PERMANENT_REDIRECT, "");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(to));
    response
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    const POLICIES: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.extend(POLICIES);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn names_that_are_not_local_are_refused() {
        for (host, expected) in [
            ("127.0.0.1:10002", true),
            ("localhost", true),
            ("LocalHost:80", true),
            ("tables.localhost:80", true),
            ("[::1]:80", true),
            ("evil.example:10002", false),
            ("evil-localhost", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            let (parts, ()) =
                Request::get("/-/").header("host", host).body(()).unwrap().into_parts();
            assert_eq!(names_this_machine(&parts), expected, "{host}");
        }
    }

    #[test]
    fn keys_in_a_link_round_trip() {
        let pair = ("a b&c=d", "é%'\"<>+");
        let query = query_of(pair);
        let (partition_key, row_key) = keys(&query[1..]);
        assert_eq!((&*partition_key, &*row_key), pair);
        assert_eq!(keys("RowKey=x").0, "");
    }
}
