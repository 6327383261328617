//! Tables that are being deleted: the service needs 40 s or more to free their names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::TableServiceClient;
use crate::clock::SharedClock;
use crate::entity::DynamicEntity;
use crate::error::{Error, ErrorCode};
use crate::operation::ResponseInfo;
use crate::outcome;
use crate::pipeline::CallOptions;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl TableServiceClient {
    /// Creates a table. Retries every 1 to 5 s while another table of its name is being deleted (409
    /// `TableBeingDeleted`), for `deadline` at most; the service states 40 s and more for a deletion.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let service = MockTableService::new().client();
    /// # service.create_table("Blogs").await?;
    /// service.delete_table("Blogs").await?;
    /// service.create_table_and_wait("Blogs", Duration::from_secs(2 * 60)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`create_table`](Self::create_table); 409 `TableBeingDeleted` if the deletion is not over
    /// within `deadline`.
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [composite](crate::guide::errors#retry-classes).
    pub async fn create_table_and_wait(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<ResponseInfo, Error> {
        let mut waits = TableWaits::new(deadline, Arc::clone(&self.core().clock));
        loop {
            let create = self.create_table(name).expecting(is_being_deleted);
            match create.with_options(self.options(&waits)).await {
                Err(error) if reports_deletion(&error) => waits.next(error).await?,
                created => return created,
            }
        }
    }

    /// Deletes a table with all its entities, and waits until the service has finished: the name is free once
    /// this returns. Queries the table every 1 to 5 s, for `deadline` at most.
    ///
    /// # Errors
    /// The errors of [`delete_table`](Self::delete_table); 409 `TableBeingDeleted` if the deletion is not over
    /// within `deadline`. If the table was deleted, and it is unknown whether its name is free, the
    /// [outcome](Error::outcome) is [`Applied`](crate::Outcome::Applied).
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [composite](crate::guide::errors#retry-classes).
    pub async fn delete_table_and_wait(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<ResponseInfo, Error> {
        let mut waits = TableWaits::new(deadline, Arc::clone(&self.core().clock));
        let deleted = self.delete_table(name).with_options(self.options(&waits)).await?;
        // The deletion stays applied, even if a later query fails.
        let done = outcome::applied;
        loop {
            let options = CallOptions {
                // The secondary may still have it.
                primary_only: true,
                format: Some(self.core().protocol.typed().format()),
                ..self.options(&waits)
            };
            let rows = self.table_named::<DynamicEntity>(name).query().allow_scan().page_size(1);
            match rows.with_options(options).pages().next().await {
                Some(Err(error)) if reports_deletion(&error) => {
                    waits.next(error).await.map_err(done)?;
                }
                // The table no longer exists, or exists again.
                Some(Err(error)) if error.status() != Some(404) => return Err(done(error)),
                _ => return Ok(deleted),
            }
        }
    }

    /// For one call: the time that is left, and no more than such a call has.
    fn options(&self, waits: &TableWaits) -> CallOptions {
        let usual = self.core().deadline;
        let left = waits.until.map(|until| waits.clock.until(until));
        match left {
            Some(left) if left < usual => CallOptions {
                deadline: Some(left),
                whole_deadline: Some(waits.deadline),
                ..CallOptions::default()
            },
            _ => CallOptions { deadline: Some(usual), ..CallOptions::default() },
        }
    }
}

fn is_being_deleted(code: &ErrorCode) -> bool {
    *code == ErrorCode::TableBeingDeleted
}

fn reports_deletion(error: &Error) -> bool {
    error.code().is_some_and(is_being_deleted)
}

struct TableWaits {
    deadline: Duration,
    until: Option<Instant>,
    next: Duration,
    clock: SharedClock,
}

impl TableWaits {
    fn new(deadline: Duration, clock: SharedClock) -> Self {
        let until = clock.instant().checked_add(deadline);
        Self { deadline, until, next: FIRST_WAIT, clock }
    }

    /// Waits; the error if there is no time left for that.
    async fn next(&mut self, error: Error) -> Result<(), Error> {
        let wait = self.next;
        self.next = (wait * 2).min(LONGEST_WAIT);
        if self.until.is_some_and(|until| self.clock.until(until) <= wait) {
            return Err(error);
        }
        self.clock.sleep(wait).await;
        Ok(())
    }
}

#[cfg(all(test, feature = "mock"))]
mod tests {
    use super::*;
    use crate::client::LocationMode;
    use crate::mock::{Fault, MockTableService};

    #[tokio::test(start_paused = true)]
    async fn the_lagging_copy_is_not_asked_whether_a_table_is_gone() {
        let lag = Duration::from_secs(60);
        let mock = MockTableService::builder().replication_lag(lag).build();
        let service = TableServiceClient::builder_from_connection_string(&mock.connection_string())
            .unwrap()
            .secondary_endpoint("http://127.0.0.1:10002/devstoreaccount1-secondary")
            .locations(LocationMode::SecondaryThenPrimary)
            .transport(mock.transport())
            .clock(mock.clock())
            .build()
            .unwrap();
        mock.faults().add(Fault::table_being_deleted(Duration::from_secs(40)));
        service.create_table("Blogs").await.unwrap();
        tokio::time::sleep(lag * 2).await;

        let start = tokio::time::Instant::now();
        service.delete_table_and_wait("Blogs", Duration::from_secs(2 * 60)).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(40), "{:?}", start.elapsed());
        service.create_table("Blogs").await.unwrap();
    }
}
