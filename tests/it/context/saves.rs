//! The requests of a save, and the state after it.

use std::time::Duration;

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{EntityState, SaveOptions, TableContext};
use azure_table_client::mock::Fault;
use azure_table_client::{
    DynamicEntity, ErrorCode, IfMatch, Operation, RetryPolicy, TableClient, TableEntity,
};

use super::{Blog, Start, blog, context, in_state, service, state, stored};

#[tokio::test]
async fn no_change_sends_nothing() {
    let (mock, blogs) = service().await;
    let mut ctx = in_state(&mock, &blogs, Start::Unchanged).await;
    mock.requests().clear();
    for options in [SaveOptions::each(), SaveOptions::atomic(), SaveOptions::per_partition()] {
        ctx.update(&blog("1", "old")).unwrap();
        assert!(!ctx.has_changes());
        assert!(ctx.save_changes_with(options.clone()).await.unwrap().results.is_empty());
    }
    assert_eq!(mock.requests().total(), 0);
}

/// One changed property: one MERGE conditional on the ETag, with this property alone.
#[tokio::test]
async fn one_changed_property_is_one_merge() {
    let (mock, blogs) = service().await;
    let mut ctx = in_state(&mock, &blogs, Start::Unchanged).await;
    ctx.update(&blog("1", "new")).unwrap();
    let plan = ctx.plan(SaveOptions::default()).unwrap();
    let [request] = &plan[..] else { panic!("one request") };
    assert_eq!(request.operations[0].0, Operation::Merge);
    let body = r#"{"PartitionKey":"c","RowKey":"1","Text":"new"}"#;
    assert_eq!(request.bytes, body.len());
    // Another program changes the other properties meanwhile; a replace would lose that change.
    mock.requests().clear();
    let report = ctx.save_changes().await.unwrap();
    assert_eq!((report.applied(), report.results.len()), (1, 1));
    assert_eq!((mock.requests().total(), mock.requests().count(Operation::Merge)), (1, 1));
    assert_eq!(state(&ctx), Some(EntityState::Unchanged));
    // The next update uses the new ETag.
    ctx.update(&blog("1", "newer")).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(("c", "1")).await.unwrap().text, "newer");
}

/// Removing a property requires a replace, which keeps the properties that other programs wrote.
#[tokio::test]
async fn a_removed_property_is_a_replace_that_loses_nothing() {
    let (mock, _) = service().await;
    let table = stored(&mock);
    let mut row = DynamicEntity::new("c", "1");
    row.set("Text", "old").set("Rating", 3).set("Foreign", 5_i64);
    table.insert(&row).await.unwrap();
    let mut ctx = context(&mock);
    let mut read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    read.rating = None;
    ctx.update(&read).unwrap();
    mock.requests().clear();
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().count(Operation::Replace), 1);
    let row = table.get(("c", "1")).await.unwrap();
    assert_eq!((row.value("Rating"), row.get("Foreign")), (None, Some(Ok(5_i64))));
    // The property is added again.
    read.rating = Some(1);
    ctx.update(&read).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().count(Operation::Merge), 1);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Careful {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(alias = "Body")]
    text: String,
    #[table(read_only)]
    views: Option<i64>,
    #[table(default, skip_if = "is_zero")]
    rating: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what `skip_if` calls")]
fn is_zero(rating: &i32) -> bool {
    *rating == 0
}

/// Properties that a struct never writes are not removed: read-only properties and former names. A
/// skipped value is removed.
#[tokio::test]
async fn properties_that_a_struct_never_writes_are_kept() {
    let (mock, _) = service().await;
    let table = stored(&mock);
    let mut row = DynamicEntity::new("c", "1");
    row.set("Body", "old").set("Views", 5_i64).set("Rating", 3);
    table.insert(&row).await.unwrap();
    let mut ctx = context(&mock);
    let mut read = ctx.load(ctx.service().table::<Careful>().query()).await.unwrap().remove(0);
    assert_eq!((&*read.text, read.views, read.rating), ("old", Some(5), 3));
    (read.text, read.rating) = ("new".into(), 0);
    ctx.update(&read).unwrap();
    mock.requests().clear();
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().count(Operation::Replace), 1);
    let row = table.get(("c", "1")).await.unwrap();
    assert_eq!(row.get("Text"), Some(Ok("new".to_owned())));
    assert_eq!(row.get("Body"), Some(Ok("old".to_owned())), "older programs read it");
    assert_eq!((row.get("Views"), row.value("Rating")), (Some(Ok(5_i64)), None));
}

/// The unconditional update of the paper (5.1), and the limits of an attached entity.
#[tokio::test]
async fn attached_entities() {
    let (mock, blogs) = service().await;
    let etag = blogs.insert(&blog("1", "old")).await.unwrap().etag;
    blogs.insert_or_replace(&blog("1", "other")).await.unwrap();
    let mut ctx = context(&mock);
    ctx.attach(&blog("1", "mine"), IfMatch::Any).unwrap();
    assert!(!ctx.has_changes(), "attached is unchanged");
    ctx.update(&blog("1", "mine")).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(("c", "1")).await.unwrap().text, "mine");
    // A second change sends only the changed properties.
    ctx.update(&blog("1", "again")).unwrap();
    assert_eq!(ctx.entry(&blog("1", "")).unwrap().unwrap().changed(), ["Text"]);
    ctx.save_changes().await.unwrap();
    // With a version, a conflict is reported.
    let mut ctx = context(&mock);
    ctx.attach(&blog("1", "mine"), &etag).unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    let error = ctx.save_changes().await.unwrap_err();
    assert!(error.error.is_precondition_failed());
    // A merge cannot remove a property.
    let mut ctx = context(&mock);
    let none = Blog { rating: None, ..blog("1", "mine") };
    ctx.attach(&none, IfMatch::Any).unwrap();
    ctx.update(&none).unwrap();
    mock.requests().clear();
    let error = ctx.save_changes().await.unwrap_err();
    assert!(
        error.error.to_string().contains("cannot remove property \"Rating\""),
        "{}",
        error.error
    );
    assert_eq!((mock.requests().total(), state(&ctx)), (0, Some(EntityState::Modified)));
    ctx.save_changes_with(SaveOptions::each().replace_on_update()).await.unwrap();
    assert_eq!(blogs.get(("c", "1")).await.unwrap().rating, None);
}

/// A delete and an add of the same key are one replace under the version that was read.
#[tokio::test]
async fn deleted_and_added_again() {
    let (mock, blogs) = service().await;
    for options in [SaveOptions::each(), SaveOptions::atomic()] {
        let mut ctx = in_state(&mock, &blogs, Start::Deleted).await;
        ctx.add(&Blog { rating: None, ..blog("1", "again") }).unwrap();
        let plan = ctx.plan(options.clone()).unwrap();
        assert_eq!(plan[0].operations[0].0, Operation::Replace);
        ctx.save_changes_with(options.clone()).await.unwrap();
        let row = blogs.get(("c", "1")).await.unwrap();
        assert_eq!((&*row.text, row.rating), ("again", None));
        assert_eq!(state(&ctx), Some(EntityState::Unchanged));
    }
}

async fn three(blogs: &TableClient<Blog>, ctx: &mut TableContext) {
    for id in ["1", "2", "3"] {
        blogs.insert_or_replace(&blog(id, "old")).await.unwrap();
    }
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    for id in ["1", "2", "3"] {
        ctx.update(&blog(id, "new")).unwrap();
    }
    // Another program writes the second row first.
    blogs.insert_or_replace(&blog("2", "other")).await.unwrap();
}

fn outcomes(ctx: &TableContext) -> Vec<&'static str> {
    let outcome = |outcome: &WriteOutcome| match outcome {
        WriteOutcome::Applied { .. } => "applied",
        WriteOutcome::Failed(_) => "failed",
        WriteOutcome::NotAttempted(_) => "not attempted",
        _ => "unknown",
    };
    ctx.last_report().results.iter().map(|result| outcome(&result.outcome)).collect()
}

/// For each save option: the applied changes when the second of three changes fails.
#[tokio::test]
async fn a_failure_by_save_option() {
    for (options, expected, states) in [
        (SaveOptions::each(), ["applied", "failed", "not attempted"], [false, true, true]),
        (
            SaveOptions::each().continue_on_error(),
            ["applied", "failed", "applied"],
            [false, true, false],
        ),
        (SaveOptions::atomic(), ["not attempted", "failed", "not attempted"], [true, true, true]),
        (
            SaveOptions::per_partition(),
            ["not attempted", "failed", "not attempted"],
            [true, true, true],
        ),
        (
            SaveOptions::each().replace_on_update(),
            ["applied", "failed", "not attempted"],
            [false, true, true],
        ),
    ] {
        let (mock, blogs) = service().await;
        let mut ctx = context(&mock);
        three(&blogs, &mut ctx).await;
        let error = ctx.save_changes_with(options.clone()).await.unwrap_err();
        assert!(error.error.is_precondition_failed(), "{options:?}: {error}");
        assert_eq!(outcomes(&ctx), expected, "{options:?}");
        for (id, is_pending) in ["1", "2", "3"].into_iter().zip(states) {
            let entry = ctx.entry(&blog(id, "")).unwrap().unwrap();
            assert_eq!(entry.state() == EntityState::Modified, is_pending, "{options:?} {id}");
            assert_eq!(entry.error().is_some(), id == "2", "{options:?} {id}");
        }
        // The next save retries pending changes, without detached entities (4.10).
        ctx.detach(&blog("2", "")).unwrap();
        ctx.save_changes_with(options.clone()).await.unwrap();
        for (id, text) in [("1", "new"), ("2", "other"), ("3", "new")] {
            assert_eq!(blogs.get(("c", id)).await.unwrap().text, text, "{options:?}");
        }
    }
}

/// 250 changes over 3 partitions: the smallest number of transactions.
#[tokio::test]
async fn the_smallest_number_of_transactions() {
    let (mock, blogs) = service().await;
    let mut ctx = context(&mock);
    for n in 0..250 {
        let channel = format!("c{}", n % 3);
        ctx.add(&Blog { channel, ..blog(&n.to_string(), "x") }).unwrap();
    }
    let plan = ctx.plan(SaveOptions::per_partition()).unwrap();
    let sizes: Vec<_> = plan.iter().map(|request| request.operations.len()).collect();
    assert_eq!(sizes, [84, 83, 83]);
    mock.requests().clear();
    let report = ctx.save_changes_with(SaveOptions::per_partition()).await.unwrap();
    assert_eq!((report.applied(), mock.requests().total()), (250, 3));
    assert_eq!(blogs.query().count().await.unwrap(), 250);
    // More than a hundred changes in one partition fill whole transactions.
    for n in 0..250 {
        ctx.add(&blog(&format!("m{n}"), "x")).unwrap();
    }
    let plan = ctx.plan(SaveOptions::per_partition()).unwrap();
    let sizes: Vec<_> = plan.iter().map(|request| request.operations.len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
}

/// Adds changes to a context.
type Fill = fn(&mut TableContext);

/// Changes that cannot form one transaction are refused before a request is sent, and no state
/// changes.
#[tokio::test]
async fn impossible_transactions_are_not_sent() {
    let (mock, _) = service().await;
    let many = |ctx: &mut TableContext| {
        for n in 0..101 {
            ctx.add(&blog(&n.to_string(), "x")).unwrap();
        }
    };
    let partitions = |ctx: &mut TableContext| {
        ctx.add(&blog("1", "x")).unwrap();
        ctx.add(&Blog { channel: "other".into(), ..blog("1", "x") }).unwrap();
    };
    let tables = |ctx: &mut TableContext| {
        ctx.add(&blog("1", "x")).unwrap();
        ctx.table_named::<Blog>("Other").add(&blog("1", "x")).unwrap();
    };
    for (fill, text) in [
        (many as Fill, "at most 100"),
        (partitions as Fill, "one partition"),
        (tables as Fill, "one table"),
    ] {
        let mut ctx = context(&mock);
        fill(&mut ctx);
        let before = format!("{ctx:?}");
        mock.requests().clear();
        let error = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
        assert!(error.error.to_string().contains(text), "{}", error.error);
        assert_eq!((mock.requests().total(), error.report.applied()), (0, 0));
        assert_eq!(format!("{ctx:?}"), before);
    }
    // An entity that is too large is refused by `add`.
    let mut ctx = context(&mock);
    assert!(ctx.add(&blog("1", &"x".repeat(40_000))).is_err());
    assert!(ctx.add(&blog("a/b", "x")).is_err());
    assert!(ctx.entries().is_empty());
}

#[tokio::test]
async fn a_missing_row_by_option() {
    let (mock, blogs) = service().await;
    for (options, is_gone) in
        [(SaveOptions::each(), false), (SaveOptions::each().missing_is_deleted(), true)]
    {
        let mut ctx = in_state(&mock, &blogs, Start::Deleted).await;
        blogs.delete(("c", "1"), IfMatch::Any).await.unwrap();
        let saved = ctx.save_changes_with(options.clone()).await;
        assert_eq!((saved.is_ok(), state(&ctx).is_none()), (is_gone, is_gone));
    }
}

#[tokio::test]
async fn upserts() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    blogs.insert(&blog("2", "old")).await.unwrap();
    let mut ctx = context(&mock);
    let new = |id| Blog { rating: None, ..blog(id, "new") };
    ctx.table::<Blog>().add_or_merge(&new("1")).unwrap();
    ctx.table::<Blog>().add_or_replace(&new("2")).unwrap();
    ctx.add(&new("3")).unwrap();
    ctx.save_changes_with(SaveOptions::atomic()).await.unwrap();
    let ratings = blogs.query().select(|b| b.rating).await.unwrap();
    assert_eq!(ratings, [Some(3), None, None]);
    let error = {
        let mut ctx = context(&mock);
        ctx.add(&new("3")).unwrap();
        ctx.save_changes().await.unwrap_err()
    };
    assert_eq!(error.error.code(), Some(&ErrorCode::EntityAlreadyExists));
}

/// Hooks see and change entities that are read and written; their changes do not make an entity
/// modified.
#[tokio::test]
async fn hooks() {
    use std::sync::{Arc, Mutex};
    let (mock, blogs) = service().await;
    let mut ctx = context(&mock);
    let log = Arc::new(Mutex::new(Vec::new()));
    let (requests, replies) = (Arc::clone(&log), Arc::clone(&log));
    ctx.on_writing(|entity| {
        entity.set("By", "joe");
    });
    ctx.on_reading(|entity| {
        entity.set("Text", "read");
    });
    ctx.on_request(move |operation, table| {
        requests.lock().unwrap().push(format!("{operation} {table}"));
    });
    ctx.on_reply(move |status, id| {
        replies.lock().unwrap().push(format!("{status} {}", id.is_some()));
    });
    ctx.add(&blog("1", "old")).unwrap();
    ctx.save_changes().await.unwrap();
    assert!(!ctx.has_changes());
    assert_eq!(stored(&mock).get(("c", "1")).await.unwrap().get("By"), Some(Ok("joe".to_owned())));
    assert_eq!(*log.lock().unwrap(), ["Insert Blogs", "204 true"]);
    ctx.clear();
    assert_eq!(ctx.load(ctx.service().table::<Blog>().query()).await.unwrap()[0].text, "read");
    assert!(!ctx.has_changes());
    assert_eq!(blogs.get(("c", "1")).await.unwrap().text, "old");
}

/// A cursor does not borrow the context between its steps.
#[tokio::test]
async fn a_cursor_allows_changes_between_its_steps() {
    let (mock, blogs) = service().await;
    for n in 0..25 {
        blogs.insert(&blog(&format!("{n:02}"), "old")).await.unwrap();
    }
    let mut ctx = context(&mock);
    let mut cursor = ctx.cursor(ctx.service().table::<Blog>().query().page_size(10)).unwrap();
    let mut count = 0;
    while let Some(mut read) = cursor.next(&mut ctx).await.unwrap() {
        count += 1;
        if count % 2 == 0 {
            ctx.delete(&read).unwrap();
        } else {
            read.text = "new".into();
            ctx.update(&read).unwrap();
        }
    }
    assert_eq!((count, cursor.cost().pages), (25, 3));
    ctx.save_changes_with(SaveOptions::per_partition()).await.unwrap();
    let texts = blogs.query().select(|b| b.text).await.unwrap();
    assert_eq!((texts.len(), texts.iter().all(|text| text == "new")), (13, true));
}

#[tokio::test]
async fn a_cursor_continues_after_a_row_that_cannot_be_decoded() {
    let (mock, blogs) = service().await;
    for n in 0..5 {
        blogs.insert(&blog(&n.to_string(), "old")).await.unwrap();
    }
    let mut bad = stored(&mock).get(("c", "2")).await.unwrap().into_inner();
    bad.set("Text", 5);
    mock.seed("Blogs", [&bad]).unwrap();
    let mut ctx = context(&mock);
    assert!(ctx.load(ctx.service().table::<Blog>().query()).await.is_err());
    let mut cursor = ctx.cursor(ctx.service().table::<Blog>().query().page_size(2)).unwrap();
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    loop {
        match cursor.next(&mut ctx).await {
            Ok(Some(blog)) => read.push(blog.id),
            Ok(None) => break,
            Err(error) => errors.push(error.entity_key().map(|key| key.row_key.clone())),
        }
    }
    assert_eq!(
        (read, errors),
        (["0", "1", "3", "4"].map(str::to_owned).into(), vec![Some("2".into())])
    );
}

/// Rows without metadata cannot be tracked.
#[tokio::test]
async fn rows_without_metadata_are_not_tracked() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let client =
        mock.client_builder().metadata(azure_table_client::Metadata::None).build().unwrap();
    let mut ctx = TableContext::new(&client);
    assert!(ctx.load(ctx.service().table::<Blog>().query()).await.is_err());
}

/// The requests of a save have their own deadline and policy.
#[tokio::test(start_paused = true)]
async fn a_save_has_its_own_settings() {
    let (mock, _) = service().await;
    let mut ctx = context(&mock);
    ctx.add(&blog("1", "new")).unwrap();
    let busy = mock.faults().add(Fault::busy());
    let options = SaveOptions::each().retry(RetryPolicy::fixed(5, Duration::from_secs(1)));
    let error = ctx.save_changes_with(options.clone()).await.unwrap_err();
    assert_eq!((error.error.attempts(), busy.struck()), (6, 6));
    let error = ctx.save_changes_with(options.deadline(Duration::from_secs(3))).await.unwrap_err();
    assert_eq!(error.error.attempts(), 3);
    mock.faults().clear();
    ctx.save_changes().await.unwrap();
}
