//! One HTTP/1.1 connection.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::coop::consume_budget;

use super::head_limit::{HeadLimit, HeadLimited};
use super::stream::Stream;
use super::{Failure, Message};
use crate::transport::body::Body;
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
    ) -> Result<HttpResponse, Failure> {
        self.head_limit.start();
        let response = {
            let mut response = pin!(self.sender.try_send_request(message));
            let driver = &mut self.driver;
            let answered = poll_fn(|context| {
                drive(driver, context);
                response.as_mut().poll(context)
            });
            answered.await.map_err(|mut error| match error.take_message() {
                Some(unsent) => Failure::NotSent(Box::new(unsent), error.into_error()),
                None => Failure::Other(interrupted(error.into_error())),
            })?
        };
        self.head_limit.end();
        let (parts, mut incoming) = response.into_parts();
        let mut body = Body::new(incoming.size_hint().exact(), max_response_bytes)?;
        while !incoming.is_end_stream() {
            let Some(frame) = self.frame(&mut incoming).await else { break };
            if let Ok(chunk) = frame.map_err(interrupted)?.into_data() {
                body.push(chunk)?;
            }
            // A time limit takes effect between many small chunks too.
            consume_budget().await;
        }
        drop(incoming);
        poll_fn(|context| {
            drive(&mut self.driver, context);
            Poll::Ready(())
        })
        .await;
        Ok(HttpResponse { status: parts.status, headers: parts.headers, body: body.finish() })
    }

    async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|context| {
            // The first poll requests a chunk, which the connection then reads.
            if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context) {
                return Poll::Ready(frame);
            }
            drive(&mut self.driver, context);
            Pin::new(&mut *body).poll_frame(context)
        })
        .await
    }

    /// Whether another request can use the connection: the response was read to its end, and neither side has closed.
    pub(super) fn is_reusable(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }
}

type Driver = http1::Connection<TokioIo<HeadLimited>, Full<Bytes>>;

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
