//! Addresses of this machine, which do not use a proxy, and which receive keys and signatures over plain HTTP.

use std::net::{IpAddr, Ipv6Addr};

use url::Host;

/// Returns whether `host` is `localhost`, a name below it, a loopback address, or the unspecified address, which leads to
/// this machine too.
pub(crate) fn is_this_machine<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => is_localhost(name.as_ref()),
        Host::Ipv4(address) => is_local(IpAddr::V4(*address)),
        Host::Ipv6(address) => is_local_v6(*address),
    }
}

fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    is_local(IpAddr::V6(address)) || address.to_ipv4_mapped().is_some_and(|v4| is_local(v4.into()))
}

/// `url` has made the name lower-case.
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.rsplit('.').next() == Some("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_localhost_and_its_addresses() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("127.255.3.4", true),
            ("127.1", true),
            ("127.0.0.1.", true),
            ("2130706433", true),
            ("0x7f000001", true),
            ("0177.0.0.1", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("[::ffff:7f00:1]", true),
            ("0.0.0.0", true),
            ("0", true),
            ("[::]", true),
            ("[::ffff:0.0.0.0]", true),
            ("localhost", true),
            ("LocalHost.", true),
            ("account.table.localhost", true),
            ("128.0.0.1", false),
            ("[::2]", false),
            ("[::ffff:10.0.0.1]", false),
            ("notlocalhost", false),
            ("localhost..", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("account.table.core.windows.net", false),
        ] {
            assert_eq!(is_this_machine(&Host::parse(host).unwrap()), expected, "{host}");
        }
    }
}
