//! TLS and proxies, which the tests over sockets cannot set up.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper_util::client::proxy::matcher::Matcher;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::connect::Connector;
use super::stream::Duplex;
use super::*;

// A test authority, and a certificate of localhost, account.example and 127.0.0.1 with its key; until 2120.
const AUTHORITY: &str = "\
    MIIBZTCCAQugAwIBAgIBATAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA50ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMD\
    AwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEXMBUGA1UEAwwOdGVzdCBhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO\
    PQMBBwNCAARYig2CHItkzVyoWlmbH380FWAYA6+f+cttERLnGnBh4dmsb/usU8OSHsidRvbrvaDyU0xG88+iPMALtN\
    RlqnWGo0IwQDAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUW+DCtMb02DeXEBnf42s2\
    B/zGgmEwCgYIKoZIzj0EAwIDSAAwRQIgYGifH6RqMkCgbFDTprV76Qd9DCmeTR/3BdiXPZ4Ye0cCIQCGjC5bS+Th8O\
    NQxIi4D7P2Xw2G41QOzmusqA9cHQ/Mrw==\
";
const CERTIFICATE: &str = "\
    MIIBsTCCAVigAwIBAgIBAjAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA50ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMD\
    AwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD\
    QgAE8uQ0EXmVA/fh/M/qsiqHvMxdFUobKJGec7r58XZRJXQdxIq3H2x8RHyySkLAsXv03ehIbcNnDSR9EyTa95dYZa\
    OBkzCBkDArBgNVHREEJDAigglsb2NhbGhvc3SCD2FjY291bnQuZXhhbXBsZYcEfwAAATAMBgNVHRMBAf8EAjAAMBMG\
    A1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBSUM5IddQimx66RkpgMkQKKgAti3zAfBgNVHSMEGDAWgBRb4MK0xv\
    TYN5cQGd/jazYH/MaCYTAKBggqhkjOPQQDAgNHADBEAiAhOuLDorVy9emNuny6Enp59PW/OzjAgMRqsDqJWKbZWAIg\
    OX/IYFv0R48uIOb60AdWSoAWLxQL3xYlcftGiciB5v4=\
";
const KEY: &str = "\
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbMKdlSINxN6f5jKpKs2wikqQxuFPmgqaS1QWjg8+1+\
    GhRANCAATy5DQReZUD9+H8z+qyKoe8zF0VShsokZ5zuvnxdlEldB3EircfbHxEfLJKQsCxe/Td6Ehtw2cNJH0TJNr3\
    l1hl\
";

const REPLY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

fn der(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap()
}

fn acceptor() -> TlsAcceptor {
    let key = PrivatePkcs8KeyDer::from(der(KEY)).into();
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der(CERTIFICATE).into()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// A client's TLS that trusts these authorities.
fn trusting<const N: usize>(authorities: [&str; N]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(CertificateDer::from(der(authority))).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A server whose connections begin with these layers.
#[derive(Clone, Copy)]
enum Layer {
    Tls,
    Tunnel,
}

/// Returns the port of the server and the heads of the requests that it receives.
async fn server(layers: &'static [Layer]) -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, layers, sender.clone()));
        }
    });
    (port, heads)
}

async fn serve(socket: TcpStream, layers: &[Layer], heads: mpsc::UnboundedSender<String>) {
    let mut stream: Box<dyn Duplex> = Box::new(socket);
    for layer in layers {
        match layer {
            Layer::Tls => match acceptor().accept(stream).await {
                Ok(secured) => stream = Box::new(secured),
                Err(_) => return,
            },
            Layer::Tunnel => {
                let Some(head) = head(&mut stream).await else { return };
                heads.send(head).unwrap();
                stream.write_all(ESTABLISHED.as_bytes()).await.unwrap();
            }
        }
    }
    while let Some(head) = head(&mut stream).await {
        heads.send(head).unwrap();
        stream.write_all(REPLY.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
}

async fn head(stream: &mut Box<dyn Duplex>) -> Option<String> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(text).unwrap())
}

/// A transport that trusts the test authority and has this proxy.
fn transport(proxy: &str) -> HyperTransport {
    let proxies = Matcher::builder().all(proxy.to_owned()).build();
    let connector = Connector::with_proxies(Duration::from_secs(5), proxies);
    connector.tls.trust(trusting([AUTHORITY]));
    HyperTransport::with_connector(connector)
}

async fn get(transport: &HyperTransport, uri: &str) -> Result<HttpResponse, TransportError> {
    transport.send(HttpRequest::new(Method::GET, uri.parse().unwrap())).await
}

#[track_caller]
fn assert_ok(response: Result<HttpResponse, TransportError>) {
    let response = response.unwrap();
    assert_eq!((response.status, &*response.body), (StatusCode::OK, &b"ok"[..]));
}

#[tokio::test]
async fn https_by_name_and_address() {
    let (port, mut heads) = server(&[Layer::Tls]).await;
    let transport = transport("");
    for host in ["localhost", "127.0.0.1"] {
        for _ in 0..2 {
            assert_ok(get(&transport, &format!("https://{host}:{port}/Tables?a=b")).await);
            let head = heads.recv().await.unwrap();
            assert!(head.starts_with("GET /Tables?a=b HTTP/1.1\r\n"), "{head}");
            assert!(head.contains(&format!("host: {host}:{port}\r\n")), "{head}");
        }
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_before_the_request() {
    let (port, mut heads) = server(&[Layer::Tls]).await;
    let trusting_nobody = HyperTransport::new();
    trusting_nobody.connector.tls.trust(trusting([]));
    let error = get(&trusting_nobody, &format!("https://localhost:{port}/")).await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Connect, "{error:?}");
    assert!(heads.try_recv().is_err());
    // A server without TLS waits for the end of a request.
    let (port, mut heads) = server(&[]).await;
    let transport = transport("");
    let transport = transport.connect_timeout(Duration::from_millis(300));
    let error = get(&transport, &format!("https://localhost:{port}/")).await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Connect, "{error:?}");
    assert!(heads.try_recv().is_err());
}

#[tokio::test]
async fn plain_requests_are_forwarded_by_the_proxy_except_those_to_this_machine() {
    let (proxy, mut forwarded) = server(&[]).await;
    let transport = transport(&format!("http://user:pass@127.0.0.1:{proxy}"));
    assert_ok(get(&transport, "http://account.example:81/Tables?a=b").await);
    let head = forwarded.recv().await.unwrap();
    assert!(head.starts_with("GET http://account.example:81/Tables?a=b HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: account.example:81\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic dXNlcjpwYXNz\r\n"), "{head}");

    let (port, mut direct) = server(&[]).await;
    for host in ["127.0.0.1", "localhost", "account.localhost"] {
        // Some resolvers do not know names below localhost. The proxy does not get the request anyway.
        let response = get(&transport, &format!("http://{host}:{port}/")).await;
        if host != "account.localhost" {
            assert_ok(response);
            let head = direct.recv().await.unwrap();
            assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
            assert!(!head.contains("proxy-authorization"), "{head}");
        }
    }
    // Resolvers accept these spellings of loopback, or refuse them.
    for host in ["127.1", "2130706433", "0x7f000001", "127.0.0.1.", "0.0.0.0", "[::ffff:127.0.0.1]"]
    {
        let _ = get(&transport, &format!("http://{host}:{port}/")).await;
    }
    assert!(forwarded.try_recv().is_err());
}

#[tokio::test]
async fn https_requests_pass_a_tunnel_of_the_proxy() {
    for (scheme, layers) in [
        ("http", &[Layer::Tunnel, Layer::Tls][..]),
        ("https", &[Layer::Tls, Layer::Tunnel, Layer::Tls]),
    ] {
        let (proxy, mut heads) = server(layers).await;
        let transport = transport(&format!("{scheme}://user:pass@localhost:{proxy}"));
        assert_ok(get(&transport, "https://account.example/Tables?sig=secret").await);
        let connect = heads.recv().await.unwrap();
        assert!(connect.starts_with("CONNECT account.example:443 HTTP/1.1\r\n"), "{connect}");
        assert!(connect.contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{connect}");
        assert!(!connect.contains("secret"), "{connect}");
        let inner = heads.recv().await.unwrap();
        assert!(inner.starts_with("GET /Tables?sig=secret HTTP/1.1\r\n"), "{inner}");
        assert!(inner.contains("host: account.example\r\n"), "{inner}");
        assert!(!inner.to_ascii_lowercase().contains("proxy-authorization"), "{inner}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_supported_makes_requests_invalid() {
    for (proxy, uri) in [
        ("socks5://127.0.0.1:1", "http://account.example/"),
        ("socks5h://127.0.0.1:1", "https://account.example/"),
    ] {
        let error = get(&transport(proxy), uri).await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Invalid, "{error:?}");
        let cause = error.source().unwrap().to_string();
        assert!(cause.contains("neither http nor https"), "{cause}");
    }
}

#[tokio::test]
async fn a_name_that_no_certificate_can_have_makes_requests_invalid() {
    let (proxy, _heads) = server(&[Layer::Tunnel]).await;
    let transport = transport(&format!("http://127.0.0.1:{proxy}"));
    let error = get(&transport, "https://account..example/?sig=secret").await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Invalid, "{error:?}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

/// A program of the test below, whose platform has no roots.
const CHILD: &str = "AZURE_TABLE_TESTS_WITHOUT_ROOTS";

#[test]
#[cfg(target_os = "linux")]
fn a_failed_set_up_of_tls_makes_requests_invalid_and_is_repeated() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "transport::hyper::tests::requests_without_roots";
    child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    child.env("SSL_CERT_FILE", "/dev/null").env_remove("SSL_CERT_DIR");
    let output = child.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
}

#[tokio::test]
async fn requests_without_roots() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let (port, _heads) = server(&[Layer::Tls]).await;
    let transport = HyperTransport::new();
    assert_eq!(transport.prepare(true).unwrap_err().kind(), TransportErrorKind::Invalid);
    transport.prepare(false).unwrap();
    let uri = format!("https://localhost:{port}/");
    let error = get(&transport, &uri).await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Invalid, "{error:?}");
    // The failure is not kept.
    transport.connector.tls.trust(trusting([AUTHORITY]));
    assert_ok(get(&transport, &uri).await);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_a_connect_error() {
    let (refusing, _) = server(&[]).await;
    let error = get(&transport("http://127.0.0.1:1"), "https://account.example/").await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Connect, "{error:?}");
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("tcp connect error"), "{cause}");
    // It responds to CONNECT, but then speaks no TLS.
    let transport = transport(&format!("http://127.0.0.1:{refusing}"));
    let error = get(&transport, "https://account.example/?sig=secret").await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Connect, "{error:?}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_request_without_a_host_is_invalid() {
    let transport = HyperTransport::new();
    for uri in
        ["/Tables", "ftp://account.example/", "http://user@account.example/", "http://127.0.0.256/"]
    {
        let error = get(&transport, uri).await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Invalid, "{uri}: {error:?}");
    }
}

#[tokio::test]
async fn hosts_without_connections_are_forgotten() {
    let transport = HyperTransport::new().connect_timeout(Duration::from_secs(1));
    for _ in 0..3 {
        for port in 1..4 {
            get(&transport, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
        }
    }
    let (port, _heads) = server(&[]).await;
    assert_ok(get(&transport, &format!("http://127.0.0.1:{port}/")).await);
    assert_eq!(transport.pool.known(), 1);
    get(&transport, "http://127.0.0.1:1/").await.unwrap_err();
    assert_eq!(transport.pool.known(), 2);
}
