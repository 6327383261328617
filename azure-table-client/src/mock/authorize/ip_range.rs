//! A range of IP addresses to which a signature is restricted.

use std::net::{IpAddr, Ipv4Addr};

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
