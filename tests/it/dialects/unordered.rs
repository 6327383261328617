//! Cosmos DB gives rows in no order, and tells tables apart by case.

use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{
    Dialect, DynamicEntity, ErrorKind, Operation, RetryPolicy, TableClient, TableServiceClient,
};
use std::sync::Arc;

use azure_table_client::mock::Fault;
use serde_json::Value;

use super::{Keep, builder};

/// Gives the rows of each page from the last to the first one.
#[derive(Debug)]
struct Reversed(Arc<dyn Transport>);

impl Transport for Reversed {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async move {
            let mut response = self.0.send(request).await?;
            if let Ok(mut page) = serde_json::from_slice::<Value>(&response.body)
                && let Some(rows) = page.get_mut("value").and_then(Value::as_array_mut)
            {
                rows.reverse();
                response.body = page.to_string().into();
            }
            Ok(response)
        })
    }
}

fn cosmos(mock: &MockTableService) -> TableServiceClient {
    TableServiceClient::builder_from_connection_string(&mock.connection_string())
        .unwrap()
        .transport(Arc::new(Reversed(mock.transport())))
        .clock(mock.clock())
        .retry(RetryPolicy::default())
        .dialect(Dialect::CosmosDb)
        .build()
        .unwrap()
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

#[tokio::test]
async fn tables_whose_names_differ_in_case_are_two() {
    let mock = MockTableService::new();
    let table = numbers(&mock, 3).await;
    let page = table.query().page_size(1).pages().next().await.unwrap().unwrap();
    let other = cosmos(&mock).table_named::<DynamicEntity>("numbers");
    let mut pages = other.query().start_at(page.continuation.unwrap()).pages();
    let error = pages.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");

    let keep = Keep::new(&mock);
    let service = builder(&mock, &keep).dialect(Dialect::CosmosDb).build().unwrap();
    let context = || {
        let mut ctx = TableContext::new(&service);
        for table in ["Numbers", "numbers"] {
            ctx.table_named::<DynamicEntity>(table).add(&DynamicEntity::new("p", "new")).unwrap();
        }
        ctx
    };
    let atomic = SaveOptions::atomic();
    assert!(context().save_changes_with(atomic).await.is_err());
    assert!(keep.taken().is_empty());
    // The mock takes them for one.
    context().save_changes().await.unwrap_err();
    let paths: Vec<_> = keep.taken().into_iter().map(|request| request.url).collect();
    assert!(paths[0].ends_with("/Numbers") && paths[1].ends_with("/numbers"), "{paths:?}");
}
