//! The mock on a loopback port.

use azure_table_mock::TableServer;
use wiremock::{MockServer, Request, Respond, ResponseTemplate};

use super::MockTableService;

/// A [`MockTableService`] behind a loopback port.
///
/// It is a wiremock server whose last mock is the service. Mocks that a test mounts on
/// [`server`](Self::server) take precedence.
///
/// The service's [faults](azure_table_mock::TableService::faults) also strike here, with two differences, since wiremock
/// handles requests one by one: a refused connection breaks instead, and a delayed request is applied at
/// once and only its response is delayed.
///
/// ```
/// # use azure_table_client::mock::MockTableServer;
/// # use azure_table_client::TableServiceClient;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let server = MockTableServer::start().await;
/// let service = TableServiceClient::from_connection_string(&server.connection_string())?;
/// service.create_table("Blogs").await?;
/// assert_eq!(server.service().table_names(), ["Blogs"]);
/// # Ok(())
/// # }
/// ```
#[doc(alias("Azurite", "emulator", "wiremock"))]
#[derive(Debug)]
pub struct MockTableServer {
    server: TableServer,
    service: MockTableService,
}

impl MockTableServer {
    /// Starts an empty service on a free port.
    pub async fn start() -> Self {
        Self::start_with(MockTableService::new()).await
    }

    /// Starts this service on a free port.
    pub async fn start_with(service: MockTableService) -> Self {
        Self { server: TableServer::start_with((*service).clone()).await, service }
    }

    /// Returns a connection string with the account and the address of this server.
    pub fn connection_string(&self) -> String {
        self.server.connection_string()
    }

    /// Returns the URL of the account at this server: `http://127.0.0.1:port/account`.
    pub fn uri(&self) -> String {
        self.server.uri()
    }

    /// Returns the wiremock server, to mount mocks that take precedence over the service.
    pub fn server(&self) -> &MockServer {
        self.server.server()
    }

    /// Returns the service behind the port.
    pub fn service(&self) -> &MockTableService {
        &self.service
    }
}

/// Responds like [`TableService::respond`](azure_table_mock::TableService::respond).
impl Respond for MockTableService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        Respond::respond(&**self, request)
    }
}
