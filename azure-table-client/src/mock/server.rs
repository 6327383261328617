//! The HTTP host, on wiremock.

use std::fmt;

use http::HeaderMap;
use url::Position;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::MockTableService;
use super::request::Incoming;

/// A [`MockTableService`] behind a loopback port.
///
/// It is a wiremock server whose last mock is the service: mocks that are mounted on
/// [`server`](Self::server) come first, for what the service does not do, such as a page of a proxy.
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
pub struct MockTableServer {
    server: MockServer,
    service: MockTableService,
}

/// Behind every mock that a test mounts: wiremock's own default is 5, and lower comes first.
const LAST: u8 = u8::MAX;

impl MockTableServer {
    /// An empty service on a free port.
    pub async fn start() -> Self {
        Self::start_with(MockTableService::new()).await
    }

    /// This service on a free port.
    pub async fn start_with(service: MockTableService) -> Self {
        // The service records what a table test asks about; wiremock would keep every body.
        let server = MockServer::builder().disable_request_recording().start().await;
        let respond = service.clone();
        Mock::given(wiremock::matchers::any())
            .respond_with(respond)
            .with_priority(LAST)
            .mount(&server)
            .await;
        Self { server, service }
    }

    /// A connection string with the account and the address of this server.
    pub fn connection_string(&self) -> String {
        self.service.connection_string_at(&self.server.uri())
    }

    /// The address of the account at this server: `http://127.0.0.1:port/account`.
    pub fn uri(&self) -> String {
        format!("{}/{}", self.server.uri(), self.service.account())
    }

    /// The wiremock server, to mount mocks that come before the service.
    pub fn server(&self) -> &MockServer {
        &self.server
    }

    /// The service behind the port.
    pub fn service(&self) -> &MockTableService {
        &self.service
    }
}

impl fmt::Debug for MockTableServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockTableServer").field("uri", &self.server.uri()).finish_non_exhaustive()
    }
}

impl Respond for MockTableService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let host = request.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        let origin = format!("http://{}", host.unwrap_or("127.0.0.1"));
        let response = self.respond_to(&Incoming {
            method: &request.method,
            origin: &origin,
            path: request.url.path(),
            query: &request.url[Position::BeforeQuery..Position::AfterQuery],
            headers: &request.headers,
            body: &request.body,
        });
        template(response.status.as_u16(), &response.headers, response.body.into())
    }
}

fn template(status: u16, headers: &HeaderMap, body: Vec<u8>) -> ResponseTemplate {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mut template = ResponseTemplate::new(status);
    for (name, value) in headers {
        template = template.insert_header(name, value);
    }
    match kind {
        // The body's setter sets the type as well, and would lose it otherwise.
        Some(kind) => template.set_body_raw(body, kind),
        None => template,
    }
}

#[cfg(test)]
mod tests {
    use wiremock::matchers::method;

    use super::*;

    #[tokio::test]
    async fn mocks_of_the_user_come_first() {
        let server =
            MockTableServer::start_with(MockTableService::builder().loose(true).build()).await;
        let tables = format!("{}/Tables", server.uri());
        let reply = reqwest::get(&tables).await.unwrap();
        assert_eq!(reply.status(), 200);
        let kind = reply.headers()[http::header::CONTENT_TYPE].to_str().unwrap();
        assert_eq!(kind, "application/json;odata=minimalmetadata;streaming=true;charset=utf-8");

        let mine = Mock::given(method("GET")).respond_with(ResponseTemplate::new(503));
        server.server().register(mine.up_to_n_times(1)).await;
        assert_eq!(reqwest::get(&tables).await.unwrap().status(), 503);
        assert_eq!(reqwest::get(&tables).await.unwrap().status(), 200);
        assert_eq!(server.service().requests().total(), 2);
    }
}
