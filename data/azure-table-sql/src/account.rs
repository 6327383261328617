//! The tables of the account as a schema of SQL.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use azure_table_arrow::{ColumnType, Mixed, SchemaOptions, TableSchema, Timestamps};
use azure_table_client::TableServiceClient;
use azure_table_client::edm::EdmType;
use azure_table_datafusion::AzureTable;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result};
use futures_util::TryStreamExt as _;
use tokio::sync::Mutex;

use crate::args::Args;
use crate::failure;

/// Every table of an account. Its columns are inferred when a query names it.
#[derive(Debug)]
pub(crate) struct Account {
    service: TableServiceClient,
    /// The names of the tables; `None` if the credential does not permit to list them.
    names: Option<Vec<String>>,
    declared: HashMap<String, Vec<(String, EdmType)>>,
    sample: usize,
    timestamps: Timestamps,
    partitions: Option<usize>,
    /// The tables that were named so far.
    tables: Mutex<HashMap<String, Arc<AzureTable>>>,
}

impl Account {
    pub(crate) async fn new(service: TableServiceClient, args: &Args) -> failure::Result<Self> {
        let names = match service.list_tables().stream().try_collect::<Vec<_>>().await {
            Ok(names) => Some(names),
            // A signature of one table.
            Err(error) if error.status() == Some(403) => None,
            Err(error) => return Err(error.into()),
        };
        let declared = args.columns.iter().cloned().map(|one| (one.table, one.columns)).collect();
        Ok(Self {
            service,
            names,
            declared,
            sample: args.sample,
            timestamps: args.times.into(),
            partitions: args.partitions,
            tables: Mutex::default(),
        })
    }

    async fn open(&self, name: &str) -> Result<AzureTable> {
        let table = self.service.table_named(name);
        let options = SchemaOptions::new()
            .timestamps(self.timestamps)
            .mixed(Mixed::rest())
            .with_timestamp(true);
        let table = match self.declared.get(name) {
            Some(columns) => {
                let columns = columns.iter().map(|(name, edm_type)| {
                    (name.clone(), ColumnType::new(*edm_type, self.timestamps))
                });
                let schema = TableSchema::declared(columns, &options)
                    .map_err(|error| DataFusionError::External(Box::new(error)))?;
                AzureTable::new(table, schema)
            }
            None => AzureTable::infer(table, self.sample, &options).await?,
        };
        Ok(match self.partitions {
            Some(partitions) => table.partitions(partitions),
            None => table,
        })
    }
}

#[async_trait]
impl SchemaProvider for Account {
    fn table_names(&self) -> Vec<String> {
        self.names.clone().unwrap_or_default()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !self.table_exist(name) {
            return Ok(None);
        }
        let mut tables = self.tables.lock().await;
        if let Some(table) = tables.get(name) {
            return Ok(Some(Arc::<AzureTable>::clone(table)));
        }
        let table = Arc::new(self.open(name).await?);
        tables.insert(name.to_owned(), Arc::clone(&table));
        Ok(Some(table))
    }

    /// Names are not case-sensitive on Azure Storage.
    fn table_exist(&self, name: &str) -> bool {
        let Some(names) = &self.names else { return true };
        names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}
