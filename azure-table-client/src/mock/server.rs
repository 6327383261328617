//! The HTTP host, on wiremock.

use std::fmt;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use url::Position;
use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use super::faults::{Break, Fate, Host};
use super::request::Incoming;
use super::{LOCAL, MockTableService};
use crate::transport::HttpResponse;

/// A [`MockTableService`] behind a loopback port.
///
/// It is a wiremock server whose last mock is the service: mocks that are mounted on
/// [`server`](Self::server) come first, for what the service does not do.
///
/// The service's [faults](MockTableService::faults) strike here as well, with two differences, since
/// wiremock takes requests one by one: a connection is never refused but breaks, and a request that
/// is delayed is done at once and only answered late.
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
const LAST_BUT_ONE: u8 = LAST - 1;
/// Longer than any test.
const FOREVER: Duration = Duration::from_hours(24 * 365);

impl MockTableServer {
    /// An empty service on a free port.
    pub async fn start() -> Self {
        Self::start_with(MockTableService::new()).await
    }

    /// This service on a free port.
    pub async fn start_with(service: MockTableService) -> Self {
        // The service records what a table test asks about; wiremock would keep every body.
        let server = MockServer::builder().disable_request_recording().start().await;
        let arrival = Arrival { service: service.clone(), fate: Arc::default() };
        Mock::given(arrival.clone())
            .respond_with_err(|_: &Request| std::io::Error::from(ErrorKind::ConnectionReset))
            .with_priority(LAST_BUT_ONE)
            .mount(&server)
            .await;
        Mock::given(wiremock::matchers::any())
            .respond_with(arrival)
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

/// As [`MockTableService::respond`] does.
impl Respond for MockTableService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        template(self.respond_to(&incoming(request, &origin(request))))
    }
}

/// A request that has arrived, seen twice: first as a matcher, which takes those whose connection
/// breaks, and then as what answers the others. Wiremock takes one request at a time.
#[derive(Clone)]
struct Arrival {
    service: MockTableService,
    fate: Arc<Mutex<Fate>>,
}

impl Match for Arrival {
    fn matches(&self, request: &Request) -> bool {
        let origin = origin(request);
        let request = incoming(request, &origin);
        let fate = self.service.fate(&request, Host::Connections);
        self.service.settle();
        if fate.connection == Some(Break::LosesReply) {
            self.service.respond_with(&request, &fate, self.service.now());
        }
        let breaks = !matches!(fate.connection, None | Some(Break::Hangs));
        *self.fate.lock().unwrap_or_else(PoisonError::into_inner) = fate;
        breaks
    }
}

impl Respond for Arrival {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let fate = std::mem::take(&mut *self.fate.lock().unwrap_or_else(PoisonError::into_inner));
        if fate.connection == Some(Break::Hangs) {
            return ResponseTemplate::new(504).set_delay(FOREVER);
        }
        let origin = origin(request);
        let request = incoming(request, &origin);
        let response = template(self.service.respond_with(&request, &fate, self.service.now()));
        let delay = fate.delay_request.saturating_add(fate.delay_reply);
        if delay.is_zero() { response } else { response.set_delay(delay) }
    }
}

fn origin(request: &Request) -> String {
    let host = request.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    format!("http://{}", host.unwrap_or("127.0.0.1"))
}

fn incoming<'a>(request: &'a Request, origin: &'a str) -> Incoming<'a> {
    Incoming {
        method: &request.method,
        origin,
        path: request.url.path(),
        query: &request.url[Position::BeforeQuery..Position::AfterQuery],
        headers: &request.headers,
        body: &request.body,
        // Wiremock listens on loopback, and does not say who asks.
        from: LOCAL,
    }
}

fn template(response: HttpResponse) -> ResponseTemplate {
    let HttpResponse { status, headers, body } = response;
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mut template = ResponseTemplate::new(status.as_u16());
    for (name, value) in &headers {
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
