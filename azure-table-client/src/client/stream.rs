use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use futures_core::Stream;

use super::page::{Page, QueryCost};
use crate::error::Error;

/// The results of a query one by one. It ends after the first error.
pub struct EntityStream<T> {
    pages: Pin<Box<dyn Stream<Item = Result<Page<T>, Error>> + Send>>,
    entities: vec::IntoIter<T>,
    /// The next page is asked for when no more than this many are left.
    low: usize,
    ahead: Ahead<T>,
    cost: QueryCost,
}

enum Ahead<T> {
    /// Not there yet.
    Unknown,
    Page(Result<Page<T>, Error>),
    End,
}

impl<T> EntityStream<T> {
    pub(super) fn of(pages: impl Stream<Item = Result<Page<T>, Error>> + Send + 'static) -> Self {
        Self {
            pages: Box::pin(pages),
            entities: Vec::new().into_iter(),
            low: 0,
            ahead: Ahead::Unknown,
            cost: QueryCost::default(),
        }
    }

    /// What the pages took whose rows were given out, wholly or in part.
    pub const fn cost(&self) -> QueryCost {
        self.cost
    }
}

/// Nothing in it is pinned in place.
impl<T> Unpin for EntityStream<T> {}

impl<T> Stream for EntityStream<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if matches!(this.ahead, Ahead::Unknown) && this.entities.len() <= this.low {
                this.ahead = match this.pages.as_mut().poll_next(context) {
                    Poll::Pending => Ahead::Unknown,
                    Poll::Ready(Some(page)) => Ahead::Page(page),
                    Poll::Ready(None) => Ahead::End,
                };
            }
            if let Some(entity) = this.entities.next() {
                return Poll::Ready(Some(Ok(entity)));
            }
            match std::mem::replace(&mut this.ahead, Ahead::Unknown) {
                Ahead::Unknown => return Poll::Pending,
                Ahead::Page(Ok(page)) => {
                    this.cost += page.cost;
                    this.low = page.entities.len() / 2;
                    this.entities = page.entities.into_iter();
                }
                Ahead::Page(Err(error)) => {
                    this.ahead = Ahead::End;
                    return Poll::Ready(Some(Err(error)));
                }
                Ahead::End => {
                    this.ahead = Ahead::End;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl<T> fmt::Debug for EntityStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityStream").field("cost", &self.cost).finish_non_exhaustive()
    }
}
