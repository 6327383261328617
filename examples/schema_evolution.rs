//! A program's entities change while their rows stay (section 8.4 of the "Windows Azure Table"
//! paper): a property is added, one is removed, and one gets another type.
//!
//! Old rows are brought up to date in two ways: each one when it is next written ("update on
//! access"), and all of them by a job in the background. Old programs continue to run meanwhile.
//!
//! `cargo run -p azure-table-examples --example schema_evolution` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::collections::BTreeMap;
use std::error::Error;

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, ETag, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::Steps;

/// Version 1, which wrote the rows. It keeps properties that it does not know, so that it does not delete
/// those of newer versions.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct BlogV1 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: i32,
    #[table(extra)]
    others: BTreeMap<String, EdmValue>,
}

/// Version 2 adds a property: rows without it read as the default.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct BlogV2 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: i32,
    #[table(default = "english")]
    language: String,
}

fn english() -> String {
    "en".to_owned()
}

/// Version 3 removes a property, by replacing the row with an entity that does not have it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct BlogV3 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    #[table(default = "english")]
    language: String,
    #[table(etag)]
    version: Option<ETag>,
}

/// Version 4 has the rating as a Double. It has a new name, since under one name with two types, filters
/// silently skip the rows of the other type.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct BlogV4 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    // An old row has the old property instead, an Int32.
    #[table(alias = "Rating", accept = "widened")]
    stars: f64,
    #[table(etag)]
    version: Option<ETag>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    adding(&service, &mut steps).await?;
    removing(&service, &mut steps).await?;
    retyping(&service, &mut steps).await?;
    steps.total();
    Ok(())
}

/// A table with three rows of version 1.
async fn old_table(
    service: &TableServiceClient,
    name: &str,
) -> Result<TableClient<BlogV1>, Box<dyn Error>> {
    let table = service.table_named(name);
    table.create_if_not_exists().await?;
    for id in 1..=3 {
        let blog = BlogV1 {
            channel: "Channel9".to_owned(),
            id,
            text: format!("Blog number {id}"),
            rating: i32::try_from(id)?,
            others: BTreeMap::new(),
        };
        table.insert_or_replace(&blog).await?;
    }
    Ok(table)
}

/// Section 8.4.1: adding a property.
async fn adding(service: &TableServiceClient, steps: &mut Steps) -> Result<(), Box<dyn Error>> {
    let old = old_table(service, "EvolutionAdding").await?;
    steps.done("three rows of version 1, which has no language", "");

    let new = old.with_entity::<BlogV2>();
    let key = BlogV2::key("Channel9", 1_u32)?;
    let read = new.get(&key).await?;
    assert_eq!(read.language, "en");
    steps.done("version 2 reads the first one", format!("language {:?}", read.language));

    // Update on access: each write of the row writes the new property as well.
    let german = BlogV2 { language: "de".to_owned(), ..read.entity.clone() };
    new.replace(&german, &read.etag).await?;
    steps.done("it changes the language and writes the row", properties(&old, 1).await?);

    let read = old.get(&key).await?;
    let corrected = BlogV1 { text: "Corrected".to_owned(), ..read.entity.clone() };
    old.replace(&corrected, &read.etag).await?;
    assert_eq!(new.get(&key).await?.language, "de");
    steps.done("version 1, still running, replaces the row", properties(&old, 1).await?);
    old.delete_table().await?;
    Ok(())
}

/// Section 8.4.2: removing a property.
async fn removing(service: &TableServiceClient, steps: &mut Steps) -> Result<(), Box<dyn Error>> {
    let old = old_table(service, "EvolutionRemoving").await?;
    let new = old.with_entity::<BlogV3>();
    // In the background: reads and replaces every row, unless another program has written it.
    let upgraded = upgrade(&new, |blog| blog.version.as_ref()).await?;
    assert_eq!(upgraded, 3);
    steps.done("replace all rows by version 3, which has no rating", format!("{upgraded} rows"));
    steps.done("the first row has", properties(&old, 1).await?);
    old.delete_table().await?;
    Ok(())
}

/// Section 8.4.3: changing the type of a property.
async fn retyping(service: &TableServiceClient, steps: &mut Steps) -> Result<(), Box<dyn Error>> {
    let old = old_table(service, "EvolutionRetyping").await?;
    let new = old.with_entity::<BlogV4>();
    let read = new.get(BlogV4::key("Channel9", 3_u32)?).await?;
    assert!((read.stars - 3.0).abs() < f64::EPSILON);
    steps.done("version 4 reads the Int32 Rating as the Double Stars", format!("{}", read.stars));

    let found = new.query().filter_text("Stars ge 1.5").await?;
    assert!(found.is_empty());
    steps.done("a filter on Stars before the upgrade", format!("{} rows", found.len()));
    let upgraded = upgrade(&new, |blog| blog.version.as_ref()).await?;
    assert_eq!(upgraded, 3);
    steps.done("replace all rows by version 4", format!("{upgraded} rows"));
    let found = new.query().filter_text("Stars ge 1.5").await?;
    assert_eq!(found.len(), 2);
    steps.done("the same filter", format!("{} rows", found.len()));
    steps.done("the first row has", properties(&old, 1).await?);
    old.delete_table().await?;
    Ok(())
}

/// Reads every row as a `T` and writes it back, page by page. A row that changed meanwhile was
/// written by a newer program, or is upgraded by the next run of the job.
async fn upgrade<T: TableEntity + Send + 'static>(
    table: &TableClient<T>,
    version: impl Fn(&T) -> Option<&ETag>,
) -> Result<usize, Box<dyn Error>> {
    let mut upgraded = 0;
    let mut pages = table.query().pages();
    while let Some(page) = pages.next().await {
        for row in page?.entities {
            let version = version(&row).ok_or("a response without ETags")?;
            match table.replace(&row, version).await {
                Ok(_) => upgraded += 1,
                Err(error) if error.is_precondition_failed() || error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(upgraded)
}

/// Returns the properties of a row as text.
async fn properties(table: &TableClient<BlogV1>, id: u32) -> Result<String, Box<dyn Error>> {
    let row = table.with_entity::<DynamicEntity>().get(BlogV1::key("Channel9", id)?).await?;
    let list: Vec<String> =
        row.properties().map(|(name, value)| format!("{name}: {}", value.edm_type())).collect();
    Ok(list.join(", "))
}
