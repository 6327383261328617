//! Consistency across tables (the "Windows Azure Table" paper, 7.2): a channel is deleted with all its
//! blogs, which are in another table, despite crashes at any point.
//!
//! No transaction spans two tables. The transaction that marks the channel therefore inserts a work item into an outbox,
//! which stays until all is done: if a worker dies, another one takes the item over. `delete_channel/deletion.rs` has the
//! steps. `delete_channel/tests.rs` kills and stalls them at each request.
//!
//! `cargo run -p azure-table-examples --example delete_channel` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

#[path = "delete_channel/deletion.rs"]
mod deletion;

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::TableSet as _;
use chrono::Utc;

use deletion::{Channel, Database, delete, request_deletion};

const NAME: &str = "Doomed";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let database = Database::open(&service);
    let created_tables = database.create_if_not_exists().await?;
    let (name, created, owner) = (NAME.to_owned(), Utc::now(), "joe".to_owned());
    let channel = Channel { name, created, owner, deleted: false };
    database.channels.insert_or_replace(&channel).await?;
    let blogs = (0..205).map(|n| DynamicEntity::new(NAME, format!("{n:03}")).with("Text", "Hello"));
    database.blogs.bulk().run(blogs.map(BulkOperation::InsertOrReplace)).await?;
    steps.done("a channel of 205 blogs", "");

    request_deletion(&database, NAME).await?;
    steps.done("a deletion is requested", "");
    let mut worker = database.outbox()?.worker("example");
    let database = &database;
    let delete = |mut item| async move { delete(database, &mut item).await };
    // A server passes the signal that stops it; this program stops after the first item.
    worker.run(delete, async {}).await?;
    steps.done("a worker deletes the channel", format!("{} channel deleted", worker.pass().done));

    let channels = database.channels.query().partition(NAME).count().await?;
    let left = channels + database.blogs.query().partition(NAME).count().await?;
    steps.done("count the rows that are left", format!("{left} rows"));
    if left > 0 {
        return Err("the tables are not consistent".into());
    }
    for name in created_tables {
        service.delete_table(&name).await?;
    }
    steps.done("delete the tables that this run created", "");
    steps.total();
    Ok(())
}
