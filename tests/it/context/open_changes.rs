//! Changes with an unknown outcome, to which the program or another one adds changes before they are settled.

use azure_table_client::context::{ConflictResolver, EntityState, MergeOption, SaveOptions};
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_batch, is_write, on};

use super::earlier_attempts::{context, lost, row, virtual_time};
use super::proved_earlier::{state, without_etag};
use super::{Blog, KEY, blog, service, stored};

/// The program returns to the first values after a replacement whose response was lost.
#[tokio::test]
async fn an_undone_replacement_is_undone_in_the_table_too() {
    let (mock, _) = service().await;
    let first = row(&[("A", 1), ("B", 1)]);
    stored(&mock).insert(&first).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, true);
    ctx.load(ctx.service().table_named::<DynamicEntity>("Blogs").query()).await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2)])).unwrap();
    transport.play(in_turn([Step::lose_reply(), lost()]));
    ctx.save_changes().await.unwrap_err();
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get::<i32>("B"), None);
    ctx.table_named::<DynamicEntity>("Blogs").update(&first).unwrap();
    ctx.save_changes().await.unwrap();
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!((stored.get("A"), stored.get("B")), (Some(Ok(1)), Some(Ok(1))));
}

/// A query finds the id of a change in a row that a client without ids has changed since.
#[tokio::test]
async fn a_query_does_not_adopt_the_version_of_a_later_writer() {
    let (mock, _) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    ctx.table_named::<DynamicEntity>("Blogs").add_or_merge(&row(&[("Rating", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    stored(&mock).merge(&row(&[("Rating", 5)]), IfMatch::Any).await.unwrap();
    ctx.load(ctx.service().table_named::<DynamicEntity>("Blogs").query()).await.unwrap();
    assert_eq!(state(&ctx, KEY.1), EntityState::Unchanged);
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("Rating", 2)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get("Rating"), Some(Ok(5)));
}

/// An update without a difference is a replacement with that option, also after a lost request.
#[tokio::test]
async fn a_lost_replacement_is_repeated_with_the_whole_transaction() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "mine")).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, false);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    transport.play(on(is_batch, in_turn([lost()])));
    let options = SaveOptions::atomic().replace_on_update();
    let report = ctx.save_changes_with(options.clone()).await.unwrap_err().report;
    assert_eq!(report.unknown().count(), 2, "{report}");
    assert_eq!(ctx.save_changes_with(options).await.unwrap().applied(), 2);
}

/// The rounds of a resolver end if the changes cannot be planned, and the save names that error.
#[tokio::test]
async fn a_refused_plan_ends_the_rounds_next_to_an_unknown_change() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, true);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "new")).unwrap();
    transport.play(on(is_write, in_turn([lost()])));
    ctx.save_changes().await.unwrap_err();
    ctx.update(&blog("1", "old")).unwrap();
    // With the id of the write, it has one property too many.
    let mut large = DynamicEntity::new(KEY.0, "2");
    for at in 0..252 {
        large.set(format!("P{at}"), at);
    }
    ctx.table_named::<DynamicEntity>("Blogs").add(&large).unwrap();
    let mut requests = 0;
    transport.play(move |_| {
        requests += 1;
        assert!(requests < 10, "the rounds do not end");
        Step::pass()
    });
    let options = SaveOptions::each().continue_on_error();
    let options = options.on_conflict(ConflictResolver::client_wins());
    let error = ctx.save_changes_with(options).await.unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::InvalidInput, "{}", error.error);
    assert_eq!((error.report.unknown().count(), error.report.not_attempted()), (1, 1));
}

/// A copy of an upsert arrives after the update that follows it was lost, and another program changes a column that only the
/// row has.
#[tokio::test]
async fn a_late_upsert_does_not_overwrite_the_columns_of_other_programs() {
    let (mock, transport, mut ctx) = without_etag().await;
    stored(&mock).merge(&row(&[("D", 5)]), IfMatch::Any).await.unwrap();
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    ctx.load(rows.query()).merge_option(MergeOption::PreserveChanges).await.unwrap();
    let upsert = transport.requests().into_iter().find(is_write).unwrap();
    mock.transport().send(upsert).await.unwrap();
    stored(&mock).merge(&row(&[("D", 6)]), IfMatch::Any).await.unwrap();
    // The row has another version than the update names, and nothing proves that the update was not applied before.
    for _ in 0..2 {
        let report = ctx.save_changes().await.unwrap_err().report;
        assert_eq!((report.results.len(), report.unknown().count()), (1, 1), "{report}");
    }
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!((stored.get("A"), stored.get("D")), (Some(Ok(1)), Some(Ok(6))));
    assert_eq!((stored.get("C"), ctx.has_changes()), (Some(Ok(1)), true));
}

/// However many updates of an entity were lost: they are one request, which is settled before the newest values are sent.
#[tokio::test(start_paused = true)]
async fn lost_updates_are_settled_before_the_newest_one() {
    let mock = virtual_time();
    let blogs = mock.client().table::<Blog>();
    blogs.create().await.unwrap();
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, false);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    transport.play(on(is_write, |_| lost()));
    for at in 0..20 {
        ctx.update(&blog("1", &at.to_string())).unwrap();
        let report = ctx.save_changes().await.unwrap_err().report;
        assert_eq!((report.results.len(), report.unknown().count()), (1, 1), "{report}");
    }
    transport.play(|_| Step::pass());
    ctx.update(&blog("1", "last")).unwrap();
    let report = ctx.save_changes().await.unwrap();
    assert_eq!((report.results.len(), report.applied()), (2, 2), "{report}");
    assert_eq!(blogs.get(KEY).await.unwrap().text, "last");
}

/// Another program changes a column of the projection after the update, whose response is lost.
#[tokio::test]
async fn a_known_column_of_a_projection_is_not_overwritten() {
    let (mock, _) = service().await;
    stored(&mock).insert(&row(&[("A", 1), ("D", 5)])).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, true);
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    ctx.load(rows.query().select_names(["A", "D"])).await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2), ("D", 5)])).unwrap();
    let others = stored(&mock);
    let theirs = async move {
        others.merge(&row(&[("D", 6)]), IfMatch::Any).await.unwrap();
    };
    transport.play(on(is_write, in_turn([Step::lose_reply().then(theirs)])));
    ctx.save_changes().await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2), ("D", 7)])).unwrap();
    let error = ctx.save_changes().await.unwrap_err().error;
    assert!(error.is_precondition_failed(), "{error}");
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get("D"), Some(Ok(6)));
}

/// The row of a replacement has a new id in place of that which the context read.
#[tokio::test]
async fn a_query_finds_the_version_of_a_replacement() {
    let (mock, _) = service().await;
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, true);
    ctx.add(&blog("1", "old")).unwrap();
    ctx.save_changes().await.unwrap();
    let mut ctx = context(&mock, &transport, true);
    let rows = ctx.service().table::<Blog>();
    ctx.load(rows.query()).await.unwrap();
    ctx.update(&Blog { rating: None, ..blog("1", "new") }).unwrap();
    transport.play(in_turn([Step::lose_reply(), lost()]));
    ctx.save_changes().await.unwrap_err();
    ctx.load(rows.query()).await.unwrap();
    ctx.update(&Blog { rating: None, ..blog("1", "newer") }).unwrap();
    ctx.save_changes().await.unwrap();
}

/// With that option, an undone update is a replacement. It would overwrite what another program has written.
#[tokio::test]
async fn an_undone_update_without_an_etag_does_not_refuse_the_save() {
    let (mock, _, mut ctx) = without_etag().await;
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 1), ("C", 1)])).unwrap();
    ctx.add(&blog("3", "mine")).unwrap();
    let options = SaveOptions::each().replace_on_update().continue_on_error();
    let report = ctx.save_changes_with(options).await.unwrap_err().report;
    assert_eq!((report.failed(), report.applied()), (1, 2), "{report}");
    assert!(report.error().unwrap().is_precondition_failed(), "{report:?}");
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!((stored.get("A"), stored.get("C")), (Some(Ok(2)), Some(Ok(99))));
}

/// A query adds a column while a replacement that removes it is on the way.
#[tokio::test]
async fn a_removed_column_that_a_query_added_stays_removed() {
    let (mock, _) = service().await;
    stored(&mock).insert(&row(&[("A", 1), ("F", 1)])).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, true);
    let mut rows = ctx.table_named::<DynamicEntity>("Blogs");
    rows.attach(&row(&[("A", 1)]), IfMatch::Any).unwrap();
    rows.update(&row(&[("A", 2)])).unwrap();
    ctx.save_changes().await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 3)])).unwrap();
    transport.play(on(is_write, in_turn([Step::hang()])));
    {
        let mut save = Box::pin(ctx.save_changes_with(SaveOptions::each().replace_on_update()));
        assert!(futures_util::poll!(save.as_mut()).is_pending());
    }
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    ctx.load(rows.query()).await.unwrap();
    let replacement = transport.requests().into_iter().rfind(is_write).unwrap();
    mock.transport().send(replacement).await.unwrap();
    ctx.load(rows.query()).await.unwrap();
    transport.take_requests();
    ctx.save_changes().await.unwrap();
    assert!(!transport.requests().iter().any(is_write));
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get::<i32>("F"), None);
}
