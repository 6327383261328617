//! Whether a request was signed with the account's key.

use std::time::{Duration, SystemTime};

use http::header;

use super::failure::Failure;
use super::request::Incoming;
use crate::auth::{SharedKey, canonicalized_resource, string_to_sign, string_to_sign_lite};
use crate::wire::headers::X_MS_DATE;

/// A request that is dated further from now is refused.
const MAX_SKEW: Duration = Duration::from_mins(15);

pub(super) fn check(
    request: &Incoming<'_>,
    key: &SharedKey,
    now: SystemTime,
) -> Result<(), Failure> {
    match is_authentic(request, key, now) {
        Some(true) => Ok(()),
        _ => Err(Failure::authentication_failed()),
    }
}

/// `None` where something that is needed is missing.
fn is_authentic(request: &Incoming<'_>, key: &SharedKey, now: SystemTime) -> Option<bool> {
    let authorization = request.header(&header::AUTHORIZATION)?;
    let (scheme, credential) = authorization.split_once(' ')?;
    let (account, signature) = credential.split_once(':')?;
    let date = request.header(&X_MS_DATE).or_else(|| request.header(&header::DATE))?;
    if account != key.account() || !is_recent(date, now) {
        return Some(false);
    }
    let resource = canonicalized_resource(account, request.path, request.query);
    let text = match scheme {
        "SharedKey" => string_to_sign(
            request.method.as_str(),
            request
                .headers
                .get("content-md5")
                .and_then(|md5| md5.to_str().ok())
                .unwrap_or_default(),
            request.header(&header::CONTENT_TYPE).unwrap_or_default(),
            date,
            &resource,
        ),
        "SharedKeyLite" => string_to_sign_lite(date, &resource),
        _ => return None,
    };
    Some(key.verify(&text, signature))
}

fn is_recent(date: &str, now: SystemTime) -> bool {
    let Ok(date) = httpdate::parse_http_date(date) else {
        return false;
    };
    let skew = now.duration_since(date).or_else(|_| date.duration_since(now));
    skew.is_ok_and(|skew| skew <= MAX_SKEW)
}
