//! Keys of several parts, formats, and the constructors of keys.

use azure_table_client::client::Results;
use azure_table_client::entity::{Descending, Escaped, KeyError, KeyRange, TypedKeys};
use azure_table_client::filter::Filter;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, EntityKey, TableEntity, TableEnum};
use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use uuid::Uuid;

use super::refusal;

/// Section 8.3.1.3 of the paper: a partition for each month of a channel, newest first.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", partition_key = "{channel}_{year:inv4}_{month:inv2(13)}")]
struct Blog {
    channel: String,
    year: i32,
    month: u32,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    text: String,
}

fn blog(channel: &str, year: i32, month: u32, day: u32) -> Blog {
    Blog {
        channel: channel.into(),
        year,
        month,
        posted: Descending(Utc.with_ymd_and_hms(year, month, day, 10, 0, 0).unwrap()),
        text: "Hello".into(),
    }
}

#[tokio::test]
async fn the_months_of_the_paper() {
    let blogs = MockTableService::new().client().table::<Blog>();
    blogs.create().await.unwrap();
    for (year, month, day) in [(2008, 9, 1), (2008, 10, 1), (2008, 10, 2), (2009, 1, 1)] {
        blogs.insert(&blog("Football", year, month, day)).await.unwrap();
    }
    blogs.insert(&blog("Football_Old", 2008, 10, 1)).await.unwrap();

    assert_eq!(Blog::partition("Football", 2008, 10_u32).unwrap(), "Football_7991_03");
    let posted = Utc.with_ymd_and_hms(2008, 10, 1, 10, 0, 0).unwrap();
    let key = Blog::key("Football", 2008, 10_u32, posted).unwrap();
    assert_eq!(key, EntityKey::new("Football_7991_03", "2521794455999999999"));
    assert_eq!(blogs.get(&key).await.unwrap().entity, blog("Football", 2008, 10, 1));

    let days = |found: Results<Blog>| -> Vec<(i32, u32)> {
        found.iter().map(|blog| (blog.year, blog.month)).collect()
    };
    let of_year = Filter::partitions_in(&Blog::partition_prefix(("Football", 2008)).unwrap());
    let found = blogs.query().matching(&of_year).await.unwrap();
    assert_eq!(days(found), [(2008, 10), (2008, 10), (2008, 9)], "newest month first");
    let of_channel = Filter::partitions_in(&Blog::partition_prefix(("Football",)).unwrap());
    let found = blogs.query().matching(&of_channel).await.unwrap();
    assert_eq!(found.len(), 5, "plain text: Football_Old begins with Football_ too");
}

#[tokio::test]
async fn an_invalid_key_is_an_error_that_shows_the_format() {
    let error = refusal::<Blog>(
        r#""PartitionKey":"Football_2008","RowKey":"2521794455999999999","text":"""#,
    )
    .await;
    assert_eq!(
        error.to_string(),
        r#"property "PartitionKey" of entity ("Football_2008", "2521794455999999999"): "Football_2008" is not of the form "{channel}_{year:inv4(9999)}_{month:inv2(13)}""#
    );
}

#[derive(Debug, Clone, PartialEq, PartialOrd, TableEnum)]
#[table(as_i32)]
enum Priority {
    Low = 1,
    High = 5,
}

/// Each part sorts by its own type.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key(region, customer), row_key(priority, due, id))]
struct Task {
    region: String,
    customer: u32,
    priority: Descending<i16>,
    due: NaiveDate,
    id: String,
    level: Priority,
}

fn task(region: &str, customer: u32, priority: i16, day: u32, id: &str) -> Task {
    Task {
        region: region.into(),
        customer,
        priority: Descending(priority),
        due: NaiveDate::from_ymd_opt(2009, 4, day).unwrap(),
        id: id.into(),
        level: Priority::High,
    }
}

#[tokio::test]
async fn composite_keys_are_in_the_order_of_their_parts() {
    let tasks = MockTableService::new().client().table_named::<Task>("Tasks");
    tasks.create().await.unwrap();
    let ordered = [
        task("", 7, 0, 1, ""),
        task("a", 7, 5, 1, "b/c"),
        task("a", 7, 5, 1, "b!"),
        task("a", 7, 5, 2, ""),
        task("a", 7, -5, 1, ""),
        task("a", 10, 0, 1, ""),
        task("a b", 7, 0, 1, "\u{1f600}"),
        task("a!", 7, 0, 1, ""),
        task("a/b", 7, 0, 1, "#?"),
        task("ab", 7, 0, 1, ""),
    ];
    // The service compares text by UTF-16 units: `!` sorts before `/`.
    let mut expected = ordered.to_vec();
    expected.swap(1, 2);
    for task in ordered.iter().rev() {
        tasks.insert(task).await.unwrap();
    }
    assert_eq!(tasks.query().await.unwrap(), expected);

    let rows = |range: KeyRange| {
        Filter::partition(Task::partition("a", 7_u32).unwrap()) & Filter::rows_in(&range)
    };
    let found = tasks.query().matching(&rows(Task::row_prefix((5_i16,)).unwrap())).await.unwrap();
    assert_eq!(found, expected[1..4]);
    let due = NaiveDate::from_ymd_opt(2009, 4, 1).unwrap();
    let found =
        tasks.query().matching(&rows(Task::row_prefix((5_i16, due)).unwrap())).await.unwrap();
    assert_eq!(found, expected[1..3]);
    let found = tasks
        .query()
        .matching(&rows(Task::row_prefix((5_i16, due, "b/c")).unwrap()))
        .await
        .unwrap();
    assert_eq!(found, ordered[1..2]);
    let of_a = Filter::partitions_in(&Task::partition_prefix(("a",)).unwrap());
    assert_eq!(tasks.query().matching(&of_a).await.unwrap(), expected[1..6]);
    let with_a = Filter::partitions_in(&Task::partition_prefix("a").unwrap());
    assert_eq!(tasks.query().matching(&with_a).await.unwrap(), expected[1..]);
}

#[test]
fn parts_of_a_key_are_not_stored_as_properties() {
    assert_eq!(Task::COLUMNS, ["level"]);
    let stored = DynamicEntity::from_entity(&task("a", 7, 5, 1, "x")).unwrap();
    assert_eq!(stored.key(), &EntityKey::new("a!0000000007", "-32762!2009-04-01!x"));
    assert_eq!(stored.properties().len(), 1);
}

/// One row for the whole program.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Settings", partition_key = "settings", row_key = "v1_{tenant:escaped}")]
struct Settings {
    tenant: String,
    color: String,
}

#[tokio::test]
async fn constant_keys_and_escaped_parts() {
    let table = MockTableService::new().client().table::<Settings>();
    table.create().await.unwrap();
    let settings = Settings { tenant: "a/b c".into(), color: "red".into() };
    table.insert(&settings).await.unwrap();
    let key = Settings::key("a/b c").unwrap();
    assert_eq!(key, EntityKey::new("settings", "v1_a.1b\"Wc"));
    assert_eq!(table.get(key).await.unwrap().entity, settings);
    assert_eq!(Settings::partition().unwrap(), "settings");
    let error = refusal::<Settings>(r#""PartitionKey":"other","RowKey":"v1_a","color":"""#).await;
    assert_eq!(error.property(), "PartitionKey");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Document {
    #[table(partition_key)]
    owner: Uuid,
    #[table(row_key)]
    path: Escaped,
}

#[tokio::test]
async fn any_text_is_a_key_if_escaped() {
    let table = MockTableService::new().client().table_named::<Document>("Documents");
    table.create().await.unwrap();
    let owner = Uuid::nil();
    for path in ["a/b#c?d\\e", "\u{0}\u{1f}\u{7f}\u{9f}", "", "it's \"quoted\" 100%"] {
        let document = Document { owner, path: path.into() };
        table.insert(&document).await.unwrap();
        let stored = table.get(Document::key(owner, path).unwrap()).await.unwrap();
        assert_eq!(stored.entity, document);
    }
    let in_a = Filter::rows_in(&Document::row_prefix((&Escaped::from("a/b#c?d\\e"),)).unwrap());
    assert_eq!(table.query().matching(&in_a).await.unwrap().len(), 1);
}

#[test]
fn values_without_key_text_are_refused() {
    let text = |error: KeyError| error.to_string();
    assert!(
        text(blog("x", 2008, 10, 1).with_year(12_000).partition_key().unwrap_err())
            .contains("`year`")
    );
    assert!(text(Blog::partition("x", -1, 1_u32).unwrap_err()).contains("no form of 4 digits"));
    assert!(text(Blog::partition("x", 2008, 14_u32).unwrap_err()).contains("`month`"));
}

impl Blog {
    fn with_year(mut self, year: i32) -> Self {
        self.year = year;
        self
    }
}

/// For code that is generic over many entity types.
#[test]
fn keys_are_recognized_by_the_types_of_their_parts() {
    let month = "Football_7991_03";
    assert!(Blog::recognizes(month, "2521794455999999999"));
    assert!(!Blog::recognizes(month, "yesterday"));
    assert!(!Blog::recognizes("Football", "2521794455999999999"));
    assert!(!Task::recognizes("a!0000000007", "-32762!2009-04-31!x"), "no such day");
}

#[test]
fn keys_are_parsed_into_their_parts() {
    let posted = Utc.with_ymd_and_hms(2008, 10, 1, 10, 0, 0).unwrap();
    let key = Blog::key("Football_Old", 2008, 10, posted).unwrap();
    let parts = Blog::parse_key(&key).unwrap();
    assert_eq!(parts, ("Football_Old".to_owned(), 2008, 10, Descending(posted)));
    let month = Blog::parse_partition_key("Football_7991_03").unwrap();
    assert_eq!(month, ("Football".to_owned(), 2008, 10));
    assert_eq!(Blog::parse_row_key("2521794455999999999").unwrap(), Descending(posted));

    // Escapes are resolved, and a constant key has no parts.
    let (path, n) = Page::parse_key(Page::key("a/b_!", 7)).unwrap();
    assert_eq!((&*path, n), ("a/b_!", 7));
    let () = Page::parse_partition_key("p").unwrap();
    // One part in both keys is one part of the whole.
    let of_key: (String, u32) = Invoice::parse_key(("acme", "acme!0000000007")).unwrap();
    assert_eq!(of_key, ("acme".to_owned(), 7));
}

#[test]
fn a_key_that_the_type_does_not_write_is_not_parsed() {
    let refusal = |result: Result<_, KeyError>| result.unwrap_err().to_string();
    let row = "2521794455999999999";
    assert_eq!(
        refusal(Blog::parse_key(("Football_2008", row)).map(drop)),
        r#"invalid PartitionKey: "Football_2008" is not of the form "{channel}_{year:inv4(9999)}_{month:inv2(13)}""#
    );
    let error = refusal(Blog::parse_key(("Football_7991_03", "yesterday")).map(drop));
    assert!(error.starts_with("invalid RowKey: \"yesterday\""), "{error}");
    assert!(Page::parse_partition_key("q").is_err(), "another constant");
    // Written again, this text would be another key.
    assert!(Page::parse_row_key("a_7").is_err());
    assert_eq!(
        refusal(Invoice::parse_key(("acme", "other!0000000007")).map(drop)),
        r#"`tenant` is "acme" in the PartitionKey and "other" in the RowKey"#
    );
    // The error of a key that could not be made is returned.
    let key = Member::key("acme_eu", "joe");
    assert_eq!(Member::parse_key(key.clone()), Err(key.unwrap_err()));
}

/// A part that is in both keys.
#[derive(Debug, TableEntity)]
#[table(partition_key(tenant), row_key(tenant, number))]
struct Invoice {
    tenant: String,
    number: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key = "p", row_key = "{path:escaped}_{n:04}")]
struct Page {
    path: String,
    n: u16,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key = "p", row_key = "{tenant}_{user}")]
struct Member {
    tenant: String,
    user: String,
}

/// Fields may have the names of generated variables.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key(key, prefix), row_key(row, column))]
struct Cell {
    key: String,
    prefix: u8,
    row: u32,
    column: String,
}

#[tokio::test]
async fn keys_are_read_back_or_refused() {
    let service = MockTableService::new().client();
    let pages = service.table_named::<Page>("Pages");
    pages.create().await.unwrap();
    for path in ["a/b", "a_b", "a_0007", ""] {
        let page = Page { path: path.into(), n: 7 };
        pages.insert(&page).await.unwrap();
        assert_eq!(pages.get(page.entity_key().unwrap()).await.unwrap().entity, page);
    }
    let cells = service.table_named::<Cell>("Cells");
    cells.create().await.unwrap();
    let cell = Cell { key: "k".into(), prefix: 1, row: 2, column: "c".into() };
    cells.insert(&cell).await.unwrap();
    assert_eq!(cells.query().await.unwrap(), [cell]);

    // The range of one tenant never contains another tenant's keys.
    assert!(Member::key("acme", "eu_joe").is_ok());
    for error in
        [Member::key("acme_eu", "joe").unwrap_err(), Member::row_prefix(("acme_eu",)).unwrap_err()]
    {
        assert!(error.to_string().contains("`tenant`"), "{error}");
    }
    let of_acme = Member::row_prefix(("acme",)).unwrap();
    assert!(of_acme.contains("acme_eu_joe") && !of_acme.contains("acmeeu_joe"));
}

#[test]
fn keys_are_built_from_owned_and_borrowed_parts() {
    let names = ["x", "y"];
    let posted: DateTime<Utc> = "2008-10-01T10:00:00Z".parse().unwrap();
    for name in &names {
        let (year, at) = (&2008, &posted);
        Blog::key(name, year, 10, at).unwrap();
        Blog::key(*name, 2008, 10, Descending(posted)).unwrap();
        Blog::key(String::from(*name), 2008, 10, posted).unwrap();
    }
}

#[allow(unreachable_pub, reason = "as a library has it")]
mod outside {
    use super::TableEntity;

    #[derive(Debug, Clone, Copy, PartialEq, azure_table_client::TableEnum)]
    pub(crate) enum Kind {
        A,
    }

    /// A public entity may have a private key.
    #[derive(Debug, PartialEq, TableEntity)]
    #[table(row_key(kind, id))]
    pub struct Public {
        #[table(partition_key)]
        pub p: String,
        pub(super) kind: Kind,
        pub id: String,
    }
}

#[test]
fn a_public_entity_may_have_a_private_key() {
    let key = outside::Public::key("p", outside::Kind::A, "x").unwrap();
    assert_eq!(key.row_key, "A!x");
}

/// User-defined functions with the same names.
#[derive(TableEntity)]
#[table(no_constructors)]
struct Named {
    #[table(partition_key)]
    a: String,
    #[table(row_key)]
    b: String,
}

impl Named {
    fn key(&self) -> String {
        format!("{}{}", self.a, self.b)
    }
}

#[test]
fn constructors_can_be_left_out() {
    assert_eq!(Named { a: "a".into(), b: "b".into() }.key(), "ab");
}

#[tokio::test]
async fn an_impossible_key_is_not_queried() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Items", row_key = "{id}")]
    struct Item {
        #[table(partition_key)]
        city: String,
        id: u32,
    }

    let mock = MockTableService::new();
    let items = mock.client().table::<Item>();
    items.create().await.unwrap();
    let item = Item { city: "Oslo".into(), id: 1 };
    items.insert(&item).await.unwrap();
    mock.requests().clear();
    let key = ("Oslo", "1");
    let change = |item: &mut Item| item.id += 1;
    for error in [
        items.get(key).await.unwrap_err(),
        items.get_if_exists(key).await.unwrap_err(),
        items.update_with(key, change).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), azure_table_client::ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(r#"entity ("Oslo", "1")"#), "{text}");
        assert!(text.contains("key(…)"), "{text}");
    }
    assert_eq!(mock.requests().total(), 0);
    assert_eq!(items.get(Item::key("Oslo", 1).unwrap()).await.unwrap().entity, item);
    // Reading the kind of such a row is an error too; `DynamicEntity` can read it.
    let rows = items.with_entity::<DynamicEntity>();
    rows.insert(&DynamicEntity::new("Oslo", "1")).await.unwrap();
    assert!(items.query().await.is_err());
    rows.delete(key, azure_table_client::IfMatch::Any).await.unwrap();
}
