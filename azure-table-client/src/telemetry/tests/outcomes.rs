//! The warnings and attributes of failed calls and of writes with an unknown outcome.

use super::observers::Notes;
use super::*;

/// The only warning about a failed call, which is in the span of the call.
#[track_caller]
fn failure(recorded: &recorder::Recorded) -> &recorder::Fields {
    let failures = recorded.warnings("call failed");
    assert_eq!(failures.len(), 1, "{failures:?}");
    let call = recorded.calls().next().unwrap();
    assert_eq!(failures[0].parent, Some(call.0));
    let fields = &failures[0].fields;
    for (of_event, of_span) in [
        ("operation", "db.operation.name"),
        ("table", "db.collection.name"),
        ("code", "error.type"),
        ("request_id", "azure.service.request.id"),
        ("client_request_id", "azure_table.client_request_id"),
        ("attempts", "azure_table.attempts"),
        ("outcome", "azure_table.outcome"),
    ] {
        assert_eq!(fields.get(of_event), call.1.fields.get(of_span), "{of_event}");
    }
    fields
}

/// The outcome of the only write, and whether an earlier attempt was applied.
#[track_caller]
fn outcome(recorded: &recorder::Recorded) -> [&str; 2] {
    let (_, write) =
        recorded.calls().find(|c| c.1.fields.get("otel.name") != "Query Cities").unwrap();
    ["azure_table.outcome", "azure_table.by_earlier_attempt"].map(|field| write.fields.get(field))
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_one_warning() {
    let mock = mock_with(0).await;
    let table = cities(&builder(&mock).build().unwrap());
    Recorder::start();
    table.insert(&entity()).await.unwrap();
    let recorded = Recorder::take();
    assert!(recorded.warnings("call failed").is_empty());
    assert_eq!(outcome(&recorded), ["applied", "false"]);

    Recorder::start();
    table.insert(&entity()).client_request_id("import-42").await.unwrap_err();
    let recorded = Recorder::take();
    let fields = failure(&recorded);
    for (field, expected) in [
        ("operation", "Insert"),
        ("table", "Cities"),
        ("code", "EntityAlreadyExists"),
        ("client_request_id", "import-42"),
        ("attempts", "1"),
        ("outcome", "not_applied"),
    ] {
        assert_eq!(fields.get(field), expected, "{field}");
    }
    assert!(!fields.get("request_id").is_empty());
    assert_eq!(outcome(&recorded), ["not_applied", "false"]);

    // Nothing is sent.
    Recorder::start();
    table.insert(&entity()).client_request_id("\n").await.unwrap_err();
    let recorded = Recorder::take();
    let fields = failure(&recorded);
    assert_eq!(["code", "attempts"].map(|f| fields.get(f)), ["invalid_input", "0"]);

    // A request of a context, and a transaction.
    Recorder::start();
    let mut context = TableContext::new(&builder(&mock).build().unwrap());
    context.table_named::<DynamicEntity>("Cities").add(&entity()).unwrap();
    context.save_changes().await.unwrap_err();
    assert_eq!(failure(&Recorder::take()).get("code"), "EntityAlreadyExists");
    Recorder::start();
    table.transaction().insert(&entity()).await.unwrap_err();
    let recorded = Recorder::take();
    assert_eq!(failure(&recorded).get("code"), "EntityAlreadyExists");
    assert_eq!(outcome(&recorded), ["not_applied", "false"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_one_warning_without_spans_and_observers() {
    let mock = mock_with(0).await;
    let table = cities(&builder(&mock).build().unwrap());
    mock.faults().add(Fault::busy().times(1));
    Recorder::start_without_spans();
    let error = table.get(KEY).await.unwrap_err();
    let recorded = Recorder::take();
    assert!(recorded.spans.is_empty());
    let [retry] = recorded.warnings("will retry")[..] else { panic!("{recorded:?}") };
    assert_eq!(retry.fields.get("code"), "ServerBusy");
    let [failure] = recorded.warnings("call failed")[..] else { panic!("{recorded:?}") };
    for (field, expected) in [
        ("code", "ResourceNotFound"),
        ("request_id", error.request_id().unwrap()),
        ("client_request_id", error.client_request_id().unwrap()),
        ("attempts", "2"),
        ("outcome", "not_applied"),
    ] {
        assert_eq!(failure.fields.get(field), expected, "{field}");
    }

    let mut context = TableContext::new(&builder(&mock).build().unwrap());
    context.table_named::<DynamicEntity>("Towns").add(&entity()).unwrap();
    Recorder::start_without_spans();
    context.save_changes().await.unwrap_err();
    let recorded = Recorder::take();
    let [failure] = recorded.warnings("call failed")[..] else { panic!("{recorded:?}") };
    assert_eq!(failure.fields.get("code"), "TableNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_write_of_unknown_outcome_is_one_warning() {
    let mock = mock_with(0).await;
    let stats = Arc::new(ClientStats::default());
    let service =
        builder(&mock).proof(crate::Proof::Response).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    mock.faults().add(Fault::lose_reply());
    Recorder::start();
    table.insert(&entity()).await.unwrap_err();
    let recorded = Recorder::take();
    let fields = ["attempts", "outcome"].map(|field| failure(&recorded).get(field));
    assert_eq!(fields, ["3", "unknown"]);
    mock.faults().clear();
    assert_eq!(outcome(&recorded), ["unknown", "false"]);
    let counts = stats.of(Operation::Insert);
    assert_eq!((counts.unknown, counts.resolved, counts.failed), (1, 0, 1));

    // A refusal that the call's own lost write may have caused is not an expected error.
    mock.faults().add(Fault::lose_reply().on(Operation::Merge).times(1));
    Recorder::start();
    let change = |entity: &mut DynamicEntity| {
        entity.set("City", "Timbuktu");
    };
    let error = table.update_with(KEY, change).await.unwrap_err();
    assert_eq!(error.outcome(), crate::Outcome::Unknown);
    let recorded = Recorder::take();
    let failures = recorded.warnings("call failed");
    assert_eq!(failures.len(), 1);
    let fields = ["code", "outcome"].map(|field| failures[0].fields.get(field));
    assert_eq!(fields, ["UpdateConditionNotSatisfied", "unknown"]);
    let counts = stats.of(Operation::Merge);
    assert_eq!((counts.unknown, counts.conflicts), (1, 1));

    // A write that is dropped in flight also has an unknown outcome, but causes no event.
    mock.faults().add(Fault::hang());
    Recorder::start();
    let insert = table.insert(&entity()).into_future();
    tokio::time::timeout(Duration::from_secs(1), insert).await.unwrap_err();
    let recorded = Recorder::take();
    assert!(recorded.events.is_empty(), "{recorded:?}");
    assert_eq!(outcome(&recorded), ["unknown", "false"]);
    assert_eq!((stats.of(Operation::Insert).unknown, stats.of(Operation::Insert).dropped), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_expected_error_is_no_warning() {
    let mock = mock_with(0).await;
    let stats = Arc::new(ClientStats::default());
    let service = builder(&mock).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    let other = cities(&mock.client());
    other.insert(&entity()).await.unwrap();
    Recorder::start();
    table.create_if_not_exists().await.unwrap();
    let recorded = Recorder::take();
    assert!(recorded.warnings("call failed").is_empty());
    assert_eq!(outcome(&recorded), ["not_applied", "false"]);
    Recorder::start();
    table.get_if_exists(("no", "one")).await.unwrap();
    let recorded = Recorder::take();
    assert!(recorded.warnings("call failed").is_empty());
    assert_eq!(outcome(&recorded), ["", ""]);
    assert_eq!(stats.total().conflicts, 0);

    // A round that loses a race.
    mock.faults()
        .add(Fault::error(412, "UpdateConditionNotSatisfied").on(Operation::Merge).times(1));
    Recorder::start();
    let change = |entity: &mut DynamicEntity| {
        entity.set("City", "Timbuktu");
    };
    assert_eq!(table.update_with(KEY, change).await.unwrap().rounds(), 2);
    assert!(Recorder::take().warnings("call failed").is_empty());
    let counts = stats.of(Operation::Merge);
    assert_eq!((counts.calls, counts.failed, counts.conflicts), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_resolved_write_reports_its_earlier_attempt() {
    let mock = mock_with(0).await;
    let (stats, notes) = (Arc::new(ClientStats::default()), Arc::new(Notes::default()));
    let service = builder(&mock).observer(stats.clone()).observer(notes.clone()).build().unwrap();
    let table = cities(&service);
    let second = DynamicEntity::new(KEY.0, "2");
    macro_rules! check {
        ($operation:ident, $call:expr) => {{
            mock.faults().add(Fault::lose_reply().on(Operation::$operation).times(1));
            Recorder::start();
            notes.take();
            $call.await.unwrap();
            let recorded = Recorder::take();
            assert!(recorded.warnings("call failed").is_empty(), "{recorded:?}");
            let (_, call) = recorded.calls().next().unwrap();
            assert_eq!(outcome(&recorded), ["applied", "true"], "{}", call.fields.get("otel.name"));
            let counts = stats.of(Operation::$operation);
            assert_eq!((counts.resolved, counts.unknown), (1, 0));
            assert!(notes.take().iter().any(|note| note.ends_with("by an earlier attempt")));
            counts
        }};
    }
    let counts = check!(Insert, table.insert(&entity()));
    assert_eq!((counts.calls, counts.conflicts), (1, 0));
    check!(Transaction, table.transaction().insert(&second));
    check!(Delete, table.delete_if_exists(KEY, IfMatch::Any));
    check!(CreateTable, service.create_table("Towns"));

    // The run sends its request again, as a call of its own.
    mock.faults().add(Fault::lose_reply().on(Operation::Insert).times(1));
    let before = stats.of(Operation::Insert);
    Recorder::start();
    table.bulk().run([BulkOperation::Insert(entity())]).await.unwrap();
    assert_eq!(failure(&Recorder::take()).get("outcome"), "unknown");
    let counts = stats.of(Operation::Insert);
    assert_eq!((counts.calls, counts.resolved), (before.calls + 2, before.resolved + 1));
}
