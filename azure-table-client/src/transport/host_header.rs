//! The `Host` header.

use http::{HeaderValue, Uri};

use super::{TransportError, TransportErrorKind};

/// Returns the header for this URI: `host[:port]`, without the port of the scheme.
pub(super) fn host_header(uri: &Uri) -> Result<HeaderValue, TransportError> {
    let host = uri.host().unwrap_or_default();
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let value = match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")),
        None => HeaderValue::from_str(host),
    };
    value.map_err(|error| TransportError::new(TransportErrorKind::Invalid, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_the_scheme_is_left_out() {
        for (uri, expected) in [
            ("http://a.example/T", "a.example"),
            ("http://a.example:80/T", "a.example"),
            ("https://a.example:443/T", "a.example"),
            ("https://a.example:80/T", "a.example:80"),
            ("http://[::1]:10002/T?x=y", "[::1]:10002"),
        ] {
            assert_eq!(host_header(&Uri::from_static(uri)).unwrap(), expected, "{uri}");
        }
    }
}
