//! The tables of the guide "From `DataServiceContext`", row by row. A test is named after its row.

use azure_table_client::client::TableSet;
use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{EntityState, Load, MergeOption, SaveOptions, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    DynamicEntity, ErrorKind, IfMatch, Operation, RetryPolicy, TableClient, TableEntity,
};

use super::{Blog, blog, context, service, state, stored};

const KEY: (&str, &str) = ("c", "1");

async fn with_blogs(count: usize) -> (MockTableService, TableClient<Blog>) {
    let (mock, blogs) = service().await;
    for id in 1..=count {
        blogs.insert(&blog(&id.to_string(), "old")).await.unwrap();
    }
    mock.requests().clear();
    (mock, blogs)
}

/// All blogs, tracked by the context.
fn all(ctx: &mut TableContext) -> Load<'_, Blog> {
    ctx.load(ctx.service().table::<Blog>().query())
}

#[tokio::test]
async fn first_and_first_or_default() {
    for (count, found) in [(0, None), (1, Some("1")), (2, Some("1"))] {
        let (mock, _) = with_blogs(count).await;
        let mut ctx = context(&mock);
        let first = all(&mut ctx).first().await.unwrap();
        assert_eq!(first.map(|blog| blog.id).as_deref(), found);
    }
}

#[tokio::test]
async fn single_and_single_or_default() {
    for (count, single, single_or_default) in
        [(0, None, Some(None)), (1, Some("1"), Some(Some("1"))), (2, None, None)]
    {
        let (mock, _) = with_blogs(count).await;
        let mut ctx = context(&mock);
        let found = all(&mut ctx).single().await;
        assert_eq!(found.as_ref().ok().map(|blog| &*blog.id), single);
        assert!(found.is_ok() || found.unwrap_err().kind() == ErrorKind::NotSingle);
        let found = all(&mut ctx).single_or_none().await;
        let id = found.as_ref().ok().map(|blog| blog.as_ref().map(|blog| &*blog.id));
        assert_eq!(id, single_or_default);
        assert!(found.is_ok() || found.unwrap_err().kind() == ErrorKind::NotSingle);
    }
}

/// The context notices a change when the program passes it, not before.
#[tokio::test]
async fn tracking() {
    let (mock, blogs) = with_blogs(1).await;
    let mut ctx = context(&mock);
    let mut read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    read.text = "new".into();
    assert!(!ctx.has_changes());
    ctx.update(&read).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(KEY).await.unwrap().text, "new");
}

#[tokio::test]
async fn merge_sends_differences_only() {
    let (mock, _) = with_blogs(2).await;
    let mut ctx = context(&mock);
    let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&read[0]).unwrap();
    ctx.update(&Blog { text: "new".into(), ..read[1].clone() }).unwrap();
    let plan = ctx.plan(SaveOptions::default()).unwrap();
    let body = r#"{"PartitionKey":"c","RowKey":"2","Text":"new"}"#;
    assert_eq!((plan.len(), plan[0].bytes), (1, body.len()));
}

/// The service ignores a null in a MERGE, so the value is removed by a PUT.
#[tokio::test]
async fn a_value_that_became_null() {
    let (mock, blogs) = with_blogs(1).await;
    let mut ctx = context(&mock);
    let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    ctx.update(&Blog { rating: None, ..read }).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().count(Operation::Replace), 1);
    assert_eq!(blogs.get(KEY).await.unwrap().rating, None);
    // An attached row was not read.
    let mut ctx = context(&mock);
    let none = Blog { rating: None, ..blog("1", "mine") };
    ctx.attach(&none, IfMatch::Any).unwrap();
    ctx.update(&none).unwrap();
    assert_eq!(ctx.save_changes().await.unwrap_err().error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn an_object_that_was_read_by_a_projection() {
    let (mock, blogs) = with_blogs(1).await;
    let mut ctx = context(&mock);
    let mut read = ctx
        .load(ctx.service().table::<Blog>().query().select_names(["Text"]))
        .await
        .unwrap()
        .remove(0);
    assert_eq!(read.rating, None);
    read.text = "new".into();
    ctx.update(&read).unwrap();
    ctx.save_changes().await.unwrap();
    let row = blogs.get(KEY).await.unwrap();
    assert_eq!((&*row.text, row.rating), ("new", Some(3)));
}

/// An update of an attached entity is not an upsert.
#[tokio::test]
async fn attach_to() {
    let (mock, blogs) = with_blogs(0).await;
    let mut ctx = context(&mock);
    ctx.attach(&blog("1", "mine"), IfMatch::Any).unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    assert!(ctx.save_changes().await.unwrap_err().error.is_not_found());
    // Upserts have their own methods.
    let mut ctx = context(&mock);
    ctx.table::<Blog>().add_or_merge(&blog("1", "a")).unwrap();
    ctx.table::<Blog>().add_or_replace(&blog("2", "b")).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.query().count().await.unwrap(), 2);
}

/// `Batch` is checked before anything is sent; `per_partition` needs as few transactions as possible.
#[tokio::test]
async fn saves() {
    let (mock, _) = with_blogs(0).await;
    let mut ctx = context(&mock);
    for id in 0..101 {
        ctx.add(&blog(&format!("{id:03}"), "new")).unwrap();
    }
    let error = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::InvalidInput);
    assert_eq!(mock.requests().total(), 0);
    ctx.save_changes_with(SaveOptions::per_partition()).await.unwrap();
    assert_eq!(mock.requests().count(Operation::Transaction), 2);
}

#[tokio::test]
async fn the_outcome_of_a_save() {
    let (mock, _) = with_blogs(1).await;
    let mut ctx = context(&mock);
    for id in ["0", "1", "2"] {
        ctx.add(&blog(id, "new")).unwrap();
    }
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!(report.to_string(), "1 applied, 1 failed, 1 not attempted, 0 unknown");
    // The failed change stays pending, and a later save sends it again.
    let entries = ctx.entries();
    let added = entries.iter().filter(|entry| entry.state() == EntityState::Added).count();
    assert_eq!((added, entries.len()), (2, 3));
    let report = ctx.save_changes_with(SaveOptions::each().continue_on_error()).await;
    assert_eq!(report.unwrap_err().report.applied(), 1);
}

#[tokio::test]
async fn a_lost_response() {
    let (mock, blogs) = with_blogs(0).await;
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    let mut ctx = context(&mock);
    ctx.add(&blog("1", "new")).unwrap();
    let _ = ctx.save_changes_with(SaveOptions::each().retry(RetryPolicy::none())).await;
    // .NET would send the insert again, and report 409.
    ctx.save_changes().await.unwrap();
    assert_eq!(state(&ctx), Some(EntityState::Unchanged));
    assert_eq!(blogs.query().count().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn retries() {
    let (mock, _) = with_blogs(0).await;
    mock.faults().add(Fault::busy().times(2));
    let mut ctx = context(&mock);
    ctx.add(&blog("1", "new")).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().total(), 3);
}

#[tokio::test]
async fn continuation() {
    let (mock, _) = with_blogs(0).await;
    let row = |id: u32| DynamicEntity::new("c", format!("{id:04}")).with("Text", "old");
    let rows: Vec<_> = (0..1001).map(row).collect();
    mock.seed("Blogs", &rows).unwrap();
    let mut ctx = context(&mock);
    assert_eq!(ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().len(), 1001);
    assert_eq!(
        ctx.load(ctx.service().table::<Blog>().query().take(1000)).await.unwrap().len(),
        1000
    );
}

#[tokio::test]
async fn a_missing_row() {
    fn query(ctx: &mut TableContext) -> Load<'_, Blog> {
        ctx.load(ctx.service().table::<Blog>().query().filter(|b| b.channel.eq("c") & b.id.eq("1")))
    }

    let (mock, _) = with_blogs(0).await;
    let mut ctx = context(&mock);
    assert_eq!(query(&mut ctx).first().await.unwrap(), None);
    assert_eq!(query(&mut ctx).single_or_none().await.unwrap(), None);
    assert_eq!(ctx.find::<Blog>(KEY).await.unwrap(), None);
}

#[tokio::test]
async fn a_query_of_another_client_is_refused() {
    let (mock, _) = with_blogs(1).await;
    let mut ctx = context(&mock);
    let query = mock.client().table::<Blog>().query();
    mock.requests().clear();
    let error = ctx.load(query.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(ctx.cursor(query).err().map(|error| error.kind()), Some(ErrorKind::InvalidInput));
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test]
async fn a_cursor_does_not_feed_a_context_of_another_client() {
    let (mock, _) = with_blogs(2).await;
    let (mut own, mut other) = (context(&mock), context(&mock));
    let mut cursor = own.cursor(own.service().table::<Blog>().query()).unwrap();
    let error = cursor.next(&mut other).await.unwrap_err();
    assert_eq!((error.kind(), other.entries().len()), (ErrorKind::InvalidInput, 0));
    for _ in 0..2 {
        assert!(cursor.next(&mut own).await.unwrap().is_some(), "no row is lost");
    }
    assert_eq!(own.entries().len(), 2);
}

#[derive(TableSet)]
struct Tables {
    blogs: TableClient<Blog>,
}

#[tokio::test]
async fn create_tables_from_model() {
    let mock = MockTableService::new();
    let tables = Tables::open(&mock.client());
    assert_eq!(tables.create_if_not_exists().await.unwrap(), ["Blogs"]);
    assert!(tables.create_if_not_exists().await.unwrap().is_empty());
    assert_eq!(tables.blogs.query().count().await.unwrap(), 0);
}

#[tokio::test]
async fn merge_option_of_the_context_and_of_one_query() {
    let (mock, blogs) = with_blogs(1).await;
    let mut ctx = context(&mock).merge_option(MergeOption::OverwriteChanges);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    blogs.insert_or_replace(&blog("1", "theirs")).await.unwrap();
    let read = ctx
        .load(ctx.service().table::<Blog>().query())
        .merge_option(MergeOption::AppendOnly)
        .await
        .unwrap();
    assert_eq!(read[0].text, "mine");
    let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    assert_eq!(read[0].text, "theirs");
}

#[tokio::test]
async fn delete_detach_and_try_get_entity() {
    let (mock, blogs) = with_blogs(2).await;
    let mut ctx = context(&mock);
    let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.delete(&read[0]).unwrap();
    assert!(ctx.detach(&read[1]).unwrap());
    assert!(ctx.table_named::<Blog>("Blogs").entry(("c", "2")).is_none());
    assert_eq!(state(&ctx), Some(EntityState::Deleted));
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.query().count().await.unwrap(), 1);
}

#[derive(Debug, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase", deny_unknown)]
struct Strict {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

#[tokio::test]
async fn ignore_missing_properties() {
    let (mock, _) = with_blogs(1).await;
    let table = stored(&mock);
    table.merge(&DynamicEntity::new("c", "1").with("Foreign", 1), IfMatch::Any).await.unwrap();
    let mut ctx = context(&mock);
    assert_eq!(all(&mut ctx).await.unwrap().len(), 1);
    let error = ctx.load(ctx.service().table::<Strict>().query()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
}

#[tokio::test]
async fn hooks() {
    use std::sync::{Arc, Mutex};

    let (mock, blogs) = with_blogs(1).await;
    let calls = Arc::new(Mutex::new(Vec::new()));
    let record = |name: &'static str| {
        let calls = Arc::clone(&calls);
        move || calls.lock().unwrap().push(name)
    };
    let (reading, writing, request, reply) =
        (record("reading"), record("writing"), record("request"), record("reply"));
    let mut ctx = context(&mock);
    ctx.on_reading(move |_| reading());
    ctx.on_writing(move |row| {
        writing();
        row.set("Text", "hook");
    });
    ctx.on_request(move |_, _| request());
    ctx.on_reply(move |_, _| reply());
    let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    ctx.update(&Blog { text: "new".into(), ..read }).unwrap();
    let report = ctx.save_changes().await.unwrap();
    assert!(matches!(report.results[0].outcome, WriteOutcome::Applied { .. }));
    assert_eq!(*calls.lock().unwrap(), ["reading", "writing", "request", "reply"]);
    assert_eq!(blogs.get(KEY).await.unwrap().text, "hook");
}
