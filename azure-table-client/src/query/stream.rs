//! The results of a query one by one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use futures_core::Stream;

use super::page::{Page, QueryCost};
use crate::error::Error;

/// The results of a query one by one. The stream ends after the first error.
pub struct EntityStream<T> {
    pages: Pin<Box<dyn Stream<Item = Result<Page<T>, Error>> + Send>>,
    entities: vec::IntoIter<T>,
    /// The next page is requested once at most this many entities are left.
    low: usize,
    next: NextPage<T>,
    cost: QueryCost,
}

enum NextPage<T> {
    /// Not requested, or in flight.
    Pending,
    Ready(Result<Page<T>, Error>),
    End,
}

impl<T> EntityStream<T> {
    pub(crate) fn new(pages: impl Stream<Item = Result<Page<T>, Error>> + Send + 'static) -> Self {
        Self {
            pages: Box::pin(pages),
            entities: Vec::new().into_iter(),
            low: 0,
            next: NextPage::Pending,
            cost: QueryCost::default(),
        }
    }

    /// The cost of the pages that at least one row was read from.
    pub const fn cost(&self) -> QueryCost {
        self.cost
    }
}

/// The inner stream is pinned on the heap.
impl<T> Unpin for EntityStream<T> {}

impl<T> Stream for EntityStream<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if matches!(this.next, NextPage::Pending) && this.entities.len() <= this.low {
                this.next = match this.pages.as_mut().poll_next(context) {
                    Poll::Pending => NextPage::Pending,
                    Poll::Ready(Some(page)) => NextPage::Ready(page),
                    Poll::Ready(None) => NextPage::End,
                };
            }
            if let Some(entity) = this.entities.next() {
                return Poll::Ready(Some(Ok(entity)));
            }
            match std::mem::replace(&mut this.next, NextPage::Pending) {
                NextPage::Pending => return Poll::Pending,
                NextPage::Ready(Ok(page)) => {
                    this.cost += page.cost;
                    this.low = page.entities.len() / 2;
                    this.entities = page.entities.into_iter();
                }
                NextPage::Ready(Err(error)) => {
                    this.next = NextPage::End;
                    return Poll::Ready(Some(Err(error)));
                }
                NextPage::End => {
                    this.next = NextPage::End;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

opaque_debug!(<T> EntityStream<T>, |it| cost: it.cost);
