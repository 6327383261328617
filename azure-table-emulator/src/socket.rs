//! A socket that reports the end of the client's side while a request is handled.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, Interest, Join, ReadBuf, join};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Duration, sleep};

/// The time between two checks of a connection. A socket also counts as readable after a read that did not fill its
/// buffer.
const CHECK: Duration = Duration::from_millis(50);
/// The time that a client without a sending side still has for its response.
const GRACE: Duration = Duration::from_millis(100);

/// A socket. Its read half is shared with a [`Client`].
pub(crate) type Socket = Join<Reader, OwnedWriteHalf>;

/// The read half of a socket.
#[derive(Debug)]
pub(crate) struct Reader(Arc<OwnedReadHalf>);

/// The client at the other end of a socket.
#[derive(Debug, Clone)]
pub(crate) struct Client(Arc<OwnedReadHalf>);

/// Splits a stream into a socket and its client.
pub(crate) fn split(stream: TcpStream) -> (Socket, Client) {
    let (reader, writer) = stream.into_split();
    let reader = Arc::new(reader);
    (join(Reader(Arc::clone(&reader)), writer), Client(reader))
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self(reader) = &*self;
        loop {
            let stream: &TcpStream = (**reader).as_ref();
            ready!(stream.poll_read_ready(context))?;
            match reader.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl Client {
    /// Waits until the client has closed the connection, or only its sending side, and a short time has passed. A
    /// socket does not distinguish the two until something is written.
    pub(crate) async fn has_left(&self) {
        let Self(reader) = self;
        while let Ok(ready) = reader.ready(Interest::READABLE).await
            && !ready.is_read_closed()
        {
            sleep(CHECK).await;
        }
        sleep(GRACE).await;
    }
}
