use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use uuid::Uuid;

use super::setters::{awaited, setters};
use crate::client_core::ClientCore;
use crate::error::Error;
use crate::operation::Committed;
use crate::operation::{Reply, Request};
use crate::outcome;
use crate::pipeline::{CallOptions, Expects};

/// A call that is sent when it is awaited. Its setters change one call.
///
/// ```
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// blogs
///     .insert(&DynamicEntity::new("Channel9", "1"))
///     .deadline(Duration::from_secs(5))
///     .client_request_id("import-42")
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// `into_future` returns the future, for `tokio::spawn`, `join!` and the like. It borrows nothing:
///
/// ```
/// # use std::future::IntoFuture;
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// let task = tokio::spawn(blogs.insert(&DynamicEntity::new("Channel9", "1")).into_future());
/// let inserted = task.await??;
/// # let _ = inserted.etag;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<T> {
    core: Arc<ClientCore>,
    request: Result<Request, Error>,
    read: Read<T>,
    options: CallOptions,
    write_id: Option<Uuid>,
    expects: Option<Expects>,
}

/// Reads the result of a call.
enum Read<T> {
    /// From the response.
    Reply(fn(Reply, &Request) -> Result<T, Error>),
    /// From the settled outcome of a write.
    Outcome(fn(Result<Committed, Error>) -> Result<T, Error>),
}

impl<T> Call<T> {
    pub(super) fn new(
        core: &Arc<ClientCore>,
        request: Result<Request, Error>,
        read: fn(Reply, &Request) -> Result<T, Error>,
    ) -> Self {
        Self::with_read(core, request, Read::Reply(read))
    }

    /// A write, whose outcome is settled if its response is lost.
    pub(super) fn write(
        core: &Arc<ClientCore>,
        request: Result<Request, Error>,
        read: fn(Result<Committed, Error>) -> Result<T, Error>,
    ) -> Self {
        Self::with_read(core, request, Read::Outcome(read))
    }

    fn with_read(core: &Arc<ClientCore>, request: Result<Request, Error>, read: Read<T>) -> Self {
        let (core, options) = (Arc::clone(core), CallOptions::default());
        Self { core, request, read, options, write_id: None, expects: None }
    }

    /// Sets the error codes that observers do not count as failures.
    pub(super) fn expecting(mut self, expects: Expects) -> Self {
        self.expects = Some(expects);
        self
    }

    /// Replaces all settings.
    pub(super) fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    setters! { options:
        deadline "the whole call", retry, client_request_id, format, primary_only, proof,
        write_id
    }

    async fn send(self) -> Result<T, Error> {
        let mut request = self.request?;
        if let Some(id) = self.write_id {
            request.set_write_id(id)?;
        }
        let trace = self.core.trace(request.operation, &request.resource);
        let trace = trace.expecting(self.expects);
        // Pinned here, since a future that is passed on by value is stored twice and copied.
        let work = pin!(async {
            let read = match self.read {
                Read::Reply(read) => read,
                Read::Outcome(read) => {
                    let settled = outcome::write(&self.core, &request, &self.options, &trace);
                    return read(settled.await);
                }
            };
            let read = |reply: Reply| {
                let is_row = request.operation.is_entity_read() && reply.status.is_success();
                let value = read(reply, &request)?;
                if is_row {
                    trace.row();
                }
                Ok(value)
            };
            self.core.read(&request, &self.options, &trace, read).await
        });
        trace.run(work).await
    }
}

awaited!('static [T: Send + 'static] Call<T> => Result<T, Error>, |call| call.send());

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.request.as_ref().map(|r| (r.operation, r.resource.as_str()));
        f.debug_struct("Call").field("operation", &operation).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "mock"))]
mod tests {
    use crate::entity::DynamicEntity;
    use crate::mock::MockTableService;

    #[test]
    fn the_future_of_a_call_is_small() {
        let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
        let get = size_of_val(&blogs.get(("a", "b")).send());
        let insert = size_of_val(&blogs.insert(&DynamicEntity::new("a", "b")).send());
        // Each call allocates its future. With `entra` it can wait for a token.
        let limit = if cfg!(feature = "entra") { 3328 } else { 3072 };
        assert!(get <= limit && insert <= limit, "{get}, {insert}");
    }
}
