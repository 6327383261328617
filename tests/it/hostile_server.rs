//! A server over a socket whose responses a test chooses by the text of the request.

use std::sync::{Arc, Mutex};

use azure_table_client::auth::Credential;
use azure_table_client::{RetryPolicy, TableServiceClient, TableServiceClientBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub(crate) struct HostileServer {
    pub(crate) endpoint: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl HostileServer {
    /// Starts a server that sends the bytes of `respond` for each request, and closes the connection. `respond` receives
    /// the number of the request from 0, and its head.
    pub(crate) async fn start(
        respond: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (heads, respond) = (Arc::clone(&requests), Arc::new(respond));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (heads, respond) = (Arc::clone(&heads), Arc::clone(&respond));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let head = String::from_utf8_lossy(&request).into_owned();
                    let number = {
                        let mut heads = heads.lock().unwrap();
                        heads.push(head.clone());
                        heads.len() - 1
                    };
                    let response = respond(number, &head);
                    let _ = socket.write_all(&response).await;
                    let _ = socket.shutdown().await;
                });
            }
        });
        Self { endpoint, requests }
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The heads of the requests so far, and the parts of their bodies that came with them.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn builder(&self) -> TableServiceClientBuilder {
        TableServiceClient::builder(&self.endpoint, Credential::Anonymous)
            .retry(RetryPolicy::none())
    }

    pub(crate) fn client(&self) -> TableServiceClient {
        self.builder().build().unwrap()
    }
}

/// Returns a response. Each header ends with CRLF.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}
