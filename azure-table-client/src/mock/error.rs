//! The errors of the mock as errors of the client.

use azure_table_mock::{ErrorKind, SeedError};

use crate::error::Error;

impl From<azure_table_mock::Error> for Error {
    fn from(source: azure_table_mock::Error) -> Self {
        let message = source.to_string();
        match source.kind() {
            ErrorKind::Configuration => Self::configuration(message),
            _ => Self::invalid_input(message),
        }
        .with_source(source)
    }
}

impl From<SeedError> for Error {
    fn from(source: SeedError) -> Self {
        Self::invalid_input(source.to_string())
    }
}
