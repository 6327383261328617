//! Shared Key signatures.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, header};

use super::refused;
use crate::auth::{canonicalized_resource, string_to_sign, string_to_sign_lite};
use crate::failure::Failure;
use crate::keys::AccountKeys;
use crate::request::{RawRequest, text};
use crate::wire::Location;
use crate::wire::headers::X_MS_DATE;

static CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
/// The largest difference between the date of a request and the clock.
const MAX_SKEW: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Copy)]
enum Scheme {
    Full,
    Lite,
}

pub(super) fn check(
    request: &RawRequest<'_>,
    keys: &AccountKeys,
    location: Location,
    now: SystemTime,
) -> Result<(), Failure> {
    let malformed = Failure::invalid_authentication_info;
    let Ok(Some(value)) = request.headers.single(&header::AUTHORIZATION) else {
        return Err(malformed());
    };
    let value = text(value).ok_or_else(malformed)?;
    let (scheme, credential) = value.trim().split_once(' ').ok_or_else(malformed)?;
    let date = date(request, now)?;
    let scheme = match scheme {
        scheme if scheme.eq_ignore_ascii_case("SharedKey") => Scheme::Full,
        scheme if scheme.eq_ignore_ascii_case("SharedKeyLite") => Scheme::Lite,
        _ => return Err(refused("the scheme of the Authorization header is not supported")),
    };
    let (account, signature) = credential.trim().split_once(':').ok_or_else(malformed)?;
    if account.is_empty() || signature.is_empty() || STANDARD.decode(signature).is_err() {
        return Err(malformed());
    }
    if account != keys.account() {
        return Err(refused("the Authorization header names another account"));
    }
    let is_signed = resources(request, keys, location)
        .any(|resource| keys.verify(&signed(request, scheme, date, &resource), signature));
    is_signed
        .then_some(())
        .ok_or_else(|| refused("the signature in the Authorization header does not match"))
}

/// The date of the request, which must be close to `now`.
fn date<'r>(request: &'r RawRequest<'_>, now: SystemTime) -> Result<&'r str, Failure> {
    let text = request.header(&X_MS_DATE).or_else(|| request.header(&header::DATE));
    let text = text.ok_or_else(|| refused("the request has no date"))?;
    let date = httpdate::parse_http_date(text)
        .map_err(|_| refused("the date of the request is malformed"))?;
    let skew = now.duration_since(date).or_else(|_| date.duration_since(now));
    if skew.is_ok_and(|skew| skew <= MAX_SKEW) {
        return Ok(text);
    }
    Err(refused("the date of the request is too far from the service's clock"))
}

/// The resources that a client may have signed. For the secondary location, this client signs the path as
/// sent. The documentation requires the account's name without `-secondary`, so that is accepted too.
fn resources(
    request: &RawRequest<'_>,
    keys: &AccountKeys,
    location: Location,
) -> impl Iterator<Item = String> {
    let account = keys.account();
    // The handlers select the operation by the same decoded `comp`. Otherwise `?Comp=acl` and `?%63omp=acl`
    // would reach the policies with the signature of a query.
    let component = request.comp().map(|comp| format!("?comp={comp}")).unwrap_or_default();
    let of_path = move |path: &str| canonicalized_resource(account, path, "") + &component;
    let without_suffix = (location == Location::Secondary)
        .then(|| Location::split(request.path, account))
        .flatten()
        .map(|(_, rest)| of_path(&format!("/{account}{rest}")));
    std::iter::once(of_path(request.path)).chain(without_suffix)
}

fn signed(request: &RawRequest<'_>, scheme: Scheme, date: &str, resource: &str) -> String {
    match scheme {
        Scheme::Lite => string_to_sign_lite(date, resource),
        Scheme::Full => {
            let md5 = request.header(&CONTENT_MD5);
            let kind = request.header(&header::CONTENT_TYPE).unwrap_or_default();
            let verb = request.method.as_str();
            string_to_sign(verb, md5.unwrap_or_default(), kind, date, resource)
        }
    }
}
