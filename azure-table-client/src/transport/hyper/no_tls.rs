//! The transport in a build without rustls, which refuses `https`.

use std::convert::Infallible;

use ::http::Uri;

use super::invalid;
use super::stream::{Duplex, Stream};
use crate::transport::{NO_TLS, TransportError};

#[derive(Default)]
pub(super) struct Tls(());

impl Tls {
    #[expect(clippy::unused_self, reason = "has the signature of the build with TLS")]
    pub(super) fn set_up(&self) -> Result<Infallible, TransportError> {
        Err(invalid(NO_TLS))
    }

    #[expect(clippy::unused_async, reason = "has the signature of the build with TLS")]
    pub(super) async fn secure(
        &self,
        _: &Uri,
        _: impl Duplex + 'static,
    ) -> Result<Stream, TransportError> {
        match self.set_up()? {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::error::Error as _;
    use std::io;
    use std::net::TcpListener;
    use std::time::Duration;

    use ::http::Method;
    use hyper_util::client::proxy::matcher::Matcher;

    use crate::transport::hyper::HyperTransport;
    use crate::transport::hyper::connect::Connector;
    use crate::transport::{HttpRequest, NO_TLS, Transport as _, TransportErrorKind};

    #[tokio::test]
    async fn without_tls_https_is_refused_before_anything_is_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        for (proxy, uri) in [
            (String::new(), format!("https://{address}/")),
            (format!("http://{address}"), "https://account.example/".to_owned()),
            (format!("https://{address}"), "http://account.example/".to_owned()),
        ] {
            let proxies = Matcher::builder().all(proxy).build();
            let connector = Connector::with_proxies(Duration::from_secs(5), proxies);
            let transport = HyperTransport::with_connector(connector);
            let request = HttpRequest::new(Method::GET, uri.parse().unwrap());
            let error = transport.send(request).await.unwrap_err();
            assert_eq!(error.kind(), TransportErrorKind::Invalid, "{uri}");
            assert_eq!(error.source().unwrap().to_string(), NO_TLS, "{uri}");
            assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "{uri}");
        }
    }

    #[test]
    #[cfg(not(feature = "reqwest"))]
    fn without_tls_no_client_of_an_https_endpoint_is_built() {
        use crate::{ErrorKind, TableServiceClient};

        let text = |scheme| {
            format!(
                "DefaultEndpointsProtocol={scheme};AccountName=me;AccountKey=c2VjcmV0LXNlY3JldA=="
            )
        };
        let error = TableServiceClient::from_connection_string(&text("https")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        let page = include_str!("../../../docs/troubleshooting.md");
        assert!(error.to_string().contains(NO_TLS) && page.contains(&error.to_string()), "{error}");
        TableServiceClient::from_connection_string("UseDevelopmentStorage=true").unwrap();
    }
}
