//! Read requests that find out what a credential permits.

use std::fmt;

use azure_table_client::{DynamicEntity, Error, TableServiceClient};
use futures_util::StreamExt as _;

use crate::failure::{Exit, Failure};

/// The result of one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Access {
    Permitted,
    /// Refused for lack of authentication or permission.
    Refused(String),
    /// The result does not decide it, for example because the table does not exist.
    Open(String),
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permitted => f.write_str("permitted"),
            Self::Refused(reason) => write!(f, "refused: {reason}"),
            Self::Open(reason) => write!(f, "not known: {reason}"),
        }
    }
}

impl Access {
    fn of<T>(result: Result<T, Error>) -> Self {
        let Err(error) = result else { return Self::Permitted };
        let failure = Failure::from(error);
        match failure.exit() {
            Exit::Denied => Self::Refused(failure.message().to_owned()),
            _ => Self::Open(failure.message().to_owned()),
        }
    }
}

/// Sends one read request of each kind.
pub(super) async fn all(
    service: &TableServiceClient,
    table: Option<&str>,
) -> Vec<(&'static str, Access)> {
    let listed = std::pin::pin!(service.list_tables().page_size(1).stream()).next().await;
    let mut probes = vec![
        ("list tables", Access::of(listed.transpose())),
        ("read settings", Access::of(service.properties().await)),
    ];
    if let Some(name) = table {
        let table = service.table_named::<DynamicEntity>(name);
        probes.push(("read rows", Access::of(table.query().take(1).page().await)));
        probes.push(("read policies", Access::of(table.access_policies().await)));
    }
    probes
}
