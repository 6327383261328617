//! An entity with several open changes, of which the rows prove an earlier one.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{
    ConflictResolver, EntityState, MergeOption, SaveOptions, TableContext,
};
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch, Operation};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_batch, is_write, on};

use super::earlier_attempts::{context, lost, row, virtual_time};
use super::{Blog, KEY, MockTableService, blog, service, stored};

pub(super) fn state(ctx: &TableContext, row_key: &str) -> EntityState {
    let entries = ctx.entries();
    entries.iter().find(|entry| entry.key().row_key == row_key).unwrap().state()
}

/// Saves, and drops the save once it has sent a write.
async fn dropped_with_a_write(transport: &Scripted, ctx: &mut TableContext) {
    transport.take_requests();
    let mut save = Box::pin(ctx.save_changes());
    while !transport.requests().iter().any(is_write) {
        assert!(futures_util::poll!(save.as_mut()).is_pending());
    }
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
    // The earlier change has a result of its own.
    let (earlier, later) = report.results.split_first().unwrap();
    assert!(earlier.is_applied() && earlier.operation == Operation::InsertOrMerge, "{report:?}");
    for result in later {
        let WriteOutcome::Unknown(error) = &result.outcome else { panic!("{report:?}") };
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    }
    assert_eq!((later.len(), stored(&mock).get(KEY).await.unwrap().get("B")), (2, Some(Ok(2))));
    assert_eq!(state(&ctx, KEY.1), EntityState::Unknown);
    // The later change was an update under an ETag, which the values of the row do not prove.
    ctx.detach(&blog("2", "")).unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (1, 1), "{report}");
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

/// A context with an upsert of `A` and `C` that its id proves, and an update of `A` that was lost. Another program has changed
/// `C` in between, so that the program knows no version of the row.
pub(super) async fn without_etag() -> (MockTableService, Arc<Scripted>, TableContext) {
    let (mock, _) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    let mut rows = ctx.table_named::<DynamicEntity>("Blogs");
    rows.add_or_merge(&row(&[("A", 1), ("C", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    stored(&mock).merge(&row(&[("C", 99)]), IfMatch::Any).await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2), ("C", 1)])).unwrap();
    transport.play(on(is_write, in_turn([lost()])));
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (1, 1), "{report:?}");
    (mock, transport, ctx)
}

#[tokio::test]
async fn an_unknown_change_without_an_etag_does_not_block_other_entities() {
    let (mock, transport, mut ctx) = without_etag().await;
    ctx.add(&blog("3", "mine")).unwrap();
    transport.play(on(is_write, in_turn([lost()])));
    let error = ctx.save_changes_with(SaveOptions::atomic().continue_on_error()).await;
    let report = error.unwrap_err().report;
    assert_eq!(
        (report.unknown().count(), report.not_attempted()),
        (1, 1),
        "all or nothing: {report}"
    );
    transport.play(on(is_write, in_turn([lost()])));
    let error = ctx.save_changes_with(SaveOptions::each().continue_on_error()).await;
    let report = error.unwrap_err().report;
    assert_eq!((report.unknown().count(), report.applied()), (1, 1), "{report}");
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get("A"), Some(Ok(1)));
}

/// A refresh does not change an entity in doubt. Once the save has settled it, a refresh finds the values of the other program.
#[tokio::test]
async fn a_refresh_with_local_changes_finds_the_etag() {
    let (mock, transport, mut ctx) = without_etag().await;
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    let columns = |row: &DynamicEntity| [row.get("A"), row.get("C")];
    for option in
        [MergeOption::AppendOnly, MergeOption::OverwriteChanges, MergeOption::PreserveChanges]
    {
        let read = ctx.load(rows.query()).merge_option(option).await.unwrap();
        assert_eq!(columns(&read[0]), [Some(Ok(2)), Some(Ok(1))], "{option:?}");
        transport.play(on(is_write, in_turn([lost()])));
        assert!(ctx.save_changes().await.is_err(), "{option:?}");
    }
    assert_eq!(ctx.save_changes().await.unwrap().applied(), 1);
    assert!(!ctx.has_changes());
    ctx.load(rows.query()).merge_option(MergeOption::PreserveChanges).await.unwrap();
    let known = ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
    for row in [known, stored(&mock).get(KEY).await.unwrap().into_inner()] {
        assert_eq!(columns(&row), [Some(Ok(2)), Some(Ok(99))]);
    }
}

/// The insert never arrived, and another program inserts the row.
#[tokio::test]
async fn a_refresh_does_not_delete_the_row_of_another_program() {
    let (mock, blogs) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([lost(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.save_changes().await.unwrap_err();
    ctx.delete(&blog("1", "")).unwrap();
    blogs.insert(&blog("1", "theirs")).await.unwrap();
    let rows = ctx.service().table::<Blog>();
    ctx.load(rows.query()).merge_option(MergeOption::PreserveChanges).await.unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!(report.unknown().count(), 1, "{report}");
    assert_eq!(blogs.get(KEY).await.unwrap().text, "theirs");
}

/// An attempt is repeated with its id only if no other change of the entity came after it.
#[tokio::test]
async fn the_id_of_an_earlier_attempt_does_not_prove_a_return_to_its_values() {
    let (mock, _) = service().await;
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    ctx.table_named::<DynamicEntity>("Blogs").add_or_merge(&row(&[("A", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    for value in [2, 1] {
        ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", value)])).unwrap();
        transport.play(in_turn([lost(), lost()]));
        ctx.save_changes().await.unwrap_err();
    }
    transport.play(in_turn([lost()]));
    // The row has the id and the values of the first attempt. The second one may still arrive.
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!(report.unknown().count(), 1, "{report:?}");
}

/// The program undid a change that was sent in vain, and which no request can apply any more.
#[tokio::test(start_paused = true)]
async fn an_expired_change_that_was_undone_is_forgotten() {
    let mock = virtual_time();
    mock.client().table::<Blog>().create().await.unwrap();
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(&mock, &transport, true);
    ctx.add(&blog("1", "first")).unwrap();
    ctx.save_changes().await.unwrap_err();
    ctx.update(&blog("1", "second")).unwrap();
    transport.play(on(is_write, in_turn([Step::hang(), lost()])));
    dropped_with_a_write(&transport, &mut ctx).await;
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "first")).unwrap();
    assert_eq!(ctx.save_changes().await.unwrap_err().report.unknown().count(), 1);
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    assert!(ctx.save_changes().await.unwrap().results.is_empty());
    assert!(!ctx.has_changes());
}

/// A query reads the columns of a change whose response was lost.
#[tokio::test]
async fn a_change_that_a_query_shows_is_settled_by_the_next_save() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, false);
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    ctx.load(rows.query().select_names(["Text"])).await.unwrap();
    let mut changed = row(&[("Rating", 5)]);
    changed.set("Text", "old");
    ctx.table_named::<DynamicEntity>("Blogs").update(&changed).unwrap();
    transport.play(in_turn([Step::lose_reply(), lost()]));
    ctx.save_changes().await.unwrap_err();
    ctx.load(rows.query()).await.unwrap();
    let saved = ctx.save_changes().await;
    let is_unknown = state(&ctx, KEY.1) == EntityState::Unknown;
    assert_eq!(saved.is_err(), is_unknown, "{saved:?}");
}

/// A save that cannot be planned has no rounds.
#[tokio::test]
async fn a_refused_plan_ends_the_rounds() {
    let (mock, _) = service().await;
    let mut ctx = TableContext::new(&mock.client());
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.add(&Blog { channel: "other".into(), ..blog("1", "mine") }).unwrap();
    let options = SaveOptions::atomic().on_conflict(ConflictResolver::client_wins());
    let error = ctx.save_changes_with(options).await.unwrap_err();
    assert_eq!((error.error.kind(), error.report.not_attempted()), (ErrorKind::InvalidInput, 2));
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
    dropped_with_a_write(&transport, &mut ctx).await;
    ctx.table_named::<DynamicEntity>("Blogs").delete(&row(&[])).unwrap();
    stored(&mock).delete(KEY, IfMatch::Any).await.unwrap();
    ctx.detach(&blog("2", "")).unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (0, 1), "{report}");
}

/// The service refuses a transaction for the row of an earlier, unknown insert. The next round sends the other change alone.
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
    assert_eq!((report.unknown().count(), report.applied()), (1, 1), "{report}");
}
