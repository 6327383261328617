//! The addresses from which a signature can be used.

use std::net::{IpAddr, Ipv4Addr};

/// Addresses from the first to the last one, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addresses(Ipv4Addr, Ipv4Addr);

impl Addresses {
    /// Reads `168.1.5.65` or `168.1.5.60-168.1.5.70`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(Self(first, last))
    }

    pub(super) fn contain(self, address: IpAddr) -> bool {
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
            let range = Addresses::read(range).unwrap();
            assert_eq!(range.contain(address.parse().unwrap()), expected, "{range:?} {address}");
        }
        for bad in
            ["", "-", "1.2.3", "1.2.3.4-", "1.2.3.4-1.2.3.3", "::1", "1.2.3.4-1.2.3.5-1.2.3.6"]
        {
            assert_eq!(Addresses::read(bad), None, "{bad}");
        }
    }
}
