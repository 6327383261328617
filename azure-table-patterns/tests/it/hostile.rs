//! A service on which another program writes a row before each request of one kind, and one with a secondary.

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{DynamicEntity, IfMatch, LocationMode, TableServiceClient};

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
        builder.transport(std::sync::Arc::new(self)).build().unwrap()
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
