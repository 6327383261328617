//! Evidence that does not prove a write, and other ways to read back.

use super::*;

fn item(row_key: &str, text: &str) -> DynamicEntity {
    let mut item = DynamicEntity::new("p", row_key);
    item.set("Text", text);
    item
}

/// A table with rows that have these texts, written long ago or now, whose next write is lost
/// before it is applied.
async fn with_rows(
    rows: &[(&str, &str)],
    is_old: bool,
) -> (MockTableService, TableClient<DynamicEntity>) {
    let start = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let clock = azure_table_client::clock::TokioClock::starting_at(start);
    let mock = MockTableService::builder().clock(Arc::new(clock)).build();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    for (row_key, text) in rows {
        table.insert(&item(row_key, text)).await.unwrap();
    }
    if is_old {
        tokio::time::advance(Duration::from_secs(10 * 60)).await;
    }
    mock.faults().add(Fault::lose_request().on_writes().times(1));
    (mock, table)
}

/// A row that matches by chance proves nothing about the others. A row that is older than the call
/// proves that an insert was not applied, but the row may be deleted before a late attempt arrives.
#[tokio::test(start_paused = true)]
async fn an_earlier_row_proves_nothing() {
    for is_old in [true, false] {
        let (mock, table) = with_rows(&[("a", "same")], is_old).await;
        let batch = table.transaction().insert(&item("a", "same")).insert(&item("b", "new"));
        let error = batch.await.unwrap_err();
        assert_eq!((error.status(), error.outcome()), (Some(409), Outcome::Unknown));
        assert_eq!(mock.row_count("Blogs"), Some(1));

        let (mock, table) = with_rows(&[("r0", "same")], is_old).await;
        let rows = (0..50).map(|n| BulkOperation::Insert(item(&format!("r{n}"), "same")));
        let report = table.bulk().run(rows).await.unwrap_err().into_report();
        let told = (report.progress.applied, report.progress.failed, report.progress.unknown);
        assert_eq!(told, (49, 0, 1), "the other rows are sent again; old: {is_old}");
        assert_eq!(mock.row_count("Blogs"), Some(50));

        let (mock, table) = with_rows(&[("a", "same")], is_old).await;
        let mut ctx = TableContext::new(&mock.client());
        ctx.table_named::<DynamicEntity>("Blogs").add(&item("a", "same")).unwrap();
        ctx.table_named::<DynamicEntity>("Blogs").add(&item("b", "new")).unwrap();
        ctx.save_changes_with(SaveOptions::atomic()).await.unwrap_err();
        assert_eq!((mock.row_count("Blogs"), ctx.last_report().applied()), (Some(1), 0));
        drop(table);
    }
    // A row as old as the call may be another program's, so the insert does not claim it.
    let (_, table) = with_rows(&[("a", "same")], true).await;
    let error = table.insert(&item("a", "same")).await.unwrap_err();
    assert_eq!((error.status(), error.outcome()), (Some(409), Outcome::Unknown));
    // An outdated ETag never becomes current again, so the 412 proves nothing about the first attempt.
    let (_, table) = with_rows(&[("a", "other")], true).await;
    let old = ETag::from("W/\"datetime'2001-01-01T00%3A00%3A00.0000000Z'\"");
    let error = table.merge(&item("a", "same"), &old).await.unwrap_err();
    assert_eq!((error.status(), error.outcome()), (Some(412), Outcome::Unknown));
}

/// A merge of values that the row already has does not prove that the transaction wrote the other row.
#[tokio::test(start_paused = true)]
async fn a_merge_that_changes_nothing_proves_nothing() {
    for head in [DynamicEntity::new("p", "head"), item("head", "open")] {
        let (mock, table) = with_rows(&[("head", "open"), ("detail", "old")], false).await;
        let tag = table.get(("p", "head")).await.unwrap().etag.clone();
        let mut other = DynamicEntity::new("p", "head");
        other.set("Other", 2);
        mock.faults().clear();
        table.merge(&other, IfMatch::Any).await.unwrap();
        mock.faults().add(Fault::lose_request().on_writes().times(1));
        let batch =
            table.transaction().merge(&head, &tag).insert_or_replace(&item("detail", "new"));
        let error = batch.await.unwrap_err();
        assert_eq!((error.status(), error.outcome()), (Some(412), Outcome::Unknown));
        let detail = table.get(("p", "detail")).await.unwrap();
        assert_eq!(detail.get::<String>("Text").unwrap().unwrap(), "old");
    }
}

/// Reading back ends at the deadline of the call.
#[tokio::test(start_paused = true)]
async fn reading_back_keeps_to_the_deadline() {
    let (mock, table) = with_rows(&[], false).await;
    mock.faults().clear();
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    mock.faults().add(Fault::delay_reply(Duration::from_secs(9)).on_reads());
    mock.faults().add(Fault::page_of(0).on(Operation::Query));
    let rows: Vec<_> = (0..100).map(|n| item(&format!("{n:03}"), "new")).collect();
    let batch =
        rows.iter().fold(table.transaction(), azure_table_client::client::Transaction::insert);
    let start = tokio::time::Instant::now();
    let error = batch.deadline(Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(start.elapsed().as_secs() <= 10, "{:?}", start.elapsed());
}

/// A transaction whose response cannot be read is read back.
#[tokio::test(start_paused = true)]
async fn an_unreadable_response_is_read_back() {
    let (mock, table) = with_rows(&[], false).await;
    mock.faults().clear();
    mock.faults().add(Fault::truncate_reply().on(Operation::Transaction).times(1));
    let batch = table.transaction().insert(&item("a", "new")).insert(&item("b", "new"));
    let committed = batch.await.unwrap();
    assert!(
        committed.confirmation != azure_table_client::Confirmation::Response
            && committed.operations.iter().all(|o| o.etag.is_some())
    );
}

/// A server error after the commit leaves a batch unresolved, like a lost reply.
#[tokio::test(start_paused = true)]
async fn a_bulk_run_resolves_duplicate_attempts_after_a_server_error() {
    let (mock, table) = with_rows(&[], false).await;
    mock.faults().clear();
    mock.faults().add(Fault::timed_out().after_commit().on(Operation::Transaction).times(1));
    let rows = (0..3).map(|n| BulkOperation::Insert(item(&n.to_string(), "new")));
    let report = table.bulk().run(rows).await.unwrap();
    assert_eq!((report.progress.applied, mock.row_count("Blogs")), (3, Some(3)));
}

/// A row without a version exists.
#[tokio::test(start_paused = true)]
async fn rows_without_versions_prove_nothing() {
    let (mock, _) = with_rows(&[("a", "old"), ("b", "old")], false).await;
    let without_versions =
        Scripted::new(mock.transport(), |_| Step::pass().replace("odata.etag", "odata.gone"));
    let client = mock.client_builder().transport(without_versions);
    let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
    let tag = ETag::from("W/\"datetime'2009-04-14'\"");
    let batch = table.transaction().delete(("p", "a"), &tag).delete(("p", "b"), &tag);
    batch.await.unwrap_err();
    assert_eq!(mock.row_count("Blogs"), Some(2));
}

/// The error of an update that a write id would have confirmed says so.
#[tokio::test(start_paused = true)]
async fn the_error_of_a_matching_state_names_the_write_id_column() {
    let mock = MockTableService::new();
    mock.seed("Blogs", &[item("a", "old")]).unwrap();
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    let tag = blogs.get(("p", "a")).await.unwrap().etag.clone();
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    let error = blogs.merge(&item("a", "new"), &tag).await.unwrap_err();
    assert!(error.state_matches() && error.is_precondition_failed(), "{error}");
    assert!(error.hint().unwrap().contains("write_id_column"), "{error}");
    assert!(error.to_string().contains(error.hint().unwrap()), "{error}");

    // A delete leaves no id.
    let tag = blogs.get(("p", "a")).await.unwrap().etag.clone();
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    let error = blogs.delete(("p", "a"), &tag).proof(Proof::WriteId).await.unwrap_err();
    assert_eq!((error.state_matches(), error.hint()), (true, None), "{error}");

    let ids = mock.client_builder().write_id_column("WriteId").build().unwrap();
    let blogs = ids.table_named::<DynamicEntity>("Blogs");
    let inserted = blogs.insert(&item("a", "old")).await.unwrap();
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    let merged = blogs.merge(&item("a", "new"), &inserted.etag).await.unwrap();
    assert_eq!(merged.confirmation, azure_table_client::Confirmation::WriteId);
}
