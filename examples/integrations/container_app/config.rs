//! The configuration: environment variables, each checked at the start.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use azure_table_client::{TableClient, TableServiceClient};
use tracing::level_filters::LevelFilter;

use super::{AnyError, Counter};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// It has the account's key, so it has no `Debug`.
pub(super) struct Config {
    connection_string: String,
    table: String,
    pub(super) address: SocketAddr,
    pub(super) limits: Limits,
    pub(super) log: LevelFilter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// The time for a request, including all calls of the table service.
    pub(super) request: Duration,
    /// The time between the signal and the end of the listener, in which a load balancer finds the app not ready.
    pub(super) drain: Duration,
    /// The time for requests in flight after that.
    pub(super) shutdown: Duration,
}

impl Config {
    /// Reads the variables.
    ///
    /// # Errors
    /// One line for each variable that is missing or invalid. No line has the value of a secret.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut errors = Vec::new();
        let connection_string = variable(CONNECTION_STRING).unwrap_or_else(|| {
            errors.push(format!("{CONNECTION_STRING} is not set"));
            String::new()
        });
        let mut reader = Reader { variable, errors };
        let host = reader.read("HOST", IpAddr::from(Ipv4Addr::LOCALHOST));
        let port = reader.read("PORT", 8080);
        let config = Self {
            connection_string,
            table: reader.read("TABLE", "ExampleCounters".to_owned()),
            address: (host, port).into(),
            limits: Limits {
                request: Duration::from_millis(reader.read("REQUEST_TIMEOUT_MS", 5000)),
                drain: Duration::from_millis(reader.read("DRAIN_MS", 0)),
                shutdown: Duration::from_millis(reader.read("SHUTDOWN_TIMEOUT_MS", 10_000)),
            },
            log: reader.read("LOG", LevelFilter::INFO),
        };
        if reader.errors.is_empty() { Ok(config) } else { Err(reader.errors.join("\n")) }
    }

    /// Returns the table. Nothing is sent yet: the app starts without the service, and is not ready.
    pub(super) fn table(&self) -> Result<TableClient<Counter>, AnyError> {
        let service = TableServiceClient::builder_from_connection_string(&self.connection_string)?
            .connect_timeout(Duration::from_secs(1))
            .try_timeout(self.limits.request / 4)
            .deadline(self.limits.request / 2)
            .build()?;
        Ok(service.table_named(&self.table))
    }
}

struct Reader<V> {
    variable: V,
    errors: Vec<String>,
}

impl<V: Fn(&str) -> Option<String>> Reader<V> {
    fn read<T: FromStr<Err: Display>>(&mut self, name: &str, default: T) -> T {
        let Some(text) = (self.variable)(name) else { return default };
        text.parse().unwrap_or_else(|error| {
            self.errors.push(format!("{name} is invalid: {error} ({text:?})"));
            default
        })
    }
}
