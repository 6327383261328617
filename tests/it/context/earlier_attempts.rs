//! Changes of which an earlier save may have been applied.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::clock::TokioClock;
use azure_table_client::context::{
    ConflictResolver, EntityState, MergeOption, SaveOptions, TableContext,
};
use azure_table_client::mock::Fault;
use azure_table_client::transport::TransportErrorKind;
use azure_table_client::{DynamicEntity, IfMatch, Operation, Outcome, RetryPolicy};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_batch, is_write, on};

use super::{Blog, KEY, MockTableService, blog, service, stored};

pub(super) fn lost() -> Step {
    Step::fail(TransportErrorKind::Interrupted)
}

/// A service that follows tokio's time.
pub(super) fn virtual_time() -> MockTableService {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    MockTableService::builder().clock(Arc::new(TokioClock::starting_at(start))).build()
}

/// A context whose writes follow the script.
pub(super) fn context(
    mock: &MockTableService,
    transport: &Arc<Scripted>,
    has_ids: bool,
) -> TableContext {
    let client = mock.client_builder().transport(Arc::clone(transport) as Arc<_>);
    let client = client.retry(RetryPolicy::none());
    let client = if has_ids { client.write_id_column("WriteId") } else { client };
    TableContext::new(&client.build().unwrap())
}

fn scripted(
    mock: &MockTableService,
    writes: impl IntoIterator<Item = Step, IntoIter: Send + 'static> + 'static,
) -> Arc<Scripted> {
    Scripted::new(mock.transport(), on(is_write, in_turn(writes)))
}

pub(super) fn row(columns: &[(&str, i32)]) -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    for (name, value) in columns {
        row.set(*name, *value);
    }
    row
}

/// A context that inserted two rows in a transaction. Both are applied; the response is lost, and the rows cannot be read.
pub(super) async fn with_unknown_transaction(mock: &MockTableService) -> TableContext {
    let transport = Scripted::new(mock.transport(), in_turn([Step::lose_reply(), lost()]));
    let mut ctx = context(mock, &transport, true);
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    let error = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
    assert_eq!(error.report.unknown().count(), 2);
    ctx
}

/// A row in the state of the last change proves that change, although an earlier one left a part of this state.
#[tokio::test]
async fn the_last_change_is_proved_before_an_earlier_one() {
    let (mock, _) = service().await;
    let transport = scripted(&mock, [lost(), Step::lose_reply()]);
    let mut ctx = context(&mock, &transport, false);
    ctx.table_named::<DynamicEntity>("Blogs").add_or_merge(&row(&[("A", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    let mut blogs = ctx.table_named::<DynamicEntity>("Blogs");
    blogs.update(&row(&[("A", 1), ("B", 2)])).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(ctx.entries()[0].state(), EntityState::Unchanged);
    let writes = transport.requests().into_iter().filter(is_write).count();
    assert_eq!(writes, 2, "nothing is left to send");
}

/// A row that has the values of a change from before the last applied one does not replace what the context knows.
#[tokio::test]
async fn a_superseded_change_proves_nothing_by_its_state() {
    let (mock, _) = service().await;
    let transport = scripted(&mock, [lost()]);
    let mut ctx = context(&mock, &transport, false);
    ctx.table_named::<DynamicEntity>("Blogs").add_or_merge(&row(&[("A", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    let mut blogs = ctx.table_named::<DynamicEntity>("Blogs");
    blogs.update(&row(&[("A", 1), ("B", 2)])).unwrap();
    ctx.save_changes().await.unwrap();
    // Another program's change conflicts with the next one.
    stored(&mock).merge(&row(&[("B", 3)]), IfMatch::Any).await.unwrap();
    let mut blogs = ctx.table_named::<DynamicEntity>("Blogs");
    blogs.update(&row(&[("A", 1), ("B", 2), ("C", 4)])).unwrap();
    let error = ctx.save_changes().await.unwrap_err().error;
    assert!(error.is_precondition_failed(), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get("B"), Some(Ok(3)));
    // The conflict can be resolved like any other.
    assert_eq!(ctx.entries()[0].state(), EntityState::Modified);
    let blogs = ctx.service().table_named::<DynamicEntity>("Blogs");
    ctx.load(blogs.query()).merge_option(MergeOption::PreserveChanges).await.unwrap();
    ctx.save_changes().await.unwrap();
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!((stored.get("B"), stored.get("C")), (Some(Ok(3)), Some(Ok(4))));
}

/// A row that is older than the save was not written by it, although it has the same values.
#[tokio::test(start_paused = true)]
async fn an_older_row_does_not_prove_a_change() {
    let mock = virtual_time();
    let blogs = mock.client().table::<Blog>();
    blogs.create().await.unwrap();
    blogs.insert(&blog("1", "mine")).await.unwrap();
    tokio::time::advance(Duration::from_secs(600)).await;
    mock.faults().add(Fault::lose_request().on_writes().times(1));
    let mut ctx = TableContext::new(&mock.client());
    ctx.add(&blog("1", "mine")).unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (0, 1), "{report}");
}

/// The id of a write stays in a row that a client without ids merges into. Its version is not adopted.
#[tokio::test]
async fn the_version_of_a_merge_that_keeps_the_id_is_not_adopted() {
    let (mock, _) = service().await;
    let theirs = {
        let rows = stored(&mock);
        async move {
            rows.merge(&row(&[("Rating", 5)]), IfMatch::Any).await.unwrap();
        }
    };
    let mut ctx = context(&mock, &scripted(&mock, [Step::lose_reply().then(theirs)]), true);
    ctx.table_named::<DynamicEntity>("Blogs").add_or_merge(&row(&[("Rating", 1)])).unwrap();
    let report = ctx.save_changes().await.unwrap();
    assert_eq!(report.applied(), 1);
    let mut blogs = ctx.table_named::<DynamicEntity>("Blogs");
    blogs.update(&row(&[("Rating", 2)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    assert_eq!(stored(&mock).get(KEY).await.unwrap().get("Rating"), Some(Ok(5)));
}

/// The state that an earlier change left says nothing about the last one.
#[tokio::test]
async fn the_state_of_an_earlier_change_is_not_that_of_the_last_one() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = scripted(&mock, [Step::lose_reply()]);
    let mut ctx = context(&mock, &transport, false);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "first")).unwrap();
    assert!(ctx.save_changes().await.unwrap_err().error.state_matches());
    ctx.update(&blog("1", "second")).unwrap();
    let error = ctx.save_changes().await.unwrap_err().error;
    assert!(!error.state_matches(), "{error}");
    assert_eq!(blogs.get(KEY).await.unwrap().text, "first");
}

/// A change that the program undid, and that cannot be applied any more, leaves nothing to report.
#[tokio::test(start_paused = true)]
async fn an_undone_change_that_was_not_applied_is_no_failure() {
    let mock = virtual_time();
    let blogs = mock.client().table::<Blog>();
    blogs.create().await.unwrap();
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = scripted(&mock, [lost()]);
    let mut ctx = context(&mock, &transport, false);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "new")).unwrap();
    ctx.save_changes().await.unwrap_err();
    ctx.update(&blog("1", "old")).unwrap();
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    let report = ctx.save_changes().await.unwrap();
    assert!(report.results.is_empty(), "{report}");
    assert!(!ctx.has_changes());
}

/// A save that settles a transaction reports each change of it that is not sent again.
#[tokio::test]
async fn a_settled_transaction_is_reported_as_a_whole() {
    let (mock, _) = service().await;
    let mut ctx = with_unknown_transaction(&mock).await;
    // The first insert cannot be repeated, since the program deleted its entity.
    ctx.delete(&blog("1", "")).unwrap();
    let report = ctx.save_changes().await.unwrap();
    let keys = report.results.iter().filter(|it| it.is_applied()).map(|it| it.key.clone().unwrap());
    let keys: Vec<_> = keys.map(|key| key.row_key).collect();
    assert!(keys.contains(&"1".to_owned()) && keys.contains(&"2".to_owned()), "{keys:?}");
    assert!(report.results.iter().zip(0..).all(|(result, at)| result.index == at));
}

/// The changes after the failed one name its error as their reason.
#[tokio::test]
async fn a_change_that_is_not_sent_names_the_reason() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "theirs")).await.unwrap();
    let mut ctx = TableContext::new(&mock.client());
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    let WriteOutcome::NotAttempted(reason) = &report.results[1].outcome else { panic!("{report}") };
    assert!(reason.is_conflict(), "{reason}");
    assert_eq!(reason.outcome(), Outcome::NotApplied);
}

/// The write id of another row proves a transaction. The row that another program wrote since keeps its old ETag in the
/// context, so that the next update finds the conflict.
#[tokio::test]
async fn the_version_of_a_later_writer_is_not_adopted() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = scripted(&mock, []);
    let mut ctx = context(&mock, &transport, true);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    let theirs = {
        let blogs = blogs.clone();
        async move {
            blogs.replace(&blog("1", "theirs"), IfMatch::Any).await.unwrap();
        }
    };
    let mut step = Some(Step::lose_reply().then(theirs));
    transport.play(on(is_batch, move |_| step.take().unwrap_or_else(Step::pass)));
    let saved = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap();
    assert_eq!(saved.applied(), 2);
    ctx.update(&blog("1", "again")).unwrap();
    let error = ctx.save_changes().await.unwrap_err().error;
    assert!(error.is_precondition_failed(), "{error}");
    assert_eq!(blogs.get(KEY).await.unwrap().text, "theirs");
}

/// A change that the resolution of another one proved is reported as applied, also if the save ends before its turn.
#[tokio::test]
async fn a_proved_change_is_reported_by_a_save_that_ends_early() {
    let (mock, blogs) = service().await;
    let mut ctx = with_unknown_transaction(&mock).await;
    // The first entity has another change, which the service refuses.
    ctx.update(&blog("1", "again")).unwrap();
    blogs.replace(&blog("1", "theirs"), IfMatch::Any).await.unwrap();
    let report = ctx.save_changes().await.unwrap_err().report;
    let applied = |result: &&WriteResult| result.is_applied();
    let keys = report.results.iter().filter(applied).map(|it| &*it.key.as_ref().unwrap().row_key);
    assert_eq!(keys.collect::<Vec<_>>(), ["1", "2"], "{report}");
    let last = report.results.last().unwrap();
    assert_eq!((last.operation, &*last.key.as_ref().unwrap().row_key), (Operation::Merge, "1"));
    assert!(matches!(last.outcome, WriteOutcome::Failed(_)), "{report}");
}

/// The confirmation of a save counts, also if the save is dropped while it reads the missing ETags. The next save reads the
/// row before it sends the next change.
#[tokio::test]
async fn a_confirmation_survives_a_dropped_read_of_etags() {
    let (mock, blogs) = service().await;
    let transport = Scripted::new(mock.transport(), |request| {
        if is_write(request) { super::losses::without_etags() } else { Step::hang() }
    });
    let mut ctx = context(&mock, &transport, false);
    ctx.add(&blog("1", "mine")).unwrap();
    {
        let mut save = Box::pin(ctx.save_changes_with(SaveOptions::atomic()));
        for _ in 0..10 {
            assert!(futures_util::poll!(save.as_mut()).is_pending());
        }
    }
    assert_eq!(ctx.last_report().applied(), 1, "{}", ctx.last_report());
    assert!(!ctx.has_changes());
    transport.play(|_| Step::pass());
    ctx.update(&blog("1", "again")).unwrap();
    blogs.merge(&Blog { rating: Some(9), ..blog("1", "theirs") }, IfMatch::Any).await.unwrap();
    let error = ctx.save_changes().await.unwrap_err().error;
    assert!(error.is_precondition_failed(), "{error}");
    blogs.replace(&blog("1", "mine"), IfMatch::Any).await.unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(KEY).await.unwrap().text, "again");
}

/// A request is repeated as it was, whatever form the save asks for: a part of it could be applied beside it.
#[tokio::test]
async fn a_request_is_repeated_as_it_was() {
    for (first, second, expected) in [
        (SaveOptions::atomic(), SaveOptions::each(), Operation::Transaction),
        (SaveOptions::each(), SaveOptions::atomic(), Operation::Insert),
    ] {
        let (mock, blogs) = service().await;
        let transport = scripted(&mock, [lost()]);
        let mut ctx = context(&mock, &transport, true);
        ctx.add(&blog("1", "mine")).unwrap();
        ctx.save_changes_with(first).await.unwrap_err();
        let before = mock.requests().count(expected);
        ctx.save_changes_with(second).await.unwrap();
        assert_eq!(mock.requests().count(expected), before + 1, "{expected}");
        let writes: Vec<_> = transport.requests().into_iter().filter(is_write).collect();
        assert!(String::from_utf8_lossy(&writes[0].body).contains("WriteId"));
        assert_eq!(writes[0].body, writes[1].body);
        assert_eq!(blogs.query().count().await.unwrap(), 1);
    }
}

/// A transaction is repeated as it was, also by a save to which a missing row is a deletion. If the service refuses it for a
/// missing row, it has deleted no other row.
#[tokio::test(start_paused = true)]
async fn a_refused_transaction_deletes_nothing() {
    let mock = virtual_time();
    let blogs = mock.client().table::<Blog>();
    blogs.create().await.unwrap();
    for id in ["1", "2"] {
        blogs.insert(&blog(id, "old")).await.unwrap();
    }
    let transport = Scripted::recorder(mock.transport());
    let mut ctx = context(&mock, &transport, false);
    for found in ctx.load(ctx.service().table::<Blog>().query()).await.unwrap() {
        ctx.delete(&found).unwrap();
    }
    transport.play(on(is_batch, in_turn([lost()])));
    let report = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err().report;
    assert_eq!(report.unknown().count(), 2, "{report}");
    blogs.delete(KEY, IfMatch::Any).await.unwrap();
    let options = SaveOptions::each().missing_is_deleted();
    let report = ctx.save_changes_with(options.clone()).await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (0, 2), "{report}");
    assert_eq!((mock.row_count("Blogs"), ctx.entries().len()), (Some(1), 2));
    // Once the transaction has expired, each deletion is sent as a request of its own.
    tokio::time::advance(Duration::from_secs(40 * 60)).await;
    assert_eq!(ctx.save_changes_with(options).await.unwrap().applied(), 2);
    assert_eq!((mock.row_count("Blogs"), ctx.entries().len()), (Some(0), 0));
}

/// An update under an ETag never arrived. The next save resolves a conflict and writes the same value with another one, which
/// does not prove the first update.
#[tokio::test]
async fn a_newer_update_with_the_same_value_does_not_prove_an_older_one() {
    let (mock, _) = service().await;
    stored(&mock).insert(&row(&[("A", 1), ("B", 1)])).await.unwrap();
    let transport = scripted(&mock, [lost()]);
    let mut ctx = context(&mock, &transport, false);
    ctx.load(ctx.service().table_named::<DynamicEntity>("Blogs").query()).await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2), ("B", 1)])).unwrap();
    ctx.save_changes().await.unwrap_err();
    stored(&mock).merge(&row(&[("A", 5)]), IfMatch::Any).await.unwrap();
    ctx.table_named::<DynamicEntity>("Blogs").update(&row(&[("A", 2), ("B", 2)])).unwrap();
    let options = SaveOptions::each().on_conflict(ConflictResolver::client_wins());
    let report = ctx.save_changes_with(options).await.unwrap_err().report;
    assert_eq!((report.applied(), report.unknown().count()), (1, 1), "{report}");
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!((stored.get("A"), stored.get("B")), (Some(Ok(2)), Some(Ok(2))));
}
