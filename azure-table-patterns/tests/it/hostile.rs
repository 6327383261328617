//! A service on which another program writes a row before each request of one kind, one behind a proxy that delivers a
//! request twice, and one with a secondary.

use std::time::Duration;

use azure_table_client::client::LocationMode;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, IfMatch, RetryPolicy, TableServiceClient};
use azure_table_tests::scripted::{Scripted, Step, on};

/// Returns a client of a service where another program merges nothing into `row` before each request with this method
/// and this part of the path, which changes the ETag of the row.
pub(crate) fn touching(
    mock: &MockTableService,
    table: &str,
    (partition_key, row_key): (&'static str, &'static str),
    (method, path): (&'static str, &'static str),
) -> TableServiceClient {
    let table = mock.client().table_named::<DynamicEntity>(table);
    let touch = move |_: &_| {
        let table = table.clone();
        Step::pass().after(async move {
            let row = DynamicEntity::new(partition_key, row_key);
            table.merge(&row, IfMatch::Any).await.unwrap();
        })
    };
    let script =
        on(move |request| request.method == method && request.uri.path().contains(path), touch);
    let transport = Scripted::new(mock.transport(), script);
    mock.client_builder().transport(transport).build().unwrap()
}

/// Returns a client that does not retry, behind a proxy that delivers each request whose body has this text twice: the
/// first delivery meets a fault, and the second one arrives later.
pub(crate) fn repeating(
    mock: &MockTableService,
    text: &'static str,
    first: Fault,
    second_after: Duration,
) -> TableServiceClient {
    let faulty = mock.clone();
    let script = on(
        move |request| String::from_utf8_lossy(&request.body).contains(text),
        move |_| {
            faulty.faults().add(first.clone().times(1));
            Step::repeat_after(second_after)
        },
    );
    let transport = Scripted::new(mock.transport(), script);
    mock.client_builder().transport(transport).retry(RetryPolicy::none()).build().unwrap()
}

/// Creates a client whose reads begin with the secondary.
pub(crate) fn with_secondary(mock: &MockTableService) -> TableServiceClient {
    let secondary = format!("{}-secondary", mock.client().endpoint().trim_end_matches('/'));
    let builder = mock.client_builder().secondary_endpoint(secondary);
    builder.locations(LocationMode::SecondaryThenPrimary).build().unwrap()
}

/// Returns the number of requests to the secondary.
pub(crate) fn on_secondary(mock: &MockTableService) -> usize {
    mock.requests().all().iter().filter(|request| request.url.contains("-secondary")).count()
}
