//! A worker that makes one pass after another until it is stopped.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;

use azure_table_client::TableEntity;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};

use super::{Item, Worker};
use crate::Error;

impl<W: TableEntity> Worker<W> {
    /// Runs `steps` for each item, pass after pass, until `stop` is ready: a signal, or [`pending`](std::future::pending)
    /// for ever. It renews the lease of an item while its steps run, and drops them if the lease is lost, unless they have
    /// called [`Item::finish`]. The result of the steps ends the item like [`end`](Self::end), so that an item whose steps
    /// fail runs again after its [wait](Self::waits).
    ///
    /// Between two passes it waits for the [interval](Self::interval). A pass that fails because the service cannot be
    /// reached or is busy is repeated after it; its [`Pass::error`](super::Pass::error) is reported. Without
    /// [`partitions`](Self::partitions), each pass scans the table.
    ///
    /// `stop` is noticed while the steps of an item run, which are completed, and between two passes, but not during the
    /// queries of a pass that acquires no item. If the future is dropped instead, the item becomes free when its lease ends.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next) that do not pass, such as a table that does not exist.
    pub async fn run<E: fmt::Display, F: Future<Output = Result<(), E>>>(
        &mut self,
        mut steps: impl FnMut(Item<W>) -> F,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let mut stop = pin!(stop);
        loop {
            let is_stopped = self.run_pass(&mut steps, stop.as_mut()).await?;
            (self.on_pass)(&self.pass);
            if is_stopped {
                return Ok(());
            }
            let pause = self.outbox.table.clock().sleep(self.interval);
            if let Either::Left(_) = select(stop.as_mut(), pause).await {
                return Ok(());
            }
        }
    }

    /// Makes a pass, which ends early if `stop` is ready after an item. Returns whether it was.
    async fn run_pass<E: fmt::Display, F: Future<Output = Result<(), E>>>(
        &mut self,
        steps: &mut impl FnMut(Item<W>) -> F,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<bool, Error> {
        loop {
            match self.next().await {
                Ok(Some(item)) => self.run_steps(item, steps).await,
                Ok(None) => return Ok(false),
                // The report of the pass has the error.
                Err(error) if error.may_pass() => return Ok(false),
                Err(error) => return Err(error),
            }
            if stop.as_mut().now_or_never().is_some() {
                // Another `run` begins a pass of its own, so that no item is reported twice.
                self.cursor = None;
                return Ok(true);
            }
        }
    }

    async fn run_steps<E: fmt::Display, F: Future<Output = Result<(), E>>>(
        &mut self,
        item: Item<W>,
        steps: &mut impl FnMut(Item<W>) -> F,
    ) {
        let held = Arc::clone(&item.held);
        let ended = {
            let mut steps = pin!(steps(item));
            match held.guard.hold(steps.as_mut()).await {
                Ok(ended) => ended.map_err(|error| error.to_string()),
                // The steps gave the lease up themselves, and may have more to do.
                Err(_) if held.is_finished() => steps.await.map_err(|error| error.to_string()),
                Err(lost) => Err(lost.to_string()),
            }
        };
        self.end_held(&held, ended).await;
    }
}
