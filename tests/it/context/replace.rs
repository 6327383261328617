//! Saves with `replace_on_update`.

use std::collections::BTreeMap;

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{
    ConflictResolver, EntityState, MergeOption, SaveOptions, TableContext,
};
use azure_table_client::edm::EdmValue;
use azure_table_client::entity::NamedTable;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, IfMatch, Operation, Proof, TableClient, TableEntity};

use super::{Blog, blog, context, service, state, stored};

/// A blog of a version that has no rating.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct BlogV2 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Careful {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
    #[table(extra)]
    others: BTreeMap<String, EdmValue>,
}

async fn names(table: &TableClient<DynamicEntity>, id: &str) -> Vec<String> {
    let row = table.get(("c", id)).await.unwrap();
    let mut names: Vec<String> = row.properties().map(|(name, _)| name.to_owned()).collect();
    names.sort();
    names
}

async fn three_blogs() -> (MockTableService, TableClient<DynamicEntity>) {
    let (mock, blogs) = service().await;
    for id in ["1", "2", "3"] {
        blogs.insert(&blog(id, "old")).await.unwrap();
    }
    let table = stored(&mock);
    (mock, table)
}

fn replacing() -> SaveOptions {
    SaveOptions::each().replace_on_update()
}

/// Section 8.4.2 of the paper: a property is removed by reading all entities as the new type, passing each to
/// `UpdateObject`, and `SaveChanges(SaveChangesOptions.ReplaceOnUpdate)`.
#[tokio::test]
async fn a_retired_property_is_removed() {
    for options in [
        replacing(),
        SaveOptions::atomic().replace_on_update(),
        SaveOptions::per_partition().replace_on_update(),
    ] {
        let (mock, table) = three_blogs().await;
        let mut ctx = context(&mock);
        for blog in ctx.load(ctx.service().table::<BlogV2>().query()).await.unwrap() {
            ctx.update(&blog).unwrap();
        }
        let plan = ctx.plan(options.clone()).unwrap();
        let operations = plan.iter().flat_map(|request| &request.operations);
        assert!(operations.clone().all(|(operation, _)| *operation == Operation::Replace));
        assert_eq!(operations.count(), 3);
        assert_eq!(ctx.save_changes_with(options.clone()).await.unwrap().applied(), 3);
        for id in ["1", "2", "3"] {
            assert_eq!(names(&table, id).await, ["Text"]);
        }
        // The updates are saved.
        mock.requests().clear();
        assert!(ctx.save_changes_with(options).await.unwrap().results.is_empty());
        assert!(ctx.entries().iter().all(|entry| entry.state() == EntityState::Unchanged));
        assert_eq!(mock.requests().total(), 0);
    }
}

/// A MERGE would keep the retired property, and an entity without an update is not written.
#[tokio::test]
async fn only_updated_entities_are_replaced() {
    let (mock, table) = three_blogs().await;
    let mut ctx = context(&mock);
    let blogs = ctx.load(ctx.service().table::<BlogV2>().query()).await.unwrap();
    ctx.update(&blogs[1]).unwrap();
    assert!(ctx.save_changes().await.unwrap().results.is_empty());
    assert_eq!(names(&table, "2").await, ["Rating", "Text"]);
    ctx.save_changes_with(replacing()).await.unwrap();
    assert_eq!(names(&table, "1").await, ["Rating", "Text"]);
    assert_eq!(names(&table, "2").await, ["Text"]);
    // A reset withdraws the update.
    ctx.update(&blogs[0]).unwrap();
    ctx.reset(&blogs[0]).unwrap();
    assert!(ctx.save_changes_with(replacing()).await.unwrap().results.is_empty());
}

#[tokio::test]
async fn an_extra_field_keeps_the_columns_of_other_programs() {
    let (mock, table) = three_blogs().await;
    let mut ctx = context(&mock);
    let mut read = ctx.load(ctx.service().table::<Careful>().query()).await.unwrap().remove(0);
    read.text = "new".into();
    ctx.update(&read).unwrap();
    ctx.save_changes_with(replacing()).await.unwrap();
    assert_eq!(names(&table, "1").await, ["Rating", "Text"]);
}

/// Columns without a field are lost by an explicit replace, and kept by the one that removes a value.
#[tokio::test]
async fn columns_without_a_field() {
    for (options, left) in
        [(replacing(), &["Text"][..]), (SaveOptions::each(), &["Foreign", "Text"])]
    {
        let (mock, blogs) = service().await;
        blogs.insert(&blog("1", "old")).await.unwrap();
        let table = stored(&mock);
        table.merge(&DynamicEntity::new("c", "1").with("Foreign", 1), IfMatch::Any).await.unwrap();
        let mut ctx = context(&mock);
        let mut read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
        read.rating = None;
        ctx.update(&read).unwrap();
        ctx.save_changes_with(options).await.unwrap();
        assert_eq!(names(&table, "1").await, left);
        assert_eq!(state(&ctx), Some(EntityState::Unchanged));
        // The next update compares with the row as it is now.
        read.text = "newer".into();
        ctx.update(&read).unwrap();
        assert_eq!(ctx.entries()[0].changed(), ["Text"]);
        ctx.save_changes().await.unwrap();
        assert_eq!(names(&table, "1").await, left);
    }
}

#[tokio::test]
async fn a_replace_after_a_projection_is_refused() {
    let (mock, table) = three_blogs().await;
    let mut ctx = context(&mock);
    let read = ctx
        .load(ctx.service().table::<Blog>().query().select_names(["Text"]))
        .await
        .unwrap()
        .remove(0);
    ctx.update(&read).unwrap();
    let error = ctx.save_changes_with(replacing()).await.unwrap_err();
    assert!(error.error.to_string().contains("read all columns first"), "{}", error.error);
    assert_eq!(names(&table, "1").await, ["Rating", "Text"]);
}

/// An update without a difference is resolved like other updates.
#[tokio::test]
async fn conflicts_of_an_update_without_a_difference() {
    for (resolver, left, outcome) in [
        (ConflictResolver::client_wins(), &["Text"][..], "applied"),
        (ConflictResolver::server_wins(), &["Rating", "Text"], "discarded"),
        (ConflictResolver::abort(), &["Rating", "Text"], "failed"),
    ] {
        let (mock, table) = three_blogs().await;
        let mut ctx = context(&mock);
        let read = ctx.load(ctx.service().table::<BlogV2>().query()).await.unwrap().remove(0);
        ctx.update(&read).unwrap();
        let other = DynamicEntity::new("c", "1").with("Text", "other");
        table.merge(&other, IfMatch::Any).await.unwrap();
        let _ = ctx.save_changes_with(replacing().on_conflict(resolver)).await;
        let found = match ctx.last_report().results[0].outcome {
            WriteOutcome::Applied { .. } => "applied",
            WriteOutcome::Discarded(_) => "discarded",
            _ => "failed",
        };
        assert_eq!(found, outcome);
        assert_eq!(names(&table, "1").await, left);
        // The program did not change the text.
        let text = table.get(("c", "1")).await.unwrap().get::<String>("Text");
        assert_eq!(text, Some(Ok("other".into())));
    }
}

/// A struct from a projection holds defaults, also after the row was read whole.
#[tokio::test]
async fn a_replace_after_a_projection_and_a_whole_read_is_refused() {
    let (mock, table) = three_blogs().await;
    let mut ctx = context(&mock);
    let mut read = ctx
        .load(ctx.service().table::<Blog>().query().select_names(["Text"]))
        .await
        .unwrap()
        .remove(0);
    read.text = "new".into();
    ctx.update(&read).unwrap();
    ctx.find::<Blog>(("c", "1")).await.unwrap();
    let error = ctx.save_changes_with(replacing()).await.unwrap_err();
    assert!(error.error.to_string().contains("read all columns first"), "{}", error.error);
    ctx.save_changes().await.unwrap();
    let row = table.get(("c", "1")).await.unwrap();
    assert_eq!(row.get::<String>("Text"), Some(Ok("new".into())));
    assert_eq!(row.get::<i32>("Rating"), Some(Ok(3)));
}

/// Changes of other programs to columns that the program did not change survive, with an `extra` field, without a
/// struct, and under a former name.
#[tokio::test]
async fn newer_values_of_other_columns_survive_a_resolved_conflict() {
    async fn resolved<T: NamedTable + Send + 'static>(change: fn(&mut T)) -> DynamicEntity {
        let (mock, table) = three_blogs().await;
        let row = DynamicEntity::new("c", "1").with("F", 1).with("Body", "old");
        table.merge(&row, IfMatch::Any).await.unwrap();
        let mut ctx = context(&mock);
        let mut read =
            ctx.load(ctx.service().table::<T>().query().take(1)).await.unwrap().remove(0);
        change(&mut read);
        ctx.update(&read).unwrap();
        let other = DynamicEntity::new("c", "1").with("F", 2).with("New", 7).with("Body", "other");
        table.merge(&other, IfMatch::Any).await.unwrap();
        let options = replacing().on_conflict(ConflictResolver::client_wins());
        ctx.save_changes_with(options).await.unwrap();
        table.get(("c", "1")).await.unwrap().into_inner()
    }
    let row = resolved::<Careful>(|read| read.text = "mine".into()).await;
    assert_eq!(row.get::<String>("Text"), Some(Ok("mine".into())));
    assert_eq!((row.get::<i32>("F"), row.get::<i32>("New")), (Some(Ok(2)), Some(Ok(7))));
    let row = resolved::<Renamed>(|read| read.text = "mine".into()).await;
    assert_eq!(row.get::<String>("Text"), Some(Ok("mine".into())));
    assert_eq!(row.get::<String>("Body"), Some(Ok("other".into())));
    assert_eq!((row.value("Content"), row.value("F"), row.value("New")), (None, None, None));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Renamed {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
    #[table(alias = "Body")]
    content: String,
}

/// The row was deleted by another program: the client's update inserts it again, without the retired property.
#[tokio::test]
async fn an_update_without_a_difference_inserts_a_missing_row() {
    let (mock, table) = three_blogs().await;
    let mut ctx = context(&mock);
    let read = ctx.load(ctx.service().table::<BlogV2>().query()).await.unwrap().remove(0);
    ctx.update(&read).unwrap();
    table.delete(("c", "1"), IfMatch::Any).await.unwrap();
    let options = replacing().on_conflict(ConflictResolver::client_wins());
    assert_eq!(ctx.save_changes_with(options).await.unwrap().applied(), 1);
    assert_eq!(names(&table, "1").await, ["Text"]);
}

/// `PreserveChanges` gives the update the service's new values of the fields that the program did not change.
#[tokio::test]
async fn a_refreshed_update_keeps_newer_values() {
    let (mock, table) = three_blogs().await;
    let mut ctx = context(&mock);
    let mut read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    read.text = "mine".into();
    ctx.update(&read).unwrap();
    let other = DynamicEntity::new("c", "1").with("Rating", 9).with("Text", "theirs");
    table.merge(&other, IfMatch::Any).await.unwrap();
    ctx.refresh(&read, MergeOption::PreserveChanges).await.unwrap();
    ctx.save_changes_with(replacing()).await.unwrap();
    let row = table.get(("c", "1")).await.unwrap();
    assert_eq!(row.get::<String>("Text"), Some(Ok("mine".into())));
    assert_eq!(row.get::<i32>("Rating"), Some(Ok(9)));
}

/// An update that follows a dropped save is saved by the next one.
#[tokio::test]
async fn an_update_after_a_lost_response() {
    let (mock, table) = three_blogs().await;
    let mut ctx = TableContext::new(&mock.client());
    let read = ctx.load(ctx.service().table::<BlogV2>().query()).await.unwrap().remove(0);
    let changed = BlogV2 { text: "new".into(), ..read };
    ctx.update(&changed).unwrap();
    mock.faults().add(Fault::lose_reply().times(1));
    assert_eq!(ctx.save_changes().await.unwrap_err().report.unknown().count(), 1);
    ctx.update(&changed).unwrap();
    ctx.save_changes_with(replacing().proof(Proof::MatchingUpdate)).await.unwrap();
    assert_eq!(names(&table, "1").await, ["Text"]);
}
