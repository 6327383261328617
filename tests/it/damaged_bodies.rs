//! Responses whose bodies are cut without any sign of it: reads are repeated, and the outcome of a write stays true.

use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::ServiceVersion;
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Confirmation, DynamicEntity, EntityKey, ErrorKind, IfMatch, Operation, Outcome, PayloadFormat,
    Proof, RetryPolicy, TableClient, TableEntity, TableServiceClient, TableServiceClientBuilder,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, response};
use futures_util::TryStreamExt as _;
use tokio::time::Instant;

const KEY: (&str, &str) = ("p", "r");
const WAIT: Duration = Duration::from_secs(1);

fn builder(mock: &MockTableService) -> TableServiceClientBuilder {
    mock.client_builder().retry(RetryPolicy::fixed(3, WAIT))
}

fn row() -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Text", "some text");
    row
}

async fn table(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    let table = service.table_named("Rows");
    table.create().await.unwrap();
    table.insert(&row()).await.unwrap();
    table
}

/// Cuts the next responses to an operation. The function that it returns counts them.
fn cut(mock: &MockTableService, operation: Operation, times: usize) -> impl Fn() -> usize {
    let added = mock.faults().add(Fault::truncate_reply().on(operation).times(times));
    move || added.struck()
}

#[tokio::test(start_paused = true)]
async fn reads_are_repeated() {
    let mock = MockTableService::new();
    let service = builder(&mock).build().unwrap();
    let table = table(&service).await;
    let missing = ("p", "missing");

    let struck = cut(&mock, Operation::Get, 2);
    assert_eq!(
        table.get(KEY).await.unwrap().entity.get::<String>("Text").unwrap().unwrap(),
        "some text"
    );
    assert_eq!(struck(), 2);
    let struck = cut(&mock, Operation::Get, 2);
    assert!(table.get_if_exists(missing).await.unwrap().is_none());
    assert_eq!(struck(), 2);
    let struck = cut(&mock, Operation::Get, 2);
    assert!(table.get(missing).await.unwrap_err().is_not_found());
    assert_eq!(struck(), 2);
    let struck = cut(&mock, Operation::Get, 2);
    assert!(table.contains(KEY).await.unwrap());
    assert_eq!(struck(), 2);
    let struck = cut(&mock, Operation::Get, 2);
    assert_eq!(table.get_many([KEY, missing]).await.unwrap().iter().flatten().count(), 1);
    assert_eq!(struck(), 2);
    let struck = cut(&mock, Operation::Get, 2);
    let point = table.query().filter_text("PartitionKey eq 'p' and RowKey eq 'r'");
    assert_eq!(point.await.unwrap().len(), 1);
    assert_eq!(struck(), 2);

    let struck = cut(&mock, Operation::Query, 3);
    assert_eq!(table.query().await.unwrap().len(), 1);
    assert_eq!(struck(), 3);
    let struck = cut(&mock, Operation::Query, 3);
    assert_eq!(table.query().stream().try_collect::<Vec<_>>().await.unwrap().len(), 1);
    assert_eq!(struck(), 3);
    let struck = cut(&mock, Operation::ListTables, 3);
    assert_eq!(service.list_tables().await.unwrap(), ["Rows"]);
    assert_eq!(struck(), 3);
    let struck = cut(&mock, Operation::GetTableAcl, 3);
    assert!(table.access_policies().await.is_ok());
    assert_eq!(struck(), 3);
    let struck = cut(&mock, Operation::GetServiceProperties, 3);
    assert!(service.properties().await.is_ok());
    assert_eq!(struck(), 3);
    let struck = cut(&mock, Operation::GetTable, 3);
    assert!(!service.table_exists("Missing").await.unwrap());
    assert_eq!(struck(), 3);
    // Only an account with a secondary location has these statistics.
    let text = mock.connection_string();
    let endpoint = text.split(';').find_map(|part| part.strip_prefix("TableEndpoint=")).unwrap();
    let secondary = format!("{}-secondary", endpoint.trim_end_matches('/'));
    let service = builder(&mock).secondary_endpoint(&secondary).build().unwrap();
    let struck = cut(&mock, Operation::GetStats, 3);
    assert!(service.stats().await.is_ok());
    assert_eq!(struck(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_another_attempt_would_not_change_is_read_once() {
    let json = "application/json";
    for (status, kind, body, attempts) in [
        (403, json, r#"{"message":"no"}"#, 1),
        (403, json, "", 1),
        (403, json, r#"{"message":"#, 4),
        (404, "application/xml", "<nothing/>", 1),
        (404, "application/xml", "<nothing>", 4),
        (404, "text/html", "<p>", 1),
        (200, json, r#"{"value":3}"#, 1),
        (200, json, r#"{"value":["#, 4),
        // The service requests a wait beyond the deadline, which is the policy's last decision.
        (503, json, r#"{"odata.error":"#, 1),
    ] {
        let headers = [("content-type", kind), ("retry-after", "60")];
        let other = Scripted::always(response(status, &headers, body));
        let mock = MockTableService::new();
        let service = builder(&mock).transport(other.clone()).build().unwrap();
        let table = service.table_named::<DynamicEntity>("Rows");
        let error = table.query().deadline(Duration::from_secs(30)).await.unwrap_err();
        let sent = other.requests().len();
        assert_eq!((sent, error.attempts() as usize), (attempts, attempts), "{body}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn reads_in_atom_and_in_a_batch_are_repeated() {
    let mock = MockTableService::new();
    let atom =
        builder(&mock).service_version(ServiceVersion::V2013_08_15).format(PayloadFormat::Atom);
    let table = table(&atom.build().unwrap()).await;
    let struck = cut(&mock, Operation::Query, 3);
    assert_eq!(table.query().await.unwrap().len(), 1);
    assert_eq!(struck(), 3);
    let struck = cut(&mock, Operation::Get, 3);
    assert!(table.get(KEY).await.is_ok());
    assert_eq!(struck(), 3);

    // These keys are too long for a URL, so the row is read in a batch.
    let service = builder(&mock).build().unwrap();
    let table = service.table_named::<DynamicEntity>("Rows");
    let key = EntityKey::new("字".repeat(1024), "語".repeat(1024));
    table.insert(&DynamicEntity::new(&*key.partition_key, &*key.row_key)).await.unwrap();
    mock.requests().clear();
    mock.faults().add(Fault::truncate_reply().times(3));
    assert_eq!(table.get(&key).await.unwrap().entity.key(), &key);
    assert_eq!(mock.requests().total(), 4);
}

#[tokio::test(start_paused = true)]
async fn retries_have_the_limits_of_lost_responses() {
    let mock = MockTableService::new();
    let service = builder(&mock).build().unwrap();
    let table = table(&service).await;
    mock.faults().add(Fault::truncate_reply());

    let start = Instant::now();
    let error = table.get(KEY).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::UnexpectedReply, 4));
    assert_eq!((error.status(), error.outcome()), (Some(200), Outcome::NotApplied));
    // The first retry is immediate, as after a broken connection.
    assert_eq!(start.elapsed().as_secs(), 2);

    let error = table.get(KEY).retry(RetryPolicy::none()).await.unwrap_err();
    assert_eq!(error.attempts(), 1);
    let error = table.query().deadline(Duration::from_millis(1500)).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::UnexpectedReply, 3));
    let poor = builder(&mock).retry_budget(Some(5)).build().unwrap();
    let table = poor.table_named::<DynamicEntity>("Rows");
    assert_eq!(table.get(KEY).await.unwrap_err().attempts(), 2);
    assert_eq!(table.get(KEY).await.unwrap_err().attempts(), 1, "the budget is spent");
}

#[tokio::test(start_paused = true)]
async fn a_row_that_a_struct_cannot_decode_is_read_once() {
    #[derive(Debug, TableEntity)]
    #[table(rename_all = "PascalCase")]
    struct Number {
        #[table(partition_key)]
        partition: String,
        #[table(row_key)]
        row: String,
        text: i32,
    }
    let mock = MockTableService::new();
    let service = builder(&mock).build().unwrap();
    table(&service).await;
    let numbers = service.table_named::<Number>("Rows");
    mock.requests().clear();
    assert_eq!(numbers.get(KEY).await.unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(numbers.query().await.unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(mock.requests().total(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_head_proves_success_is_applied() {
    let mock = MockTableService::new();
    // This version returns the inserted entity.
    let service =
        builder(&mock).service_version(ServiceVersion::V2009_04_14).proof(Proof::Response);
    let table = table(&service.build().unwrap()).await;
    mock.requests().clear();
    let struck = cut(&mock, Operation::Insert, 1);
    let inserted = table.insert(&DynamicEntity::new("p", "other")).await.unwrap();
    assert_eq!((inserted.confirmation, inserted.status), (Confirmation::Response, 201));
    assert_eq!((struck(), mock.requests().total()), (1, 1));
}

/// The results in a batch are its body, so a damaged one proves nothing.
#[tokio::test(start_paused = true)]
async fn a_damaged_batch_leaves_the_attempt_open() {
    for (proof, resolves) in [(Proof::Response, false), (Proof::MatchingState, true)] {
        let mock = MockTableService::new();
        let service = builder(&mock).proof(proof).build().unwrap();
        let table = table(&service).await;
        let rows = |n: u32| ["a", "b"].map(|row| DynamicEntity::new(format!("p{n}"), row));

        let struck = cut(&mock, Operation::Transaction, 1);
        let [a, b] = rows(1);
        let committed = table.transaction().insert(&a).insert(&b).await;
        let is_true = match committed {
            Ok(committed) => resolves && committed.confirmation == Confirmation::Comparison,
            Err(error) => !resolves && error.outcome() == Outcome::Unknown,
        };
        assert!(is_true);
        assert_eq!(struck(), 1);

        let struck = cut(&mock, Operation::Transaction, 1);
        let inserts = rows(2).map(BulkOperation::Insert);
        let report = match table.bulk().run(inserts).await {
            Ok(report) => report,
            Err(error) => error.into_report(),
        };
        let (applied, unknown) = (report.progress.applied, report.progress.unknown);
        assert_eq!((applied, unknown), if resolves { (2, 0) } else { (0, 2) });
        assert_eq!(struck(), 1);

        let struck = cut(&mock, Operation::Transaction, 1);
        let mut context = TableContext::new(&service);
        for row in rows(3) {
            context.table_named::<DynamicEntity>("Rows").add(&row).unwrap();
        }
        let saved = context.save_changes_with(SaveOptions::per_partition()).await;
        let saved = saved.unwrap_or_else(|error| error.report);
        let is_true = |result: &WriteResult| match result.outcome {
            WriteOutcome::Applied { confirmation, .. } => {
                resolves && confirmation == Confirmation::Comparison
            }
            WriteOutcome::Unknown(_) => !resolves,
            _ => false,
        };
        assert!(saved.results.iter().all(is_true), "{saved:?}");
        assert_eq!(struck(), 1);
        assert_eq!(mock.row_count("Rows"), Some(7));
        table.delete(KEY, IfMatch::Any).await.unwrap();
    }
}

/// The connection is lost within a character of two bytes.
#[tokio::test(start_paused = true)]
async fn a_body_that_is_cut_within_a_character_is_read_again() {
    let mock = MockTableService::new();
    table(&mock.client()).await;
    let row: &[u8] = b"{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Text\":\"caf\xc3";
    let cut = |body| Step::pass().edit(|response| response.body = body);
    let steps = [cut(row.into()), Step::pass(), cut([b"{\"value\":[", row].concat().into())];
    let transport = Scripted::new(mock.transport(), in_turn(steps));
    let service = builder(&mock).transport(transport.clone()).build().unwrap();
    let table = service.table_named::<DynamicEntity>("Rows");
    assert!(table.get(KEY).await.is_ok());
    assert_eq!(table.query().await.unwrap().len(), 1);
    assert_eq!(transport.requests().len(), 4);
}
