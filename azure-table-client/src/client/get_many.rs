//! Reads of many entities by their keys.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::setters::{awaited, setters};
use crate::client_core::{ClientCore, QueryLimits};
use crate::entity::TableEntity;
use crate::error::{Error, ErrorCode};
use crate::operation::{Request, Stored, entity};
use crate::pipeline::{CallOptions, CallTrace};
use crate::query::{CONCURRENCY, TotalDeadline};
use crate::wire::Operation;

/// Reads of many entities by their keys: one request each, by default up to 8 of them at the same time.
///
/// `.await` returns the entities in the order of the keys; `None` where none exists. A key that occurs twice is read
/// twice.
///
/// ```
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// # blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// # blogs.insert(&DynamicEntity::new("PDC", "7")).await?;
/// let found = blogs.get_many([("PDC", "7"), ("PDC", "8"), ("Channel9", "1")]).await?;
/// let found: Vec<bool> = found.iter().map(Option::is_some).collect();
/// assert_eq!(found, [true, false, true]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The first error, in the order of the keys; the other entities are then lost. The errors are those of
/// [`get_if_exists`](super::TableClient::get_if_exists). If a key is invalid, nothing is sent.
///
/// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
/// Retries: [read](crate::guide::errors#retry-classes), each entity by itself.
#[must_use = "a call is sent when it is awaited"]
pub struct GetMany<T> {
    core: Arc<ClientCore>,
    table: Arc<str>,
    requests: Result<Vec<Request>, Error>,
    concurrency: usize,
    limits: QueryLimits,
    options: CallOptions,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> GetMany<T> {
    pub(super) fn new(
        core: &Arc<ClientCore>,
        table: &Arc<str>,
        requests: Result<Vec<Request>, Error>,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            table: Arc::clone(table),
            requests,
            concurrency: CONCURRENCY,
            limits: QueryLimits::default(),
            options: CallOptions::default(),
            entity: PhantomData,
        }
    }

    /// Sets the maximum number of requests in flight; the default is 8, the minimum 1.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.max(1);
        self
    }

    setters! { options:
        deadline "each entity (see `total_deadline` for the whole call)", retry,
        client_request_id, format, primary_only
    }

    setters! { limits: total_deadline "call" }

    async fn send(self) -> Result<Vec<Option<Stored<T>>>, Error> {
        let requests = self.requests?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let trace = self.core.trace(Operation::Get, &*self.table).batch(requests.len());
        let trace = trace.expecting(Some(ErrorCode::is_missing_entity));
        let total_deadline = TotalDeadline::new(self.limits.or(self.core.settings.limits));
        let mut reads = Vec::with_capacity(requests.len());
        for request in &requests {
            reads.push(read(&self.core, request, &self.options, &total_deadline, &trace));
        }
        trace.run(stream::iter(reads).buffered(self.concurrency).try_collect()).await
    }
}

async fn read<T: TableEntity>(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    total_deadline: &TotalDeadline,
    trace: &CallTrace<'_>,
) -> Result<Option<Stored<T>>, Error> {
    let read = |reply| entity::fetched_if_exists(reply, request);
    let options = total_deadline.options(options, core);
    let options =
        options.map_err(|late| late.about(request.operation, &request.resource, || None))?;
    let found = core.read(request, &options, trace, read).await?;
    if found.is_some() {
        trace.row();
    }
    Ok(found)
}

awaited!(
    'static [T: TableEntity + 'static] GetMany<T> => Result<Vec<Option<Stored<T>>>, Error>,
    |call| call.send()
);

opaque_debug!(<T> GetMany<T>, |it| table: it.table, keys: it.requests.as_ref().map(Vec::len));
