//! A shortcut for tests: a client of the mock.

use std::sync::Arc;

use azure_table_mock::IN_PROCESS_AUTHORITY;
use http::uri::{Authority, Scheme};

use super::MockTableService;
use crate::client::TableServiceClient;
use crate::client::builder::TableServiceClientBuilder;
use crate::client_core::Settings;
use crate::pipeline::{AcceptedCredentials, CurrentCredential, Endpoint, Pipeline, RetryPolicy};
use crate::transport::Transport;

impl MockTableService {
    /// Creates an in-process client of this service that uses its clock.
    ///
    /// [`client_builder`](Self::client_builder) accepts other settings.
    pub fn client(&self) -> TableServiceClient {
        self.client_over(self.transport(), RetryPolicy::default())
    }

    /// Returns the builder of an in-process client of this service that uses its clock, for settings of your own.
    ///
    /// ```
    /// # use azure_table_client::mock::MockTableService;
    /// # fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// let service = mock.client_builder().write_id_column("WriteId").build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn client_builder(&self) -> TableServiceClientBuilder {
        let endpoint = format!("http://{IN_PROCESS_AUTHORITY}/{}", self.account());
        let builder = TableServiceClient::builder(endpoint, self.key());
        builder.dialect(self.dialect()).transport(self.transport()).clock(self.clock())
    }

    /// Creates an in-process client whose requests are not recorded, and which no fault strikes: a test can
    /// prepare and inspect tables with it while faults are active. It does not retry.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::{Fault, MockTableService}};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::new();
    /// mock.faults().add(Fault::busy());
    /// let blogs = mock.direct_client().table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// assert_eq!(blogs.query().await?.len(), 0);
    /// assert_eq!(mock.requests().total(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn direct_client(&self) -> TableServiceClient {
        self.client_over(self.direct_transport(), RetryPolicy::none())
    }

    fn client_over(&self, transport: Arc<dyn Transport>, retry: RetryPolicy) -> TableServiceClient {
        let authority = Authority::from_static(IN_PROCESS_AUTHORITY);
        let path = format!("/{}", self.account());
        let endpoint = Endpoint::at(Scheme::HTTP, authority, &path, true);
        let credential = self.key().into();
        let accepted = AcceptedCredentials { keys: true, tokens: true, delegated: true };
        let credential = CurrentCredential::unchecked(credential, "", accepted);
        let mut pipeline = Pipeline::new(endpoint, credential, transport, self.clock());
        pipeline.retry = retry;
        // The newest version has JSON, which every dialect accepts.
        if let Ok(protocol) = pipeline.protocol.to(self.dialect()) {
            pipeline.set_protocol(protocol);
        }
        TableServiceClient::new(pipeline, Settings::default())
    }
}
