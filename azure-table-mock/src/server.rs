//! The HTTP host, which is a wiremock server.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use url::Position;
use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::faults::{Break, HostKind};
use crate::lock::lock;
use crate::request::{Headers, Origin, RawRequest};
use crate::room::Room;
use crate::service::{LOCAL, TableService};
use crate::step;
use crate::transport::HttpResponse;

/// A [`TableService`] behind a loopback port.
///
/// It is a wiremock server whose last mock is the service. Mocks that a test mounts on
/// [`server`](Self::server) take precedence.
///
/// The service's [faults](TableService::faults) also strike here, with two differences, since wiremock
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
pub struct TableServer {
    server: MockServer,
    service: TableService,
}

/// A priority after every mock of a test: wiremock's default is 5, and lower values come first.
const LAST: u8 = u8::MAX;
const LAST_BUT_ONE: u8 = LAST - 1;
/// Longer than any test.
const FOREVER: Duration = Duration::from_secs((24 * 365) * 3600);

impl TableServer {
    /// Starts an empty service on a free port.
    pub async fn start() -> Self {
        Self::start_with(TableService::new()).await
    }

    /// Starts this service on a free port.
    pub async fn start_with(service: TableService) -> Self {
        // The service records requests. Wiremock would keep every body.
        let server = MockServer::builder().disable_request_recording().start().await;
        let delivery = Delivery { service: service.clone(), response: Arc::default() };
        Mock::given(delivery.clone())
            .respond_with_err(|_: &Request| std::io::Error::from(ErrorKind::ConnectionReset))
            .with_priority(LAST_BUT_ONE)
            .mount(&server)
            .await;
        Mock::given(wiremock::matchers::any())
            .respond_with(delivery)
            .with_priority(LAST)
            .mount(&server)
            .await;
        Self { server, service }
    }

    /// Returns a connection string with the account and the address of this server.
    pub fn connection_string(&self) -> String {
        self.service.connection_string_at(&self.server.uri())
    }

    /// Returns the URL of the account at this server: `http://127.0.0.1:port/account`.
    pub fn uri(&self) -> String {
        format!("{}/{}", self.server.uri(), self.service.account())
    }

    /// Returns the wiremock server, to mount mocks that take precedence over the service.
    pub fn server(&self) -> &MockServer {
        &self.server
    }

    /// Returns the service behind the port.
    pub fn service(&self) -> &TableService {
        &self.service
    }
}

opaque_debug!(TableServer, |it| uri: it.server.uri());

/// Responds like [`TableService::respond`].
impl Respond for TableService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        template(self.respond_to(raw(request)))
    }
}

/// The service as two mocks, since wiremock breaks a connection only through a mock that matched. As a
/// matcher it delivers the request and matches if the connection breaks. Otherwise the next mock sends the
/// response. Wiremock handles one request at a time.
#[derive(Clone)]
struct Delivery {
    service: TableService,
    response: Arc<Mutex<Option<ResponseTemplate>>>,
}

impl Match for Delivery {
    fn matches(&self, request: &Request) -> bool {
        let service = &self.service;
        let request = crate::request::ParsedRequest::read(raw(request), &service.core().rules);
        let effects = service.effects_on(&request, HostKind::Connections);
        service.deliver_due();
        let response = match effects.connection {
            Some(Break::Refused | Break::LosesRequest) => return true,
            Some(Break::Hangs) => ResponseTemplate::new(504).set_delay(FOREVER),
            None | Some(Break::LosesReply) => {
                let now = service.core().clock.now();
                let response = step::run(service.deliver(&request, &effects, now));
                if effects.connection.is_some() {
                    return true;
                }
                let response = template(response);
                let delay = effects.delay_request.saturating_add(effects.delay_reply);
                if delay.is_zero() { response } else { response.set_delay(delay) }
            }
        };
        *lock(&self.response) = Some(response);
        false
    }
}

impl Respond for Delivery {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let response = lock(&self.response).take();
        response.unwrap_or_else(|| ResponseTemplate::new(500))
    }
}

fn raw(request: &Request) -> RawRequest<'_> {
    let host = request.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    RawRequest {
        method: request.method.clone(),
        origin: Origin { scheme: "http", authority: host.unwrap_or("127.0.0.1") },
        path: request.url.path(),
        query: &request.url[Position::BeforeQuery..Position::AfterQuery],
        headers: Headers::Request(&request.headers),
        body: &request.body,
        // Wiremock listens on loopback and does not report the sender.
        sender: LOCAL,
        room: Room::UNLIMITED,
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
        // The setter of the body also sets the media type.
        Some(kind) => template.set_body_raw(body, kind),
        None => template,
    }
}

#[cfg(test)]
mod tests {
    use wiremock::matchers::method;

    use super::*;

    #[tokio::test]
    async fn mounted_mocks_take_precedence() {
        let server = TableServer::start_with(TableService::builder().loose(true).build()).await;
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
