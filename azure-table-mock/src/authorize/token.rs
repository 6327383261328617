//! Entra ID tokens. The test decides which tokens are valid.
//!
//! Source: [Authorize with Microsoft Entra ID][authorize], "Bearer challenge".
//!
//! [authorize]: https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header;
use serde_json::Value;

use super::refused;
use crate::auth::delegation::is_part;
use crate::core::TokenCheck;
use crate::failure::Failure;
use crate::request::RawRequest;
use crate::wire::headers::X_MS_VERSION;

/// The challenge in a 401 response.
pub(in super::super) const CHALLENGE: &str = "Bearer authorization_uri=https://login.microsoftonline.com/\
     00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com";
/// The object id and the tenant of tokens that do not name them. The tenant is the one of the challenge.
const NO_ID: &str = "00000000-0000-0000-0000-000000000000";
/// The first version of the Table service that sends the challenge.
const FIRST_WITH_CHALLENGE: &str = "2020-12-06";

/// Returns `true` if the request has a bearer token, valid or not.
pub(super) fn is_sent(request: &RawRequest<'_>) -> bool {
    let value = request.headers.single(&header::AUTHORIZATION);
    value.is_ok_and(|value| value.and_then(token).is_some())
}

/// The identity of a token.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct TokenIdentity {
    pub(in super::super) object_id: String,
    pub(in super::super) tenant_id: String,
}

impl TokenIdentity {
    /// Reads the claims `oid` and `tid` of a JSON Web Token, without its signature. A test may use any text as a token,
    /// which then has no owner.
    fn of(token: &str) -> Self {
        let claims = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        let claims: Value =
            claims.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        let id = |name: &str| {
            let id = claims.get(name).and_then(Value::as_str);
            id.filter(|id| is_part(id)).unwrap_or(NO_ID).to_owned()
        };
        Self { object_id: id("oid"), tenant_id: id("tid") }
    }
}

fn text<'a>(request: &RawRequest<'a>) -> Option<&'a str> {
    let value = request.headers.get(&header::AUTHORIZATION)?;
    std::str::from_utf8(token(value)?).ok()
}

/// Returns the identity of the token, valid or not.
pub(super) fn identity(request: &RawRequest<'_>) -> Option<TokenIdentity> {
    text(request).map(TokenIdentity::of)
}

/// Returns the identity of a valid token.
pub(super) fn check(
    request: &RawRequest<'_>,
    tokens: Option<&TokenCheck>,
) -> Result<TokenIdentity, Failure> {
    let Some(is_valid) = tokens else {
        return Err(refused("no tokens are accepted; see TableServiceBuilder::tokens"));
    };
    let token = text(request).filter(|token| is_valid(token));
    token.map(TokenIdentity::of).ok_or_else(Failure::invalid_token)
}

/// Returns `true` if a request without authorization receives the challenge.
pub(super) fn receives_challenge(request: &RawRequest<'_>) -> bool {
    request.header(&X_MS_VERSION).is_some_and(|version| version >= FIRST_WITH_CHALLENGE)
}

fn token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}
