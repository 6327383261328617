//! The fields of a shared access signature, and its restrictions of time, address and protocol.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use url::form_urlencoded;

use super::refused;
use crate::auth::read_time;
use crate::auth::sas_signature::RESTRICTS_ORIGIN;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::request::RawRequest;
use crate::wire::ServiceVersion;

/// The fields of all signatures.
const FIELDS: [&str; 23] = [
    "sig", "sv", "ss", "srt", "st", "se", "sp", "sip", "spr", "tn", "si", "spk", "srk", "epk",
    "erk", "skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid",
];

/// The decoded options of a query, which include the fields of the signature.
pub(super) struct SasFields<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> SasFields<'q> {
    /// The service refuses a query that has a field of the signature twice ([azure-sdk-for-rust#867][twice]).
    ///
    /// [twice]: https://github.com/Azure/azure-sdk-for-rust/issues/867
    pub(super) fn of(request: &RawRequest<'q>) -> Result<Self, Failure> {
        let fields = Self(form_urlencoded::parse(request.query.as_bytes()).collect());
        let is_repeated = |field: &&str| {
            fields.0.iter().filter(|(name, _)| name.eq_ignore_ascii_case(field)).nth(1).is_some()
        };
        if FIELDS.iter().any(is_repeated) {
            return Err(refused("a field of the SAS is repeated"));
        }
        Ok(fields)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The signed text of a field, or an empty text.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// An optional field, which must not be empty.
    pub(super) fn optional(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.get(name) {
            Some(text) if text.trim().is_empty() => Err(refused("a field of the SAS is empty")),
            text => Ok(text),
        }
    }

    pub(super) fn mandatory(&self, name: &str) -> Result<&str, Failure> {
        self.optional(name)?.ok_or_else(|| refused("a field of the SAS is missing"))
    }

    pub(super) fn time(&self, name: &str) -> Result<Option<EdmDateTime>, Failure> {
        let Some(text) = self.optional(name)? else {
            return Ok(None);
        };
        read_time(text).map(Some).ok_or_else(|| refused("a time of the SAS is malformed"))
    }

    /// The version of the signature, from `first` on.
    pub(super) fn version(&self, first: &str) -> Result<&str, Failure> {
        self.version_in("sv", first)
    }

    /// The version in this field, from `first` on.
    pub(super) fn version_in(&self, name: &str, first: &str) -> Result<&str, Failure> {
        let version = self.mandatory(name)?;
        if ServiceVersion::of_date(version).is_none() || version < first {
            return Err(refused("the version of the SAS is missing or not supported"));
        }
        Ok(version)
    }
}

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
        let is_https = request.origin.scheme == "https";
        if self.https_only && !is_https {
            return Err(Failure::protocol_mismatch());
        }
        Ok(())
    }
}

/// An inclusive range of IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IpRange(Ipv4Addr, Ipv4Addr);

impl IpRange {
    /// Parses `168.1.5.65` or `168.1.5.60-168.1.5.70`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(Self(first, last))
    }

    pub(super) fn contains(self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => self.0 <= address && address <= self.1,
            IpAddr::V6(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        for (range, address, expected) in [
            ("168.1.5.65", "168.1.5.65", true),
            ("168.1.5.65", "168.1.5.66", false),
            ("168.1.5.60-168.1.5.70", "168.1.5.60", true),
            ("168.1.5.60-168.1.5.70", "168.1.5.70", true),
            ("168.1.5.60-168.1.5.70", "168.1.5.59", false),
            ("168.1.5.60-168.1.5.70", "168.1.5.71", false),
            ("9.0.0.0-10.0.0.0", "9.255.0.1", true),
            ("168.1.5.65", "::ffff:168.1.5.65", true),
            ("127.0.0.1", "::1", false),
        ] {
            let range = IpRange::read(range).unwrap();
            assert_eq!(range.contains(address.parse().unwrap()), expected, "{range:?} {address}");
        }
        for bad in
            ["", "-", "1.2.3", "1.2.3.4-", "1.2.3.4-1.2.3.3", "::1", "1.2.3.4-1.2.3.5-1.2.3.6"]
        {
            assert_eq!(IpRange::read(bad), None, "{bad}");
        }
    }
}
