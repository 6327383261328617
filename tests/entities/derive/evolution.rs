//! Section 8.4 of the paper: entities change while their rows stay.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmType, EdmValue};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ETag, TableClient, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct V1 {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: u8,
    text: String,
    rating: i32,
}

async fn three_rows() -> TableClient<V1> {
    let table = MockTableService::new().client().table_named("Blogs");
    table.create().await.unwrap();
    for r in 1..=3 {
        table
            .insert(&V1 { p: "p".into(), r, text: "Hello".into(), rating: i32::from(r) })
            .await
            .unwrap();
    }
    table
}

async fn types(table: &TableClient<V1>, r: u8) -> Vec<(String, EdmType)> {
    let row = table.with_entity::<DynamicEntity>().get(V1::key("p", r).unwrap()).await.unwrap();
    row.properties().map(|(name, value)| (name.to_owned(), value.edm_type())).collect()
}

fn named(expected: &[(&str, EdmType)]) -> Vec<(String, EdmType)> {
    expected.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect()
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Added {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: u8,
    text: String,
    rating: i32,
    #[table(default)]
    language: String,
}

/// 8.4.1: old and new programs run side by side.
#[tokio::test]
async fn a_property_is_added() {
    let old = three_rows().await;
    let new = old.with_entity::<Added>();
    let key = Added::key("p", 1_u8).unwrap();
    let read = new.get(&key).await.unwrap();
    assert_eq!(read.language, "");
    // Update on access.
    new.replace(&Added { language: "de".into(), ..read.entity.clone() }, &read.etag).await.unwrap();

    // The old program reads the new row and ignores the unknown property, and its merge keeps it.
    let by_old = old.get(&key).await.unwrap();
    old.merge(&V1 { text: "Hi".into(), ..by_old.entity.clone() }, &by_old.etag).await.unwrap();
    let read = new.get(&key).await.unwrap();
    assert_eq!((&*read.text, &*read.language), ("Hi", "de"));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Removed {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: u8,
    text: String,
    #[table(etag)]
    version: ETag,
}

/// 8.4.2: the paper's `SaveChangesOptions.ReplaceOnUpdate`, for all rows in the background.
#[tokio::test]
async fn a_property_is_removed() {
    let old = three_rows().await;
    let new = old.with_entity::<Removed>();
    let rows = new.query().await.unwrap();
    // A merge would keep it.
    new.merge(&rows[0], &rows[0].version).await.unwrap();
    assert_eq!(types(&old, 1).await.len(), 2);
    let mut skipped = 0;
    for row in rows {
        match new.replace(&row, &row.version).await {
            Ok(_) => {}
            Err(error) if error.is_precondition_failed() => skipped += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(skipped, 1, "the row that was written meanwhile");
    assert_eq!(types(&old, 2).await, named(&[("text", EdmType::String)]));
    assert_eq!(types(&old, 1).await.len(), 2);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Retyped {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: u8,
    text: String,
    #[table(alias = "rating", accept = "widened")]
    stars: f64,
}

/// 8.4.3: a new property name, since a filter skips rows with another type.
#[tokio::test]
async fn a_property_gets_another_type() {
    let old = three_rows().await;
    let new = old.with_entity::<Retyped>();
    let found = async || new.query().filter_text("stars gt 1.5").await.unwrap().len();
    assert_eq!(found().await, 0, "old rows are not found by the new name");
    let rows = new.query().await.unwrap();
    assert_eq!(rows.iter().map(|row| row.stars).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    for row in rows {
        new.replace(&row, azure_table_client::IfMatch::Any).await.unwrap();
    }
    assert_eq!(found().await, 2);
    assert_eq!(
        types(&old, 1).await,
        named(&[("stars", EdmType::Double), ("text", EdmType::String)])
    );
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Careful {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: u8,
    text: String,
    #[table(extra)]
    others: BTreeMap<String, EdmValue>,
}

/// A program that replaces rows of a version that it does not know.
#[tokio::test]
async fn unknown_properties_are_not_lost() {
    let old = three_rows().await;
    let careful = old.with_entity::<Careful>();
    let key = Careful::key("p", 2_u8).unwrap();
    let read = careful.get(&key).await.unwrap();
    careful
        .replace(&Careful { text: "Hi".into(), ..read.entity.clone() }, &read.etag)
        .await
        .unwrap();
    assert_eq!(old.get(&key).await.unwrap().rating, 2);
}
