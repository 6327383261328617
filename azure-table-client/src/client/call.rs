use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::client_core::ClientCore;
use crate::error::Error;
use crate::operation::{Reply, Request};
use crate::outcome;
use crate::pipeline::{CallOptions, Expects, RetryPolicy};
use crate::wire::PayloadFormat;

/// A call that is ready to be sent: set what is special about it, then `.await` it.
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
    pipeline: Arc<ClientCore>,
    request: Result<Request, Error>,
    read: fn(Reply, &Request) -> Result<T, Error>,
    options: CallOptions,
    expects: Option<Expects>,
}

impl<T> Call<T> {
    pub(super) fn new(
        pipeline: &Arc<ClientCore>,
        request: Result<Request, Error>,
        read: fn(Reply, &Request) -> Result<T, Error>,
    ) -> Self {
        let (pipeline, options) = (Arc::clone(pipeline), CallOptions::default());
        Self { pipeline, request, read, options, expects: None }
    }

    /// These refusals are no errors to those who watch.
    pub(super) fn expecting(mut self, expects: Expects) -> Self {
        self.expects = Some(expects);
        self
    }

    /// All settings at once.
    pub(super) fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// The time for the whole call, all attempts and waits included.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// When and how often this call is tried again, instead of the client's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = Some(policy);
        self
    }

    /// The id that the service logs with the call (`x-ms-client-request-id`), at most 1,024
    /// visible ASCII characters. Without it, each call has a random UUID.
    pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
        self.options.client_request_id = Some(id.into());
        self
    }

    /// The format of the answer, instead of the client's: a [`PayloadFormat`], or a level of JSON. An
    /// entity that is written travels in the client's format whatever this says.
    ///
    /// # Errors
    /// A format that does not go with the client's version of the service is one of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent.
    pub fn format(mut self, format: impl Into<PayloadFormat>) -> Self {
        self.options.format = Some(format.into());
        self
    }

    /// A row in the state that this write leaves does not count as success: another program may have
    /// written the same. Use it where an insert, a delete or a table serves as a lock. What then cannot
    /// be proved is [unknown](Error::outcome).
    pub fn exact(mut self) -> Self {
        self.options.exact = Some(true);
        self
    }

    /// Whether a row in the state that this update leaves counts as success although the response was
    /// lost and the update is conditional on an ETag. It does not by default, because two programs that
    /// compute the same value look alike: a counter would lose an increment. It is for updates that may
    /// be repeated without harm.
    pub fn accept_matching_state(mut self, accept: bool) -> Self {
        self.options.accept_matching_state = Some(accept);
        self
    }

    /// The id of this write, in place of a random one, for
    /// [`was_applied`](crate::TableClient::was_applied).
    ///
    /// # Errors
    /// Of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), before anything is sent: the client has no
    /// [`write_id_column`](crate::client::TableServiceClientBuilder::write_id_column), or the call
    /// deletes.
    pub fn write_id(mut self, id: Uuid) -> Self {
        self.request = self.request.and_then(|mut request| {
            request.set_write_id(id)?;
            Ok(request)
        });
        self
    }

    async fn send(self) -> Result<T, Error> {
        let request = self.request?;
        let trace = self.pipeline.trace(request.operation, &request.resource);
        let trace = trace.expecting(self.expects);
        // Pinned here, since a future that is passed on by value is stored twice and copied.
        let work = pin!(async {
            let resolved = outcome::send(&self.pipeline, &request, &self.options, &trace).await?;
            let reply = resolved.into_reply();
            if request.operation.is_entity_read()
                && request.status_of(reply.status, &reply.headers, &reply.body).is_success()
            {
                trace.row();
            }
            (self.read)(reply, &request)
        });
        trace.run(work).await
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.request.as_ref().map(|r| (r.operation, r.resource.as_str()));
        f.debug_struct("Call").field("operation", &operation).finish_non_exhaustive()
    }
}
