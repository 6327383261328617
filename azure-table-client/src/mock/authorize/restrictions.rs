//! The time, address and protocol restrictions of a shared access signature.

use super::super::failure::Failure;
use super::super::request::RawRequest;
use super::fields::SasFields;
use super::ip_range::IpRange;
use super::refused;
use crate::auth::sas_signature::RESTRICTS_ORIGIN;
use crate::edm::EdmDateTime;

pub(super) struct Restrictions {
    pub(super) start: Option<EdmDateTime>,
    pub(super) expiry: Option<EdmDateTime>,
    addresses: Option<IpRange>,
    https_only: bool,
}

impl Restrictions {
    pub(super) fn read(fields: &SasFields<'_>, version: &str) -> Result<Self, Failure> {
        let (start, expiry) = (fields.time("st")?, fields.time("se")?);
        if version < RESTRICTS_ORIGIN {
            return Ok(Self { start, expiry, addresses: None, https_only: false });
        }
        let addresses = fields.optional("sip")?.map(|text| {
            IpRange::read(text).ok_or_else(|| refused("the IP range of the SAS is malformed"))
        });
        let https_only = match fields.optional("spr")? {
            None | Some("https,http" | "http,https") => false,
            Some("https") => true,
            Some(_) => return Err(refused("the protocols of the SAS are invalid")),
        };
        Ok(Self { start, expiry, addresses: addresses.transpose()?, https_only })
    }

    /// Checks that `now` is between start and expiry, as far as they are set.
    pub(super) fn check_time(&self, now: EdmDateTime) -> Result<(), Failure> {
        if self.start.is_some_and(|start| now < start) {
            return Err(refused("the SAS is not valid yet"));
        }
        let start = self.start.unwrap_or(now);
        if self.expiry.is_some_and(|expiry| expiry <= now || expiry <= start) {
            return Err(refused("the SAS has expired"));
        }
        Ok(())
    }

    /// Checks the address and the protocol of the request.
    pub(super) fn check_origin(&self, request: &RawRequest<'_>) -> Result<(), Failure> {
        if self.addresses.is_some_and(|addresses| !addresses.contains(request.sender)) {
            return Err(Failure::source_ip_mismatch(request.sender));
        }
        let is_https = request.origin.get(..8).is_some_and(|s| s.eq_ignore_ascii_case("https://"));
        if self.https_only && !is_https {
            return Err(Failure::protocol_mismatch());
        }
        Ok(())
    }
}
