//! Who asks, and what they may do.
//!
//! Source: [Authorize requests to Azure Storage][authorize] and [Common REST API error codes][codes];
//! what they leave open is as the old storage emulator does it.
//!
//! [authorize]: https://learn.microsoft.com/rest/api/storageservices/authorize-requests-to-azure-storage
//! [codes]: https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes

mod account_sas;
mod address;
mod fields;
mod grant;
mod shared_key;
mod table_sas;
mod terms;
mod token;

use std::time::SystemTime;

use http::header;
use tracing::debug;

use self::fields::Fields;
pub(super) use self::grant::Grant;
use self::grant::Scope;
pub(super) use self::token::{CHALLENGE, Tokens};
use super::failure::Failure;
use super::place::Place;
use super::request::Incoming;
use super::{MockTableService, stamp};

impl MockTableService {
    /// What a request that arrived at this time may do.
    pub(super) fn authorize(
        &self,
        request: &Incoming<'_>,
        place: Place,
        arrived: SystemTime,
    ) -> Result<Grant, Failure> {
        if self.0.loose {
            return Ok(Grant { place, scope: Scope::Everything });
        }
        let is_signed = request.option("sig").is_some();
        let scope = match (request.headers.contains_key(header::AUTHORIZATION), is_signed) {
            (true, true) => return Err(Failure::invalid_authentication_info()),
            (true, false) if token::is_sent(request) => {
                token::check(request, self.0.tokens.as_ref())?;
                Scope::Everything
            }
            (true, false) => {
                shared_key::check(request, &self.0.credential, place, arrived)?;
                Scope::Everything
            }
            (false, true) => self.scope_of_signature(request, arrived)?,
            (false, false) if self.0.tokens.is_some() && token::is_asked_for(request) => {
                return Err(Failure::no_authentication_information());
            }
            // Nobody may see anything, and so nothing is there.
            (false, false) => return Err(Failure::resource_not_found()),
        };
        Ok(Grant { place, scope })
    }

    fn scope_of_signature(
        &self,
        request: &Incoming<'_>,
        arrived: SystemTime,
    ) -> Result<Scope, Failure> {
        let (fields, now) = (Fields::of(request), stamp(arrived));
        if fields.get("ss").is_some() || fields.get("srt").is_some() {
            return account_sas::check(&self.0.credential, &fields, request, now);
        }
        table_sas::check(self, &fields, request, now)
    }
}

/// Refuses who cannot be known. The table service does not say why, unlike the others of an account;
/// a log does.
fn refused(why: &str) -> Failure {
    debug!(why, "a request is not authentic");
    Failure::authentication_failed()
}
