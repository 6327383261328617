//! The HTTP clients that are compared, and the cases that they run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use azure_table_client::client::Transaction;
use azure_table_client::{IfMatch, TableClient};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::plain::{Page, Plain};
use super::requests::{Ready, Recorder};
use super::{Blog, FIRST_ROW, OPERATIONS, Over, PAGE, PAGES, blog, table};

/// A measured operation.
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

    /// Returns the number of costs that one call is divided into: a query has one for each entity.
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

/// A client that sends the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Reqwest,
    Hyper,
    SerdeJson,
    Ours(Over),
}

impl Column {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let others = [Self::Reqwest, Self::Hyper, Self::SerdeJson];
        others.into_iter().chain(Over::ALL.iter().copied().map(Self::Ours))
    }

    /// Returns the name in arguments.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Reqwest => "bare-reqwest".to_owned(),
            Self::Hyper => "bare-hyper".to_owned(),
            Self::SerdeJson => "serde_json".to_owned(),
            Self::Ours(over) => format!("ours-{}", over.name()),
        }
    }

    /// Returns the head of the column.
    pub(crate) fn title(self) -> String {
        match self {
            Self::Reqwest => "bare reqwest".to_owned(),
            Self::Hyper => "bare hyper".to_owned(),
            Self::SerdeJson => "reqwest + serde_json".to_owned(),
            Self::Ours(over) => format!("ours over {}", over.name()),
        }
    }

    /// Whether the column has the case. `serde_json` has no form of a transaction, and start-up decodes little.
    pub(crate) const fn has(self, case: Case) -> bool {
        !matches!((self, case), (Self::SerdeJson, Case::Transaction | Case::StartUp))
    }
}

type HyperClient = hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>;

/// A client of one column.
#[derive(Debug)]
pub(crate) enum Client {
    Reqwest { client: reqwest::Client, with_json: bool },
    Hyper(HyperClient),
    Ours(TableClient<Blog>),
}

impl Client {
    pub(crate) fn new(column: Column, endpoint: &str) -> Self {
        match column {
            Column::Ours(over) => Self::Ours(table(endpoint, over.transport())),
            Column::Hyper => {
                let mut connector = HttpConnector::new();
                connector.set_nodelay(true);
                let builder = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
                Self::Hyper(builder.build(connector))
            }
            Column::Reqwest | Column::SerdeJson => {
                let builder = reqwest::Client::builder().tcp_nodelay(true);
                // Plain HTTP needs no certificates; reading those of the platform would be most of the start-up.
                let builder = builder.tls_certs_only([]);
                let client = builder.build().expect("a client");
                Self::Reqwest { client, with_json: column == Column::SerdeJson }
            }
        }
    }

    pub(crate) async fn run(&self, case: Case, requests: &[Ready], calls: u32) {
        match self {
            Self::Ours(table) => call(table, case, calls).await,
            Self::Reqwest { client, with_json: true } => {
                let plain = Plain::from(blog(0));
                for _ in 0..calls {
                    send_with_json(client, case, requests, &plain).await;
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
    let entity = blog(0);
    let operations = if case == Case::Transaction { OPERATIONS } else { 0 };
    let blogs: Vec<_> = (0..operations).map(blog).collect();
    for _ in 0..calls {
        match case {
            Case::Get | Case::StartUp => {
                table.get((key.0, &*key.1)).await.expect("an entity");
            }
            Case::Insert => {
                table.insert(&entity).await.expect("an insert");
            }
            Case::Merge => {
                table.merge(&entity, IfMatch::Any).await.expect("a merge");
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

async fn send_with_json(client: &reqwest::Client, case: Case, requests: &[Ready], plain: &Plain) {
    match case {
        Case::Get => {
            let body = send(client, &requests[0], Bytes::new()).await;
            std::hint::black_box(serde_json::from_slice::<Plain>(&body).expect("an entity"));
        }
        Case::Insert | Case::Merge => {
            let body = serde_json::to_vec(plain).expect("JSON");
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
