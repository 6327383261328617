//! Entity group transactions: rows that belong together are written together, or not at all.
//!
//! A transaction covers one table and one partition, so rows that must change together have the same
//! PartitionKey: in this example a customer's orders, with their lines and the customer's account. It is one
//! request of up to 100 operations, which is also the cheapest way to write. If one operation fails, no
//! operation is applied, and the error names the failed one.
//!
//! `cargo run -p azure-table-examples --example transactions` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch, TableClient, TableEntity};
use azure_table_examples::Steps;

/// The account of a customer; one row of the partition.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "account")]
struct Account {
    #[table(partition_key)]
    customer: String,
    owed_cents: i64,
}

/// A line of an order. The rows of an order begin with its number.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "order_{order}_{number}")]
struct Line {
    #[table(partition_key)]
    customer: String,
    order: u32,
    number: u32,
    article: String,
    cents: i64,
}

fn line(order: u32, number: u32, cents: i64) -> Line {
    let article = format!("article {number}");
    Line { customer: "joe".to_owned(), order, number, article, cents }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let name = azure_table_examples::unique("ExampleOrders");
    let accounts: TableClient<Account> = service.table_named(&name);
    let lines = accounts.with_entity::<Line>();
    accounts.create().await?;
    let account = Account { customer: "joe".to_owned(), owed_cents: 0 };
    accounts.insert(&account).await?;
    steps.done("a customer who owes nothing", "");

    // Two kinds of rows. The account has the version that was read, so that no concurrent order is lost.
    let read = accounts.get(account.entity_key()?).await?;
    let owes = Account { owed_cents: 300, ..account.clone() };
    let order = accounts.transaction().merge(&owes, &read.etag).with_entity::<Line>();
    let committed = order.insert(&line(1, 1, 100)).insert(&line(1, 2, 200)).await?;
    assert_eq!(committed.operations.len(), 3);
    steps.done("an order of two lines, and the sum that is owed", "three rows in one request");

    // The same again: the account has another version now, and the lines exist.
    let late = accounts.transaction().merge(&owes, &read.etag).with_entity::<Line>();
    let Err(refused) = late.insert(&line(2, 1, 500)).await else {
        return Err("the service accepted an account of an old version".into());
    };
    assert!(refused.is_precondition_failed());
    assert_eq!(refused.batch_index(), Some(0));
    let Err(refused) = lines
        .transaction()
        .insert(&line(2, 1, 500))
        .delete(line(1, 2, 0).entity_key()?, IfMatch::Any)
        .insert(&line(1, 1, 100))
        .await
    else {
        return Err("the service inserted a line twice".into());
    };
    assert!(refused.is_conflict());
    assert_eq!(refused.batch_index(), Some(2));
    assert_eq!(refused.entity_key(), Some(&line(1, 1, 0).entity_key()?));
    // The new lines do not exist, and the old line is not deleted.
    assert_eq!(lines.query().filter(|l| l.row_key.starts_with((2,))).count().await?, 0);
    assert_eq!(lines.query().filter(|l| l.row_key.starts_with((1,))).count().await?, 2);
    steps.done("an order with a line that exists: nothing is applied", refused.to_string());

    not_sent(&lines, &mut steps).await?;

    // The unit of work, as one transaction: a change, an addition and a deletion.
    let mut ctx = TableContext::new(&service);
    let mut joe = ctx
        .load(accounts.query().filter_text("RowKey eq 'account'"))
        .first()
        .await?
        .ok_or("no account")?;
    let stored = ctx.load(lines.query().filter(|l| l.row_key.starts_with((1,)))).await?;
    joe.owed_cents = 700;
    ctx.table_of(&accounts).update(&joe)?;
    ctx.table_of(&lines).delete(&stored[1])?;
    ctx.table_of(&lines).add(&line(2, 1, 600))?;
    assert_eq!(ctx.plan(SaveOptions::atomic())?.len(), 1);
    let report = ctx.save_changes_with(SaveOptions::atomic()).await?;
    assert_eq!(report.applied(), 3);
    assert_eq!(accounts.get(account.entity_key()?).await?.owed_cents, 700);
    steps.done("a context: reads the rows and saves three changes as one", report.to_string());

    accounts.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

/// Transactions that the service would refuse as a whole cost no request.
async fn not_sent(lines: &TableClient<Line>, steps: &mut Steps) -> Result<(), Box<dyn Error>> {
    let of_ann = Line { customer: "ann".to_owned(), ..line(3, 2, 1) };
    let hundred_and_one =
        (1..=101).fold(lines.transaction(), |all, number| all.insert(&line(3, number, 1)));
    let slash = DynamicEntity::new("joe", "order_3/1");
    for (what, error) in [
        ("two partitions", lines.transaction().insert(&line(3, 1, 1)).insert(&of_ann).await.err()),
        (
            "one row twice",
            lines.transaction().insert(&line(3, 1, 1)).insert_or_merge(&line(3, 1, 2)).await.err(),
        ),
        ("101 operations", hundred_and_one.await.err()),
        ("a key with a slash", lines.transaction().with_entity().insert(&slash).await.err()),
        ("no operation", lines.transaction().await.err()),
    ] {
        let error = error.ok_or("an invalid transaction was accepted")?;
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        steps.done(&format!("{what}: not sent"), error.to_string());
    }
    Ok(())
}
