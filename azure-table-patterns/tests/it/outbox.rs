//! The outbox: examples of use and errors, crashes at each request, and chaos.

mod chaos;
mod crashes;
mod input;
mod late_reads;
mod repeated;
mod requests;
mod running;
mod usage;
mod world;

use std::fmt;
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use azure_table_patterns::outbox::{Item, Outbox, Worker};

const TTL: Duration = Duration::from_secs(20);

/// Copies an order to another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Copy {
    #[table(partition_key)]
    city: String,
    #[table(row_key)]
    id: String,
    target: String,
    step: i32,
}

fn copy(id: &str) -> Copy {
    Copy { city: "oslo".to_owned(), id: id.to_owned(), target: "Archive".to_owned(), step: 0 }
}

fn orders(mock: &MockTableService) -> TableClient<DynamicEntity> {
    mock.client().table_named("Orders")
}

fn outbox(mock: &MockTableService) -> Outbox<Copy> {
    Outbox::new(&orders(mock), "copy").unwrap()
}

async fn mock_with_table() -> MockTableService {
    let mock = MockTableService::new();
    orders(&mock).create().await.unwrap();
    mock
}

/// Runs the steps of all items that can be acquired.
async fn pass<E: fmt::Display>(
    worker: &mut Worker<Copy>,
    mut steps: impl AsyncFnMut(&mut Item<Copy>) -> Result<(), E>,
) {
    while let Some(mut item) = worker.next().await.unwrap() {
        let ended = steps(&mut item).await;
        worker.end(item, ended).await;
    }
}
