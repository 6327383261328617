//! The requests of a query, recorded instead of sent.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table_client::auth::Credential;
use azure_table_client::transport::{HttpRequest, HttpResponse, ResponseFuture, Transport};
use azure_table_client::{Operation, TableServiceClient};
use http::{HeaderMap, StatusCode};

use super::query;
use crate::args::Query;
use crate::failure::Result;

/// Records the method and the address of each request, and responds as an empty table does.
#[derive(Debug, Default)]
struct Recorder(Mutex<String>);

impl Transport for Recorder {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a String cannot fail.
        let _ = writeln!(requests, "{} {}", request.method, request.uri);
        // A query for both keys reads the row itself.
        let (status, body) = match request.operation {
            Operation::Get => {
                (StatusCode::NOT_FOUND, "{\"odata.error\":{\"code\":\"ResourceNotFound\"}}")
            }
            _ => (StatusCode::OK, "{\"value\":[]}"),
        };
        let headers = HeaderMap::new();
        Box::pin(async move { Ok(HttpResponse { status, headers, body: body.into() }) })
    }
}

/// Returns the plan of the query, and its requests for the first page, a line each. Nothing is sent.
pub(super) async fn describe(service: &TableServiceClient, args: &Query) -> Result<String> {
    let recorder = Arc::new(Recorder::default());
    // Without the credential, no address has a signature.
    let recorded = TableServiceClient::builder(service.endpoint(), Credential::Anonymous)
        .dialect(service.dialect())
        .transport(Arc::<Recorder>::clone(&recorder))
        .build()?;
    let query = query(&recorded, args);
    let plan = query.plan()?;
    let mut pages = query.pages();
    while let Some(page) = pages.next().await {
        page?;
    }
    let requests = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(format!("{plan}\n{requests}"))
}
