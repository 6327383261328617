//! Keys that no entity of the type can have: every call that accepts a key refuses them before it sends
//! a request.

use azure_table_client::bulk::{BulkError, BulkOperation};
use azure_table_client::client::WriteOutcome;
use azure_table_client::context::TableContext;
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, EntityKey, Error, ErrorKind, IfMatch, TableClient, TableEntity,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Counters")]
struct Counter {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    id: u32,
    hits: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Days", partition_key = "{year:04}_{month:02}")]
struct Day {
    year: i32,
    month: u32,
    #[table(row_key)]
    note: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key = "hour_{hour:02}", no_constructors)]
struct Hour {
    hour: u32,
    #[table(row_key)]
    minute: u32,
}

/// Kinds with a discriminator property.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator = "Kind")]
enum Kinds {
    Counter(Counter),
    Day(Day),
}

/// Kinds with different RowKey formats.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator_in_row_key)]
enum Forms {
    Day(Day),
    Hour(Hour),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(discriminator = "Kind")]
enum Open {
    Day(Day),
    #[table(other)]
    Other(DynamicEntity),
}

const COUNTER: &str = "no entity of this type has the PartitionKey \"a\" and the RowKey \"1\": use \
                       `Counter::key(…)`";
const DAY: &str = "no entity of this type has the PartitionKey \"7\" and the RowKey \"x\": use \
                   `Day::key(…)`";

async fn table<T: TableEntity>() -> (MockTableService, TableClient<T>) {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<T>("Rows");
    table.create().await.unwrap();
    for key in [("a", "1"), ("7", "x")] {
        table.with_entity().insert(&DynamicEntity::new(key.0, key.1)).await.unwrap();
    }
    mock.requests().clear();
    (mock, table)
}

#[track_caller]
fn assert_refused(error: &Error, message: &str, key: Option<(&str, &str)>) {
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{error}");
    assert!(error.to_string().contains(message), "{error}");
    assert_eq!(error.entity_key(), key.map(EntityKey::from).as_ref());
}

/// The error that ended the run before it read a row.
#[track_caller]
fn stopped(error: &BulkError) -> &Error {
    assert_eq!((error.report().progress.read, error.report().progress.requests), (0, 0));
    error.report().stopped_by().unwrap()
}

/// Every call with one key, on a table that has a row with this key.
async fn assert_every_call_refuses<T>(key: (&'static str, &'static str), message: &str)
where
    T: TableEntity + Clone + Send + 'static,
{
    let (mock, table) = table::<T>().await;
    let any = IfMatch::Any;
    let mut errors = vec![
        table.get(key).await.err(),
        table.get_if_exists(key).await.err(),
        table.delete(key, any.clone()).await.err(),
        table.delete_if_exists(key, any.clone()).await.err(),
        table.update_with(key, |_| ()).await.err(),
        table.try_update_with(key, |_| Ok::<(), Error>(())).await.err(),
        table.get_or_insert_with(key, || panic!("the key is refused first")).await.err(),
    ];
    let transaction = table.transaction().delete(key, any.clone());
    assert_eq!(transaction.len(), 1);
    let error = transaction.await.unwrap_err();
    assert_eq!(error.batch_index(), Some(0));
    errors.push(Some(error));

    let service = mock.client();
    let mut context = TableContext::new(&service);
    errors.push(context.table_of(&table).delete_key(key).err());
    assert!(context.table_of(&table).entry(key).is_none());

    for error in errors {
        assert_refused(&error.unwrap(), message, Some(key));
    }
    assert_eq!(mock.requests().total(), 0);
    assert_eq!(mock.row_count("Rows"), Some(2));
}

#[tokio::test]
async fn every_call_refuses_an_impossible_key() {
    assert_every_call_refuses::<Counter>(("a", "1"), COUNTER).await;
    assert_every_call_refuses::<Day>(("7", "x"), DAY).await;
}

#[tokio::test]
async fn enums_refuse_keys_of_no_kind() {
    let kinds = "no entity of this type has the PartitionKey \"a\" and the RowKey \"1\": use \
                 `Counter::key(…)` or `Day::key(…)`";
    assert_every_call_refuses::<Kinds>(("a", "1"), kinds).await;
    let forms = "no entity of this type has the PartitionKey \"a\" and the RowKey \"1\": use \
                 `Day::key(…)`";
    assert_every_call_refuses::<Forms>(("a", "1"), forms).await;
}

/// A struct without the functions has only `entity_key`.
#[tokio::test]
async fn a_struct_without_constructors_of_keys() {
    let message = "no entity of this type has the PartitionKey \"a\" and the RowKey \"1\": use the \
                   entity's `entity_key()`";
    assert_every_call_refuses::<Hour>(("a", "1"), message).await;
    let (_, hours) = table::<Hour>().await;
    let error = hours.bulk().delete_partition("hour_7").await.unwrap_err();
    let message = "no entity of this type has the PartitionKey \"hour_7\": use the entity's \
                   `partition_key()`";
    assert_refused(stopped(&error), message, None);
}

#[tokio::test]
async fn keys_that_an_entity_can_have_are_sent() {
    let (mock, counters) = table::<Counter>().await;
    let key = || Counter::key("a", 1_u32).unwrap();
    assert!(!counters.delete_if_exists(key(), IfMatch::Any).await.unwrap());
    counters.insert(&Counter { name: "a".into(), id: 1, hits: 0 }).await.unwrap();
    counters.update_with(key(), |counter| counter.hits += 1).await.unwrap();
    counters.transaction().delete(key(), IfMatch::Any).await.unwrap();
    assert_eq!(mock.row_count("Rows"), Some(2));

    let open = counters.with_entity::<Open>();
    assert!(open.delete_if_exists(("a", "1"), IfMatch::Any).await.unwrap());
    let rows = counters.with_entity::<DynamicEntity>();
    assert!(rows.delete_if_exists(("7", "x"), IfMatch::Any).await.unwrap());
    assert_eq!(mock.row_count("Rows"), Some(0));
}

/// A transaction reports which of its operations has the wrong key.
#[tokio::test]
async fn a_transaction_names_the_operation() {
    let (mock, counters) = table::<Counter>().await;
    let row = Counter { name: "a".into(), id: 1, hits: 0 };
    let transaction = counters.transaction().insert(&row).delete(("a", "1"), IfMatch::Any);
    let error = transaction.delete(("a", "2"), IfMatch::Any).await.unwrap_err();
    assert_refused(&error, COUNTER, Some(("a", "1")));
    assert_eq!((error.batch_index(), mock.requests().total()), (Some(1), 0));
}

#[tokio::test]
async fn a_bulk_row_fails_alone() {
    let (mock, counters) = table::<Counter>().await;
    let row = |id| Counter { name: "a".into(), id, hits: 0 };
    let operations = [
        BulkOperation::Insert(row(1)),
        BulkOperation::Delete(("a", "1").into(), IfMatch::Any),
        BulkOperation::DeleteIfExists(("a", "1").into(), IfMatch::Any),
        BulkOperation::DeleteIfExists(Counter::key("a", 2_u32).unwrap(), IfMatch::Any),
    ];
    let report = counters.bulk().run(operations).await.unwrap_err().into_report();
    let failures: Vec<_> = report.failures().collect();
    assert_eq!(failures.iter().map(|row| row.index).collect::<Vec<_>>(), [1, 2]);
    for failure in failures {
        assert_eq!(failure.key, Some(("a", "1").into()));
        let WriteOutcome::Failed(error) = &failure.outcome else { panic!("{failure}") };
        assert_refused(error, COUNTER, Some(("a", "1")));
    }
    assert_eq!((report.progress.applied, report.progress.failed), (2, 2));
    assert_eq!(mock.row_count("Rows"), Some(3));

    mock.requests().clear();
    let operations = [BulkOperation::Delete(("a", "1").into(), IfMatch::Any)];
    counters.bulk().run(operations).await.unwrap_err();
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test]
async fn delete_partition_refuses_an_impossible_partition() {
    let (mock, days) = table::<Day>().await;
    let message = "no entity of this type has the PartitionKey \"7\": use `Day::partition(…)`";
    let error = days.bulk().delete_partition("7").await.unwrap_err();
    assert_refused(stopped(&error), message, None);
    let error = days.bulk().delete_partition("7").await.unwrap_err();
    assert_refused(stopped(&error), message, None);

    let kinds = days.with_entity::<Forms>();
    let error = kinds.bulk().delete_partition("7").await.unwrap_err();
    assert_refused(stopped(&error), message, None);
    assert_eq!((mock.requests().total(), mock.row_count("Rows")), (0, Some(2)));

    // A counter may be in any partition.
    days.with_entity::<Kinds>().bulk().delete_partition("7").await.unwrap();
    assert_eq!(mock.row_count("Rows"), Some(1));
    days.insert(&Day { year: 2009, month: 4, note: "14".into() }).await.unwrap();
    days.bulk().delete_partition(Day::partition(2009, 4_u32).unwrap()).await.unwrap();
    days.with_entity::<DynamicEntity>().bulk().delete_partition("a").await.unwrap();
    assert_eq!(mock.row_count("Rows"), Some(0));
}

/// `delete_found` uses keys from the service, which need not match the key format of the struct.
#[tokio::test]
async fn found_rows_are_deleted_regardless_of_their_keys() {
    let (mock, counters) = table::<Counter>().await;
    let found = counters.query().filter(|counter| counter.name.eq("a"));
    assert_eq!(counters.bulk().delete_found(found).await.unwrap().progress.applied, 1);
    assert_eq!(counters.bulk().truncate().await.unwrap().progress.applied, 1);
    assert_eq!(mock.row_count("Rows"), Some(0));
}

/// The context refuses the key although the row is tracked as another type.
#[tokio::test]
async fn a_context_refuses_to_delete_by_such_a_key() {
    let (mock, counters) = table::<Counter>().await;
    let service = mock.client();
    let mut context = TableContext::new(&service);
    let rows = context
        .load(context.service().table_named::<DynamicEntity>("Rows").query().allow_scan())
        .await
        .unwrap();
    assert_eq!(rows.len(), 2);
    let error = context.table_of(&counters).delete_key(("a", "1")).unwrap_err();
    assert_refused(&error, COUNTER, Some(("a", "1")));
    assert!(!context.has_changes());
    context.table_named::<DynamicEntity>("Rows").delete_key(("a", "1")).unwrap();
    context.save_changes().await.unwrap();
    assert_eq!(mock.row_count("Rows"), Some(1));
}

#[tokio::test]
async fn the_error_of_a_key_function_is_the_error_of_the_call() {
    let (mock, table) = table::<Day>().await;
    let (key, any) = (|| Day::key(-1, 1, "x"), IfMatch::Any);
    let expected = key().unwrap_err().to_string();
    let mut context = TableContext::new(&mock.client());
    let mut tracked = context.table_of(&table);
    let transaction = table.transaction().delete(key(), any.clone()).await.unwrap_err();
    assert_eq!(transaction.batch_index(), Some(0));
    for error in [
        table.get(key()).await.unwrap_err(),
        table.get_if_exists(key()).await.unwrap_err(),
        table.delete(key(), any.clone()).await.unwrap_err(),
        table.delete_if_exists(key(), any).await.unwrap_err(),
        table.update_with(key(), |_| ()).await.unwrap_err(),
        table.get_or_insert_with(key(), || panic!("the key is refused first")).await.unwrap_err(),
        tracked.find(key()).await.unwrap_err(),
        tracked.delete_key(key()).unwrap_err(),
        transaction,
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&expected), "{error}");
    }
    assert_eq!(mock.requests().total(), 0);
}
