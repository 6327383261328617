//! The MicroBlogging application of the "Windows Azure Table" paper, end to end.
//!
//! `cargo run -p azure-table-examples --example microblog` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::entity::Descending;
use azure_table_client::{IfMatch, TableClient, TableEntity, filter};
use azure_table_examples::Steps;
use chrono::{DateTime, Duration, TimeZone, Utc};
use futures_util::TryStreamExt as _;

/// A channel; the list of channels is small, so each is a partition of its own.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "MicroblogChannels", rename_all = "PascalCase")]
struct Channel {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    kind: String,
    owner: String,
    created_on: DateTime<Utc>,
}

/// A blog of a channel: partitioned by channel, newest first within it (the paper, 8.1).
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "MicroblogBlogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
    rating: i32,
    // Not stored, like the property without a setter in the paper.
    #[table(skip)]
    rating_as_string: String,
}

impl Channel {
    fn new(name: &str, owner: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: "channel".to_owned(),
            owner: owner.to_owned(),
            created_on: day(1),
        }
    }
}

impl Blog {
    fn new(channel: &str, posted: DateTime<Utc>, text: &str, rating: i32) -> Self {
        Self {
            channel: channel.to_owned(),
            posted: Descending(posted),
            text: text.to_owned(),
            rating,
            rating_as_string: String::new(),
        }
    }
}

fn day(day: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2009, 10, day, 10, 0, 0).earliest().unwrap_or(DateTime::UNIX_EPOCH)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let channels = service.table::<Channel>();
    let blogs = service.table::<Blog>();

    let mine = [channels.create_if_not_exists().await?, blogs.create_if_not_exists().await?];
    steps.done(
        "create the tables Channels and Blogs if they do not exist",
        format!("created: {mine:?}"),
    );

    for (name, owner) in
        [("Channel9", "Joe"), ("PDC2008", "Ann"), ("PDC2009", "Ann"), ("Football", "Bo")]
    {
        channels.insert_or_replace(&Channel::new(name, owner)).await?;
    }
    for (n, rating) in (1..=8).zip([3, 5, 1, 4, 2, 5, 3, 1]) {
        let text = format!("Blog number {n}");
        blogs.insert_or_replace(&Blog::new("Channel9", day(n), &text, rating)).await?;
    }
    steps.done("write 4 channels and 8 blogs", "12 entities");

    let hello = Blog::new("Channel9", day(29), "Hello", 3);
    let inserted = blogs.insert(&hello).await?;
    steps.done("insert a blog", format!("version {}", inserted.etag));
    match blogs.insert(&hello).await {
        Err(error) if error.is_conflict() => {
            steps.done("insert it again", format!("refused: {error}"));
        }
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("the service inserted an entity twice".into()),
    }

    let rated =
        blogs.query().filter(filter!(Blog, b => b.channel == "Channel9" && b.rating == 3)).await?;
    assert!(rated.len() == 3 && rated.iter().all(|blog| blog.rating == 3));
    steps.done("blogs of Channel9 with rating 3", texts(&rated));

    let newest = blogs.query().filter(|b| b.channel.eq("Channel9")).take(3).await?;
    assert_eq!(newest.iter().map(|blog| blog.posted.0).collect::<Vec<_>>(), [29, 8, 7].map(day));
    steps.done("the 3 newest blogs", texts(&newest));

    let recent =
        blogs.query().filter(|b| b.channel.eq("Channel9") & b.posted.newer_than(day(6))).await?;
    assert_eq!(recent.entities, newest.entities);
    steps.done("blogs posted after October 6", texts(&recent));

    let pdc = channels.query().filter(|c| c.name.starts_with("PDC")).await?;
    let names: Vec<&str> = pdc.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names, ["PDC2008", "PDC2009"]);
    steps.done("channels that begin with PDC", names.join(", "));

    update_with_etag(&blogs, &hello, &mut steps).await?;
    concurrent_updates(&blogs, &hello, &mut steps).await?;

    let unconditional = Blog { text: "Hi there, unconditionally".to_owned(), ..hello.clone() };
    blogs.merge(&unconditional, IfMatch::Any).await?;
    steps.done("update regardless of the version", "merged with If-Match: *");

    let mut pages = blogs.query().filter(|b| b.channel.eq("Channel9")).page_size(4).pages();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page?.entities.len());
    }
    assert_eq!(sizes, [4, 4, 1]);
    steps.done("read the channel in pages of 4", format!("pages of {sizes:?}"));
    let total: i32 = blogs
        .query()
        .page_size(4)
        .stream()
        .try_fold(0, |sum, blog| async move { Ok(sum + blog.rating) })
        .await?;
    assert_eq!(total, 27);
    steps.done("sum of all ratings by a stream over pages", total.to_string());

    let current = blogs.get(hello.entity_key()?).await?;
    blogs.delete(current.entity_key()?, &current.etag).await?;
    let gone = blogs.get_if_exists(hello.entity_key()?).await?.is_none();
    assert!(gone);
    steps.done("delete the blog if it was not changed", format!("gone: {gone}"));

    if mine[0] {
        channels.delete_table().await?;
    }
    if mine[1] {
        blogs.delete_table().await?;
    }
    steps.done("delete the tables that this run created", "");
    steps.total();
    Ok(())
}

/// Section 4.7 of the paper: read, change, and write with the version that was read.
async fn update_with_etag(
    blogs: &TableClient<Blog>,
    hello: &Blog,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let read = blogs.get(hello.entity_key()?).await?;
    let changed = Blog { text: "Hi there".to_owned(), ..read.entity.clone() };
    let written = blogs.merge(&changed, &read.etag).await?;
    steps.done("read a blog and update its text", format!("version {}", written.etag));
    Ok(())
}

/// Section 5: two clients change one blog; the second is refused, reads again and succeeds.
async fn concurrent_updates(
    blogs: &TableClient<Blog>,
    hello: &Blog,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let (first, second) =
        (blogs.get(hello.entity_key()?).await?, blogs.get(hello.entity_key()?).await?);
    let by_first = Blog { rating: 5, ..first.entity.clone() };
    blogs.merge(&by_first, &first.etag).await?;
    steps.done("two clients read the blog, one updates it", "rating 5");

    let by_second = Blog { text: "Hi there again".to_owned(), ..second.entity.clone() };
    match blogs.merge(&by_second, &second.etag).await {
        Err(error) if error.is_precondition_failed() => {
            steps.done("the other one updates its old copy", format!("refused: {error}"));
        }
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("the service accepted an update of an old version".into()),
    }
    let again = blogs.get(hello.entity_key()?).await?;
    let redone = Blog { text: "Hi there again".to_owned(), ..again.entity.clone() };
    blogs.merge(&redone, &again.etag).await?;
    let stored = blogs.get(hello.entity_key()?).await?;
    assert_eq!((&*stored.text, stored.rating), ("Hi there again", 5));
    steps.done(
        "it reads again and repeats its update",
        format!("{:?}, rating {}: both changes are stored", stored.text, stored.rating),
    );
    Ok(())
}

fn texts(blogs: &[Blog]) -> String {
    let day = |blog: &Blog| (blog.posted.0 - day(1) + Duration::days(1)).num_days();
    let texts: Vec<String> =
        blogs.iter().map(|blog| format!("{:?} (October {})", blog.text, day(blog))).collect();
    texts.join(", ")
}
