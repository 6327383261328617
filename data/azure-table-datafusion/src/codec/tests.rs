//! Plans survive the way to another process, and hold no credential.

use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use azure_table_arrow::{ColumnType, Mixed, SchemaOptions, TableSchema, Timestamps};
use azure_table_client::edm::{EdmDateTime, EdmType};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableServiceClient};
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::SessionContext;
use datafusion_common::{Result, config_err};
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};

use super::message::{ScanMessage, SchemaMessage, decode, encode, is_own};
use crate::{AzureTable, AzureTableCodec, Connections, EnvironmentConnections};

/// The connection `blogs`, and the names that were resolved.
#[derive(Debug)]
struct Named(TableServiceClient, Mutex<Vec<String>>);

impl Connections for Named {
    fn service(&self, name: &str) -> Result<TableServiceClient> {
        self.1.lock().unwrap().push(name.to_owned());
        if name == "blogs" {
            Ok(self.0.clone())
        } else {
            config_err!("unknown connection {name:?}")
        }
    }
}

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq";
const SQL: &str = r#"SELECT "RowKey", "Made" FROM t WHERE "PartitionKey" >= 'Ch' AND "Count" < 3"#;

async fn table(mixed: Mixed, timestamps: Timestamps) -> (AzureTable, Arc<Named>) {
    let service = MockTableService::new().client();
    let table = service.table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    for count in 0..5 {
        let row = DynamicEntity::new("Channel9", format!("{count}")).with("Count", count);
        let made: EdmDateTime =
            format!("2020-01-0{}T00:00:00.1234567Z", count + 1).parse().unwrap();
        table.insert(&row.with("Made", made)).await.unwrap();
    }
    let options = SchemaOptions::new().mixed(mixed).timestamps(timestamps).with_timestamp(true);
    let columns = [("Count", EdmType::Int32), ("Id", EdmType::Guid), ("Made", EdmType::DateTime)]
        .map(|(name, edm_type)| (name, ColumnType::new(edm_type, timestamps)));
    let schema = TableSchema::declared(columns, &options).unwrap();
    (AzureTable::new(table, schema), Arc::new(Named(service, Mutex::default())))
}

#[tokio::test]
async fn plans_survive_and_name_the_connection_only() {
    for mixed in [Mixed::Error, Mixed::Omit, Mixed::rest()] {
        for timestamps in [Timestamps::Nanos, Timestamps::Micros, Timestamps::Ticks] {
            let (table, connections) = table(mixed.clone(), timestamps).await;
            let table = table.connection("blogs").partitions(2);
            let expected_schema = table.table_schema().clone();
            let codec = AzureTableCodec::new(Arc::<Named>::clone(&connections));
            let session = SessionContext::new();
            session.register_table("t", Arc::new(table)).unwrap();
            let frame = session.sql(SQL).await.unwrap();

            let plan = frame.clone().into_optimized_plan().unwrap();
            let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &codec).unwrap();
            assert_names_the_connection_only(&bytes);
            let context = session.task_ctx();
            let decoded =
                logical_plan_from_bytes_with_extension_codec(&bytes, &context, &codec).unwrap();
            assert_eq!(decoded.display_indent().to_string(), plan.display_indent().to_string());

            let plan = frame.create_physical_plan().await.unwrap();
            let bytes =
                physical_plan_to_bytes_with_extension_codec(Arc::clone(&plan), &codec).unwrap();
            assert_names_the_connection_only(&bytes);
            let decoded =
                physical_plan_from_bytes_with_extension_codec(&bytes, &context, &codec).unwrap();
            let text = |plan| displayable(plan).set_show_schema(true).indent(true).to_string();
            assert_eq!(text(&*decoded), text(&*plan), "{:?}", expected_schema.mixed());
            assert_eq!(*connections.1.lock().unwrap(), ["blogs", "blogs"]);
            let rows = collect(decoded, session.task_ctx()).await.unwrap();
            assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
        }
    }
}

#[test]
fn every_schema_survives() {
    let columns = [("Text", EdmType::String), ("Count", EdmType::Int32), ("Id", EdmType::Guid)];
    for mixed in [Mixed::Error, Mixed::Omit, Mixed::rest(), Mixed::Rest("others".to_owned())] {
        let options = SchemaOptions::new().mixed(mixed).with_timestamp(true).with_etag(true);
        let schema = TableSchema::declared(columns, &options).unwrap();
        let all: Vec<_> = (0..schema.columns().len()).collect();
        // Without properties, without the last column (the rest column, if there is one), without keys, and empty.
        for positions in [&all[..], &all[..4], &all[..all.len() - 1], &[6, 4], &[1], &[]] {
            let schema = schema.project(positions).unwrap();
            let mut bytes = Vec::new();
            encode(&SchemaMessage::new(&schema), &mut bytes).unwrap();
            let decoded = decode::<SchemaMessage>(&bytes).unwrap().into_schema().unwrap();
            assert_eq!(decoded, schema);
        }
    }
}

fn assert_names_the_connection_only(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(text.contains(r#""connection":"blogs""#), "{text}");
    for secret in [KEY, "AccountKey", "Signature", "127.0.0.1", "http"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test]
async fn a_table_without_the_name_of_its_connection_is_not_sent() {
    let (table, connections) = table(Mixed::Error, Timestamps::Nanos).await;
    let codec = AzureTableCodec::new(connections);
    let session = SessionContext::new();
    session.register_table("t", Arc::new(table)).unwrap();
    let plan = session.sql(SQL).await.unwrap().create_physical_plan().await.unwrap();
    let error = physical_plan_to_bytes_with_extension_codec(plan, &codec).unwrap_err();
    assert!(error.to_string().contains("its connection has no name"), "{error}");
}

#[test]
fn unknown_connections_name_the_variable() {
    let connections = EnvironmentConnections::new();
    let error = connections.service("no_such_one").unwrap_err().to_string();
    assert!(error.contains("AZURE_TABLE_CONNECTION_NO_SUCH_ONE is not set"), "{error}");
    for name in ["", "a-b", "a b", "ä"] {
        assert_eq!(EnvironmentConnections::variable(name), None);
    }
}

/// Bytes of an attacker or of another version are an error, never a panic.
#[test]
fn damaged_messages_are_errors() {
    let mut bytes = Vec::new();
    encode(&"no scan", &mut bytes).unwrap();
    assert!(is_own(&bytes));
    assert!(decode::<ScanMessage>(&bytes).is_err());
    assert!(decode::<ScanMessage>(b"{}").is_err());
    assert!(!is_own(b""));
}
