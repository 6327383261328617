//! The access to the control API.

use http::request::Parts;
use http::{Method, StatusCode, header};

use super::Refusal;
use crate::control_token::ControlToken;
use crate::gate::Target;
use crate::shared::Shared;

/// The media types of bodies. A browser sends them to another origin only after a preflight request.
const MEDIA_TYPES: [&str; 2] = ["application/json", "application/x-ndjson"];

/// Checks that a request may be executed. `methods` are the methods of its path.
pub(super) fn check(shared: &Shared, request: &Parts, methods: &str) -> Result<(), Refusal> {
    let token = shared.control.token.as_ref();
    match token {
        Some(token) => check_token(request, token)?,
        None if !shared.gate.is_loopback() => {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "other machines can reach this address, so the control API needs a token: start \
                 azure-table-emulator with --control-token TOKEN",
            ));
        }
        None => {}
    }
    let target = Target::Control { has_token: token.is_some() };
    if let Some((status, reason)) = shared.gate.reason(request, target) {
        return Err(Refusal::new(status, reason.trim_end()));
    }
    if !methods.split(", ").any(|method| request.method.as_str() == method) {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("the method must be one of {methods}"),
        ));
    }
    if request.method == Method::GET {
        return Ok(());
    }
    if shared.control.is_read_only {
        let text = "azure-table-emulator was started with --read-only";
        return Err(Refusal::new(StatusCode::FORBIDDEN, text));
    }
    if request.method == Method::POST && !has_media_type(request) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the request needs the header Content-Type: application/json or application/x-ndjson",
        ));
    }
    Ok(())
}

fn check_token(request: &Parts, token: &ControlToken) -> Result<(), Refusal> {
    token.is_bearer(&request.headers).then_some(()).ok_or_else(|| {
        let text = "the request needs the header Authorization: Bearer TOKEN, with the token of \
                    --control-token";
        Refusal::new(StatusCode::UNAUTHORIZED, text)
    })
}

fn has_media_type(request: &Parts) -> bool {
    let kind = request.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    MEDIA_TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known))
}
