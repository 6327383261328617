//! Changes that remove properties.

use std::collections::BTreeMap;

use azure_table_client::client::PartitionRows;
use azure_table_client::context::TableContext;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, ETag, Error, ErrorKind, Metadata, Operation, Stored, TableClient, TableEntity,
};
use azure_table_tests::scripted::{Scripted, Step};

const KEY: (&str, &str) = ("p", "r");

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Note {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(alias = "remark", alias = "comment")]
    text: Option<String>,
    #[table(default, skip_if = "String::is_empty")]
    tag: String,
    hits: i32,
    #[table(series = "s{}")]
    series: Vec<i32>,
    #[table(split)]
    long: String,
    #[table(read_only)]
    by_others: Option<i32>,
    #[table(etag)]
    version: Option<ETag>,
    #[table(timestamp)]
    changed: Option<EdmDateTime>,
}

fn note() -> Note {
    Note {
        p: "p".into(),
        r: "r".into(),
        text: Some("x".into()),
        tag: "t".into(),
        hits: 1,
        series: vec![1, 2, 3],
        long: "l".repeat(100_000),
        by_others: None,
        version: None,
        changed: None,
    }
}

/// A table with this note, to which another program has added its properties.
async fn notes() -> (MockTableService, TableClient<Note>, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let notes = mock.client().table_named::<Note>("Notes");
    let rows = notes.with_entity::<DynamicEntity>();
    notes.create().await.unwrap();
    let mut row = DynamicEntity::from_entity(&note()).unwrap();
    row.set("foreign", 7_i64).set("by_others", 5).set("remark", "y").set("comment", "z");
    rows.insert(&row).await.unwrap();
    mock.requests().clear();
    (mock, notes, rows)
}

/// The result equals the stored row, with its version; properties of other programs are kept.
async fn check(updated: Stored<Note>, notes: &TableClient<Note>) -> Result<(), Error> {
    let row = notes.with_entity::<DynamicEntity>().get(KEY).await?;
    assert_eq!((row.get("foreign"), row.get("by_others")), (Some(Ok(7_i64)), Some(Ok(5))));
    let stored = notes.get(KEY).await?;
    assert_eq!(updated.version.as_ref(), Some(&stored.etag));
    let expected = Note { changed: stored.changed, ..updated.into_inner() };
    assert_eq!(stored.entity, expected);
    Ok(())
}

#[tokio::test]
async fn only_removed_properties_are_removed() {
    let changes: [fn(&mut Note); 5] = [
        |n| n.text = None,
        |n| n.tag.clear(),
        |n| n.series.truncate(1),
        |n| n.long.truncate(10),
        |n| (n.text, n.hits) = (None, 2),
    ];
    for change in changes {
        let (mock, notes, _) = notes().await;
        let updated = notes.update_with(KEY, change).await.unwrap();
        let sent = mock.requests();
        assert_eq!((sent.count(Operation::Get), sent.count(Operation::Replace)), (1, 1));
        check(updated, &notes).await.unwrap();
    }
}

#[tokio::test]
async fn a_change_without_removal_is_a_merge() {
    let changes: [fn(&mut Note); 4] =
        [|_| {}, |n| n.text = Some(String::new()), |n| n.series.push(4), |n| n.by_others = None];
    for (at, change) in changes.into_iter().enumerate() {
        let (mock, notes, _) = notes().await;
        let updated = notes.update_with(KEY, change).await.unwrap();
        let sent = mock.requests();
        assert_eq!((sent.count(Operation::Merge), sent.total()), (1, 2));
        if at < 3 {
            check(updated, &notes).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_dynamic_entity_loses_removed_properties() {
    let (_, _, rows) = notes().await;
    let change = |row: &mut DynamicEntity| {
        row.remove("text");
        row.set("hits", 9);
    };
    rows.update_with(KEY, change).await.unwrap();
    let stored = rows.get(KEY).await.unwrap();
    assert!(stored.value("text").is_none() && stored.value("foreign").is_some());
    assert_eq!(stored.get("hits"), Some(Ok(9)));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Draft {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    title: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Post {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    text: String,
    #[table(extra)]
    others: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator = "Kind")]
enum Page {
    Draft(Draft),
    Post(Post),
}

#[tokio::test]
async fn a_change_of_kind_removes_the_old_properties() {
    let mock = MockTableService::new();
    let pages = mock.client().table_named::<Page>("Pages");
    let rows = pages.with_entity::<DynamicEntity>();
    pages.create().await.unwrap();
    let draft = Draft { p: "p".into(), r: "r".into(), title: "x".into() };
    pages.insert(&Page::Draft(draft)).await.unwrap();
    rows.insert_or_merge(DynamicEntity::new("p", "r").set("foreign", 7)).await.unwrap();

    let publish = |page: &mut Page| {
        if let Page::Draft(Draft { p, r, title }) = page.clone() {
            *page = Page::Post(Post { p, r, text: title, others: BTreeMap::new() });
        }
    };
    pages.update_with(KEY, publish).await.unwrap();
    let stored = rows.get(KEY).await.unwrap();
    let properties: BTreeMap<_, _> = stored.properties().collect();
    assert_eq!(properties.into_keys().collect::<Vec<_>>(), ["Kind", "foreign", "text"]);
    // The bag of other properties has it now, and the change removes it from there.
    let tidy = |page: &mut Page| {
        if let Page::Post(post) = page {
            assert!(post.others.remove("foreign").is_some());
        }
    };
    pages.update_with(KEY, tidy).await.unwrap();
    assert!(rows.get(KEY).await.unwrap().value("foreign").is_none());
}

#[tokio::test]
async fn a_row_with_unreadable_properties_is_not_replaced() {
    let (mock, _, rows) = notes().await;
    let mut broken = DynamicEntity::new("p", "r");
    rows.insert_or_merge(broken.set("foreign", "broken")).await.unwrap();
    let lone_surrogate =
        Scripted::new(mock.transport(), |_| Step::pass().replace("broken", "\\ud800"));
    let unreadable = mock.client_builder().transport(lone_surrogate);
    let untyped = mock.client_builder().metadata(Metadata::None);
    for builder in [unreadable, untyped] {
        let notes = builder.build().unwrap().table_named::<Note>("Notes");
        let error = notes.update_with(KEY, |n| n.text = None).await.unwrap_err();
        assert_eq!((error.kind(), error.rounds()), (ErrorKind::InvalidInput, 1), "{error}");
        let text = error.to_string();
        assert!(text.contains("\"text\"") && text.contains("`replace`"), "{text}");
        notes.update_with(KEY, |n| n.hits += 1).await.unwrap();
    }
    assert_eq!(rows.get(KEY).await.unwrap().get("foreign"), Some(Ok("broken".to_owned())));
}

/// A number that is written in hundreds, and read as it is: only 0 is read back.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Hundreds(u32);

impl std::fmt::Display for Hundreds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0 / 100)
    }
}

impl std::str::FromStr for Hundreds {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Notes")]
struct Strict {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(as_string)]
    hundreds: Hundreds,
    text: Option<String>,
}

/// The type cannot write the row as it was read. The properties that a change removes are therefore unknown.
#[tokio::test]
async fn a_removal_that_cannot_be_detected_is_an_error() {
    let mock = MockTableService::new();
    let table = mock.client().table::<Strict>();
    let row = DynamicEntity::new("p", "r").with("hundreds", "250").with("text", "x");
    mock.seed("Notes", [&row]).unwrap();
    mock.requests().clear();
    let change = |note: &mut Strict| (note.hundreds, note.text) = (Hundreds(0), None);
    let error = table.update_with(KEY, change).await.unwrap_err();
    assert_eq!((error.kind(), error.rounds()), (ErrorKind::InvalidInput, 1));
    let text = error.to_string();
    assert!(
        text.contains("cannot write the row as it was read") && text.contains("hundreds"),
        "{text}"
    );
    assert_eq!((mock.requests().count(Operation::Get), mock.requests().total()), (1, 1));

    // So is an update of the tracked row.
    let mut context = TableContext::new(&mock.client());
    let mut note =
        context.load(context.service().table::<Strict>().query()).await.unwrap().remove(0);
    change(&mut note);
    let error = context.update(&note).unwrap_err();
    assert!(error.to_string().contains("cannot write the tracked values"), "{error}");
    assert!(!context.has_changes());

    let replaced = table.update_with(KEY, change).replace().await.unwrap();
    let row = table.with_entity::<DynamicEntity>().get(KEY).await.unwrap();
    assert_eq!((replaced.hundreds, row.properties().count()), (Hundreds(0), 1));
}

/// Such a row is only fenced as long as the closure does not touch it.
#[tokio::test]
async fn a_change_of_a_row_that_cannot_be_written_is_not_dropped() {
    type Rows = PartitionRows<Strict>;

    let mock = MockTableService::new();
    let table = mock.client().table::<Strict>();
    let strict = |key: &str, hundreds: &str| {
        DynamicEntity::new("p", key).with("hundreds", hundreds).with("text", "x")
    };
    mock.seed("Notes", [&strict("r", "250"), &strict("s", "0")]).unwrap();
    let keys = || [("p", "r"), ("p", "s")];
    let sent = || mock.requests().count(Operation::Transaction);
    let text = |note: &mut Strict| note.text = None;
    let by_key = table.update_rows_with(keys(), |rows: &mut Rows| text(rows.get_mut("r").unwrap()));
    let by_key = by_key.await.unwrap_err();
    let by_all = table.update_rows_with(keys(), |rows: &mut Rows| rows.iter_mut().for_each(text));
    for error in [by_key, by_all.await.unwrap_err()] {
        assert_eq!((error.kind(), error.rounds()), (ErrorKind::InvalidInput, 1), "{error}");
        assert!(error.to_string().contains("cannot write the row as it was read"), "{error}");
        assert_eq!(error.entity_key().unwrap().row_key, "r");
    }
    assert_eq!(sent(), 0);

    let version = |stored: Vec<Stored<Strict>>| stored[0].etag.clone();
    let before = table.get(KEY).await.unwrap().etag;
    let update = table.update_rows_with(keys(), |rows: &mut Rows| text(rows.get_mut("s").unwrap()));
    let fenced = version(update.await.unwrap());
    assert_eq!((sent(), fenced != before), (1, true));
    let change = |rows: &mut Rows| rows.get_mut("r").unwrap().hundreds = Hundreds(0);
    let replaced = table.update_rows_with(keys(), change).replace().await.unwrap();
    assert_eq!((sent(), version(replaced) != fenced), (2, true));
    assert_eq!(table.get(KEY).await.unwrap().hundreds, Hundreds(0));
}
