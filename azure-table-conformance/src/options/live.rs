//! The arguments of `live`.

use std::path::PathBuf;

use azure_table_conformance::live::{Options, Section};
use lexopt::{Arg, Parser, ValueExt as _};

use super::{Command, Given, error, list};

/// Whether the first argument is the name of the subcommand, which this consumes.
pub(super) fn is_named(parser: &mut Parser) -> bool {
    let Some(mut arguments) = parser.try_raw_args() else { return false };
    let is_named = arguments.peek().is_some_and(|it| it == "live");
    if is_named {
        arguments.next();
    }
    is_named
}

/// Reads the arguments after the name.
pub(super) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut given = Given { prefix: Some("live".to_owned()), ..Given::default() };
    let (mut sections, mut known, mut report) = (Vec::new(), String::new(), None);
    let (mut yes, mut name_account, mut restore_settings) = (false, false, None);
    let mut change_settings = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::LiveHelp),
            Arg::Long("only") => sections.push(section(&parser.value()?.string()?)?),
            Arg::Long("known") => known = list(&PathBuf::from(parser.value()?))?,
            Arg::Long("report") => report = Some(PathBuf::from(parser.value()?)),
            Arg::Long("restore-settings") => {
                restore_settings = Some(PathBuf::from(parser.value()?));
            }
            Arg::Long("change-settings") => change_settings = true,
            Arg::Long("yes") => yes = true,
            Arg::Long("name-account") => name_account = true,
            Arg::Long(name) => {
                let name = name.to_owned();
                given.set(&name, &mut parser)?;
            }
            other => return Err(other.unexpected()),
        }
    }
    let ca = given.pem()?;
    let server = given.server()?;
    let options = Options {
        server,
        ca,
        sections,
        known,
        report,
        yes,
        name_account,
        change_settings,
        restore_settings,
    };
    Ok(Command::Live(Box::new(options)))
}

fn section(name: &str) -> Result<Section, lexopt::Error> {
    Section::named(name).ok_or_else(|| {
        let names = Section::ALL.map(Section::name).join(", ");
        error(format!("--only {name:?}: the sections are {names}"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;
    use crate::options;

    fn parsed(arguments: &str) -> Result<Command, lexopt::Error> {
        options::parse(Parser::from_args(arguments.split_whitespace()))
    }

    #[test]
    fn a_run_has_sections_and_a_server() {
        let arguments = "live --endpoint http://h:1/one --key a2V5 --only cases --only throttling \
            --yes --report r.md";
        let Command::Live(options) = parsed(arguments).unwrap() else { panic!("{arguments}") };
        assert_eq!(options.server.endpoint(), "http://h:1/one");
        assert_eq!(options.sections, [Section::Cases, Section::Throttling]);
        assert_eq!(options.report, Some(PathBuf::from("r.md")));
        assert!(options.yes && !options.name_account);
        assert!(matches!(parsed("live --help"), Ok(Command::LiveHelp)));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let server = "--endpoint http://h:1/one --key a2V5";
        for (arguments, reason) in [
            (format!("live {server} --only lost"), "the sections are cases, behaviors, entra"),
            (format!("live {server} --list"), "invalid option '--list'"),
            (format!("{server} live"), "unexpected argument"),
            (format!("{server} --yes"), "invalid option '--yes'"),
        ] {
            let message = parsed(&arguments).unwrap_err().to_string();
            assert!(message.contains(reason), "{arguments}: {message}");
        }
    }
}
