//! Addresses of this machine, which do not use a proxy, and which receive keys and signatures over plain HTTP.

#[cfg(any(feature = "reqwest", feature = "hyper"))]
use std::io;
use std::net::{IpAddr, Ipv6Addr};
#[cfg(any(feature = "reqwest", feature = "hyper"))]
use std::net::{SocketAddr, ToSocketAddrs as _};
#[cfg(any(feature = "reqwest", feature = "hyper"))]
use std::vec;

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

/// Looks up a name below `localhost`, for plain HTTP, which sends credentials.
///
/// # Errors
/// The name leads to another machine: a resolver may know such names, although no one can register them.
#[cfg(any(feature = "reqwest", feature = "hyper"))]
pub(crate) async fn look_up_this_machine(name: String) -> io::Result<vec::IntoIter<SocketAddr>> {
    let look_up = move || {
        let found: Vec<_> = (&*name, 0).to_socket_addrs()?.collect();
        on_this_machine(&name, found)
    };
    tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)?
}

#[cfg(any(feature = "reqwest", feature = "hyper"))]
fn on_this_machine(name: &str, found: Vec<SocketAddr>) -> io::Result<vec::IntoIter<SocketAddr>> {
    match found.iter().find(|address| !address.ip().to_canonical().is_loopback()) {
        Some(other) => {
            let other = other.ip();
            Err(io::Error::other(format!(
                "{name} leads to {other}, which is not this machine, and plain HTTP would send it the credentials"
            )))
        }
        None => Ok(found.into_iter()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(feature = "reqwest", feature = "hyper"))]
    #[test]
    fn a_name_of_this_machine_must_not_lead_to_another_one() {
        let found = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|it| SocketAddr::new(it.parse().unwrap(), 0));
            on_this_machine("a.localhost", addresses.collect())
        };
        for here in [&["127.0.0.1"][..], &["::1", "127.9.9.9", "::ffff:127.0.0.1"], &[]] {
            assert_eq!(found(here).unwrap().count(), here.len());
        }
        for other in [
            &["10.0.0.1"][..],
            &["127.0.0.1", "8.8.8.8"],
            &["::2"],
            &["::ffff:10.0.0.1"],
            &["0.0.0.0"],
        ] {
            let error = found(other).unwrap_err().to_string();
            assert!(
                error.starts_with("a.localhost leads to ") && error.contains("credentials"),
                "{error}"
            );
        }
    }

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
