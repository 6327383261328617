//! The checks of a request that changes data. A form of another web site must not pass.

use bytes::Bytes;
use http::request::Parts;
use http::uri::Authority;
use http::{StatusCode, header};
use hyper::body::Incoming;

use super::fields::Fields;
use crate::body::{self, BodyError, ReadBody};
use crate::control_token::are_equal;
use crate::shared::{BUSY, Shared};

/// The largest form: an entity of 1 MiB has up to 3 bytes for each byte.
const FORM_BYTES: usize = 4 * 1024 * 1024;

/// Reads a form of this page, or returns the reason for its refusal. Forms of other origins are refused
/// before their bodies are read.
pub(super) async fn form(
    shared: &Shared,
    request: &Parts,
    mut body: Incoming,
) -> Result<Fields, (StatusCode, &'static str)> {
    if !shared.page.can_write {
        let reason =
            "The page is read-only: by --read-only, or because other machines can reach it.\n";
        return Err((StatusCode::FORBIDDEN, reason));
    }
    if !is_form(request) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be a form.\n"));
    }
    if !is_same_origin(request) {
        return Err((StatusCode::FORBIDDEN, "The form belongs to another web site.\n"));
    }
    let mut share = shared.page_budget.share();
    let max = FORM_BYTES + 1;
    let body = body::read(&mut body, Bytes::new(), max, &mut share, &shared.limits).await;
    let fields = match body {
        Ok(ReadBody { bytes, is_whole: true }) => Fields::parse(&bytes),
        Ok(_) => return Err((StatusCode::PAYLOAD_TOO_LARGE, "The form is too large.\n")),
        Err(BodyError::NoRoom) => return Err((StatusCode::SERVICE_UNAVAILABLE, BUSY)),
        Err(BodyError::Late) => {
            return Err((StatusCode::REQUEST_TIMEOUT, "The form did not arrive in time.\n"));
        }
        Err(BodyError::Malformed) => {
            return Err((StatusCode::BAD_REQUEST, "The form is malformed or incomplete.\n"));
        }
    };
    if !are_equal(fields.get("token").as_bytes(), shared.page.token.as_bytes()) {
        let reason = "The form belongs to an earlier run of the emulator. Load the page again.\n";
        return Err((StatusCode::FORBIDDEN, reason));
    }
    Ok(fields)
}

fn is_form(request: &Parts) -> bool {
    let kind = request.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Returns `true` if the browser reports that the form comes from this page. Programs that are not
/// browsers report nothing, and still need the token.
fn is_same_origin(request: &Parts) -> bool {
    let text = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if text("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return false;
    }
    let host = text("host").or_else(|| request.uri.authority().map(Authority::as_str));
    text("origin").is_none_or(|origin| {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some() && authority == host
    })
}

/// Returns `true` if a browser reports that another site caused the request, for example with an image.
pub(super) fn is_foreign(request: &Parts) -> bool {
    let site = request.headers.get("sec-fetch-site");
    site.is_some_and(|site| site != "same-origin" && site != "none")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn forms_of_other_origins_are_refused() {
        for (headers, expected) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("origin", "http://localhost:1")], true),
            (&[("origin", "https://localhost:1")], true),
            (&[("origin", "http://localhost:2")], false),
            (&[("origin", "http://evil.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", "http://localhost:1"), ("sec-fetch-site", "cross-site")], false),
        ] {
            let mut request = Request::post("/-/a/").header("host", "localhost:1");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(is_same_origin(&parts), expected, "{headers:?}");
        }
    }
}
