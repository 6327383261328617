//! The row that `put` and `merge` write, and the properties that `update` sets.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use azure_table_client::edm::{EdmType, EdmValue};
use azure_table_client::{DynamicEntity, ETag, IfMatch};

use crate::args::{Globals, Row};
use crate::edm_type;
use crate::failure::{Failure, Result};
use crate::format::{is_standard, jsonl, value};
use crate::output::note;

/// Reads the row of the arguments.
pub(crate) fn read(args: &Row, globals: &Globals) -> Result<DynamicEntity> {
    if let Some(path) = &args.json {
        let row = jsonl::read_row(text(path)?.trim_start_matches('\u{feff}'));
        return row.map_err(|why| {
            Failure::usage(format!("the row of {} is invalid: {why}", path.display()))
        });
    }
    // clap requires both keys.
    let (partition_key, row_key) = (args.partition_key.clone(), args.row_key.clone());
    let mut row =
        DynamicEntity::new(partition_key.unwrap_or_default(), row_key.unwrap_or_default());
    set(&mut row, &args.properties, globals)?;
    Ok(row)
}

/// Sets the properties of arguments. Notes the texts that look like values of another type.
pub(crate) fn set(row: &mut DynamicEntity, arguments: &[String], globals: &Globals) -> Result<()> {
    for argument in arguments {
        let (name, value) = property(argument).map_err(Failure::usage)?;
        if row.value(name).is_some() {
            return Err(Failure::usage(format!("the property {name:?} is given twice")));
        }
        row.set(name, value);
        if let Some(typed) = with_likely_type(argument) {
            note(globals, &format!("{name} is stored as text; with its likely type: {typed}"));
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    if !is_standard(path) {
        return fs::read_to_string(path).map_err(|error| Failure::file("read", path, error));
    }
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::file("read", Path::new("standard input"), error))?;
    Ok(text)
}

/// Reads `Name=text` and `Name:Int64=7`. The first colon ends the name.
fn property(argument: &str) -> std::result::Result<(&str, EdmValue), String> {
    let Some((left, text)) = argument.split_once('=') else {
        return Err(format!(
            "{argument:?} is not a property: it must be Name=value or Name:Type=value"
        ));
    };
    let (name, ty) = match left.split_once(':') {
        None => (left, EdmType::String),
        Some((name, ty)) => {
            let ty = edm_type::parse(ty);
            (name, ty.map_err(|why| format!("the property {name:?} is invalid: {why}"))?)
        }
    };
    if matches!(name, "" | "PartitionKey" | "RowKey" | "Timestamp") {
        return Err(format!("{name:?} cannot be set as a property"));
    }
    let value =
        value::parse(ty, text).map_err(|why| format!("the property {name:?} is invalid: {why}"))?;
    Ok((name, value))
}

/// Returns a property without a type as one with its likely type, if its text looks like a value of another type.
fn with_likely_type(argument: &str) -> Option<String> {
    let (name, text) = argument.split_once('=').filter(|(left, _)| !left.contains(':'))?;
    let (ty, text) = likely(text)?;
    Some(format!("{name}:{ty}={text}"))
}

/// Returns the type of a text that looks like a Boolean, a number, a time or a GUID, and the form that this type accepts.
fn likely(text: &str) -> Option<(EdmType, String)> {
    const NUMBERS: [EdmType; 3] = [EdmType::Int32, EdmType::Int64, EdmType::Double];
    let is = |ty: EdmType, text: &str| value::parse(ty, text).is_ok();
    let times =
        || [text.to_owned(), format!("{text}Z").replace(' ', "T"), format!("{text}T00:00:00Z")];
    let number = || NUMBERS.into_iter().find(|ty| is_number(text) && is(*ty, text));
    if is(EdmType::Boolean, text) {
        Some((EdmType::Boolean, text.to_owned()))
    } else if let Some(ty) = number() {
        Some((ty, text.to_owned()))
    } else if text.contains('-') && is(EdmType::Guid, text) {
        Some((EdmType::Guid, text.to_owned()))
    } else {
        times()
            .into_iter()
            .find(|time| is(EdmType::DateTime, time))
            .map(|time| (EdmType::DateTime, time))
    }
}

/// Whether a number keeps the text: it would lose the leading zeros of a postal code and the plus of a telephone number.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_leading_zero =
        digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    (begins && !has_leading_zero) || ["NaN", "Infinity"].contains(&digits)
}

/// Reads the condition of a write: an ETag, or `*` for any version.
pub(crate) fn if_match(text: &str) -> IfMatch {
    if text == "*" { IfMatch::Any } else { IfMatch::Tag(ETag::from(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_their_type() {
        assert_eq!(property("Text=a=b:c"), Ok(("Text", "a=b:c".into())));
        assert_eq!(property("Text="), Ok(("Text", "".into())));
        let largest = property("Views:Edm.Int64=9223372036854775807");
        assert_eq!(largest, Ok(("Views", i64::MAX.into())));
        assert_eq!(property("Views:Int64=7"), Ok(("Views", 7_i64.into())));
        assert_eq!(property("Ratio:Edm.Double=-0"), Ok(("Ratio", (-0.0).into())));
        assert_eq!(property("Data:Edm.Binary=AAE="), Ok(("Data", vec![0, 1].into())));
    }

    #[test]
    fn texts_that_look_like_another_type_have_a_likely_type() {
        for (text, likely) in [
            ("5", "Edm.Int32=5"),
            ("-3000000000", "Edm.Int64=-3000000000"),
            ("1.10", "Edm.Double=1.10"),
            ("-.5", "Edm.Double=-.5"),
            ("0", "Edm.Int32=0"),
            ("0.5e3", "Edm.Double=0.5e3"),
            ("-Infinity", "Edm.Double=-Infinity"),
            ("99999999999999999999", "Edm.Double=99999999999999999999"),
            ("True", "Edm.Boolean=True"),
            ("2027-01-31", "Edm.DateTime=2027-01-31T00:00:00Z"),
            ("2027-01-31 12:00:00", "Edm.DateTime=2027-01-31T12:00:00Z"),
            ("2027-01-31T12:00:00.5Z", "Edm.DateTime=2027-01-31T12:00:00.5Z"),
            (
                "00000000-0000-0000-0000-00000000000A",
                "Edm.Guid=00000000-0000-0000-0000-00000000000A",
            ),
        ] {
            let typed = with_likely_type(&format!("A={text}"));
            assert_eq!(typed, Some(format!("A:{likely}")));
            property(&typed.unwrap()).unwrap();
        }
        let texts =
            ["", "-", "01067", "-007", "+49", "1.2.3", "inf", "nan", "yes", "Hello", "2027-02-30"];
        for text in texts {
            assert_eq!(with_likely_type(&format!("A={text}")), None, "{text}");
        }
        assert_eq!(with_likely_type("A:String=5"), None);
    }

    #[test]
    fn invalid_properties_are_refused() {
        for (argument, part) in [
            ("Text", "not a property"),
            ("=a", "cannot be set"),
            ("RowKey=a", "cannot be set"),
            ("Views:int64=7", "the type \"int64\" is unknown"),
            ("a:b:Int64=7", "the type \"b:Int64\" is unknown"),
            ("Views:Edm.Int32=2147483648", "\"Views\" is invalid"),
            ("Ratio:Edm.Double=1e999", "\"Ratio\" is invalid"),
            ("Due:Edm.DateTime=tomorrow", "\"Due\" is invalid"),
        ] {
            let error = property(argument).unwrap_err();
            assert!(error.contains(part), "{argument}: {error}");
        }
    }
}
