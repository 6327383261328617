//! The names of the tables of the account.

use std::sync::Once;

use azure_table_cli::connect::{Kind, table_of};
use azure_table_cli::failure::{Failure, Result};
use azure_table_cli::terminal::message;
use azure_table_client::{Error, ErrorCode, TableServiceClient};
use futures_util::TryStreamExt as _;

/// The names of the tables that the credential permits to list.
#[derive(Debug)]
pub(crate) struct Tables {
    names: Vec<String>,
    /// The reason why other tables may exist: the signature does not permit to list them.
    refusal: Option<String>,
    noted: Once,
}

impl Tables {
    /// Lists the tables. A signature that does not permit it may still permit queries.
    pub(crate) async fn list(service: &TableServiceClient, credential: &Kind) -> Result<Self> {
        let listed = service.list_tables().stream().try_collect::<Vec<_>>().await;
        let (names, refusal) = match (listed, credential) {
            (Ok(names), _) => (names, None),
            (Err(error), Kind::Signature(token)) if is_permission(&error) => {
                let names = table_of(token).into_iter().collect();
                (names, Some(Failure::from(error).to_string()))
            }
            (Err(error), _) => return Err(error.into()),
        };
        Ok(Self { names, refusal, noted: Once::new() })
    }

    /// Returns the listed names. If others may exist, prints a note.
    pub(crate) fn names(&self) -> Vec<String> {
        if let Some(refusal) = &self.refusal {
            self.noted.call_once(|| {
                let shown = match &self.names[..] {
                    [] => "no tables are".to_owned(),
                    names => format!("only {}, which the signature names, is", names.join(", ")),
                };
                message(&format!(
                    "the tables cannot be listed: {shown} shown, but a query can name others ({refusal})"
                ));
            });
        }
        self.names.clone()
    }

    /// Returns the name of a table as the service has it: names are not case-sensitive on Azure Storage. `None` if the
    /// account does not have the table.
    pub(crate) fn find<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        self.listed(name).or_else(|| self.refusal.is_some().then_some(name))
    }

    /// Returns the same text for all spellings of the name of a table.
    pub(crate) fn key(&self, name: &str) -> String {
        self.listed(name).map_or_else(|| name.to_ascii_lowercase(), str::to_owned)
    }

    /// Cosmos DB may have tables that differ only in case.
    fn listed(&self, name: &str) -> Option<&str> {
        let mut names = self.names.iter().map(String::as_str);
        let same = names.clone().find(|known| *known == name);
        same.or_else(|| names.find(|known| known.eq_ignore_ascii_case(name)))
    }
}

/// Whether the service accepted the signature, but does not permit the request.
fn is_permission(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(
            ErrorCode::AuthorizationFailure
                | ErrorCode::AuthorizationPermissionMismatch
                | ErrorCode::AuthorizationResourceTypeMismatch
        )
    )
}
