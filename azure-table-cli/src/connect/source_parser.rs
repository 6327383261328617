//! The parser of sources in arguments.

use std::ffi::OsStr;

use clap::builder::{TypedValueParser, ValueParserFactory};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

use super::Source;

/// Reads a source. Unlike those of other parsers, its error does not repeat the value, which may be a mistyped secret.
#[derive(Debug, Clone)]
pub struct SourceParser;

impl TypedValueParser for SourceParser {
    type Value = Source;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Source, Error> {
        let text = value.to_str().ok_or_else(|| "it is not UTF-8".to_owned());
        text.and_then(str::parse).map_err(|reason| {
            let option = arg.map(ToString::to_string).unwrap_or_default();
            let message = format!("invalid value for '{option}': {reason}\n");
            Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

impl ValueParserFactory for Source {
    type Parser = SourceParser;

    fn value_parser() -> SourceParser {
        SourceParser
    }
}
