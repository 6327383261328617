//! The social network of the "Windows Azure Table" paper (8.3.3): the posts, photos and other items
//! of a user in one table, newest first, each kind a struct of its own.
//!
//! `cargo run -p azure-table-examples --example timeline` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::client::TableSet;
use azure_table_client::entity::Descending;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, TableClient, TableEntity, TableEnum};
use chrono::{DateTime, TimeZone, Utc};

/// The kinds of entities in the table. The row keys are `<newest first>_<kind>`.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleTimeline", discriminator = "EntityType")]
enum Item {
    Post(Post),
    Photo(Photo),
    /// Entities that newer programs write. They are kept unchanged.
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{posted}_Post")]
struct Post {
    #[table(partition_key)]
    user: String,
    posted: Descending<DateTime<Utc>>,
    text: String,
    category: Category,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{posted}_Photo")]
struct Photo {
    #[table(partition_key)]
    user: String,
    posted: Descending<DateTime<Utc>>,
    uri: String,
    caption: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(rename_all = "lowercase")]
enum Category {
    News,
    Sports,
}

/// The load of a machine: a day in one entity, so that a chart is one read (from the performance
/// checklist: series in one entity).
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleLoad", rename_all = "PascalCase")]
struct Load {
    #[table(partition_key)]
    machine: String,
    #[table(row_key)]
    date: chrono::NaiveDate,
    #[table(series)]
    cpu: [Option<f64>; 24],
}

#[derive(TableSet)]
struct Database {
    timeline: TableClient<Item>,
    load: TableClient<Load>,
}

fn at(day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2009, 4, day, 10, 0, 0).earliest().unwrap_or(DateTime::UNIX_EPOCH)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let database = Database::open(&service);
    let created = database.create_if_not_exists().await?;
    steps.done("create the missing tables", format!("{created:?}"));

    let user = "joe".to_owned();
    for day in 1..=3 {
        let post = Post {
            user: user.clone(),
            posted: Descending(at(day)),
            text: format!("Day {day}"),
            category: if day == 2 { Category::Sports } else { Category::News },
        };
        database.timeline.insert_or_replace(&Item::Post(post)).await?;
    }
    let photo = Photo { user: user.clone(), posted: at(2).into(), uri: "p".into(), caption: None };
    database.timeline.insert_or_replace(&Item::Photo(photo)).await?;
    let mut video =
        DynamicEntity::new("joe", Post::key("joe", at(1))?.row_key.replace("Post", "Video"));
    video.set("EntityType", "Video").set("Length", 90);
    database.timeline.insert_or_replace(&Item::Other(video)).await?;
    steps.done("write posts, a photo, and an entity of an unknown kind", "5 entities");

    let latest = database.timeline.query().matching(&Filter::partition("joe")).take(5).await?;
    let lines: Vec<String> = latest
        .iter()
        .map(|item| match item {
            Item::Post(post) => format!("{:?} ({:?})", post.text, post.category),
            Item::Photo(photo) => format!("photo {}", photo.uri),
            Item::Other(other) => format!("something of {} properties", other.properties().len()),
        })
        .collect();
    let lines = lines.join(", ");
    assert!(lines.starts_with("\"Day 3\" (News), photo p, ") && lines.ends_with("2 properties"));
    steps.done("the latest five, of all kinds", lines);

    let photos = Filter::partition("joe") & Filter::compare("EntityType", CompareOp::Eq, "Photo")?;
    let photos = database.timeline.query().matching(&photos).await?;
    assert!(matches!(&photos[..], [Item::Photo(photo)] if photo.uri == "p"));
    steps.done("the photos for the album", photos.len().to_string());

    let date = at(1).date_naive();
    for (hour, load) in [(9, 0.5), (10, 0.9), (11, 0.7)] {
        // One hour is one property: the others stay unchanged.
        let mut cpu = [None; 24];
        cpu[hour] = Some(load);
        let load = Load { machine: "m1".to_owned(), date, cpu };
        database.load.insert_or_merge(&load).await?;
    }
    let day = database.load.get(Load::key("m1", date)?).await?;
    let chart: Vec<String> = day.cpu.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(chart, ["0.5", "0.9", "0.7"]);
    steps.done("three hours of load written one by one, the day read at once", chart.join(", "));

    for name in created {
        service.delete_table(&name).await?;
    }
    steps.done("delete the tables that this run created", "");
    steps.total();
    Ok(())
}
