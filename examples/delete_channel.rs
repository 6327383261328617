//! Consistency across tables (the "Windows Azure Table" paper, 7.2): a channel is deleted with all its
//! blogs, which are in another table, despite crashes at any point.
//!
//! No transaction spans two tables. The deletion is therefore a work item in an outbox: the transaction that marks the
//! channel as deleted inserts it, and it stays until all of it is done. If a worker dies, another one takes the item
//! over. The paper has a queue for this; an item in the channel's own partition cannot be lost between the two.
//!
//! `cargo run -p azure-table-examples --example delete_channel` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator. The steps are in
//! `delete_channel/deletion.rs`. The tests kill them at each request, and stall workers for longer than their lease:
//! `azure-table-patterns/tests/it/delete_channel.rs`.

#[path = "delete_channel/deletion.rs"]
mod deletion;

use std::error::Error;
use std::time::SystemTime;

use azure_table_client::client::{TableSet as _, Transaction};
use azure_table_client::entity::Descending;
use chrono::{DateTime, TimeDelta};

use deletion::{Blog, CHANNEL_KIND, Channel, Database, TRANSACTION, delete, request_deletion};

const NAME: &str = "Doomed";
const BLOGS: i64 = 205;

async fn fill(database: &Database) -> Result<(), azure_table_client::Error> {
    let (name, kind) = (NAME.to_owned(), CHANNEL_KIND.to_owned());
    let created = SystemTime::now().into();
    let channel = Channel { name, kind, created, owner: "joe".to_owned(), deleted: false };
    database.channels.insert_or_replace(&channel).await?;
    let blog = |minute| Blog {
        channel: NAME.to_owned(),
        posted: Descending(DateTime::UNIX_EPOCH + TimeDelta::minutes(minute)),
        text: "Hello".to_owned(),
    };
    let blogs: Vec<_> = (0..BLOGS).map(blog).collect();
    for some in blogs.chunks(TRANSACTION) {
        some.iter().fold(database.blogs.transaction(), Transaction::insert_or_replace).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let database = Database::open(&service);
    let created = database.create_if_not_exists().await?;
    fill(&database).await?;
    steps.done("a channel of 205 blogs", "");

    request_deletion(&database, NAME).await?;
    steps.done("a deletion is requested", "");

    let mut worker = database.outbox().worker("example");
    while let Some(mut item) = worker.next().await? {
        let ended = delete(&database, &mut item).await;
        worker.end(item, ended).await;
    }
    steps.done("a worker deletes the channel", format!("{} channel deleted", worker.pass().done));

    let channels = database.channels.query().partition(NAME).count().await?;
    let blogs = database.blogs.query().partition(NAME).count().await?;
    steps.done("count the rows that are left", format!("{} rows", channels + blogs));
    if channels + blogs > 0 {
        return Err("the tables are not consistent".into());
    }
    for name in created {
        service.delete_table(&name).await?;
    }
    steps.done("delete the tables that this run created", "");
    steps.total();
    Ok(())
}
