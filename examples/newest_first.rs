//! Newest first, and prefixes: the two orders that cost nothing, since the rows are stored in them.
//!
//! The service sorts by the keys, in ascending order, and has no `ORDER BY`. So the rows that are needed first
//! must come first in the keys: `Descending` reverses the order of a time, so that "the last three" is a query that
//! stops after three rows. A key of several parts can be queried by its leading parts, so that
//! one table serves queries about a door and about a whole building.
//!
//! `cargo run -p azure-table-examples --example newest_first` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::entity::Descending;
use azure_table_client::filter::PlanKind;
use azure_table_client::{TableClient, TableEntity};
use chrono::{DateTime, TimeDelta, TimeZone, Utc};

/// A door of a building was opened with a badge. The number distinguishes the entries of one instant.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", partition_key(building, door), row_key(at, number))]
struct Entry {
    building: String,
    door: u16,
    at: Descending<DateTime<Utc>>,
    number: u32,
    badge: String,
}

fn at(hour: u32, minute: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2009, 4, 14, hour, minute, 0).earliest().unwrap_or(DateTime::UNIX_EPOCH)
}

/// Three doors in `Main` and `Mainz`, each opened every ten minutes from 8 to 10 o'clock, oldest first.
fn entries() -> impl Iterator<Item = BulkOperation<Entry>> {
    let doors = [("Main", 1), ("Main", 2), ("Mainz", 1)];
    doors.into_iter().flat_map(|(building, door)| {
        (0..12).map(move |number| {
            let at = Descending(at(8, 0) + TimeDelta::minutes(10 * i64::from(number)));
            let badge = if number % 2 == 0 { "joe" } else { "ann" }.to_owned();
            BulkOperation::Insert(Entry { building: building.to_owned(), door, at, number, badge })
        })
    })
}

fn times(entries: &[Entry]) -> String {
    let times = entries.iter().map(|entry| {
        format!("{} {} at {}", entry.building, entry.door, entry.at.0.format("%H:%M"))
    });
    times.collect::<Vec<_>>().join(", ")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let log: TableClient<Entry> = service.table_named(azure_table_examples::unique("ExampleDoors"));
    log.create().await?;
    let report = log.bulk().run(entries()).await?;
    steps.done("write the entries of three doors, oldest first", report.to_string());

    let newest = log.query().filter(|e| e.partition_key.eq(("Main", 1))).take(3).await?;
    assert_eq!(times(&newest), "Main 1 at 09:50, Main 1 at 09:40, Main 1 at 09:30");
    assert_eq!((newest.cost.rows, newest.cost.requests), (3, 1));
    steps.done("the last three of a door", times(&newest));

    let since = at(9, 30);
    let newer =
        log.query().filter(|e| e.partition_key.eq(("Main", 1)) & e.row_key.newer_than((since,)));
    assert_eq!(newer.plan()?.kind, PlanKind::RowRange);
    let newer = newer.await?;
    assert_eq!(newer.len(), 2);
    steps.done("the entries since 09:30", times(&newer));

    let (from, to) = (at(8, 30), at(9, 0));
    let half_hour = log.query().filter(|e| {
        let is_within = e.row_key.newer_or_equal((from,)) & e.row_key.older_or_equal((to,));
        e.partition_key.eq(("Main", 1)) & is_within
    });
    let half_hour = half_hour.await?;
    assert_eq!(half_hour.len(), 4);
    steps.done("from 08:30 to 09:00, both included", times(&half_hour));

    let mut pages = log.query().filter(|e| e.partition_key.eq(("Main", 2))).page_size(5).pages();
    let first = pages.next().await.ok_or("no page")??;
    // As text it can be part of a link, which another process follows.
    let next = first.continuation.ok_or("no second page")?.to_string();
    let rest = log
        .query()
        .filter(|e| e.partition_key.eq(("Main", 2)))
        .start_at(next.parse()?)
        .take(5)
        .await?;
    assert!(first.entities.last().map(|e| e.at.0) > rest.first().map(|e| e.at.0));
    steps.done("a page of five, and the five before them", times(&rest));

    // Leading parts are whole: Main is not Mainz.
    let building = log.query().filter(|e| e.partition_key.starts_with(("Main",)));
    assert_eq!(building.plan()?.kind, PlanKind::PartitionRange);
    let building = building.await?;
    assert_eq!(building.len(), 24);
    assert!(building.iter().all(|entry| entry.building == "Main"));
    steps.done("all doors of a building", building.cost.to_string());

    // A text is a prefix of the first part.
    let both = log.query().filter(|e| e.partition_key.starts_with("Main")).count().await?;
    assert_eq!(both, 36);
    steps.done("all buildings that begin with Main", format!("{both} entries"));

    // The badge is not part of a key, so this scans every row: on a large table, add a key for it.
    let of_joe = log.query().filter(|e| e.badge.eq("joe"));
    assert_eq!(of_joe.plan()?.kind, PlanKind::TableScan);
    let plan = of_joe.plan()?.to_string();
    assert_eq!(of_joe.await?.len(), 18);
    steps.done("the doors of a badge, which is not part of a key", plan);

    log.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}
