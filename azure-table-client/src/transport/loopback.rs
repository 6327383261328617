//! Addresses of this machine. Requests to them never go through a proxy.

use std::net::{IpAddr, Ipv6Addr};

#[cfg(feature = "hyper")]
use ::http::Uri;

/// Returns whether the host of `uri` is this machine; see [`is_loopback_host`].
#[cfg(feature = "hyper")]
pub(super) fn is_loopback(uri: &Uri) -> bool {
    uri.host().is_some_and(is_loopback_host)
}

/// Returns whether `host` is `localhost`, a name below it, or a loopback address. An IPv6 address may have brackets.
pub(super) fn is_loopback_host(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback(),
        Ok(IpAddr::V6(address)) => is_loopback_v6(address),
        Err(_) => is_localhost(host),
    }
}

fn is_loopback_v6(address: Ipv6Addr) -> bool {
    address.is_loopback() || address.to_ipv4_mapped().is_some_and(|mapped| mapped.is_loopback())
}

fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case("localhost")
}

#[cfg(all(test, feature = "hyper"))]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_localhost_and_its_addresses() {
        for (uri, expected) in [
            ("http://127.0.0.1:10002/devstoreaccount1", true),
            ("http://127.255.3.4/", true),
            ("http://[::1]:10002/a", true),
            ("http://[::ffff:127.0.0.1]/", true),
            ("http://localhost/", true),
            ("http://LocalHost.:10002/", true),
            ("http://account.table.localhost:10002/", true),
            ("http://128.0.0.1/", false),
            ("http://0.0.0.0/", false),
            ("http://[::2]/", false),
            ("http://[::ffff:10.0.0.1]/", false),
            ("http://notlocalhost/", false),
            ("http://localhost.example.com/", false),
            ("http://127.0.0.1.example.com/", false),
            ("https://account.table.core.windows.net/Tables", false),
            ("/relative", false),
        ] {
            assert_eq!(is_loopback(&uri.parse().unwrap()), expected, "{uri}");
        }
    }
}
