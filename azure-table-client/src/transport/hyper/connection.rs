//! One HTTP/1.1 connection.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::coop::{consume_budget, unconstrained};

use super::head_limit::{HeadLimit, HeadLimited};
use super::stream::Stream;
use super::{Message, SendFailure};
use crate::transport::body::BoundedBody;
use crate::transport::{HttpResponse, TransportError, TransportErrorKind};

/// A connection to a host. The request that uses a connection also drives it. This saves a task and a wake-up per request.
///
/// An idle connection is not driven. Whether the server has closed it is seen when the next request begins, before the
/// request is written.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` once the connection is closed.
    driver: Option<Box<Driver>>,
    head_limit: HeadLimit,
}

impl Connection {
    pub(super) async fn open(stream: Stream) -> Result<Self, TransportError> {
        let head_limit = HeadLimit::default();
        let stream = HeadLimited::new(stream.into_inner(), head_limit.clone());
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (sender, driver) =
            opened.map_err(|error| TransportError::new(TransportErrorKind::Connect, error))?;
        Ok(Self { sender, driver: Some(Box::new(driver)), head_limit })
    }

    /// Sends the request and reads its whole response. Dropping the future and then the connection closes it.
    pub(super) async fn exchange(
        &mut self,
        message: Message,
        max_response_bytes: usize,
    ) -> Result<HttpResponse, SendFailure> {
        self.head_limit.start();
        let response = {
            // The response is polled without a waker, so the budget of the task must not delay it.
            let mut response = pin!(unconstrained(self.sender.try_send_request(message)));
            let response = advance(&mut self.driver, |context| response.as_mut().poll(context));
            response.await.map_err(|mut error| match error.take_message() {
                Some(unsent) => SendFailure::NotSent(Box::new(unsent), error.into_error()),
                None => SendFailure::Other(interrupted(error.into_error())),
            })?
        };
        self.head_limit.end();
        let (parts, mut incoming) = response.into_parts();
        let mut body = BoundedBody::new(incoming.size_hint().exact(), max_response_bytes)?;
        while !incoming.is_end_stream() {
            let Some(frame) = self.frame(&mut incoming).await else { break };
            if let Ok(chunk) = frame.map_err(interrupted)?.into_data() {
                body.push(chunk)?;
            }
            // A time limit takes effect between many small chunks too.
            consume_budget().await;
        }
        drop(incoming);
        // Usually the connection is ready for the next request by now, and reading again would find nothing.
        if !self.sender.is_ready() {
            poll_without_waker(|context| drive(&mut self.driver, context));
        }
        Ok(HttpResponse { status: parts.status, headers: parts.headers, body: body.finish() })
    }

    async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        let mut poll = |context: &mut Context<'_>| Pin::new(&mut *body).poll_frame(context);
        // The first poll requests a chunk, which the connection then reads.
        let first = poll_without_waker(&mut poll);
        match first {
            Poll::Ready(frame) => frame,
            Poll::Pending => advance(&mut self.driver, poll).await,
        }
    }

    /// Whether another request can use the connection: the response was read to its end, and neither side has closed.
    pub(super) fn is_reusable(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }
}

type Driver = http1::Connection<TokioIo<HeadLimited>, Full<Bytes>>;

/// Drives the connection until `poll` is ready.
///
/// Hyper wakes the task that waits for the response, and the task that drives the connection, when the other one makes
/// progress. Here they are the same task, which would be polled again in vain. So the driver has the waker of the task
/// only if nothing has arrived, and then mostly the stream wakes it.
async fn advance<T>(
    driver: &mut Option<Box<Driver>>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> T {
    let mut was_pending = false;
    poll_fn(|context| {
        if was_pending {
            poll_without_waker(|context| drive(driver, context));
            let result = poll_without_waker(&mut poll);
            if result.is_ready() {
                return result;
            }
        }
        was_pending = true;
        drive(driver, context);
        poll_without_waker(&mut poll)
    })
    .await
}

fn poll_without_waker<T>(poll: impl FnOnce(&mut Context<'_>) -> T) -> T {
    poll(&mut Context::from_waker(Waker::noop()))
}

fn drive(driver: &mut Option<Box<Driver>>, context: &mut Context<'_>) {
    if let Some(connection) = driver
        && Pin::new(connection).poll(context).is_ready()
    {
        // Its failure reaches the request; dropping it returns a request that was not sent.
        *driver = None;
    }
}

fn interrupted(error: hyper::Error) -> TransportError {
    TransportError::new(TransportErrorKind::Interrupted, error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn only_the_stream_wakes_the_task() {
        let (stream, mut server) = tokio::io::duplex(1024);
        let mut connection = Connection::open(TokioIo::new(Box::new(stream))).await.unwrap();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut context = Context::from_waker(&waker);
        let count = || wakes.0.load(Ordering::Relaxed);
        for round in 0..3 {
            let message = Request::new(Full::new(Bytes::new()));
            let mut exchange = pin!(connection.exchange(message, 1024));
            assert!(exchange.as_mut().poll(&mut context).is_pending());
            assert_eq!(count(), 2 * round);
            for part in ["HTTP/1.1 200 OK\r\nContent-", "Length: 2\r\n\r\nok"] {
                server.write_all(part.as_bytes()).await.unwrap();
                let sent = count();
                if let Poll::Ready(response) = exchange.as_mut().poll(&mut context) {
                    assert_eq!(response.map_err(TransportError::from).unwrap().body, "ok");
                }
                assert_eq!(count(), sent, "the exchange has woken its own task");
            }
            assert_eq!(count(), 2 * round + 2);
            let mut request = [0; 1024];
            assert!(server.read(&mut request).await.unwrap() > 0);
        }
        assert!(connection.is_reusable());
    }

    #[tokio::test]
    async fn a_task_without_budget_is_woken_again() {
        const BUDGET: usize = 128;
        let bodies = [("ok", ""), ("", "ok"), ("o", "k")];
        for (left, (body, rest)) in (0..16).flat_map(|left| bodies.map(|body| (left, body))) {
            let (stream, mut server) = tokio::io::duplex(1024);
            let mut connection = Connection::open(TokioIo::new(Box::new(stream))).await.unwrap();
            let wakes = Arc::new(Wakes::default());
            let waker = Waker::from(Arc::clone(&wakes));
            let mut context = Context::from_waker(&waker);
            let mut exchange = pin!(connection.exchange(Request::new(Full::default()), 1024));
            assert!(exchange.as_mut().poll(&mut context).is_pending());
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
            server.write_all([head, body].concat().as_bytes()).await.unwrap();
            let sent = wakes.0.load(Ordering::Relaxed);
            // The budget is new whenever the runtime polls the test.
            tokio::task::yield_now().await;
            let is_pending = poll_fn(|outer| {
                for _ in left..BUDGET {
                    assert!(pin!(consume_budget()).poll(outer).is_ready());
                }
                Poll::Ready(exchange.as_mut().poll(&mut context).is_pending())
            });
            if is_pending.await {
                // The runtime wakes the tasks without budget once they have returned.
                tokio::task::yield_now().await;
                server.write_all(rest.as_bytes()).await.unwrap();
                assert!(wakes.0.load(Ordering::Relaxed) > sent, "{left}, {body}");
            }
        }
    }
}
