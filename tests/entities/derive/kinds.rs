//! Several kinds of entities in one table (the paper, 8.3.3).

use azure_table_client::client::{Query, TableSet};
use azure_table_client::edm::EdmValue;
use azure_table_client::entity::Descending;
use azure_table_client::filter::Filter;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch, Metadata, TableClient, TableEntity};
use chrono::{DateTime, Utc};

use super::refusal;

fn at(day: u32) -> Descending<DateTime<Utc>> {
    Descending(format!("2009-04-{day:02}T10:00:00Z").parse().unwrap())
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{posted}_Post")]
struct Post {
    #[table(partition_key)]
    user: String,
    posted: Descending<DateTime<Utc>>,
    text: String,
    rating: i32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key = "{posted}_Photo")]
struct Photo {
    #[table(partition_key)]
    user: String,
    posted: Descending<DateTime<Utc>>,
    uri: String,
    // The type differs from the same property of a post.
    rating: f64,
    caption: Option<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Timeline", discriminator = "EntityType")]
enum Item {
    Post(Post),
    #[table(rename = "picture")]
    Photo(Photo),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator_in_row_key)]
enum ByKey {
    Post(Post),
    Photo(Photo),
}

fn post(day: u32) -> Post {
    Post { user: "joe".into(), posted: at(day), text: "Hello".into(), rating: 3 }
}

fn photo(day: u32) -> Photo {
    Photo { user: "joe".into(), posted: at(day), uri: "x".into(), rating: 4.5, caption: None }
}

#[tokio::test]
async fn columns_of_the_kinds_are_compared_outside_a_query() {
    let items = MockTableService::new().client().table::<Item>();
    items.create().await.unwrap();
    for item in [Item::Post(post(1)), Item::Photo(photo(2)), Item::Post(post(3))] {
        items.insert(&item).await.unwrap();
    }
    let columns = Item::columns();
    let rated = columns.post.rating.ge(3) | columns.photo.rating.ge(4.0);
    assert_eq!(items.query().filter(|_| rated).await.unwrap().len(), 3);
    let newer = columns.post.row_key.newer_than((at(1),));
    assert_eq!(items.query().filter_opt(Some(newer)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_union_is_queried_and_each_kind_is_written() {
    let items = MockTableService::new().client().table::<Item>();
    items.create().await.unwrap();
    let mut video = DynamicEntity::new("joe", "0000000000000000000_Video");
    video.set("EntityType", "Video").set("Length", 90_i64);
    let mut nothing = DynamicEntity::new("joe", "1");
    nothing.set("Length", 1);
    let all = [
        Item::Other(video),
        Item::Other(nothing),
        Item::Post(post(3)),
        Item::Photo(photo(2)),
        Item::Post(post(1)),
    ];
    for item in &all {
        items.insert(item).await.unwrap();
    }
    let found = items.query().matching(&Filter::partition("joe")).await.unwrap();
    assert_eq!(found[2..], all[2..]);
    let [Item::Other(video), Item::Other(nothing), ..] = &found[..] else { panic!("{found:?}") };
    assert_eq!(video.value("EntityType"), Some(&EdmValue::String("Video".into())));
    assert_eq!(video.value("Length"), Some(&EdmValue::Int64(90)));
    assert!(video.etag().is_some() && nothing.timestamp().is_some());

    let kinds = items.query().select(|i| i.kind).await.unwrap();
    let other = |name: &str| ItemKind::Other(name.into());
    let expected = [other("Video"), other(""), ItemKind::Post, ItemKind::Photo, ItemKind::Post];
    assert_eq!(kinds, expected);
    // A row without a kind meets no condition on it.
    let no_photo = items.query().filter(|i| i.kind().ne(ItemKind::Photo)).await.unwrap();
    assert_eq!(no_photo.len(), 3);

    let photos = items.query().filter_text("EntityType eq 'picture'").await.unwrap();
    assert_eq!(photos, all[3..4]);

    // An unknown kind is written back unchanged.
    let mut video = video.clone();
    video.set("Seen", true);
    items.replace(&Item::Other(video), IfMatch::Any).await.unwrap();
    let stored = items.get(("joe", "0000000000000000000_Video")).await.unwrap();
    let Item::Other(stored) = &stored.entity else { panic!() };
    assert_eq!(stored.properties().len(), 3);

    let raw = items.with_entity::<DynamicEntity>();
    let stored = raw.get(Post::key("joe", at(1)).unwrap()).await.unwrap();
    assert_eq!(stored.value("EntityType"), Some(&EdmValue::String("Post".into())));
}

/// The kinds have no field for the version.
#[tokio::test]
async fn a_query_returns_the_versions_of_its_rows() {
    let mock = MockTableService::new();
    let items = mock.client().table::<Item>();
    items.create().await.unwrap();
    let (post, photo) = (Item::Post(post(1)), Item::Photo(photo(2)));
    let post_etag = items.insert(&post).await.unwrap().etag;
    let photo_etag = items.insert(&photo).await.unwrap().etag;

    let found = items.query().with_etags().await.unwrap();
    assert_eq!(found, [(photo.clone(), photo_etag.clone()), (post.clone(), post_etag.clone())]);
    let found = items.query().of_kind::<Post>().select(|p| p.rating).with_etags().await.unwrap();
    assert_eq!(found, [(3, post_etag)]);
    // A point read, and a list of keys.
    let key = photo.entity_key().unwrap();
    let of_key = |query: Query<Item>| query.filter_text(&format!("RowKey eq '{}'", key.row_key));
    let found = of_key(items.query().partition("joe")).with_etags().await.unwrap();
    assert_eq!((found.len(), found.cost.requests), (1, 1));
    assert_eq!(found[0], (photo.clone(), photo_etag.clone()));

    let (photo, etag) = found.into_vec().pop().unwrap();
    items.replace(&photo, &etag).await.unwrap();
    assert!(items.replace(&photo, &etag).await.unwrap_err().is_precondition_failed());

    // A response without versions is an error, and not a row in any version.
    let posts = items.with_entity::<Post>().query().filter(|p| p.text.eq("Hello"));
    let error = posts.format(Metadata::None).with_etags().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
    assert!(error.to_string().contains("Metadata::Minimal"), "{error}");
}

#[tokio::test]
async fn the_format_of_the_row_key_can_distinguish_kinds() {
    let items = MockTableService::new().client().table_named::<ByKey>("Timeline");
    items.create().await.unwrap();
    let all = [ByKey::Post(post(3)), ByKey::Photo(photo(2)), ByKey::Post(post(1))];
    for item in &all {
        items.insert(item).await.unwrap();
    }
    assert_eq!(items.query().await.unwrap(), all);
    let error = refusal::<ByKey>(r#""PartitionKey":"joe","RowKey":"1_Video""#).await;
    assert_eq!(
        error.to_string(),
        r#"property "RowKey" of entity ("joe", "1_Video"): the key is of none of the forms of Post, Photo"#
    );
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(discriminator = "Kind", rename_all = "lowercase")]
enum Closed {
    Post(Post),
}

#[tokio::test]
async fn an_unknown_kind_is_an_error_without_a_variant_for_it() {
    const KEYS: &str = r#""PartitionKey":"p","RowKey":"2521794455999999999_Post""#;
    for (kind, reason) in [
        (r#","Kind":"video""#, r#""video" is not one of post"#),
        ("", "missing (make the field an Option or give it a default)"),
        (r#","Kind":5"#, "expected Edm.String, found Edm.Int32"),
    ] {
        let error = refusal::<Closed>(&format!("{KEYS}{kind}")).await;
        assert_eq!((error.property(), error.reason().to_string().as_str()), ("Kind", reason));
        assert!(error.key().is_some());
    }
    let error = refusal::<Closed>(&format!(r#"{KEYS},"Kind":"post","Text":5"#)).await;
    assert_eq!(error.property(), "Text", "an error within names the entity too");
    assert!(error.key().is_some());
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(discriminator = "Kind")]
enum Strict {
    Note(Note),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(deny_unknown)]
struct Note {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(alias = "old", on_mistyped = "error")]
    text: String,
    #[table(etag)]
    version: Option<azure_table_client::ETag>,
}

#[tokio::test]
async fn the_discriminator_is_a_known_property() {
    let notes = MockTableService::new().client().table_named::<Strict>("Notes");
    notes.create().await.unwrap();
    let note = Note { p: "p".into(), r: "r".into(), text: "x".into(), version: None };
    let written = notes.insert(&Strict::Note(note)).await.unwrap();
    let Strict::Note(stored) = notes.get(("p", "r")).await.unwrap().into_inner();
    assert_eq!(&*stored.text, "x");
    let by_query = notes.query().await.unwrap();
    let [Strict::Note(queried)] = &by_query[..] else { panic!() };
    assert_eq!(queried.version.as_ref(), Some(&written.etag));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key = "{a}_{b}")]
struct Pair {
    #[table(partition_key)]
    p: String,
    a: String,
    b: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Single {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    b: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Numbered {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator_in_row_key)]
enum ByForm {
    Pair(Pair),
    Single(Single),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator_in_row_key)]
enum Open {
    Numbered(Numbered),
    #[table(other)]
    Other(DynamicEntity),
}

#[tokio::test]
async fn an_entity_that_would_be_read_as_another_kind_is_not_written() {
    let table = MockTableService::new().client().table_named::<ByForm>("Forms");
    table.create().await.unwrap();
    let single = |b: &str| ByForm::Single(Single { p: "p".into(), b: b.into() });
    table.insert(&single("x")).await.unwrap();
    let error = table.insert(&single("x_y")).await.unwrap_err();
    let source =
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    assert!(source.contains("of Single would be read as those of Pair"), "{source}");
    assert_eq!(table.query().await.unwrap(), [single("x")]);

    // A text of the right width that is not a number is an unknown kind.
    let open = table.with_entity::<Open>();
    for key in ["abcdefghij", "9999999999"] {
        open.insert(&Open::Other(DynamicEntity::new("q", key))).await.unwrap();
    }
    open.insert(&Open::Numbered(Numbered { p: "q".into(), id: 7 })).await.unwrap();
    let found = open.query().matching(&Filter::partition("q")).await.unwrap();
    assert!(matches!(&found[..], [Open::Numbered(_), Open::Other(_), Open::Other(_)]), "{found:?}");
}

#[tokio::test]
async fn a_kind_that_is_not_text_is_unknown() {
    let items = MockTableService::new().client().table::<Item>();
    items.create().await.unwrap();
    let mut odd = DynamicEntity::new("joe", "1");
    odd.set("EntityType", 5);
    items.with_entity().insert(&odd).await.unwrap();
    let found = items.query().await.unwrap();
    assert!(matches!(&found[..], [Item::Other(_)]), "{found:?}");

    // A projection reads the kind, whichever columns it selects.
    items.insert(&Item::Photo(photo(2))).await.unwrap();
    let found = items.query().select_names(["Uri", "Rating"]).await.unwrap();
    assert!(found.iter().any(|item| matches!(item, Item::Photo(_))), "{found:?}");
    items.query().select_names(["Uri", "Rating", "EntityType"]).await.unwrap();
}

#[derive(Debug, Clone, Default, PartialEq, azure_table_client::entity::PropertyGroup)]
struct Part {
    #[table(rename = "Kind")]
    kind: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Hidden {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(flatten)]
    part: Part,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator = "Kind")]
enum Clash {
    Hidden(Hidden),
}

#[tokio::test]
async fn a_discriminator_that_is_somewhere_within_an_entity_is_found() {
    let table = MockTableService::new().client().table_named::<Clash>("Clash");
    table.create().await.unwrap();
    let entity = Clash::Hidden(Hidden { p: "p".into(), r: "r".into(), part: Part::default() });
    for error in [
        table.insert(&entity).await.unwrap_err(),
        table.query().await.unwrap_err(),
        table.get(("p", "r")).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("\"Kind\" appears twice"), "{error}");
    }
}

#[derive(TableEntity)]
#[table(name = "Channels")]
struct Channel {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    kind: String,
}

#[derive(TableSet)]
struct Database {
    channels: TableClient<Channel>,
    items: TableClient<Item>,
    #[table(name = "Audit")]
    audit: TableClient<DynamicEntity>,
}

#[tokio::test]
async fn a_set_opens_lists_creates_and_deletes_its_tables() {
    let service = MockTableService::new().client();
    let database = Database::open(&service);
    assert_eq!(database.names(), ["Channels", "Timeline", "Audit"]);
    assert!(service.list_tables().await.unwrap().is_empty(), "nothing was sent");
    database.items.create().await.unwrap();
    assert_eq!(database.create_if_not_exists().await.unwrap(), ["Channels", "Audit"]);
    assert_eq!(database.create_if_not_exists().await.unwrap(), [""; 0]);
    assert_eq!(service.list_tables().await.unwrap(), ["Audit", "Channels", "Timeline"]);
    database.channels.insert(&Channel { name: "a".into(), kind: "b".into() }).await.unwrap();
    database.audit.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(database.delete_if_exists().await.unwrap(), ["Channels", "Timeline", "Audit"]);
    assert!(database.delete_if_exists().await.unwrap().is_empty());
}

async fn timeline() -> TableClient<Item> {
    let items = MockTableService::new().client().table::<Item>();
    items.create().await.unwrap();
    for item in [Item::Post(post(1)), Item::Post(post(2)), Item::Photo(photo(3))] {
        items.insert(&item).await.unwrap();
    }
    let mut video = DynamicEntity::new("joe", "0000000000000000000_Video");
    video.set("EntityType", "Video");
    items.insert(&Item::Other(video)).await.unwrap();
    items
}

#[tokio::test]
async fn a_condition_compares_the_kind() {
    let items = timeline().await;
    let kinds = async |condition: azure_table_client::filter::Condition<Item>| {
        let found = items.query().filter(|_| condition).select(|i| i.kind).await;
        found.unwrap().into_vec()
    };
    let columns = || <Item as azure_table_client::filter::HasColumns>::typed_columns::<Item>("");
    let video = ItemKind::Other("Video".into());
    assert_eq!(kinds(columns().kind().eq(ItemKind::Photo)).await, [ItemKind::Photo]);
    assert_eq!(kinds(columns().kind().eq(&video)).await, std::slice::from_ref(&video));
    assert_eq!(kinds(columns().kind().ne(ItemKind::Post)).await, [video.clone(), ItemKind::Photo]);
    let listed = [ItemKind::Photo, ItemKind::Post];
    assert_eq!(
        kinds(columns().kind().is_in(listed)).await,
        [ItemKind::Photo, ItemKind::Post, ItemKind::Post]
    );
    assert_eq!(items.query().filter(|i| i.kind().eq(ItemKind::Post)).count().await.unwrap(), 2);
}

#[tokio::test]
async fn one_kind_is_read_as_its_struct() {
    let items = timeline().await;
    let photos = items.query().of_kind::<Photo>().await.unwrap();
    assert_eq!(photos, [photo(3)]);
    let posts = items.query().filter(|i| i.kind().ne(ItemKind::Photo)).of_kind::<Post>();
    assert_eq!(posts.await.unwrap(), [post(2), post(1)]);
    let none = items.query().filter(|i| i.kind().eq(ItemKind::Photo)).of_kind::<Post>();
    assert!(none.await.unwrap().is_empty());
    // Conditions before and after are combined.
    let second = items.query().of_kind::<Post>().filter(|p| p.row_key.eq(at(2)));
    assert_eq!(second.await.unwrap(), [post(2)]);
    let texts = items.query().of_kind::<Post>().select(|p| (p.text, p.rating));
    assert_eq!(texts.await.unwrap(), [("Hello".to_owned(), 3), ("Hello".to_owned(), 3)]);
    let some = items.query().of_kind::<Post>().select_names(["Text", "Rating"]);
    assert_eq!(some.await.unwrap(), [post(2), post(1)]);
}
