//! The bodies of requests, which are read within limits of memory and time.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, Incoming};
use tokio::time::timeout;

use crate::limits::{Limits, NoRoom, Share};

/// The first buffer of a body, whose declared length may be false.
const FIRST_BYTES: usize = 16 * 1024;

/// The reason why a body cannot be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BodyError {
    /// The memory of other requests is not free in time.
    NoRoom,
    /// The body does not arrive in time.
    Late,
    /// The body is not valid HTTP, or it ends early.
    Malformed,
}

/// The read part of a body.
#[derive(Debug, Default)]
pub(crate) struct ReadBody {
    pub(crate) bytes: Bytes,
    /// The client has sent nothing else.
    pub(crate) is_whole: bool,
}

impl From<NoRoom> for BodyError {
    fn from(NoRoom: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl From<hyper::Error> for BodyError {
    fn from(_: hyper::Error) -> Self {
        Self::Malformed
    }
}

/// Reads a body up to this number of bytes. `first` is the part that was read before. The buffer and its share grow with
/// the bytes that arrive.
pub(crate) async fn read(
    body: &mut Incoming,
    first: Bytes,
    max: usize,
    share: &mut Share,
    limits: &Limits,
) -> Result<ReadBody, BodyError> {
    let reading = read_parts(body, first, max, share, limits);
    timeout(limits.body, reading).await.unwrap_or(Err(BodyError::Late))
}

async fn read_parts(
    body: &mut Incoming,
    mut part: Bytes,
    max: usize,
    share: &mut Share,
    limits: &Limits,
) -> Result<ReadBody, BodyError> {
    let rest = body.size_hint().upper().and_then(|rest| usize::try_from(rest).ok());
    let declared = rest.map_or(max, |rest| rest.saturating_add(part.len()).min(max));
    let mut whole = Vec::new();
    loop {
        part.truncate(max - whole.len());
        let needed = whole.len() + part.len();
        if needed > whole.capacity() {
            let doubled = (2 * whole.capacity()).max(FIRST_BYTES).min(declared);
            let capacity = needed.max(doubled);
            share.grow(capacity).await?;
            whole.reserve_exact(capacity - whole.len());
        }
        whole.extend_from_slice(&part);
        if whole.len() == max {
            return Ok(ReadBody { bytes: whole.into(), is_whole: false });
        }
        let next = timeout(limits.rest, body.frame()).await;
        match next.map_err(|_| BodyError::Late)? {
            Some(frame) => part = frame.map(Frame::into_data)?.unwrap_or_default(),
            None => return Ok(ReadBody { bytes: whole.into(), is_whole: true }),
        }
    }
}
