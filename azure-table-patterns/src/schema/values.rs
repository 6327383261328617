//! The rules for single values: their stored types, codecs and forms.

use azure_table_client::edm::EdmType;
use azure_table_client::entity::schema::{Absent, Layout, PropertySchema, ValueChoice, ValueForm};

/// The rows that a reader finds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Rows of the snapshot and of all versions before it.
    All,
    /// The rows that the current version writes.
    Written,
}

/// A whole number in the range of a form.
type Range = (i128, i128);

const I32: Range = (i32::MIN as i128, i32::MAX as i128);
const I64: Range = (i64::MIN as i128, i64::MAX as i128);

/// Whether `by` reads the stored values of a property as the values that they were.
pub(super) fn reads(rows: &PropertySchema, by: &PropertySchema, which: Rows) -> Result<(), String> {
    layouts(rows, by)?;
    let (Some(stored), Some(wanted)) = (rows.edm_type, by.edm_type) else { return Ok(()) };
    if which == Rows::All {
        if !rows.accept.is_empty() && (stored != wanted || rank(&rows.accept) > rank(&by.accept)) {
            return Err(format!(
                "rows with other types were read by `accept = \"{}\"`",
                rows.accept
            ));
        }
        if rows.is_tolerant && !by.is_tolerant {
            return Err("values of other types were read as the default by `on_mistyped`".into());
        }
    }
    if stored != wanted {
        return widened(rows, by, stored, wanted);
    }
    if let (Some(rows), Some(by)) = (range(rows, stored), range(by, stored)) {
        return is_within(rows, by);
    }
    if rows.codec != by.codec {
        return Err(format!("it was stored {}, and is read {}", codec(rows), codec(by)));
    }
    if rows.codec.is_empty() {
        return forms((&rows.form, &rows.rust_type), (&by.form, &by.rust_type), which);
    }
    match (text_range(rows), text_range(by)) {
        (Some(rows), Some(by)) => is_within(rows, by),
        _ if rows.rust_type == by.rust_type => Ok(()),
        _ => Err(format!("`{}` and `{}` may have other values", rows.rust_type, by.rust_type)),
    }
}

fn codec(property: &PropertySchema) -> String {
    match &*property.codec {
        "" => "without a codec".to_owned(),
        codec => format!("by `{codec}`"),
    }
}

fn rank(accept: &str) -> usize {
    ["", "widened", "lenient"].iter().position(|known| *known == accept).unwrap_or(3)
}

fn layouts(rows: &PropertySchema, by: &PropertySchema) -> Result<(), String> {
    match (&rows.layout, &by.layout) {
        (Layout::One, Layout::One | Layout::Split) | (Layout::Split, Layout::Split) => Ok(()),
        (
            Layout::Series { digits, size },
            Layout::Series { digits: digits_now, size: size_now },
        ) => {
            let is_list = size_now.is_none() && rows.absent == Absent::Required;
            if rows.name == by.name && digits == digits_now && (size == size_now || is_list) {
                Ok(())
            } else {
                Err("the series has other names or another number of elements".to_owned())
            }
        }
        _ => Err("one property became several, or several became one".to_owned()),
    }
}

/// Reads an Int32 as a wider type.
fn widened(
    rows: &PropertySchema,
    by: &PropertySchema,
    stored: EdmType,
    wanted: EdmType,
) -> Result<(), String> {
    let refused = format!("rows have {stored}, and {wanted} is read");
    if by.accept.is_empty() || stored != EdmType::Int32 || !rows.accept.is_empty() {
        return Err(refused);
    }
    let range_of_rows = range(rows, stored).ok_or(refused.clone())?;
    match (wanted, &by.form) {
        (EdmType::Int64, _) => is_within(range_of_rows, range(by, wanted).ok_or(refused)?),
        (EdmType::Double, ValueForm::Named(name)) if by.codec.is_empty() && name == "f64" => Ok(()),
        _ => Err(refused),
    }
}

fn is_within(rows: Range, by: Range) -> Result<(), String> {
    if by.0 <= rows.0 && rows.1 <= by.1 {
        return Ok(());
    }
    Err(format!(
        "rows have numbers from {} to {}, and {} to {} are read",
        rows.0, rows.1, by.0, by.1
    ))
}

/// The numbers of a property that is stored as a number.
fn range(property: &PropertySchema, stored: EdmType) -> Option<Range> {
    let limits = match stored {
        EdmType::Int32 => I32,
        EdmType::Int64 => I64,
        _ => return None,
    };
    let own = match (&*property.codec, &property.form) {
        ("as_i32" | "as_i64", _) => of_name(&property.rust_type)?,
        ("", ValueForm::Named(name)) => of_name(name)?,
        _ => return None,
    };
    Some((own.0.max(limits.0), own.1.min(limits.1)))
}

/// The numbers of a property that is stored as digits.
fn text_range(property: &PropertySchema) -> Option<Range> {
    if property.codec == "as_string" { of_name(&property.rust_type) } else { None }
}

fn of_name(name: &str) -> Option<Range> {
    Some(match name {
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "i32" => I32,
        "i64" => I64,
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "u64" => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Whether a type reads the values of another form as the values that they were.
fn forms(rows: (&ValueForm, &str), by: (&ValueForm, &str), which: Rows) -> Result<(), String> {
    match (rows.0, by.0) {
        (ValueForm::Named(rows), ValueForm::Named(by)) => {
            let is_wider =
                matches!((&**rows, &**by), ("f32", "f64") | ("date", "date-time") | (_, "bytes"));
            if rows == by || is_wider {
                Ok(())
            } else {
                Err(format!("it was a {rows}, and is read as a {by}"))
            }
        }
        (
            ValueForm::Choice { choices, has_other },
            ValueForm::Choice { choices: now, has_other: any },
        ) => {
            if *has_other && !any {
                return Err("other values were read, and are an error now".to_owned());
            }
            choices.iter().try_for_each(|choice| one_choice(choice, choices, now, *any, which))
        }
        (ValueForm::Choice { .. }, ValueForm::Named(name)) if name == "text" => Ok(()),
        (ValueForm::Choice { choices, has_other }, ValueForm::Named(name)) => {
            let range = of_name(name).ok_or_else(|| format!("a choice is read as a {name}"))?;
            let numbers = choices.iter().map(|choice| choice.stored.parse::<i128>());
            let numbers = numbers.chain(has_other.then_some(Ok(I32.0)));
            let numbers = numbers.chain(has_other.then_some(Ok(I32.1)));
            let fits = |number| range.0 <= number && number <= range.1;
            if numbers.flatten().all(fits) {
                Ok(())
            } else {
                Err(format!("a choice is outside the numbers of `{name}`"))
            }
        }
        (ValueForm::Named(name), ValueForm::Choice { has_other, .. }) => {
            let range = of_name(name);
            let fits = name == "text" || range.is_some_and(|own| is_within(own, I32).is_ok());
            if *has_other && fits {
                Ok(())
            } else {
                Err(format!("it was a {name}, and not every value is a choice"))
            }
        }
        (ValueForm::Unknown, ValueForm::Unknown) if rows.1 == by.1 => Ok(()),
        _ => Err(format!("`{}` and `{}` do not describe their values", rows.1, by.1)),
    }
}

/// Whether the values of a variant are read as the same variant. A variant may have another name, but its value must not
/// go to another variant.
fn one_choice(
    choice: &ValueChoice,
    before: &[ValueChoice],
    now: &[ValueChoice],
    any: bool,
    which: Rows,
) -> Result<(), String> {
    let aliases = if which == Rows::All { &choice.aliases[..] } else { &[] };
    for stored in std::iter::once(&choice.stored).chain(aliases) {
        let reads =
            |known: &&ValueChoice| known.stored == *stored || known.aliases.contains(stored);
        let variant = now.iter().find(reads).map(|choice| &choice.variant);
        let is_known =
            |list: &[ValueChoice], variant: &str| list.iter().any(|c| c.variant == variant);
        match variant {
            Some(variant) if *variant == choice.variant => {}
            Some(variant) if !is_known(before, variant) && !is_known(now, &choice.variant) => {}
            Some(variant) => {
                return Err(format!(
                    "the value {stored:?} was `{}`, and is read as `{variant}`",
                    choice.variant
                ));
            }
            None if any && !is_known(now, &choice.variant) => {
                return Err(format!("the value {stored:?} has no variant of its own any more"));
            }
            None => return Err(format!("the value {stored:?} is not read")),
        }
    }
    Ok(())
}

/// Whether two types have the same texts in keys, or the second one has more.
pub(super) fn are_key_texts(rows: (&ValueForm, &str), by: (&ValueForm, &str)) -> bool {
    match (rows.0, by.0) {
        (ValueForm::Named(rows), ValueForm::Named(by)) => rows == by,
        (ValueForm::Choice { .. }, ValueForm::Choice { .. }) => forms(rows, by, Rows::All).is_ok(),
        (ValueForm::Unknown, ValueForm::Unknown) => rows.1 == by.1,
        _ => false,
    }
}
