//! A service on which another program writes a row before each request of one kind, one behind a proxy that delivers a
//! request twice, and one with a secondary.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{
    DynamicEntity, IfMatch, LocationMode, RetryPolicy, TableClient, TableServiceClient,
};

/// Merges nothing into `row` before each request whose method and path are these, which changes its ETag.
#[derive(Debug)]
pub(crate) struct Touching {
    pub(crate) mock: MockTableService,
    pub(crate) table: &'static str,
    pub(crate) row: (&'static str, &'static str),
    /// The method, and a part of the path.
    pub(crate) before: (&'static str, &'static str),
}

impl Touching {
    pub(crate) fn client(self) -> TableServiceClient {
        let builder = self.mock.client_builder();
        builder.transport(Arc::new(self)).build().unwrap()
    }
}

impl Transport for Touching {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            let (method, path) = self.before;
            if request.method == method && request.uri.path().contains(path) {
                let table = self.mock.client().table_named::<DynamicEntity>(self.table);
                table
                    .merge(&DynamicEntity::new(self.row.0, self.row.1), IfMatch::Any)
                    .await
                    .unwrap();
            }
            self.mock.receive(request).await
        })
    }
}

/// A proxy that delivers each request whose body has this text twice: the first delivery meets a fault, and the second
/// one arrives later.
#[derive(Debug)]
pub(crate) struct Repeating {
    pub(crate) mock: MockTableService,
    pub(crate) text: &'static str,
    pub(crate) first: Fault,
    pub(crate) second_after: Duration,
}

impl Repeating {
    /// Returns a table behind the proxy, for a client that does not retry.
    pub(crate) fn table(self, name: &str) -> TableClient<DynamicEntity> {
        let builder = self.mock.client_builder().retry(RetryPolicy::none());
        builder.transport(Arc::new(self)).build().unwrap().table_named(name)
    }
}

impl Transport for Repeating {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            if String::from_utf8_lossy(&request.body).contains(self.text) {
                let (mock, late, after) = (self.mock.clone(), request.clone(), self.second_after);
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    drop(mock.receive(late).await);
                });
                self.mock.faults().add(self.first.clone().times(1));
            }
            self.mock.receive(request).await
        })
    }
}

/// Creates a client whose reads begin with the secondary.
pub(crate) fn with_secondary(mock: &MockTableService) -> TableServiceClient {
    let secondary = format!("{}-secondary", mock.client().endpoint().trim_end_matches('/'));
    let builder = mock.client_builder().secondary_endpoint(secondary);
    builder.locations(LocationMode::SecondaryThenPrimary).build().unwrap()
}

/// Returns the number of requests to the secondary.
pub(crate) fn on_secondary(mock: &MockTableService) -> usize {
    mock.requests().all().iter().filter(|request| request.url.contains("-secondary")).count()
}
