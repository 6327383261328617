//! Entra ID tokens. The test decides which tokens are valid.
//!
//! Source: [Authorize with Microsoft Entra ID][authorize], "Bearer challenge".
//!
//! [authorize]: https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory

use http::header;

use super::super::core::TokenCheck;
use super::super::failure::Failure;
use super::super::request::RawRequest;
use super::refused;
use crate::wire::headers::X_MS_VERSION;

/// The challenge in a 401 response.
pub(in super::super) const CHALLENGE: &str = "Bearer authorization_uri=https://login.microsoftonline.com/\
     00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com";
/// The first version of the Table service that sends the challenge.
const FIRST_WITH_CHALLENGE: &str = "2020-12-06";

/// Returns `true` if the request has a bearer token, valid or not.
pub(super) fn is_sent(request: &RawRequest<'_>) -> bool {
    let value = request.headers.single(&header::AUTHORIZATION);
    value.is_ok_and(|value| value.and_then(token).is_some())
}

pub(super) fn check(request: &RawRequest<'_>, tokens: Option<&TokenCheck>) -> Result<(), Failure> {
    let Some(is_valid) = tokens else {
        return Err(refused("no tokens are accepted; see MockTableServiceBuilder::tokens"));
    };
    let value = request.headers.get(&header::AUTHORIZATION);
    let token = value.and_then(token).and_then(|token| std::str::from_utf8(token).ok());
    if token.is_some_and(|token| is_valid(token)) {
        return Ok(());
    }
    Err(Failure::invalid_token())
}

/// Returns `true` if a request without authorization receives the challenge.
pub(super) fn receives_challenge(request: &RawRequest<'_>) -> bool {
    request.header(&X_MS_VERSION).is_some_and(|version| version >= FIRST_WITH_CHALLENGE)
}

fn token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}
