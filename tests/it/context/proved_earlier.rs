//! An entity with several open changes, of which the rows prove an earlier one.

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{
    ConflictResolver, EntityState, MergeOption, SaveOptions, TableContext,
};
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_batch, is_write, on};

use super::earlier_attempts::{context, lost, row};
use super::{KEY, blog, service, stored};

fn state(ctx: &TableContext, row_key: &str) -> EntityState {
    let entries = ctx.entries();
    entries.iter().find(|entry| entry.key().row_key == row_key).unwrap().state()
}

/// The rows prove an earlier change. The later one, in a transaction that has no proof, stays unknown.
#[tokio::test]
async fn the_proof_of_an_earlier_change_does_not_settle_a_later_one() {
    let (mock, blogs) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, false);
    ctx.table_named::<DynamicEntity>("Blogs").add_or_merge(&row(&[("A", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 1), ("B", 2)])).unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    let theirs = async move {
        blogs.replace(&blog("2", "theirs"), IfMatch::Any).await.unwrap();
    };
    transport.play(on(is_batch, in_turn([Step::lose_reply().then(theirs)])));
    let report = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err().report;
    for result in &report.results {
        let WriteOutcome::Unknown(error) = &result.outcome else { panic!("{report:?}") };
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    }
    assert_eq!(
        (report.results.len(), stored(&mock).get(KEY).await.unwrap().get("B")),
        (2, Some(Ok(2)))
    );
    assert_eq!(state(&ctx, KEY.1), EntityState::Unknown);
    // The row now shows the later change, too.
    ctx.detach(&blog("2", "")).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(state(&ctx, KEY.1), EntityState::Unchanged);
}

/// The same change was sent in two transactions. The proof of the first one settles it; the second one stays open for its
/// other entity.
#[tokio::test]
async fn the_same_change_in_another_transaction_is_settled_too() {
    let (mock, _) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.save_changes().await.unwrap_err();
    ctx.add(&blog("2", "mine")).unwrap();
    transport.play(on(is_batch, in_turn([lost()])));
    let report = ctx.save_changes_with(SaveOptions::per_partition()).await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (1, 1), "{report}");
    assert_eq!(state(&ctx, "1"), EntityState::Unchanged);
    ctx.save_changes().await.unwrap();
    assert!(!ctx.has_changes());
}

/// The second row proves a transaction whose first row another program has replaced. A later change of that row is lost.
#[tokio::test]
async fn an_unknown_change_without_an_etag_does_not_block_other_entities() {
    let (mock, blogs) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    let mut rows = ctx.table_named::<DynamicEntity>("Blogs");
    rows.add_or_merge(&row(&[("A", 1)])).unwrap();
    rows.add_or_merge(&DynamicEntity::new(KEY.0, "2")).unwrap();
    ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
    blogs.replace(&blog("1", "theirs"), IfMatch::Any).await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2)])).unwrap();
    transport.play(on(is_write, in_turn([lost()])));
    let report = ctx.save_changes().await.unwrap_err().report;
    assert!(matches!(report.results[0].outcome, WriteOutcome::Unknown(_)), "{report:?}");
    ctx.add(&blog("3", "mine")).unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!(
        (report.unknown().count(), state(&ctx, "3")),
        (1, EntityState::Unchanged),
        "{report}"
    );
    // The program reads the row again, and its change is sent under the ETag of this row.
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    ctx.load(rows.query()).merge_option(MergeOption::PreserveChanges).await.unwrap();
    ctx.save_changes().await.unwrap();
    assert!(!ctx.has_changes());
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!((stored.get("A"), stored.get("Text")), (Some(Ok(2)), Some(Ok("theirs".to_owned()))));
}

/// The row of the other entity proves the transaction. The delete was not sent, and the change before it has no proof.
#[tokio::test]
async fn the_proof_of_an_earlier_change_is_not_that_of_a_delete() {
    let (mock, _) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    let mut rows = ctx.table_named::<DynamicEntity>("Blogs");
    rows.add_or_merge(&row(&[("A", 1)])).unwrap();
    rows.add_or_merge(&DynamicEntity::new(KEY.0, "2")).unwrap();
    ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2)])).unwrap();
    transport.play(on(is_write, in_turn([Step::hang()])));
    {
        let mut save = Box::pin(ctx.save_changes());
        assert!(futures_util::poll!(save.as_mut()).is_pending());
    }
    ctx.table_named::<DynamicEntity>("Blogs").delete(&row(&[])).unwrap();
    stored(&mock).delete(KEY, IfMatch::Any).await.unwrap();
    ctx.detach(&blog("2", "")).unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (0, 1), "{report}");
}

/// The service refuses a transaction for the row of an earlier, unknown insert. No later round can change that.
#[tokio::test]
async fn a_refused_transaction_with_an_unknown_change_ends_the_rounds() {
    let (mock, blogs) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([lost(), lost()]));
    let mut ctx = context(&mock, &transport, false);
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.save_changes().await.unwrap_err();
    blogs.insert(&blog("1", "theirs")).await.unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    let mut transactions = 0;
    transport.play(on(is_batch, move |_| {
        transactions += 1;
        assert!(transactions < 10, "the rounds do not end");
        Step::pass()
    }));
    let options = SaveOptions::per_partition().continue_on_error();
    let options = options.on_conflict(ConflictResolver::client_wins());
    let report = ctx.save_changes_with(options).await.unwrap_err().report;
    assert_eq!((report.unknown().count(), report.not_attempted()), (1, 1), "{report}");
}
