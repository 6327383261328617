//! The export of the tables in pieces, so that no copy of all rows is in memory.

use std::convert::Infallible;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use hyper::body::{Body, Frame};

use super::{Query, Refusal};
use crate::shared::Shared;

/// The body of an export. It reads a piece when the connection is ready for it, and lets other tasks run
/// before the next one.
pub(crate) struct Export {
    pieces: Box<dyn Iterator<Item = String> + Send>,
    /// A piece was read in this step of the task.
    has_read: bool,
}

impl Export {
    fn new(pieces: impl Iterator<Item = String> + Send + 'static) -> Self {
        Self { pieces: Box::new(pieces), has_read: false }
    }
}

impl Body for Export {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if mem::take(&mut self.has_read) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_read = true;
        Poll::Ready(self.pieces.next().map(|piece| Ok(Frame::data(piece.into()))))
    }
}

/// Exports all tables, or those of an account, or one table.
pub(super) fn get(shared: &Shared, query: &Query) -> Result<Export, Refusal> {
    query.allow(&["account", "table"])?;
    let accounts = query.accounts(shared)?;
    let table = query.get("table");
    let has = |name| accounts.iter().any(|account| account.service.row_count(name).is_some());
    if let Some(name) = table.filter(|name| !has(name)) {
        let text = format!("the table {name} does not exist");
        return Err(Refusal::new(StatusCode::NOT_FOUND, text));
    }
    let exports: Vec<_> =
        accounts.into_iter().map(|account| account.service.export(table)).collect();
    Ok(Export::new(exports.into_iter().flatten()))
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn an_export_yields_after_each_piece() {
        let mut export = Export::new(["a".to_owned(), "b".to_owned()].into_iter());
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = || Pin::new(&mut export).poll_frame(&mut context);
        for piece in ["a", "b"] {
            let Poll::Ready(Some(Ok(frame))) = poll() else { panic!("no piece {piece}") };
            assert_eq!(frame.into_data().unwrap(), piece);
            assert!(poll().is_pending());
        }
        assert!(matches!(poll(), Poll::Ready(None)));
    }
}
