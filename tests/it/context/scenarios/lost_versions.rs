//! The version of an entity is not known after a response was lost: scenarios 1 and 7.

use azure_table_client::RetryPolicy;
use azure_table_client::client::WriteOutcome;
use azure_table_tests::scripted::{in_turn, is_write, on};

use super::*;

/// How the program comes to know the entity.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// A query of the column `A`.
    Projection,
    /// `attach` with the ETag of the row.
    Attached,
}

/// How the response of the update is lost.
#[derive(Debug, Clone, Copy)]
enum Loss {
    DroppedSave,
    LostUnderRetries,
    ResponseWithoutETag,
}

/// The program updates `A`. Another program writes `X` after that, and before the context reads the row. The program has
/// never seen this `X`, so that its delete must not remove the row.
async fn a_delete_keeps_an_unseen_value(start: Start, loss: Loss) {
    let what = format!("{start:?}, {loss:?}");
    let (mock, transport, _) = stage(true).await;
    let client = mock.client_builder().transport(Arc::clone(&transport) as Arc<_>);
    let retry = match loss {
        Loss::LostUnderRetries => RetryPolicy::fixed(2, Duration::from_millis(100)),
        _ => RetryPolicy::none(),
    };
    let client = client.retry(retry).write_id_column("WriteId").build().unwrap();
    let mut ctx = TableContext::new(&client);
    other_program(&mock, &[("A", 1), ("X", 1)]).await;
    match start {
        Start::Projection => {
            let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
            ctx.load(rows.query().select_names(["A"])).await.unwrap();
        }
        Start::Attached => {
            let etag = mock.row("Blogs", KEY.0, KEY.1).unwrap().etag().unwrap().clone();
            ctx.table_named("Blogs").attach(&row(&[("A", 1)]), etag).unwrap();
        }
    }
    ctx.table_named("Blogs").update(&row(&[("A", 50)])).unwrap();

    let theirs = {
        let mock = mock.clone();
        async move { other_program(&mock, &[("X", 99)]).await }
    };
    let step = match loss {
        Loss::DroppedSave => applied_without_response(&mock, &[("X", 99)]),
        Loss::LostUnderRetries => Step::lose_reply().then(theirs),
        Loss::ResponseWithoutETag => {
            let without = |response: &mut azure_table_client::transport::HttpResponse| {
                response.headers.remove("etag");
            };
            Step::pass().edit(without).then(theirs)
        }
    };
    transport.play(on(is_write, in_turn([step])));
    if let Loss::DroppedSave = loss {
        dropped_save(&mut ctx, SaveOptions::each()).await;
    }
    let first = report(ctx.save_changes().await);
    assert!(!first.results.is_empty(), "{what}: the update is in no report");
    let says_applied = applied(&first, KEY.1) == 1;
    assert!(!says_applied || column(&mock, "A") == Some(50), "{what}: {first:?}");

    ctx.table_named("Blogs").delete(&key_only()).unwrap();
    let second = report(ctx.save_changes().await);
    let of_delete = second.results.last().map(|result| &result.outcome);
    assert_eq!(column(&mock, "X"), Some(99), "{what}: lost unseen, reported as {of_delete:?}");
    assert!(!matches!(of_delete, Some(WriteOutcome::Applied { .. })), "{what}: {second:?}");
}

/// Scenario 1.
#[tokio::test(start_paused = true)]
async fn a_delete_after_a_projection_and_a_dropped_save_keeps_an_unseen_value() {
    a_delete_keeps_an_unseen_value(Start::Projection, Loss::DroppedSave).await;
}

/// Scenario 1.
#[tokio::test(start_paused = true)]
async fn a_delete_after_a_projection_and_a_lost_response_keeps_an_unseen_value() {
    a_delete_keeps_an_unseen_value(Start::Projection, Loss::LostUnderRetries).await;
}

/// Scenario 1.
#[tokio::test(start_paused = true)]
async fn a_delete_after_a_projection_and_a_response_without_etag_keeps_an_unseen_value() {
    a_delete_keeps_an_unseen_value(Start::Projection, Loss::ResponseWithoutETag).await;
}

/// Scenario 1.
#[tokio::test(start_paused = true)]
async fn a_delete_after_attach_and_a_dropped_save_keeps_an_unseen_value() {
    a_delete_keeps_an_unseen_value(Start::Attached, Loss::DroppedSave).await;
}

/// Scenario 1.
#[tokio::test(start_paused = true)]
async fn a_delete_after_attach_and_a_lost_response_keeps_an_unseen_value() {
    a_delete_keeps_an_unseen_value(Start::Attached, Loss::LostUnderRetries).await;
}

/// Scenario 1.
#[tokio::test(start_paused = true)]
async fn a_delete_after_attach_and_a_response_without_etag_keeps_an_unseen_value() {
    a_delete_keeps_an_unseen_value(Start::Attached, Loss::ResponseWithoutETag).await;
}

/// A query of two columns finds the id of the update. It does not show the `X` that another program has added since, so that
/// the ETag of the row is not that of the values that the context knows.
#[tokio::test(start_paused = true)]
async fn a_projection_with_the_write_id_does_not_show_an_unseen_value() {
    let (mock, transport, mut ctx) = stage(true).await;
    other_program(&mock, &[("A", 1)]).await;
    ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
    ctx.table_named("Blogs").update(&row(&[("A", 2)])).unwrap();
    transport.play(on(is_write, in_turn([applied_without_response(&mock, &[("X", 9)])])));
    dropped_save(&mut ctx, SaveOptions::each()).await;
    let query = ctx.service().table_named::<DynamicEntity>("Blogs").query();
    ctx.load(query.select_names(["A", "WriteId"])).await.unwrap();
    ctx.table_named("Blogs").delete(&key_only()).unwrap();
    let saved = report(ctx.save_changes().await);
    // The query has proved the update, and the deletion meets a conflict.
    assert_eq!((saved.applied(), saved.failed()), (1, 1), "{saved:#?}");
    assert_eq!(column(&mock, "X"), Some(9));
}

/// The hook adds 1000 to `A`. No other program writes, so that no save may meet a conflict.
async fn a_hook_causes_no_conflict(is_new: bool, loses: [bool; 3]) {
    let what = format!("new: {is_new}, lost: {loses:?}");
    let (mock, transport, mut ctx) = stage(true).await;
    ctx.on_writing(|entity| {
        if let Some(Ok(a)) = entity.get::<i32>("A") {
            entity.set("A", a + 1000);
        }
    });
    if is_new {
        ctx.table_named("Blogs").add(&row(&[("A", 1), ("B", 1)])).unwrap();
    } else {
        other_program(&mock, &[("A", 0), ("B", 1)]).await;
        ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
        ctx.table_named("Blogs").update(&row(&[("A", 1), ("B", 1)])).unwrap();
    }
    for (at, is_lost) in loses.into_iter().enumerate() {
        if at > 0 {
            let mut tracked =
                ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
            tracked.set("B", 10 + i32::try_from(at).unwrap());
            ctx.table_named("Blogs").update(&tracked).unwrap();
        }
        if is_lost {
            transport.play(on(is_write, in_turn([Step::lose_reply()])));
        }
        let saved = ctx.save_changes().await;
        assert!(saved.is_ok(), "{what}: save {at}: {:?}", saved.unwrap_err().error);
    }
    assert_eq!((column(&mock, "A"), column(&mock, "B")), (Some(1001), Some(12)), "{what}");
}

/// Scenario 7.
#[tokio::test(start_paused = true)]
async fn a_hook_that_changes_an_insert_causes_no_conflict() {
    for loses in [[true, false, false], [false, true, false], [true, true, false]] {
        a_hook_causes_no_conflict(true, loses).await;
    }
}

/// Scenario 7.
#[tokio::test(start_paused = true)]
async fn a_hook_that_changes_an_update_causes_no_conflict() {
    for loses in [[true, false, false], [false, true, false], [true, true, false]] {
        a_hook_causes_no_conflict(false, loses).await;
    }
}
