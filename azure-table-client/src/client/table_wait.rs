//! Tables that are being deleted: the service needs about half a minute to free their names.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::TableServiceClient;
use crate::entity::DynamicEntity;
use crate::error::{Error, ErrorCode};
use crate::operation::Done;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl TableServiceClient {
    /// Creates a table. While another of its name is still being deleted (409 `TableBeingDeleted`), it is
    /// tried again after 1 to 5 s, for `deadline` at most; the service states 40 s and more for a deletion.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let service = MockTableService::new().client();
    /// # service.create_table("Blogs").await?;
    /// service.delete_table("Blogs").await?;
    /// service.create_table_and_wait("Blogs", Duration::from_mins(2)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`create_table`](Self::create_table); 409 `TableBeingDeleted` if it still is after `deadline`.
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [composite](crate::guide::errors#which-calls-are-tried-again).
    pub async fn create_table_and_wait(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<Done, Error> {
        let mut waits = Waits::new(deadline);
        loop {
            match self.create_table(name).expecting(is_being_deleted).await {
                Err(error) if is_going(&error) => waits.next(error).await?,
                created => return created,
            }
        }
    }

    /// Deletes a table with all its entities, and waits until the service is done with that: its name can be
    /// used again when this returns. The table is asked for a row every 1 to 5 s, for `deadline` at most.
    ///
    /// # Errors
    /// As [`delete_table`](Self::delete_table); 409 `TableBeingDeleted` if it still is after `deadline`, or was
    /// before. The table is gone for all other calls then as well.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [composite](crate::guide::errors#which-calls-are-tried-again).
    pub async fn delete_table_and_wait(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<Done, Error> {
        let mut waits = Waits::new(deadline);
        let deleted = self.delete_table(name).await?;
        loop {
            let rows = self.table_named::<DynamicEntity>(name).query().page_size(1);
            match rows.pages().next().await {
                Some(Err(error)) if is_going(&error) => waits.next(error).await?,
                // It is not there, or there again.
                Some(Err(error)) if error.status() != Some(404) => return Err(error),
                _ => return Ok(deleted),
            }
        }
    }
}

fn is_being_deleted(code: &ErrorCode) -> bool {
    *code == ErrorCode::TABLE_BEING_DELETED
}

fn is_going(error: &Error) -> bool {
    error.code().is_some_and(is_being_deleted)
}

struct Waits {
    until: Option<Instant>,
    next: Duration,
}

impl Waits {
    fn new(deadline: Duration) -> Self {
        Self { until: Instant::now().checked_add(deadline), next: FIRST_WAIT }
    }

    /// Waits; the error if there is no time left for that.
    async fn next(&mut self, error: Error) -> Result<(), Error> {
        let wait = self.next;
        self.next = (wait * 2).min(LONGEST_WAIT);
        if self.until.is_some_and(|until| Instant::now() + wait > until) {
            return Err(error);
        }
        sleep(wait).await;
        Ok(())
    }
}
