//! The arguments behind `serve` and `sql`, which belong to other programs.

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Arguments, Command};

/// Returns the number of arguments up to `serve` or `sql`, if that is the command, otherwise of all arguments.
pub(crate) fn own_arguments(arguments: &[OsString]) -> usize {
    let is_command = |end: &usize| {
        arguments[end - 1].to_str().is_some_and(|word| ["serve", "sql"].contains(&word))
            && Arguments::try_parse_from(&arguments[..*end])
                .is_ok_and(|parsed| matches!(parsed.command, Command::Serve(_) | Command::Sql(_)))
    };
    (1..=arguments.len()).find(is_command).unwrap_or(arguments.len())
}

impl Arguments {
    /// Reads the arguments. clap reads only [those of this program](own_arguments): it would also take options behind `serve`
    /// and `sql` that this program has too, such as `--dialect`.
    pub(crate) fn read(mut arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let passed_on = arguments.split_off(own_arguments(&arguments));
        let mut parsed =
            Self::try_parse_from(arguments).map_err(with_folder).map_err(with_account)?;
        match &mut parsed.command {
            Command::Serve(serve) => serve.options = passed_on,
            Command::Sql(sql) => sql.arguments = passed_on,
            _ => {}
        }
        Ok(parsed)
    }
}

/// Adds the order of `export DIR --all-tables`, whose option is a flag in other commands, to its error.
fn with_folder(mut error: clap::Error) -> clap::Error {
    let is_option = |value: Option<&ContextValue>| matches!(value, Some(ContextValue::String(name)) if name.starts_with("--all-tables <"));
    let is_missing = error.kind() == ErrorKind::InvalidValue
        && is_option(error.get(ContextKind::InvalidArg))
        && matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty());
    if is_missing {
        let tip = "the folder follows the option: azure-table export --all-tables DIR";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Names the option of the account, if the error is about an option that only commands with two accounts have.
fn with_account(mut error: clap::Error) -> clap::Error {
    let is_side = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(name)) if ["--from", "--to"].contains(&&**name));
    if error.kind() == ErrorKind::UnknownArgument && is_side {
        let tip = "this command has one account: state it with '--connection-from'";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_ends_the_own_arguments() {
        for (line, own) in [
            ("azure-table serve --dialect cosmos", 2),
            ("azure-table -q --endpoint serve sql --help", 5),
            ("azure-table get serve sql row", 5),
            ("azure-table tables --prefix sql", 4),
            ("azure-table --endpoint sql", 3),
            ("serve", 1),
        ] {
            let arguments: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(own_arguments(&arguments), own, "{line}");
        }
    }
}
