//! A custom domain, behind a proxy.

use azure_table_client::TableServiceClient;
use azure_table_client::auth::{DEVELOPMENT_KEY, SharedKey};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The SharedKey signature by its documentation, without the library.
fn signature(text: &str) -> String {
    let key = BASE64_STANDARD.decode(DEVELOPMENT_KEY).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(text.as_bytes());
    BASE64_STANDARD.encode(mac.finalize().into_bytes())
}

#[tokio::test]
async fn requests_to_a_custom_domain_are_signed_with_the_account_name() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let received = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut text = Vec::new();
        while !text.windows(4).any(|end| end == b"\r\n\r\n") {
            socket.read_buf(&mut text).await.unwrap();
        }
        let answer =
            b"HTTP/1.1 404 Not Found\r\nx-ms-version: 2019-02-02\r\ncontent-length: 0\r\n\r\n";
        socket.write_all(answer).await.unwrap();
        String::from_utf8(text).unwrap()
    });
    let http_client = reqwest::Client::builder().proxy(reqwest::Proxy::http(proxy).unwrap());
    let service =
        TableServiceClient::builder("http://tables.example.com", SharedKey::development())
            .allow_http(true)
            .http_client(http_client)
            .build()
            .unwrap();
    let _ = service.table_exists("Blogs").await;

    let request = received.await.unwrap();
    let url = "http://tables.example.com/Tables('Blogs')";
    assert!(request.starts_with(&format!("GET {url} HTTP/1.1\r\n")), "{request}");
    let header = |name: &str| {
        let line = request.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.unwrap().split_once(": ").unwrap().1
    };
    let text = format!("GET\n\n\n{}\n/devstoreaccount1/Tables('Blogs')", header("x-ms-date:"));
    let expected = format!("SharedKey devstoreaccount1:{}", signature(&text));
    assert_eq!(header("authorization:"), expected);
}
