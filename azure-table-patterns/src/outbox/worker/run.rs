//! A worker that makes one pass after another until it is stopped.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use azure_table_client::entity::TableEntity;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};

use super::{Item, Worker};
use crate::Error;

impl<W: TableEntity> Worker<W> {
    /// Runs `steps` for each item, pass after pass, until `stop` is ready: a signal, or [`pending`](std::future::pending)
    /// for ever. It renews the lease of an item while its steps run, and drops them if the lease is lost. The result of the
    /// steps ends the item like [`end`](Self::end), so that an item whose steps fail runs again after its
    /// [wait](Self::waits).
    ///
    /// Between two passes it waits for the [interval](Self::interval). A pass that fails because the service cannot be
    /// reached or is busy is repeated after it. Steps that are running when `stop` is ready are completed. If the future is
    /// dropped instead, their item becomes free when its lease ends.
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
            match self.next().await {
                Ok(Some(item)) => {
                    self.run_steps(item, &mut steps).await;
                    if stop.as_mut().now_or_never().is_some() {
                        return Ok(());
                    }
                    continue;
                }
                Ok(None) => {}
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
            (self.on_pass)(&self.pass);
            let pause = self.outbox.table.clock().sleep(self.interval);
            if let Either::Left(_) = select(stop.as_mut(), pause).await {
                return Ok(());
            }
        }
    }

    async fn run_steps<E: fmt::Display, F: Future<Output = Result<(), E>>>(
        &mut self,
        item: Item<W>,
        steps: &mut impl FnMut(Item<W>) -> F,
    ) {
        let held = Arc::clone(&item.held);
        let ended = match held.guard.hold(steps(item)).await {
            Ok(ended) => ended.map_err(|error| error.to_string()),
            Err(lost) => Err(lost.to_string()),
        };
        self.end_held(&held, ended).await;
    }
}
