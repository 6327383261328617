//! Cosmos DB returns rows in no order, and its table names are case-sensitive.

use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Dialect, DynamicEntity, ErrorKind, Operation, RetryPolicy, TableClient, TableEntity,
    TableServiceClient, TableServiceClientBuilder,
};
use azure_table_tests::scripted::{Scripted, Step};
use serde_json::Value;

use super::builder;

/// Reverses the order of the rows of a page.
fn reversed() -> Step {
    Step::pass().edit(|response| {
        if let Ok(mut page) = serde_json::from_slice::<Value>(&response.body)
            && let Some(rows) = page.get_mut("value").and_then(Value::as_array_mut)
        {
            rows.reverse();
            response.body = page.to_string().into();
        }
    })
}

fn cosmos(mock: &MockTableService) -> TableServiceClient {
    cosmos_builder(mock).build().unwrap()
}

fn cosmos_builder(mock: &MockTableService) -> TableServiceClientBuilder {
    mock.client_builder()
        .transport(Scripted::new(mock.transport(), |_| reversed()))
        .retry(RetryPolicy::default())
        .dialect(Dialect::CosmosDb)
}

async fn numbers(mock: &MockTableService, count: u32) -> TableClient<DynamicEntity> {
    let table = cosmos(mock).table_named::<DynamicEntity>("Numbers");
    table.create().await.unwrap();
    for n in 0..count {
        let mut row = DynamicEntity::new("p", format!("{n:03}"));
        row.set("N", i32::try_from(n).unwrap());
        table.insert(&row).await.unwrap();
    }
    table
}

fn row_keys(rows: &[DynamicEntity]) -> Vec<String> {
    rows.iter().map(|row| row.key().row_key.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_large_lost_transaction_is_read_back() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 0).await;
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    let mut transaction = table.transaction();
    for n in 0..100 {
        transaction = transaction.insert(&DynamicEntity::new("p", format!("{n:036}")));
    }
    assert!(transaction.await.unwrap().confirmation != azure_table_client::Confirmation::Response);
}

#[tokio::test(start_paused = true)]
async fn ranges_have_each_row_once() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 120).await;
    for ranges in [2, 5, 16] {
        let rows = table.query().filter_text("PartitionKey eq 'p'").parallel(ranges).await.unwrap();
        let mut keys = row_keys(&rows);
        keys.sort();
        let all: Vec<_> = (0..120).map(|n| format!("{n:03}")).collect();
        assert_eq!(keys, all, "{ranges}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_keys_has_each_row_once() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 40).await;
    let listed: Vec<_> = (0..40).map(|n| format!("RowKey eq '{n:03}'")).collect();
    let filter = format!("PartitionKey eq 'p' and ({})", listed.join(" or "));
    let rows = table.query().filter_text(&filter).await.unwrap();
    let mut keys = row_keys(&rows);
    keys.sort();
    assert_eq!(keys, (0..40).map(|n| format!("{n:03}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_list_of_values_has_each_row_once_and_is_resumed() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 40).await;
    let listed: Vec<_> = (0..40).map(|n| format!("N eq {n}")).collect();
    let query = || table.query().filter_text(&listed.join(" or ")).page_size(7);
    let all: Vec<_> = (0..40).map(|n| format!("{n:03}")).collect();
    let mut keys = row_keys(&query().await.unwrap());
    keys.sort();
    assert_eq!(keys, all);
    let mut found = Vec::new();
    let mut page = query().pages().next().await.unwrap().unwrap();
    loop {
        found.extend(row_keys(&page.entities));
        let Some(next) = page.continuation else { break };
        page = query().start_at(next).pages().next().await.unwrap().unwrap();
    }
    found.sort();
    assert_eq!(found, all);
}

#[tokio::test(start_paused = true)]
async fn alternatives_that_find_a_row_twice_are_one_request_or_none() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 40).await;
    let twice = |count: u32| {
        let listed: Vec<_> = (0..count).map(|n| format!("N eq {n}")).collect();
        format!("{} or PartitionKey eq 'p'", listed.join(" or "))
    };
    // The second one is longer than the URLs that a list is split into.
    for count in [40, 500] {
        let sent = mock.requests().total();
        let mut keys = row_keys(&table.query().filter_text(&twice(count)).await.unwrap());
        keys.sort();
        assert_eq!(keys, (0..40).map(|n| format!("{n:03}")).collect::<Vec<_>>());
        assert_eq!(mock.requests().total(), sent + 1, "{count}");
    }
    let limited = cosmos_builder(&mock).max_comparisons(15).build().unwrap();
    let limited = limited.table_named::<DynamicEntity>("Numbers");
    let sent = mock.requests().total();
    for (table, count) in [(&table, 2000), (&limited, 40)] {
        let error = table.query().filter_text(&twice(count)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    assert_eq!(mock.requests().total(), sent);
}

#[derive(Debug, TableEntity)]
#[table(name = "Forms", accept = "widened")]
struct Forms {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    wide: Option<i64>,
    #[table(alias = "old")]
    renamed: Option<i32>,
    #[table(accept = "lenient", alias = "was")]
    at: Option<EdmDateTime>,
}

#[tokio::test]
async fn a_short_condition_on_several_stored_forms_is_one_request() {
    let mock = MockTableService::new();
    let service = cosmos(&mock);
    let (table, rows) = (service.table::<Forms>(), service.table_named::<DynamicEntity>("Forms"));
    table.create().await.unwrap();
    let at: EdmDateTime = "2024-05-01T12:00:00.5Z".parse().unwrap();
    for n in 0..20 {
        let mut row = DynamicEntity::new("p", format!("{n:02}"));
        if n % 2 == 0 {
            row.set("wide", n).set("old", n).set("was", "2024-05-01T12:00:00.500Z");
        } else {
            row.set("wide", i64::from(n)).set("renamed", n).set("at", at);
        }
        rows.insert(&row).await.unwrap();
    }
    let sent = mock.requests().total();
    let query = || table.query().partition("p");
    for (found, expected) in [
        (query().filter(|f| f.wide.is_in(0..8_i64)).await, 8),
        (query().filter(|f| f.renamed.is_in(0..8)).await, 8),
        (query().filter(|f| f.at.eq(at)).await, 20),
        (query().filter(|f| f.wide.is_in(0..8_i64) & f.renamed.is_in(4..12)).await, 4),
    ] {
        let mut keys: Vec<_> = found.unwrap().iter().map(|row| row.r.clone()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), expected);
    }
    assert_eq!(mock.requests().total(), sent + 4);
}

#[tokio::test]
async fn a_copy_from_cosmos_is_not_resumed() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 3).await;
    let target = mock.client().table_named::<DynamicEntity>("Target");
    target.create().await.unwrap();
    for begun in ["1.", "1.0-1"] {
        let bulk = target.bulk().resume(begun.parse().unwrap());
        let error = bulk.copy_from(&table).await.unwrap_err();
        assert!(error.to_string().contains("have no order"), "{error}");
    }
    assert_eq!(target.query().count().await.unwrap(), 0);
    assert_eq!(target.bulk().copy_from(&table).await.unwrap().progress.applied, 3);
    // Azure Storage refuses it.
    let table = mock.client().table_named::<DynamicEntity>("Numbers");
    let begun = "1.0-1".parse().unwrap();
    assert_eq!(target.bulk().resume(begun).copy_from(&table).await.unwrap().progress.applied, 2);
}

#[tokio::test]
async fn table_names_are_case_sensitive() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 3).await;
    let page = table.query().page_size(1).pages().next().await.unwrap().unwrap();
    let other = cosmos(&mock).table_named::<DynamicEntity>("numbers");
    let mut pages = other.query().start_at(page.continuation.unwrap()).pages();
    let error = pages.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");

    let recorder = Scripted::recorder(mock.transport());
    let service = builder(&mock, &recorder).dialect(Dialect::CosmosDb).build().unwrap();
    let context = || {
        let mut ctx = TableContext::new(&service);
        for table in ["Numbers", "numbers"] {
            ctx.table_named::<DynamicEntity>(table).add(&DynamicEntity::new("p", "new")).unwrap();
        }
        ctx
    };
    let atomic = SaveOptions::atomic();
    assert!(context().save_changes_with(atomic).await.is_err());
    assert!(recorder.take_requests().is_empty());
    // The mock treats both names as one table.
    context().save_changes().await.unwrap_err();
    let paths: Vec<_> =
        recorder.take_requests().into_iter().map(|request| request.uri.to_string()).collect();
    assert!(paths[0].ends_with("/Numbers") && paths[1].ends_with("/numbers"), "{paths:?}");
}
