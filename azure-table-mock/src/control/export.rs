//! The export of the tables in pieces, so that no copy of all rows is in memory.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use hyper::body::{Body, Frame};

use super::{Query, Refusal};
use crate::shared::Shared;

/// The body of an export. It reads a piece when the connection is ready for it.
pub(crate) struct Export(Box<dyn Iterator<Item = String> + Send>);

impl Body for Export {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece.into()))))
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
    Ok(Export(Box::new(exports.into_iter().flatten())))
}
