//! Projections: columns as tuples, and structs of columns.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{Descending, Escaped, PropertyGroup};
use azure_table_client::filter::{Column, Projection};
use azure_table_client::{DynamicEntity, ErrorKind, TableClient, TableEntity, TableEnum};

use crate::client::target::Target;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", row_key(posted, author))]
struct Blog {
    #[table(partition_key)]
    channel: String,
    posted: Descending<u16>,
    author: Escaped,
    text: String,
    #[table(alias = "Stars")]
    rating: Option<i32>,
    #[table(as_padded)]
    views: u64,
    #[table(default)]
    likes: i32,
    #[table(on_mistyped = "collect")]
    size: i32,
    status: Status,
    #[table(flatten = "Home_")]
    home: Address,
    #[table(series)]
    votes: Vec<i32>,
    #[table(timestamp)]
    changed: Option<EdmDateTime>,
    #[table(errors)]
    errors: Vec<azure_table_client::entity::DecodeError>,
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(rename_all = "lowercase")]
enum Status {
    Draft,
    Live,
}

#[derive(Debug, Clone, PartialEq, PropertyGroup)]
#[table(rename_all = "PascalCase")]
struct Address {
    city: String,
    #[table(alias = "Postcode")]
    zip: Option<i32>,
}

fn blog(n: u16) -> Blog {
    Blog {
        channel: "Channel9".into(),
        posted: Descending(n),
        author: Escaped::from("a!b"),
        text: format!("text {n}"),
        rating: n.is_multiple_of(2).then_some(i32::from(n)),
        views: u64::from(n) * 1000,
        likes: i32::from(n) + 1,
        size: 7,
        status: if n == 1 { Status::Draft } else { Status::Live },
        home: Address { city: "Ulm".into(), zip: (n == 2).then_some(89073) },
        votes: vec![1, 2],
        changed: None,
        errors: Vec::new(),
    }
}

async fn filled(target: &Target) -> TableClient<Blog> {
    let table = target.table::<Blog>().await;
    for n in 1..=3 {
        table.insert(&blog(n)).await.unwrap();
    }
    table
}

/// Columns of every kind, as values or tuples.
pub(crate) async fn columns_as_tuples(target: &Target) {
    let table = filled(target).await;
    let all = || table.query().filter(|b| b.channel.eq("Channel9"));
    assert_eq!(all().select(|b| b.text).await.unwrap(), ["text 3", "text 2", "text 1"]);
    let found = all().select(|b| (b.views, b.rating, b.status)).await.unwrap();
    assert_eq!(
        found,
        [(3000, None, Status::Live), (2000, Some(2), Status::Live), (1000, None, Status::Draft)]
    );
    let found = all().select(|b| (b.channel, b.row_key)).take(1).await.unwrap();
    assert_eq!(found, [("Channel9".to_owned(), (Descending(3), Escaped::from("a!b")))]);
    let found = all().select(|b| (b.home.city, b.home.zip, b.votes.at(1), b.votes.at(2))).await;
    let zips: Vec<_> =
        found.unwrap().into_iter().map(|(_, zip, second, third)| (zip, second, third)).collect();
    assert_eq!(zips, [(None, Some(2), None), (Some(89073), Some(2), None), (None, Some(2), None)]);
    let nested = all().select(|b| ((b.text,), (b.likes, (b.views,)))).first().await.unwrap();
    assert_eq!(nested, Some((("text 3".to_owned(),), (4, (3000,)))));
    let changed = all().select(|b| (b.changed, b.likes)).await.unwrap();
    assert!(changed.iter().all(|(changed, likes)| changed.is_some() && *likes > 1));
    // A later projection replaces an earlier one, and a filter may come after it.
    let query = all().select(|b| b.text).filter(|b| b.rating.eq(2)).select(|b| b.likes);
    assert_eq!(query.single().await.unwrap(), 3);
    table.delete_table().await.unwrap();
}

/// Policies and former names are those of the entity.
pub(crate) async fn columns_are_read_as_the_entity_reads_them(target: &Target) {
    let table = filled(target).await;
    let mut old = DynamicEntity::from_entity(&blog(9)).unwrap();
    old.remove("Rating");
    old.remove("Likes");
    old.set("Stars", 5).set("Home_Postcode", 1).set("Size", "large");
    table.with_entity::<DynamicEntity>().insert(&old).await.unwrap();
    let old = || table.query().filter(|b| b.posted_is(9));
    assert_eq!(
        old().select(|b| (b.rating, b.likes, b.home.zip)).single().await.unwrap(),
        (Some(5), 0, Some(1))
    );
    // A projection has no field for collected errors.
    let error = old().select(|b| (b.likes, b.size)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.to_string().contains("Size"), "{error}");
    table.delete_table().await.unwrap();
}

impl BlogColumns {
    fn posted_is(self, posted: u16) -> azure_table_client::filter::Condition<Blog> {
        self.channel.eq("Channel9") & self.row_key.starts_with((posted,))
    }
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = "Blog")]
struct Summary {
    text: String,
    rating: Option<i32>,
    #[table(column = "home.city")]
    city: String,
    #[table(column = "row_key")]
    key: (Descending<u16>, Escaped),
}

/// A struct of columns; only these are transferred.
pub(crate) async fn columns_as_a_struct(target: &Target) {
    let table = filled(target).await;
    let found = table.query().filter(|b| b.rating.eq(2)).select_as::<Summary>().await.unwrap();
    let expected = Summary {
        text: "text 2".into(),
        rating: Some(2),
        city: "Ulm".into(),
        key: (Descending(2), Escaped::from("a!b")),
    };
    assert_eq!(found, [expected]);
    // A row of another shape is an error that names the missing column.
    let mut other = DynamicEntity::new("Channel9", "0!x");
    other.set("Rating", 2);
    table.with_entity::<DynamicEntity>().insert(&other).await.unwrap();
    let error = table.query().filter(|b| b.rating.eq(2)).select_as::<Summary>().await.unwrap_err();
    assert!(error.to_string().contains("\"Text\""), "{error}");
    table.delete_table().await.unwrap();
}

/// Columns whose names are known at run time.
pub(crate) async fn columns_at_run_time(target: &Target) {
    let table = filled(target).await.with_entity::<DynamicEntity>();
    let text = Column::<DynamicEntity, String>::dynamic;
    let stars = || Column::<DynamicEntity, Option<i32>>::dynamic("Rating");
    let found = table.query().select(|()| (text("Text"), stars())).take(2).await.unwrap();
    assert_eq!(found, [("text 3".to_owned(), None), ("text 2".to_owned(), Some(2))]);
    let filter = stars().eq(2).into_filter().unwrap();
    assert_eq!(
        table.query().matching(&filter).select(|()| text("Text")).single().await.unwrap(),
        "text 2"
    );
    // Invalid and duplicate names are refused before a request is sent.
    for bad in ["a b\u{0}", "", "PartitionKey"] {
        let error = table.query().select(|()| text(bad)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{bad}: {error}");
    }
    let error = table.query().select(|()| (text("Text"), text("Text"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    table.delete_table().await.unwrap();
}

#[derive(Debug, PartialEq, TableEntity)]
struct Policies {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(default, on_null = "error")]
    a: i32,
    #[table(on_missing = "error", on_null = "default", default)]
    b: i32,
}

/// The service returns a selected but missing property as null; it still counts as missing.
pub(crate) async fn missing_columns_are_missing(target: &Target) {
    let table = target.table::<Policies>().await;
    let rows = table.with_entity::<DynamicEntity>();
    let mut row = DynamicEntity::new("p", "r");
    row.set("b", 1);
    rows.insert(&row).await.unwrap();
    assert_eq!(table.query().select(|t| t.a).single().await.unwrap(), 0);
    assert_eq!(table.query().select_names(["a", "b"]).single().await.unwrap().a, 0);
    let point = || table.query().filter(|t| t.p.eq("p") & t.r.eq("r"));
    assert_eq!(point().select(|t| (t.a, t.b)).single().await.unwrap(), (0, 1));
    row.remove("b");
    rows.replace(&row, azure_table_client::IfMatch::Any).await.unwrap();
    for error in [
        table.query().select(|t| t.b).await.unwrap_err(),
        point().select(|t| t.b).await.unwrap_err(),
        table.query().select_names(["b"]).await.unwrap_err(),
        table.query().await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("missing"), "{error}");
    }
    table.delete_table().await.unwrap();
}
