//! CORS: requests of web pages from other origins.
//!
//! Source: [CORS support for Azure Storage][cors] and [Preflight Table Request][preflight].
//!
//! [cors]: https://learn.microsoft.com/rest/api/storageservices/cross-origin-resource-sharing--cors--support-for-the-azure-storage-services
//! [preflight]: https://learn.microsoft.com/rest/api/storageservices/preflight-table-request

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use crate::core::Core;
use crate::failure::Failure;
use crate::reply::ResponseDraft;
use crate::request::RawRequest;
use crate::service_properties::{CorsRule, HeaderNames};

/// Headers that hosts add to responses later. They can be exposed although they are not set yet.
const SET_BY_HOST: [HeaderName; 3] =
    [header::CONTENT_LENGTH, header::DATE, header::TRANSFER_ENCODING];

/// Responds to a preflight request. It needs no authorization, and the resource does not have to exist.
pub(super) fn preflight(core: &Core, request: &RawRequest<'_>) -> Result<ResponseDraft, Failure> {
    let given = |name| request.header(&name).filter(|text| !text.is_empty());
    let origin = given(header::ORIGIN).ok_or_else(Failure::missing_cors_header)?;
    let method =
        given(header::ACCESS_CONTROL_REQUEST_METHOD).ok_or_else(Failure::missing_cors_header)?;
    let headers = given(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let properties = core.store.service_properties();
    let rule = matching(&properties.cors, method, origin).filter(|rule| {
        let mut names = headers.unwrap_or_default().split(',').map(str::trim);
        headers.is_none() || names.all(|name| rule.allowed_headers.contain(name))
    });
    let rule = rule.ok_or_else(Failure::cors_preflight)?;
    let mut reply = ResponseDraft::of_service(StatusCode::OK);
    reply.text_header(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    reply.text_header(header::ACCESS_CONTROL_ALLOW_METHODS, method);
    if let Some(headers) = headers {
        reply.text_header(header::ACCESS_CONTROL_ALLOW_HEADERS, headers);
    }
    reply.text_header(header::ACCESS_CONTROL_MAX_AGE, rule.max_age.to_string());
    reply.text_header(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    Ok(reply)
}

/// Adds the headers that allow a web page to read a response.
pub(crate) fn add_cors_headers(core: &Core, request: &RawRequest<'_>, headers: &mut HeaderMap) {
    let is_read = request.method == Method::GET || request.method == Method::HEAD;
    let origin = request.header(&header::ORIGIN).filter(|origin| !origin.is_empty());
    if request.method == Method::OPTIONS || origin.is_none() && !is_read {
        return;
    }
    let properties = core.store.service_properties();
    if properties.cors.is_empty() {
        return;
    }
    match matching(&properties.cors, request.method.as_str(), origin.unwrap_or_default()) {
        // The response is the same for all origins, so it needs no `Vary`.
        Some(rule) if rule.allows_all_origins() => {
            expose(&rule.exposed_headers, headers);
            let all = HeaderValue::from_static("*");
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, all);
            return;
        }
        Some(rule) => {
            let origin = request.headers.get(&header::ORIGIN);
            if let Some(Ok(origin)) = origin.map(HeaderValue::from_bytes) {
                expose(&rule.exposed_headers, headers);
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                let yes = HeaderValue::from_static("true");
                headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
            }
        }
        None => {}
    }
    if is_read {
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
}

/// Returns `true` if a rule allows requests of this origin with this method.
pub(crate) fn allows(core: &Core, origin: &str, method: &Method) -> bool {
    matching(&core.store.service_properties().cors, method.as_str(), origin).is_some()
}

/// The first rule for this method and origin.
fn matching<'r>(rules: &'r [CorsRule], method: &str, origin: &str) -> Option<&'r CorsRule> {
    rules.iter().find(|rule| {
        rule.methods.iter().any(|allowed| allowed == method)
            && (rule.allows_all_origins() || rule.origins.iter().any(|allowed| allowed == origin))
    })
}

/// Lists the headers that a page may read: the literal names of the rule, and the response headers that
/// match one of its prefixes.
fn expose(names: &HeaderNames, headers: &mut HeaderMap) {
    let mut exposed: Vec<&str> = Vec::new();
    for name in headers.keys().chain(&SET_BY_HOST).map(HeaderName::as_str) {
        if names.begin(name) && !exposed.contains(&name) {
            exposed.push(name);
        }
    }
    for name in &names.literal {
        if !exposed.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            exposed.push(name);
        }
    }
    if let Ok(value) = HeaderValue::from_str(&exposed.join(","))
        && !exposed.is_empty()
    {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, value);
    }
}

impl CorsRule {
    fn allows_all_origins(&self) -> bool {
        self.origins.iter().any(|origin| origin == "*")
    }
}
