//! Connections by name.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use azure_table_client::TableServiceClient;
use datafusion_common::{Result, config_datafusion_err};

/// Resolves the names of connections in the process that reads a table.
///
/// A plan that is sent to another process contains names, never credentials.
pub trait Connections: Debug + Send + Sync + 'static {
    /// Returns the client of a connection.
    ///
    /// # Errors
    /// This process has no connection of this name. The message must not contain a secret.
    fn service(&self, name: &str) -> Result<TableServiceClient>;
}

/// Connections of environment variables: the connection string of `reports` is in `AZURE_TABLE_CONNECTION_REPORTS`.
///
/// Names consist of ASCII letters, digits and `_`. Each client is built once, so that its HTTP connections are shared.
#[derive(Debug, Default)]
pub struct EnvironmentConnections {
    services: Mutex<HashMap<String, TableServiceClient>>,
}

impl EnvironmentConnections {
    /// Returns connections that are read when they are first used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the name of the variable for a connection; `None` if the name of the connection is not allowed.
    pub fn variable(name: &str) -> Option<String> {
        let is_plain = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        let is_valid = !name.is_empty() && name.bytes().all(is_plain);
        is_valid.then(|| format!("AZURE_TABLE_CONNECTION_{}", name.to_ascii_uppercase()))
    }
}

impl Connections for EnvironmentConnections {
    fn service(&self, name: &str) -> Result<TableServiceClient> {
        let variable = Self::variable(name).ok_or_else(|| {
            config_datafusion_err!(
                "unknown connection {name:?}: a name has ASCII letters, digits and _ only"
            )
        })?;
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = services.get(&variable) {
            return Ok(service.clone());
        }
        let text = std::env::var(&variable).map_err(|_| {
            config_datafusion_err!("unknown connection {name:?}: {variable} is not set")
        })?;
        let service = TableServiceClient::from_connection_string(&text).map_err(|error| {
            config_datafusion_err!("invalid connection string in {variable}: {error}")
        })?;
        services.insert(variable, service.clone());
        Ok(service)
    }
}
