//! The tables of the account as a schema of SQL.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use azure_table_arrow::{ColumnType, SchemaOptions, TableSchema};
use azure_table_cli::connect::Target;
use azure_table_cli::failure::{self as cli, Exit, Failure};
use azure_table_client::TableServiceClient;
use azure_table_datafusion::AzureTable;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::TableType;
use tokio::sync::Mutex;

use crate::args::Args;
use crate::failure;
use crate::sample::Sample;
use crate::tables::Tables;

/// Every table of an account. Its columns are inferred when a query names it.
#[derive(Debug)]
pub(crate) struct Account {
    service: TableServiceClient,
    tables: Tables,
    options: SchemaOptions,
    /// The declared columns of tables, by [`Tables::key`].
    declared: HashMap<String, TableSchema>,
    sample: Sample,
    partitions: Option<usize>,
    /// The tables that were named so far, by [`Tables::key`].
    opened: Mutex<HashMap<String, Arc<AzureTable>>>,
}

impl Account {
    pub(crate) async fn new(target: Target, args: &Args) -> cli::Result<Self> {
        let kind = target.kind();
        let service = target.service(&args.connection, args.connection.dialect)?;
        let tables = Tables::list(&service, &kind).await?;
        let options = SchemaOptions::new()
            .timestamps(args.datetimes.into())
            .mixed(args.mixed.into())
            .with_timestamp(true);
        Ok(Self {
            declared: declared(args, &tables, &options)?,
            service,
            tables,
            options,
            sample: args.sample,
            partitions: args.partitions,
            opened: Mutex::default(),
        })
    }

    async fn open(&self, name: &str) -> cli::Result<AzureTable> {
        let table = self.service.table_named(name);
        let table = match self.declared.get(&self.tables.key(name)) {
            Some(schema) => AzureTable::new(table, schema.clone()),
            None => AzureTable::infer(table, self.sample.rows(), &self.options)
                .await
                .map_err(|error| failure::of(error).of(&format!("columns of {name}")))?,
        };
        Ok(match self.partitions {
            Some(partitions) => table.partitions(partitions),
            None => table,
        })
    }
}

/// Returns the columns that the arguments declare.
fn declared(
    args: &Args,
    tables: &Tables,
    options: &SchemaOptions,
) -> cli::Result<HashMap<String, TableSchema>> {
    let mut declared = HashMap::new();
    for one in &args.columns {
        let failed = |exit, reason: &str| {
            Err(Failure::new(exit, format!("--columns {}: {reason}", one.table)))
        };
        if tables.find(&one.table).is_none() {
            return failed(Exit::NotFound, "the account does not have this table");
        }
        let columns = one.columns.iter().map(|(name, edm_type)| {
            (name.clone(), ColumnType::new(*edm_type, args.datetimes.into()))
        });
        let schema = match TableSchema::declared(columns, options) {
            Ok(schema) => schema,
            Err(error) => return failed(Exit::Usage, &error.to_string()),
        };
        if declared.insert(tables.key(&one.table), schema).is_some() {
            return failed(Exit::Usage, "the columns of this table are declared twice");
        }
    }
    Ok(declared)
}

#[async_trait]
impl SchemaProvider for Account {
    fn table_names(&self) -> Vec<String> {
        self.tables.names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(name) = self.tables.find(name) else { return Ok(None) };
        let key = self.tables.key(name);
        let mut opened = self.opened.lock().await;
        if let Some(table) = opened.get(&key) {
            return Ok(Some(Arc::<AzureTable>::clone(table)));
        }
        let table = Arc::new(self.open(name).await.map_err(failure::external)?);
        opened.insert(key, Arc::clone(&table));
        Ok(Some(table))
    }

    /// The list of tables needs no columns.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        Ok(self.tables.find(name).map(|_| TableType::Base))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.find(name).is_some()
    }
}
