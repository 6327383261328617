//! Tokens of Entra ID. What stands in them is for a test to say.
//!
//! Source: [Authorize with Microsoft Entra ID][authorize], "Bearer challenge".
//!
//! [authorize]: https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory

use std::sync::Arc;

use http::header;

use super::super::failure::Failure;
use super::super::request::Incoming;
use super::refused;
use crate::wire::headers::X_MS_VERSION;

/// Says whether a token is valid.
pub(in super::super) type Tokens = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What a 401 says about where to get a token.
pub(in super::super) const CHALLENGE: &str = "Bearer authorization_uri=https://login.microsoftonline.com/\
     00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com";
/// The first version of the table service that says it.
const CHALLENGING: &str = "2020-12-06";

/// Whether the request is authorized by a token, whatever it is.
pub(super) fn is_sent(request: &Incoming<'_>) -> bool {
    let mut values = request.headers.get_all(header::AUTHORIZATION).iter();
    values.next().is_some_and(|value| token(value.as_bytes()).is_some()) && values.next().is_none()
}

pub(super) fn check(request: &Incoming<'_>, tokens: Option<&Tokens>) -> Result<(), Failure> {
    let Some(is_valid) = tokens else {
        return Err(refused("no tokens are taken; see MockTableServiceBuilder::tokens"));
    };
    let value = request.headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
    let token = value.and_then(token).and_then(|token| std::str::from_utf8(token).ok());
    if token.is_some_and(|token| is_valid(token)) {
        return Ok(());
    }
    Err(Failure::invalid_token())
}

/// Whether a request without any authorization is told to get a token.
pub(super) fn is_asked_for(request: &Incoming<'_>) -> bool {
    request.header(&X_MS_VERSION).is_some_and(|version| version >= CHALLENGING)
}

fn token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}
