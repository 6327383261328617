//! The cases of bytes on the wire, on the mock behind a loopback port. It differs as the emulator does.

use azure_table_client::Dialect as ServiceDialect;
use azure_table_client::mock::{MockTableServer, MockTableService};
use azure_table_conformance::{Dialect, Run, Selection, Server, cases};

const STORAGE: &str = include_str!("../../azure-table-conformance/differences/emulator.tsv");
const COSMOS: &str = include_str!("../../azure-table-conformance/differences/emulator-cosmos.tsv");

/// Runs the cases of a dialect, and returns the changes of the list of differences.
async fn changes(served: ServiceDialect, dialect: Dialect, known: &str) -> Vec<String> {
    let service = MockTableService::builder().dialect(served).build();
    let server = MockTableServer::start_with(service.clone()).await;
    let tested = Server::from_connection_string(&server.connection_string()).unwrap();
    let tested = tested.dialect(dialect);
    let (cases, selection) = (cases().unwrap(), Selection::default());
    let mut run = Run::new(&tested);
    let report = run.cases(&cases, &selection, |_| ()).await;
    assert_eq!(run.clean_up().await, Ok(()));
    assert_eq!(service.table_names(), Vec::<String>::new());
    report.compare(known)
}

#[tokio::test]
async fn of_azure_storage() {
    let changes = changes(ServiceDialect::AzureStorage, Dialect::Storage, STORAGE).await;
    assert_eq!(changes, Vec::<String>::new());
}

#[tokio::test]
async fn of_cosmos_db() {
    let changes = changes(ServiceDialect::CosmosDb, Dialect::Cosmos, COSMOS).await;
    assert_eq!(changes, Vec::<String>::new());
}
