//! The HTTP clients that are compared, and the cases that they run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use azure_table_client::client::Transaction;
use azure_table_client::transport::{HttpTransport, Transport};
use azure_table_client::{IfMatch, TableClient, TableServiceClient};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::canned::{self, Blog, FIRST_ROW, OPERATIONS, PAGE, PAGES};
use crate::plain::{Page, Plain};
use crate::requests::{Ready, Recorder};

const MAX_RESPONSE_BYTES: usize = 1 << 30;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Get,
    Insert,
    Merge,
    Query,
    Transaction,
    StartUp,
}

impl Case {
    pub(crate) const ALL: [Self; 6] =
        [Self::Get, Self::Insert, Self::Merge, Self::Query, Self::Transaction, Self::StartUp];

    /// Returns the name in arguments.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Insert => "insert",
            Self::Merge => "merge",
            Self::Query => "query",
            Self::Transaction => "transaction",
            Self::StartUp => "start-up",
        }
    }

    /// Returns the first cell of a row.
    pub(crate) fn title(self) -> String {
        match self {
            Self::Get => "get, ten properties decoded".to_owned(),
            Self::Insert | Self::Merge => self.name().to_owned(),
            Self::Query => format!("query, each entity of {PAGES} pages of {PAGE}"),
            Self::Transaction => format!("transaction of {OPERATIONS} inserts"),
            Self::StartUp => "start-up: client built, first get".to_owned(),
        }
    }

    /// Returns what one call counts as: a query counts its entities.
    pub(crate) const fn units(self) -> u32 {
        if matches!(self, Self::Query) { PAGES * PAGE } else { 1 }
    }

    /// Returns the column that the others are compared with. A bare client reads no entities of a query.
    pub(crate) const fn base(self) -> Column {
        if matches!(self, Self::Query) { Column::SerdeJson } else { Column::Reqwest }
    }

    /// Returns the file of the recorded requests. The requests of one call are those that our client sends.
    pub(crate) fn requests_file(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name()))
    }
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Reqwest,
    Hyper,
    SerdeJson,
    OursOverReqwest,
}

impl Column {
    pub(crate) const ALL: &[Self] =
        &[Self::Reqwest, Self::Hyper, Self::SerdeJson, Self::OursOverReqwest];

    /// Returns the name in arguments.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reqwest => "bare-reqwest",
            Self::Hyper => "bare-hyper",
            Self::SerdeJson => "serde_json",
            Self::OursOverReqwest => "ours-reqwest",
        }
    }

    /// Returns the head of the column.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Reqwest => "bare reqwest",
            Self::Hyper => "bare hyper",
            Self::SerdeJson => "reqwest + serde_json",
            Self::OursOverReqwest => "ours over reqwest",
        }
    }

    /// The transports of our client: a new one is added here, to the names above, and nowhere else.
    fn transport(self) -> Option<Arc<dyn Transport>> {
        match self {
            Self::OursOverReqwest => {
                Some(Arc::new(HttpTransport::new(MAX_RESPONSE_BYTES).expect("a transport")))
            }
            Self::Reqwest | Self::Hyper | Self::SerdeJson => None,
        }
    }

    /// Bare clients decode and encode nothing; serde_json has no form of a transaction.
    pub(crate) const fn has(self, case: Case) -> bool {
        !matches!((self, case), (Self::SerdeJson, Case::Transaction | Case::StartUp))
    }
}

type HyperClient = hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>;

/// A client of one column, with one connection after its first call.
#[derive(Debug)]
pub(crate) enum Client {
    Reqwest { client: reqwest::Client, with_json: bool },
    Hyper(HyperClient),
    Ours(TableClient<Blog>),
}

impl Client {
    pub(crate) fn new(column: Column, endpoint: &str) -> Self {
        if let Some(transport) = column.transport() {
            return Self::Ours(table(endpoint, transport));
        }
        if column == Column::Hyper {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            let builder = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
            return Self::Hyper(builder.build(connector));
        }
        let builder = reqwest::Client::builder().tcp_nodelay(true);
        // Plain HTTP needs no certificates; reading those of the platform would be most of the start-up.
        #[cfg(feature = "rustls")]
        let builder = builder.tls_certs_only([]);
        let client = builder.build().expect("a client");
        Self::Reqwest { client, with_json: column == Column::SerdeJson }
    }

    pub(crate) async fn run(&self, case: Case, requests: &[Ready], calls: u32) {
        match self {
            Self::Ours(table) => call(table, case, calls).await,
            Self::Reqwest { client, with_json: true } => {
                let blog = Plain::from(canned::blog(0));
                for _ in 0..calls {
                    send_with_json(client, case, requests, &blog).await;
                }
            }
            Self::Reqwest { client, with_json: false } => {
                for _ in 0..calls {
                    for ready in requests {
                        send(client, ready, ready.body.clone()).await;
                    }
                }
            }
            Self::Hyper(client) => {
                for _ in 0..calls {
                    for ready in requests {
                        send_by_hyper(client, ready).await;
                    }
                }
            }
        }
    }
}

fn table(endpoint: &str, transport: Arc<dyn Transport>) -> TableClient<Blog> {
    let builder = TableServiceClient::builder(endpoint, canned::key()).transport(transport);
    builder.build().expect("a client").table::<Blog>()
}

/// Runs each case once and writes its requests to the folder.
pub(crate) async fn record(endpoint: &str, folder: &Path) {
    let recorder = Arc::new(Recorder::new());
    let table = table(endpoint, recorder.clone());
    for case in Case::ALL {
        call(&table, case, 1).await;
        recorder.write_to(&case.requests_file(folder));
    }
}

async fn call(table: &TableClient<Blog>, case: Case, calls: u32) {
    let key = ("Channel9", FIRST_ROW.to_string());
    let blog = canned::blog(0);
    let operations = if case == Case::Transaction { OPERATIONS } else { 0 };
    let blogs: Vec<_> = (0..operations).map(canned::blog).collect();
    for _ in 0..calls {
        match case {
            Case::Get | Case::StartUp => {
                table.get((key.0, &*key.1)).await.expect("an entity");
            }
            Case::Insert => {
                table.insert(&blog).await.expect("an insert");
            }
            Case::Merge => {
                table.merge(&blog, IfMatch::Any).await.expect("a merge");
            }
            Case::Query => {
                let query = table.query().filter(|blog| blog.partition.eq("Channel9"));
                let found = query.await.expect("entities");
                assert_eq!(found.len(), (PAGES * PAGE) as usize);
            }
            Case::Transaction => {
                let transaction = blogs.iter().fold(table.transaction(), Transaction::insert);
                let committed = transaction.await.expect("a commit");
                assert_eq!(committed.operations.len(), blogs.len());
            }
        }
    }
}

async fn send(client: &reqwest::Client, ready: &Ready, body: Bytes) -> Bytes {
    let mut request = reqwest::Request::new(ready.method.clone(), ready.url.clone());
    *request.headers_mut() = ready.headers.clone();
    if !body.is_empty() {
        *request.body_mut() = Some(body.into());
    }
    let response = client.execute(request).await.expect("a response");
    response.bytes().await.expect("a body")
}

async fn send_by_hyper(client: &HyperClient, ready: &Ready) -> Bytes {
    let mut request = http::Request::new(Full::new(ready.body.clone()));
    *request.method_mut() = ready.method.clone();
    *request.uri_mut() = ready.uri.clone();
    *request.headers_mut() = ready.headers.clone();
    let response = client.request(request).await.expect("a response");
    response.into_body().collect().await.expect("a body").to_bytes()
}

async fn send_with_json(client: &reqwest::Client, case: Case, requests: &[Ready], blog: &Plain) {
    match case {
        Case::Get => {
            let body = send(client, &requests[0], Bytes::new()).await;
            std::hint::black_box(serde_json::from_slice::<Plain>(&body).expect("an entity"));
        }
        Case::Insert | Case::Merge => {
            let body = serde_json::to_vec(blog).expect("JSON");
            send(client, &requests[0], body.into()).await;
        }
        Case::Query => {
            let mut found = Vec::new();
            for ready in requests {
                let body = send(client, ready, Bytes::new()).await;
                found.extend(serde_json::from_slice::<Page>(&body).expect("a page").value);
            }
            assert_eq!(found.len(), (PAGES * PAGE) as usize);
        }
        Case::Transaction | Case::StartUp => unreachable!("the column lacks the case"),
    }
}
