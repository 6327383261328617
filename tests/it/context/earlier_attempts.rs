//! Changes of which an earlier save may have been applied.

use std::sync::Arc;

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{EntityState, SaveOptions, TableContext};
use azure_table_client::transport::TransportErrorKind;
use azure_table_client::{DynamicEntity, IfMatch, Operation, RetryPolicy};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_batch, is_write, on};

use super::{Blog, KEY, MockTableService, blog, service, stored};

fn lost() -> Step {
    Step::fail(TransportErrorKind::Interrupted)
}

/// A context whose writes follow the script.
fn context(mock: &MockTableService, transport: &Arc<Scripted>, has_ids: bool) -> TableContext {
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

fn row(columns: &[(&str, i32)]) -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    for (name, value) in columns {
        row.set(*name, *value);
    }
    row
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
    let stored = stored(&mock).get(KEY).await.unwrap();
    assert_eq!(stored.get("B"), Some(Ok(3)));
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
    let transport = scripted(&mock, []);
    let mut ctx = context(&mock, &transport, true);
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.add(&blog("2", "mine")).unwrap();
    // Both are applied. The reply is lost, and the rows cannot be read.
    let mut steps = vec![lost(), Step::lose_reply()];
    transport.play(move |_| steps.pop().unwrap_or_else(Step::pass));
    let error = ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
    assert_eq!(error.report.unknown().count(), 2);
    // The first entity has another change, which the service refuses.
    ctx.update(&blog("1", "again")).unwrap();
    blogs.replace(&blog("1", "theirs"), IfMatch::Any).await.unwrap();
    transport.play(|_| Step::pass());
    let error = ctx.save_changes().await.unwrap_err();
    let results = &error.report.results;
    assert!(matches!(results[0].outcome, WriteOutcome::Failed(_)), "{}", error.report);
    assert!(matches!(results[1].outcome, WriteOutcome::Applied { .. }), "{}", error.report);
}

/// The confirmation of a save counts, also if the save is dropped while it reads the missing ETags.
#[tokio::test]
async fn a_confirmation_survives_a_dropped_read_of_etags() {
    let (mock, _) = service().await;
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
    // Without its ETag, the row is not updated.
    ctx.update(&blog("1", "again")).unwrap();
    let error = ctx.save_changes().await.unwrap_err().error;
    assert!(error.to_string().contains("its ETag is not known"), "{error}");
}

/// A change is repeated in the form that the save asks for, with the id of its open attempt.
#[tokio::test]
async fn an_open_change_is_repeated_in_the_form_of_the_save() {
    for (first, second, expected) in [
        (SaveOptions::atomic(), SaveOptions::each(), Operation::Insert),
        (SaveOptions::each(), SaveOptions::atomic(), Operation::Transaction),
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
        let id = |body: &[u8]| {
            let text = String::from_utf8_lossy(body).into_owned();
            text.split_once(r#""WriteId":""#).map(|(_, rest)| rest[..36].to_owned())
        };
        assert!(id(&writes[0].body).is_some());
        assert_eq!(id(&writes[0].body), id(&writes[1].body));
        assert_eq!(blogs.query().count().await.unwrap(), 1);
    }
}
