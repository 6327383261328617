//! The in-process host. It needs no socket and supports virtual time.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::request::{ParsedRequest, RawRequest};
use crate::service::{LOCAL, TableService};
use crate::step::yield_now;
use crate::transport::{HttpRequest, ResponseFuture, Transport};

/// The longest time that a request or a response of a service with a random seed takes.
const LONGEST_TRAVEL: Duration = Duration::from_millis(20);

/// A transport to a service in this process.
pub(super) struct InProcess {
    pub(super) service: TableService,
    /// The sender's address.
    pub(super) sender: IpAddr,
}

/// A transport whose requests no fault strikes and no record shows.
#[derive(Debug)]
pub(super) struct Direct(pub(super) TableService);

impl InProcess {
    /// Waits while a message of a service with a random seed travels, so that concurrent requests arrive in another order
    /// with each seed.
    async fn travel(&self) {
        if self.service.0.log.is_some() {
            self.service.wait(self.service.core().clock.random_wait(LONGEST_TRAVEL)).await;
        }
    }
}

impl Transport for InProcess {
    /// Yields where a task would wait for a connection: before the request arrives, after it is applied, and
    /// while the response is read. Dropping the future between these points acts like a broken connection.
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            yield_now().await;
            self.travel().await;
            let result = self.service.receive_from(request, self.sender, &|_| true).await;
            self.travel().await;
            yield_now().await;
            yield_now().await;
            result
        })
    }
}

impl Transport for Direct {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            let Self(service) = self;
            service.deliver_due_in_steps().await;
            let parsed =
                ParsedRequest::read(RawRequest::in_process(&request, LOCAL), &service.core().rules);
            let response = service.deliver_directly(&parsed).await;
            let response = service.once_written(&parsed, response).await;
            Ok(response)
        })
    }
}

impl TableService {
    /// Returns a transport that sends every request to this service, without a socket.
    pub fn transport(&self) -> Arc<dyn Transport> {
        self.transport_from(LOCAL)
    }

    /// Returns a transport whose requests come from this address, since a shared access signature may be
    /// restricted to some addresses.
    pub fn transport_from(&self, address: IpAddr) -> Arc<dyn Transport> {
        Arc::new(InProcess { service: self.clone(), sender: address })
    }

    /// Returns a transport whose requests are not recorded, and which no fault strikes.
    pub fn direct_transport(&self) -> Arc<dyn Transport> {
        Arc::new(Direct(self.clone()))
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.service.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use bytes::Bytes;
    use http::Method;

    use super::*;

    #[test]
    fn yields_before_the_send_after_the_commit_and_in_the_body() {
        let service = TableService::builder().loose(true).build();
        let transport = service.transport();
        let mut send = transport.send(HttpRequest {
            body: Bytes::from_static(br#"{"TableName":"Blogs"}"#),
            ..HttpRequest::new(
                Method::POST,
                format!("http://127.0.0.1/{}/Tables", service.account()).parse().unwrap(),
            )
        });
        let mut context = Context::from_waker(Waker::noop());
        for committed in [0, 1, 1] {
            assert!(send.as_mut().poll(&mut context).is_pending());
            assert_eq!(service.table_names().len(), committed);
        }
        let Poll::Ready(Ok(response)) = send.as_mut().poll(&mut context) else {
            panic!("a fourth wait")
        };
        assert_eq!(response.status, 201);
    }
}
