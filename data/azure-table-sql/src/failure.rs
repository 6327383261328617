//! The failures of DataFusion and of the conversion of rows.

use azure_table_cli::failure::{Exit, Failure};
use datafusion::error::DataFusionError;

/// Wraps a failure of the tables of the account, which [`of`] finds again.
pub(crate) fn external(failure: Failure) -> DataFusionError {
    DataFusionError::External(Box::new(failure))
}

/// Returns the failure of a query.
#[expect(clippy::needless_pass_by_value, reason = "the argument of map_err")]
pub(crate) fn of(error: DataFusionError) -> Failure {
    let exit = match error.find_root() {
        DataFusionError::External(source) => {
            if let Some(failure) = source.downcast_ref::<Failure>() {
                return failure.clone();
            }
            if let Some(error) = source.downcast_ref::<azure_table_arrow::Error>() {
                return of_rows(error);
            }
            Exit::Failed
        }
        DataFusionError::Plan(reason) if is_unknown_table(reason) => Exit::NotFound,
        DataFusionError::SQL(..) | DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
            Exit::Usage
        }
        _ => Exit::Failed,
    };
    Failure::new(exit, error.strip_backtrace())
}

/// Names the option that accepts the rows.
fn of_rows(error: &azure_table_arrow::Error) -> Failure {
    use azure_table_arrow::Error;

    let option = match error {
        Error::Client(error) => return error.clone().into(),
        Error::Schema(_) => return Failure::usage(error.to_string()),
        Error::Row { .. } => {
            "; pass --mixed rest for a JSON column with such values, or --sample all to infer the columns from all rows"
        }
        Error::MixedTypes { .. } => " (--mixed rest)",
        Error::TimeOutOfRange { .. } => " (--datetimes micros or ticks)",
        _ => "",
    };
    Failure::new(Exit::Failed, format!("{error}{option}"))
}

/// DataFusion has no other sign of a table that the schema does not have.
fn is_unknown_table(reason: &str) -> bool {
    reason.starts_with("table '") && reason.contains("' not found")
}
