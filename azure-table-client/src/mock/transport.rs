//! The in-process host: no socket, and virtual time works.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::sleep;

use super::faults::{Break, Host};
use super::request::Incoming;
use super::{LOCAL, MockTableService};
use crate::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};

/// Ends every request in a service in memory.
pub(super) struct InProcess {
    pub(super) service: MockTableService,
    /// Who sends.
    pub(super) from: IpAddr,
}

impl Transport for InProcess {
    /// Yields where a connection would make a task wait: before the request is there, after it was
    /// done, and while the reply is read. A future that is dropped between these points leaves what
    /// a broken connection leaves.
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            Yield::default().await;
            let result = self.service.receive_from(request, self.from).await;
            Yield::default().await;
            Yield::default().await;
            result
        })
    }
}

impl MockTableService {
    /// Answers one request as the fault plan has it, for a host that can wait and can break a
    /// connection. Never panics, whatever it is sent. It is taken for one from 127.0.0.1.
    ///
    /// # Errors
    /// The plan breaks the connection: the host closes it without an answer.
    pub async fn receive(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        self.receive_from(request, LOCAL).await
    }

    /// As [`receive`](Self::receive), for a host that knows who sent the request: a shared access
    /// signature may be bound to addresses.
    ///
    /// # Errors
    /// The plan breaks the connection: the host closes it without an answer.
    pub async fn receive_from(
        &self,
        request: HttpRequest,
        from: IpAddr,
    ) -> Result<HttpResponse, TransportError> {
        let fate = self.fate(&Incoming::in_process(&request, from), Host::Connections);
        let response = match fate.connection {
            Some(Break::Refused) => return Err(broken(TransportErrorKind::Connect)),
            Some(Break::Hangs) => std::future::pending().await,
            Some(Break::LosesRequest) => {
                wait(fate.delay_request).await;
                return Err(broken(TransportErrorKind::Interrupted));
            }
            None | Some(Break::LosesReply) if fate.delay_request.is_zero() => {
                self.settle();
                self.respond_with(&Incoming::in_process(&request, from), &fate, self.now())
            }
            None | Some(Break::LosesReply) => self
                .respond_late(request.clone(), from, fate.clone())
                .await
                .ok_or_else(|| broken(TransportErrorKind::Interrupted))?,
        };
        #[cfg(feature = "mock-data")]
        let response = self.once_written(&Incoming::in_process(&request, from), response).await;
        wait(fate.delay_reply).await;
        if fate.connection == Some(Break::LosesReply) {
            return Err(broken(TransportErrorKind::Interrupted));
        }
        Ok(response)
    }
}

async fn wait(time: Duration) {
    // Tokio's timer waits for the next millisecond at least.
    if !time.is_zero() {
        sleep(time).await;
    }
}

fn broken(kind: TransportErrorKind) -> TransportError {
    TransportError::new(kind, "the fault plan breaks this connection")
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.service.fmt(f)
    }
}

/// Lets other tasks run once.
#[derive(Default)]
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use bytes::Bytes;
    use http::{HeaderMap, Method};

    use super::*;

    #[test]
    fn yields_before_the_send_after_the_commit_and_in_the_body() {
        let service = MockTableService::builder().loose(true).build();
        let transport = service.transport();
        let mut send = transport.send(HttpRequest {
            method: Method::POST,
            url: format!("http://127.0.0.1/{}/Tables", service.account()),
            headers: HeaderMap::new(),
            body: Bytes::from_static(br#"{"TableName":"Blogs"}"#),
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
