//! When and from where a shared access signature can be used.

use super::super::failure::Failure;
use super::super::request::Incoming;
use super::address::Addresses;
use super::fields::Fields;
use super::refused;
use crate::auth::RESTRICTS_ORIGIN;
use crate::edm::EdmDateTime;

pub(super) struct Terms {
    pub(super) start: Option<EdmDateTime>,
    pub(super) expiry: Option<EdmDateTime>,
    addresses: Option<Addresses>,
    https_only: bool,
}

impl Terms {
    pub(super) fn read(fields: &Fields<'_>, version: &str) -> Result<Self, Failure> {
        let (start, expiry) = (fields.time("st")?, fields.time("se")?);
        if version < RESTRICTS_ORIGIN {
            return Ok(Self { start, expiry, addresses: None, https_only: false });
        }
        let addresses = fields.optional("sip")?.map(|text| {
            Addresses::read(text)
                .ok_or_else(|| refused("the addresses of the SAS have another form"))
        });
        let https_only = match fields.optional("spr")? {
            None | Some("https,http" | "http,https") => false,
            Some("https") => true,
            Some(_) => return Err(refused("the protocols of the SAS cannot be these")),
        };
        Ok(Self { start, expiry, addresses: addresses.transpose()?, https_only })
    }

    /// Whether now is between start and expiry; what is not set yet is not looked at.
    pub(super) fn check_time(&self, now: EdmDateTime) -> Result<(), Failure> {
        if self.start.is_some_and(|start| now < start) {
            return Err(refused("the SAS does not hold yet"));
        }
        let start = self.start.unwrap_or(now);
        if self.expiry.is_some_and(|expiry| expiry <= now || expiry <= start) {
            return Err(refused("the SAS has expired"));
        }
        Ok(())
    }

    /// Whether the request comes from where it may, in the way it may.
    pub(super) fn check_origin(&self, request: &Incoming<'_>) -> Result<(), Failure> {
        if self.addresses.is_some_and(|addresses| !addresses.contain(request.from)) {
            return Err(Failure::source_ip_mismatch(request.from));
        }
        let is_https = request.origin.get(..8).is_some_and(|s| s.eq_ignore_ascii_case("https://"));
        if self.https_only && !is_https {
            return Err(Failure::protocol_mismatch());
        }
        Ok(())
    }
}
