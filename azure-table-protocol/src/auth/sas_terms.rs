//! The fields that signatures for tables and for accounts share: times, addresses and protocols.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use zeroize::Zeroizing;

use super::sas_signature::{RESTRICTS_ORIGIN, StringToSign};
use super::{SasError, SasToken, SharedKey};
use crate::edm::EdmDateTime;
use crate::wire::ServiceVersion;
use crate::wire::encoding::QueryString;

/// The default version of signatures with an account's key.
const VERSION: &str = "2019-02-02";

/// The protocols with which a shared access signature can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SasProtocol {
    /// HTTPS only, which protects the signature from readers of the network.
    Https,
    /// HTTPS and HTTP; the default of the service.
    HttpsAndHttp,
}

impl SasProtocol {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::HttpsAndHttp => "https,http",
        }
    }
}

/// A time; `None` is one that the service does not know.
pub(super) type Time = Option<EdmDateTime>;

#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    pub(super) start: Option<Time>,
    pub(super) expiry: Option<Time>,
    pub(super) addresses: Option<RangeInclusive<Ipv4Addr>>,
    pub(super) protocol: Option<SasProtocol>,
    pub(super) version: Option<String>,
}

/// The checked terms as they are signed and sent; `None` where a field is omitted.
#[derive(Debug)]
pub(super) struct TermTexts<'a> {
    pub(super) start: Option<String>,
    pub(super) expiry: Option<String>,
    pub(super) ip: Option<String>,
    pub(super) protocol: Option<&'static str>,
    pub(super) version: &'a str,
}

impl Terms {
    /// The texts, for signatures that there are from version `first` on.
    pub(super) fn checked(&self, first: &'static str) -> Result<TermTexts<'_>, SasError> {
        // Versions are dates, which sort as texts.
        let version = self.version.as_deref().unwrap_or(VERSION.max(first));
        if ServiceVersion::of_date(version).is_none() {
            return Err(SasError::MalformedVersion);
        }
        let restricts_origin = self.addresses.is_some() || self.protocol.is_some();
        let first = if restricts_origin { first.max(RESTRICTS_ORIGIN) } else { first };
        if version < first {
            return Err(SasError::VersionTooEarly { first });
        }
        let (start, expiry) = (whole_second(self.start)?, whole_second(self.expiry)?);
        if let (Some(start), Some(expiry)) = (start, expiry)
            && expiry <= start
        {
            return Err(SasError::EndsBeforeStart { start, expiry });
        }
        let text = |time: EdmDateTime| time.trimmed().to_string();
        Ok(TermTexts {
            start: start.map(text),
            expiry: expiry.map(text),
            ip: self.ip()?,
            protocol: self.protocol.map(SasProtocol::as_str),
            version,
        })
    }

    fn ip(&self) -> Result<Option<String>, SasError> {
        let Some((first, last)) = self.addresses.clone().map(RangeInclusive::into_inner) else {
            return Ok(None);
        };
        if last < first {
            return Err(SasError::EmptyAddressRange { first, last });
        }
        Ok(Some(if first == last { first.to_string() } else { format!("{first}-{last}") }))
    }
}

/// The service accepts no fractions of seconds here.
pub(super) fn whole_second(time: Option<Time>) -> Result<Option<EdmDateTime>, SasError> {
    let time = time.map(|time| time.ok_or(SasError::TimeOutOfRange)).transpose()?;
    Ok(time.map(EdmDateTime::whole_second))
}

/// Returns the token of the fields that are present, signed with the key of the account.
pub(super) fn signed(
    key: &SharedKey,
    fields: &[(&str, Option<&str>)],
    string_to_sign: StringToSign,
) -> SasToken {
    let present = || fields.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
    let field = |name: &str| present().find(|(known, _)| *known == name).map_or("", |(_, it)| it);
    let signature = Zeroizing::new(key.sign(&string_to_sign(key.account(), &field)));
    // The text does not grow any more once it has the signature, which would leave a copy behind.
    let lengths = present().map(|(name, value)| name.len() + 3 * value.len() + 2).sum::<usize>();
    let mut query = QueryString::with_capacity(lengths + "&sig=".len() + 3 * signature.len());
    for (name, value) in present().chain([("sig", signature.as_str())]) {
        query.push(name, value);
    }
    SasToken::signed(query)
}

/// The setters of the terms.
macro_rules! terms_setters {
    () => {
        /// Sets the time from which the signature is valid; without it, the signature is valid
        /// at once. Clocks differ: a start of 15 minutes ago has passed on every server.
        /// Fractions of seconds are dropped.
        pub fn starts_at(mut self, time: impl TryInto<EdmDateTime>) -> Self {
            self.terms.start = Some(time.try_into().ok());
            self
        }

        /// Sets the time from which the signature is not valid any more: a `SystemTime` or an
        /// [`EdmDateTime`]. Fractions of seconds are dropped.
        pub fn expires_at(mut self, time: impl TryInto<EdmDateTime>) -> Self {
            self.terms.expiry = Some(time.try_into().ok());
            self
        }

        /// Limits the signature to requests from this address.
        pub fn address(self, address: std::net::Ipv4Addr) -> Self {
            self.addresses(address..=address)
        }

        /// Limits the signature to requests from these addresses.
        pub fn addresses(
            mut self,
            addresses: std::ops::RangeInclusive<std::net::Ipv4Addr>,
        ) -> Self {
            self.terms.addresses = Some(addresses);
            self
        }

        /// The protocols with which it can be used; without it, both.
        pub fn protocol(mut self, protocol: $crate::auth::SasProtocol) -> Self {
            self.terms.protocol = Some(protocol);
            self
        }

        /// The version of the service by whose rules it is read: by default 2019-02-02, with a user
        /// delegation key 2025-07-05.
        pub fn version(mut self, version: impl Into<String>) -> Self {
            self.terms.version = Some(version.into());
            self
        }
    };
}
pub(super) use terms_setters;
