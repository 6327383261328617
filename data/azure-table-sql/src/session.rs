//! The session: its catalog and its settings.

use std::sync::Arc;

use azure_table_cli::connect::Target;
use azure_table_cli::failure::Result;
use datafusion::catalog::{CatalogProvider as _, MemoryCatalogProvider};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::account::Account;
use crate::args::Args;
use crate::failure;

const CATALOG: &str = "azure";
const SCHEMA: &str = "tables";

/// Returns a session with every table of the account.
pub(crate) async fn of(target: Target, args: &Args) -> Result<SessionContext> {
    let config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(true)
        // Names of tables and columns keep their case without quotes.
        .set_bool("datafusion.sql_parser.enable_ident_normalization", false);
    let session = SessionContext::new_with_config(config);
    let catalog = MemoryCatalogProvider::new();
    let account = Arc::new(Account::new(target, args).await?);
    catalog.register_schema(SCHEMA, account).map_err(failure::of)?;
    session.register_catalog(CATALOG, Arc::new(catalog));
    Ok(session)
}

/// Plans a query. Statements that write are refused.
pub(crate) async fn query(session: &SessionContext, sql: &str) -> Result<DataFrame> {
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false);
    session.sql_with_options(sql, options).await.map_err(failure::of)
}
