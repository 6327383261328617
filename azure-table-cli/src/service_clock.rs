//! The time of a service, by which it stamps its rows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use azure_table_client::edm::EdmDateTime;
use azure_table_client::telemetry::{Observer, Received};
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};
use chrono::DateTime;

use crate::connect::{Connection, DialectName, Target};
use crate::failure::Result;

/// Keeps the `Date` of the last response. The clock of this machine plays no part.
#[derive(Debug, Default)]
pub(crate) struct ServiceClock(Mutex<Option<EdmDateTime>>);

impl ServiceClock {
    /// Returns the client of an account, whose responses set this clock. Nothing is sent.
    pub(crate) fn observe(
        self: &Arc<Self>,
        (account, dialect): (Target, Option<DialectName>),
        connection: &Connection,
    ) -> Result<TableServiceClient> {
        Ok(account.builder(connection, dialect)?.observer(self.clone()).build()?)
    }

    /// Requests the keys of one row of the table, and returns the time of the response, without its fraction of a second; `None` if the
    /// service sends no time.
    pub(crate) async fn now(
        &self,
        table: &TableClient<DynamicEntity>,
    ) -> Result<Option<EdmDateTime>> {
        self.set(None);
        // A property that cannot be read does not matter here.
        table.query().allow_scan().select_names(["PartitionKey"]).take(1).await?;
        Ok(*self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, time: Option<EdmDateTime>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }
}

impl Observer for ServiceClock {
    fn after_receive(&self, received: &Received<'_>) {
        if let Some(time) = received.header("date").and_then(parse) {
            self.set(Some(time));
        }
    }
}

/// Reads `Fri, 10 Nov 2017 12:00:00 GMT`.
fn parse(date: &str) -> Option<EdmDateTime> {
    let time = DateTime::parse_from_rfc2822(date).ok()?;
    EdmDateTime::from_system_time(SystemTime::from(time)).ok()
}

#[cfg(test)]
mod tests {
    use azure_table_client::mock::MockTableService;

    use super::*;

    #[test]
    fn dates_of_responses_are_read() {
        let time = parse("Fri, 10 Nov 2017 12:00:00 GMT").unwrap();
        assert_eq!(time.to_string(), "2017-11-10T12:00:00.0000000Z");
        for bad in ["", "yesterday", "Fri, 31 Feb 2017 12:00:00 GMT"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn the_time_is_that_of_the_service() {
        let (mock, clock) = (MockTableService::new(), Arc::new(ServiceClock::default()));
        let service = mock.client_builder().observer(clock.clone()).build().unwrap();
        let table = service.table_named::<DynamicEntity>("Blogs");
        clock.now(&table).await.unwrap_err();
        table.create().await.unwrap();
        let before = clock.now(&table).await.unwrap().unwrap();
        mock.faults().clock_ahead(std::time::Duration::from_secs(90));
        let after = clock.now(&table).await.unwrap().unwrap();
        assert_eq!(after.ticks() - before.ticks(), 90 * 10_000_000);
    }
}
