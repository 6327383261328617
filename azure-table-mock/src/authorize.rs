//! Authentication and authorization of requests.
//!
//! Source: [Authorize requests to Azure Storage][authorize] and [Common REST API error codes][codes]. Gaps
//! are filled from the old storage emulator.
//!
//! [authorize]: https://learn.microsoft.com/rest/api/storageservices/authorize-requests-to-azure-storage
//! [codes]: https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes

mod account_sas;
mod fields;
mod grant;
mod shared_key;
mod table_sas;
mod token;
mod user_delegation;

use std::time::SystemTime;

use http::header;
use tracing::debug;

use self::fields::SasFields;
use self::grant::Access;
pub(super) use self::grant::Grant;
pub(super) use self::token::CHALLENGE;
use crate::core::{ClockSkew, Core, Rules, edm_time};
use crate::failure::Failure;
use crate::request::RawRequest;
use crate::wire::Location;

/// The service of the user delegation keys that the mock issues: tables.
pub(super) const DELEGATED_SERVICE: &str = "t";

/// Checks the authorization of a request that arrived at this time, and returns its access.
///
/// # Errors
/// The request is not authorized. If only the changed clock of the service is the reason, the message states this.
pub(super) fn authorize(
    core: &Core,
    request: &RawRequest<'_>,
    location: Location,
    arrived: SystemTime,
) -> Result<Grant, Failure> {
    let failure =
        match check(core, request, location, arrived, core.clock.date_of_signatures(arrived)) {
            Err(failure) if failure.code == Failure::authentication_failed().code => failure,
            result => return result,
        };
    let of_clients = core.clock.unskewed.now();
    let is_due_to_clock = core.clock.setting().skew != ClockSkew::NONE
        && check(core, request, location, of_clients, of_clients).is_ok();
    Err(if is_due_to_clock {
        failure.due_to_clock(edm_time(arrived), edm_time(of_clients))
    } else {
        failure
    })
}

/// Checks the authorization of a request at this time. The date of a signature by the account's key must be close to
/// `dated`.
fn check(
    core: &Core,
    request: &RawRequest<'_>,
    location: Location,
    arrived: SystemTime,
    dated: SystemTime,
) -> Result<Grant, Failure> {
    let Rules { dialect, keys, loose, tokens, .. } = &core.rules;
    let is_read_only = dialect.is_read_only(location);
    if *loose {
        let access = token::identity(request).map_or(Access::Full, Access::Identity);
        return Ok(Grant { location, is_read_only, access });
    }
    let is_signed = request.option("sig").is_some();
    let access = match (request.headers.contains(&header::AUTHORIZATION), is_signed) {
        // A signature that is bound to a user needs a token of the user too.
        (true, true) if token::is_sent(request) && user_delegation::is_bound(request) => {
            let user = token::check(request, tokens.as_ref())?;
            let fields = SasFields::of(request)?;
            user_delegation::check(core, &fields, request, edm_time(arrived), Some(&user))?
        }
        (true, true) => return Err(Failure::invalid_authentication_info()),
        (true, false) if token::is_sent(request) => {
            Access::Identity(token::check(request, tokens.as_ref())?)
        }
        (true, false) => {
            shared_key::check(request, keys, location, dated)?;
            Access::Full
        }
        (false, true) => {
            let (fields, now) = (SasFields::of(request)?, edm_time(arrived));
            if fields.get("ss").is_some() || fields.get("srt").is_some() {
                account_sas::check(keys, &fields, request, now)?
            } else if fields.get("skoid").is_some() {
                user_delegation::check(core, &fields, request, now, None)?
            } else {
                table_sas::check(core, &fields, request, now)?
            }
        }
        (false, false) if tokens.is_some() && token::receives_challenge(request) => {
            return Err(Failure::no_authentication_information());
        }
        // Anonymous requests have no access, so the service reports that nothing exists.
        (false, false) => return Err(Failure::resource_not_found()),
    };
    Ok(Grant { location, is_read_only, access })
}

/// Fails the authentication. The Table service does not report the reason, so it is logged.
fn refused(reason: &str) -> Failure {
    debug!(reason, "authentication failed");
    Failure::authentication_failed()
}
