//! Advice on connections that could not be made.

use std::error::Error;
use std::io;
use std::iter::successors;

use super::Endpoint;
use crate::transport::{NO_PROVIDER, NO_TLS, TransportError, TransportErrorKind};

/// Returns one sentence of advice. It shows only the host and the port of the endpoint.
pub(super) fn hint(error: &TransportError, endpoint: &Endpoint) -> Option<String> {
    let mut causes = successors(error.source(), |&cause| cause.source());
    match error.kind() {
        TransportErrorKind::Connect => {}
        TransportErrorKind::Invalid => {
            let text = causes.next()?.to_string();
            let is_advice = [NO_TLS, NO_PROVIDER].contains(&&*text);
            return is_advice.then(|| text[..1].to_ascii_uppercase() + &text[1..] + ".");
        }
        _ => return None,
    }
    let (host, port) = (endpoint.host(), endpoint.port());
    causes.find_map(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::ConnectionRefused) {
            return Some(format!(
                "Nothing listens at {host}:{port}, or at the proxy that leads there: check the \
                 endpoint, and that the service or the emulator runs."
            ));
        }
        if kind == Some(io::ErrorKind::TimedOut) {
            return Some(no_response(host, port));
        }
        // These have no types of their own.
        match cause.to_string().as_str() {
            "dns error" => Some(format!(
                "The name {host} cannot be resolved: check the account's name, the endpoint, and \
                 the network of this machine."
            )),
            "operation timed out" => Some(no_response(host, port)),
            "invalid URL, scheme is not http" if endpoint.is_https() => Some(
                "This program is built without TLS: turn on the feature rustls or native-tls of \
                 azure-table-client."
                    .to_owned(),
            ),
            _ => None,
        }
    })
}

fn no_response(host: &str, port: u16) -> String {
    format!(
        "{host}:{port} does not respond: a firewall may drop the packets, or a proxy may be \
         needed."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: TransportErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> String {
        let endpoint = Endpoint::parse("https://me.table.core.windows.net").unwrap();
        hint(&TransportError::new(kind, source), &endpoint).unwrap_or_default()
    }

    #[test]
    fn a_transport_without_tls_names_the_remedy() {
        let text = of(TransportErrorKind::Invalid, NO_TLS);
        assert!(text.starts_with("The hyper transport") && text.ends_with("client."), "{text}");
        assert!(of(TransportErrorKind::Invalid, NO_PROVIDER).starts_with("No provider"));
        assert_eq!(of(TransportErrorKind::Invalid, "another reason"), "");
    }

    #[test]
    fn causes_that_can_be_told() {
        let connect = TransportErrorKind::Connect;
        for (source, expected) in [
            (
                io::ErrorKind::ConnectionRefused.into(),
                "Nothing listens at me.table.core.windows.net:443",
            ),
            (io::ErrorKind::TimedOut.into(), "me.table.core.windows.net:443 does not respond"),
            (io::Error::other("dns error"), "The name me.table.core.windows.net cannot"),
            (io::Error::other("operation timed out"), "does not respond"),
            (io::Error::other("invalid URL, scheme is not http"), "built without TLS"),
        ] {
            let shown = of(connect, source);
            assert!(shown.contains(expected), "{shown}");
            // The page on troubleshooting has it, for whatever endpoint.
            let page = include_str!("../../docs/troubleshooting.md").replace('\n', " ");
            let rest = shown.rsplit("me.table.core.windows.net").next().unwrap();
            assert!(page.contains(rest.trim_start_matches(":443")), "{shown}");
        }
        assert_eq!(of(connect, "something else"), "");
        assert_eq!(of(TransportErrorKind::Interrupted, io::Error::other("dns error")), "");
    }
}
