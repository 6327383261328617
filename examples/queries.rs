//! The queries of the "Windows Azure Table" paper, each below a line with its C#.
//!
//! `cargo run -p azure-table-examples --example queries` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::client::Continuation;
use azure_table_client::client::TableSet;
use azure_table_client::entity::Descending;
use azure_table_client::filter::Projection;
use azure_table_client::{DynamicEntity, TableClient, TableEntity, filter};
use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use futures_util::TryStreamExt as _;

/// Sections 4 to 8.3.1.1: a partition for each channel, newest first.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "QueriesBlogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
    rating: i32,
}

/// Section 8.1: best first, and newest first among equals.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "QueriesRanked", rename_all = "PascalCase", row_key(rating, posted))]
struct Ranked {
    #[table(partition_key)]
    channel: String,
    rating: Descending<u8>,
    posted: Descending<DateTime<Utc>>,
    text: String,
}

/// Section 8.3.1.3: a partition for each month of a channel.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "QueriesByMonth",
    rename_all = "PascalCase",
    partition_key = "{channel}_{year:inv4}_{month:inv2(13)}"
)]
struct Monthly {
    channel: String,
    year: i32,
    month: u32,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
}

/// Section 8.3.2: a partition for each week, for busy months.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "QueriesByWeek",
    rename_all = "PascalCase",
    partition_key = "{channel}_{year:inv4}_{month:inv2(13)}_{week:inv2(5)}"
)]
struct Weekly {
    channel: String,
    year: i32,
    month: u32,
    week: u32,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
}

/// Section 8.3.3: all items of a user, in one table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "QueriesNetwork", discriminator = "EntityType")]
enum Item {
    Blog(Post),
    Photo(Photo),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{posted}_Blog")]
struct Post {
    #[table(partition_key)]
    user: String,
    posted: Descending<DateTime<Utc>>,
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{posted}_Photo")]
struct Photo {
    #[table(partition_key)]
    user: String,
    posted: Descending<DateTime<Utc>>,
    uri: String,
}

/// Section 8.4.2: the same blogs, for a program that does not know ratings.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "QueriesBlogs", rename_all = "PascalCase")]
struct BlogV2 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
}

/// The columns of a blog that a list of headlines needs.
#[derive(Debug, PartialEq, Projection)]
#[table(of = "Blog")]
struct Headline {
    posted: Descending<DateTime<Utc>>,
    text: String,
}

#[derive(TableSet)]
struct Database {
    blogs: TableClient<Blog>,
    ranked: TableClient<Ranked>,
    by_month: TableClient<Monthly>,
    by_week: TableClient<Weekly>,
    network: TableClient<Item>,
}

fn at(year: i32, month: u32, day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(year, month, day, 10, 0, 0).earliest().unwrap_or(DateTime::UNIX_EPOCH)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let database = Database::open(&service);
    let created = database.create_if_not_exists().await?;
    fill(&database).await?;
    steps.done("create the tables, and fill them", format!("{created:?}"));
    let Database { blogs, ranked, by_month, by_week, network } = &database;

    // 4.6: from blog in Blogs where blog.Rating == 3 select blog
    let query = blogs.query().filter(|b| b.rating.eq(3));
    let plan = query.plan()?.to_string();
    let found = query.await?;
    assert_eq!(found.len(), 2);
    steps.done("all blogs rated 3", format!("{plan}; {}", found.cost));

    // 4.6, the same as an expression.
    let same = blogs.query().filter(filter!(Blog, b => b.rating == 3)).await?;
    assert_eq!(same.entities, found.entities);

    // 6.1: foreach (Blog blog in allBlogs.Take(100))
    let first = blogs.query().take(100).await?;
    assert_eq!(first.len(), 6);
    steps.done("the first 100 blogs", first.cost.to_string());

    // 6.2: GET Blogs?…&NextPartitionKey=…&NextRowKey=…
    let page = blogs.query().page_size(4).page().await?;
    let stored = page.continuation.ok_or("no more pages")?.to_string();
    let next: Continuation = stored.parse()?;
    let rest = blogs.query().start_at(next).await?;
    assert_eq!(page.entities.len() + rest.len(), 6);
    steps.done("the rest of them, where an earlier page ended", rest.cost.to_string());

    // 6.2: while (continuation != null) { … }
    let mut texts = blogs.query().page_size(2).select(|b| b.text).stream();
    let mut count = 0;
    while let Some(text) = texts.try_next().await? {
        count += usize::from(!text.is_empty());
    }
    assert_eq!(count, 6);
    steps.done("the texts only, two a page", texts.cost().to_string());

    // 8.1: where b.PartitionKey == "Football" && b.RowKey.CompareTo(DateTime.MaxValue.Ticks - t.Ticks) < 0
    // (The paper writes > 0, which on keys in reverse order finds the older ones.)
    let since = at(2008, 10, 1);
    let query = blogs.query().filter(|b| b.channel.eq("Football") & b.posted.newer_than(since));
    let plan = query.plan()?.to_string();
    let newer = query.select_as::<Headline>().await?;
    assert_eq!(newer.iter().map(|b| b.text.as_str()).collect::<Vec<_>>(), ["Final", "Match"]);
    steps.done("blogs after a day, newest first", format!("{plan}; {}", newer.cost));

    // 8.1: RowKey = <rating><ticks>; where b.PartitionKey == "Football" && b.RowKey starts with "5"
    let best = ranked.query().filter(|r| r.channel.eq("Football") & r.row_key.starts_with((5,)));
    let best = best.select(|r| (r.row_key, r.text)).first().await?.ok_or("no blog")?;
    assert_eq!(best.1, "Final");
    steps.done("the newest blog rated 5", best.1);

    // 8.2: where b.PartitionKey.CompareTo("PDC") >= 0 && b.PartitionKey.CompareTo("PDD") < 0
    let query = blogs.query().filter(|b| b.channel.starts_with("PDC"));
    let plan = query.plan()?.to_string();
    let of_pdc = query.await?;
    assert_eq!(of_pdc.len(), 2);
    steps.done("the blogs of all PDCs", format!("{plan}; {}", of_pdc.cost));

    // 8.3.1: where b.PartitionKey == "Football" select b, Take(10)
    let latest = blogs.query().filter(|b| b.channel.eq("Football")).take(10).await?;
    assert_eq!(latest.len(), 3);
    steps.done("the 10 latest blogs of a channel", latest.cost.to_string());

    // 8.3.1.3: where b.PartitionKey == "Football_7991_03" (9999 - 2008, 13 - 10)
    let october = by_month.query().filter(|b| b.partition_key.eq(("Football", 2008, 10)));
    let october = october.await?;
    assert_eq!(october.len(), 2);
    steps.done("the blogs of a month", october.cost.to_string());

    // 8.3.1.3: where b.PartitionKey starts with "Football_7991_", Take(1000)
    // (The paper's bounds, <= "Football_7991" and > "Football_7990", are those of 2009.)
    let query = by_month.query().filter(|b| b.partition_key.starts_with(("Football", 2008)));
    let plan = query.plan()?.to_string();
    let year = query.take(1000).await?;
    assert_eq!(year.len(), 4);
    steps.done("the blogs of a year", format!("{plan}; {}", year.cost));

    // 8.3.2: where b.PartitionKey == "Football_7991_06" && b.RowKey >= start && b.RowKey < end, Take(1000)
    let day = at(2008, 7, 3) - TimeDelta::hours(10);
    let next_day = day + TimeDelta::days(1);
    let query = by_month.query().filter(|b| {
        let of_month = b.partition_key.eq(("Football", 2008, 7));
        of_month & b.posted.newer_or_equal(day) & b.posted.older_than(next_day)
    });
    let july = query.take(1000).await?;
    assert_eq!(july.len(), 1);
    steps
        .done("the blogs of a day, out of season: the partition of a month", july.cost.to_string());

    // 8.3.2: where b.PartitionKey == "Football_7991_03_04" && b.RowKey >= start && b.RowKey < end
    let day = at(2008, 10, 3) - TimeDelta::hours(10);
    let query = by_week.query().filter(|b| {
        let of_week = b.partition_key.eq(("Football", 2008, 10, 1));
        of_week & b.posted.newer_or_equal(day) & b.posted.older_than(day + TimeDelta::days(1))
    });
    let found = query.take(1000).await?;
    assert_eq!(found.len(), 1);
    steps.done("the blogs of a day in season: the partition of a week", found.cost.to_string());

    // 8.3.3: where e.PartitionKey == userId select e, Take(100)
    let home = network.query().filter(|i| i.blog.user.eq("joe")).take(100).await?;
    assert_eq!(home.len(), 4);
    steps.done("the newest items of a user, of all kinds", home.cost.to_string());

    // 8.3.3: where e.PartitionKey == userId && e.EntityType == "Photo", Take(100)
    // (The paper bounds the RowKey by <0…0>_Photo and <9…9>_Photo, between which all kinds are.)
    let photos = network.query().filter_text("PartitionKey eq 'joe' and EntityType eq 'Photo'");
    let photos = photos.take(100).await?;
    assert!(photos.iter().all(|item| matches!(item, Item::Photo(_))) && photos.len() == 2);
    steps.done("a user's photos", photos.cost.to_string());

    // 8.4.2: from blog in context.CreateQuery<BlogV2>("Blogs") select blog; then ReplaceOnUpdate
    let v2 = blogs.with_entity::<BlogV2>();
    let mut old = v2.query().stream();
    while let Some(blog) = old.try_next().await? {
        v2.insert_or_replace(&blog).await?;
    }
    assert_eq!(blogs.query().filter(|b| b.rating.ge(0)).count().await?, 0);
    steps.done("all blogs as another version, without their ratings", old.cost().to_string());

    for name in created {
        service.delete_table(&name).await?;
    }
    steps.done("delete the tables that this run created", "");
    steps.total();
    Ok(())
}

async fn fill(database: &Database) -> Result<(), azure_table_client::Error> {
    for (channel, year, month, day, text, rating) in [
        ("Football", 2008, 9, 30, "Season", 3),
        ("Football", 2008, 10, 2, "Match", 4),
        ("Football", 2008, 10, 3, "Final", 5),
        ("PDC2008", 2008, 10, 27, "Azure", 5),
        ("PDC2009", 2009, 11, 17, "Tables", 3),
        ("Channel9", 2009, 4, 14, "Hello", 1),
    ] {
        let (channel, posted) = (channel.to_owned(), Descending(at(year, month, day)));
        let text = text.to_owned();
        let blog = Blog { channel: channel.clone(), posted, text: text.clone(), rating };
        database.blogs.insert_or_replace(&blog).await?;
        let rating = Descending(u8::try_from(rating).unwrap_or_default());
        let blog = Ranked { channel: channel.clone(), rating, posted, text: text.clone() };
        database.ranked.insert_or_replace(&blog).await?;
        let blog = Monthly { channel, year, month, posted, text };
        database.by_month.insert_or_replace(&blog).await?;
    }
    let channel = "Football".to_owned();
    let posted = Descending(at(2008, 7, 3));
    let blog =
        Monthly { channel: channel.clone(), year: 2008, month: 7, posted, text: "Off".into() };
    database.by_month.insert_or_replace(&blog).await?;
    let posted = Descending(at(2008, 10, 3));
    let blog = Weekly { channel, year: 2008, month: 10, week: 1, posted, text: "Final".into() };
    database.by_week.insert_or_replace(&blog).await?;

    let (user, posted) = ("joe".to_owned(), Descending(at(2009, 4, 14)));
    let post = Post { user: user.clone(), posted, text: "Hello".into() };
    database.network.insert_or_replace(&Item::Blog(post)).await?;
    for day in [13, 15] {
        let posted = Descending(at(2009, 4, day));
        let photo = Photo { user: user.clone(), posted, uri: format!("{day}.jpg") };
        database.network.insert_or_replace(&Item::Photo(photo)).await?;
    }
    let mut video = DynamicEntity::new("joe", "2521628099999999999_Video");
    video.set("EntityType", "Video");
    database.network.insert_or_replace(&Item::Other(video)).await?;
    Ok(())
}
