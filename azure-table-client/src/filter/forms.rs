//! Comparisons with each form in which a field reads a value.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat, Utc};
use uuid::Uuid;

use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use crate::edm::{EdmDateTime, EdmType, EdmValue};
use crate::entity::{Accept, guid_texts};

/// Up to this number, every whole number is a Double of its own.
const EXACT: u64 = 1 << 53;

/// A value to compare a property with, in each form in which the field reads it.
pub(super) struct Forms {
    pub(super) value: EdmValue,
    /// The other texts that are read as this value.
    pub(super) aliases: Vec<Cow<'static, str>>,
    /// The other types that the field reads.
    pub(super) accept: Accept,
}

impl Forms {
    /// Compares a property with the value.
    ///
    /// # Errors
    /// The property has no valid name, or a form cannot be compared by this operator.
    pub(super) fn compare(&self, property: &str, op: CompareOp) -> Result<Filter, FilterError> {
        let own = Filter::compare(property, op, self.value.clone())?;
        let own = self.aliases.iter().try_fold(own, |own, alias| {
            Ok(join(op, own, Filter::compare(property, op, &**alias)?))
        })?;
        let ty = self.value.edm_type();
        if other_types(ty, self.accept).is_empty() {
            return Ok(own);
        }
        let own = of_type(property, op, own, ty)?;
        let others = match (&self.value, self.accept) {
            (_, Accept::Exact) => Vec::new(),
            (EdmValue::Int64(value), accept) => {
                let int32 = int32(property, op, *value)?;
                let double = (accept == Accept::Lenient).then(|| double(property, op, *value));
                int32.into_iter().chain(double.transpose()?.flatten()).collect()
            }
            (EdmValue::Double(value), _) => {
                int32_beside_double(property, op, *value)?.into_iter().collect()
            }
            (_, Accept::Widened) => Vec::new(),
            (EdmValue::DateTime(value), _) => vec![time_text(property, op, *value)?],
            (EdmValue::Guid(value), _) => guid_text(property, op, *value)?.into_iter().collect(),
            (EdmValue::Binary(value), _) => {
                let text = Filter::compare(property, op, STANDARD.encode(value))?;
                vec![of_type(property, op, text, EdmType::String)?]
            }
            _ => Vec::new(),
        };
        Ok(others.into_iter().fold(own, |any, other| any | other))
    }
}

/// Joins comparisons with texts of the same value.
fn join(op: CompareOp, one: Filter, other: Filter) -> Filter {
    // A value differs if it differs from all texts.
    if op == CompareOp::Ne { one & other } else { one | other }
}

/// Compares a Guid that is stored as text.
fn guid_text(property: &str, op: CompareOp, value: Uuid) -> Result<Option<Filter>, FilterError> {
    let texts = guid_texts(value).into_iter().map(|text| Filter::compare(property, op, text));
    let texts: Vec<_> = texts.collect::<Result<_, _>>()?;
    let text = texts.into_iter().reduce(|any, text| join(op, any, text));
    text.map(|text| of_type(property, op, text, EdmType::String)).transpose()
}

/// Limits a comparison to values of one type, if the field reads several: in Azure Storage, values of the other types are
/// less than the literal, and `ge` does not find them.
fn of_type(
    property: &str,
    op: CompareOp,
    filter: Filter,
    ty: EdmType,
) -> Result<Filter, FilterError> {
    match op {
        CompareOp::Ne | CompareOp::Lt | CompareOp::Le => Ok(filter & has_type(property, ty)?),
        CompareOp::Eq | CompareOp::Gt | CompareOp::Ge => Ok(filter),
    }
}

/// The other types in which a field reads values of a type.
const fn other_types(ty: EdmType, accept: Accept) -> &'static [EdmType] {
    match (ty, accept) {
        (_, Accept::Exact) => &[],
        (EdmType::Int64, Accept::Lenient) => &[EdmType::Int32, EdmType::Double],
        (EdmType::Int64 | EdmType::Double, _) => &[EdmType::Int32],
        (_, Accept::Widened) => &[],
        (EdmType::DateTime | EdmType::Guid | EdmType::Binary, _) => &[EdmType::String],
        _ => &[],
    }
}

/// Matches rows whose property has a value that the field can read: `eq` and `ge` find neither rows without the property
/// nor values of another type.
pub(super) fn has_value(
    property: &str,
    ty: EdmType,
    accept: Accept,
) -> Result<Filter, FilterError> {
    let mut others = other_types(ty, accept).iter();
    others.try_fold(has_type(property, ty)?, |any, ty| Ok(any | has_type(property, *ty)?))
}

fn has_type(property: &str, ty: EdmType) -> Result<Filter, FilterError> {
    let from = |value: EdmValue| Filter::compare(property, CompareOp::Ge, value);
    match ty {
        EdmType::String => from("".into()),
        EdmType::Boolean => {
            let is = |value: bool| Filter::compare(property, CompareOp::Eq, value);
            Ok(is(true)? | is(false)?)
        }
        EdmType::Int32 => from(i32::MIN.into()),
        EdmType::Int64 => from(i64::MIN.into()),
        EdmType::Double => from(f64::MIN.into()),
        EdmType::DateTime => from(EdmDateTime::MIN.into()),
        EdmType::Guid => from(Uuid::nil().into()),
        EdmType::Binary => from(Vec::new().into()),
    }
}

/// Compares an Int32 with a whole number. Returns `None` if no Int32 matches.
///
/// Azure Storage widens the literal, so that a comparison must also be true for the Int64 and Double values that it finds.
fn int32(property: &str, op: CompareOp, value: i64) -> Result<Option<Filter>, FilterError> {
    let (op, value) = match (i32::try_from(value), op) {
        (Ok(value), op) => (op, value),
        (Err(_), CompareOp::Ne | CompareOp::Lt | CompareOp::Le) if value > 0 => {
            (CompareOp::Le, i32::MAX)
        }
        (Err(_), CompareOp::Ne | CompareOp::Gt | CompareOp::Ge) if value < 0 => {
            (CompareOp::Ge, i32::MIN)
        }
        (Err(_), _) => return Ok(None),
    };
    let filter = Filter::compare(property, op, value)?;
    of_type(property, op, filter, EdmType::Int32).map(Some)
}

/// Compares an Int32 with the value of a Double column. Returns `None` if no Int32 matches.
fn int32_beside_double(
    property: &str,
    op: CompareOp,
    value: f64,
) -> Result<Option<Filter>, FilterError> {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates, beyond every Int32")]
    let [below, above] = [value.floor() as i64, value.ceil() as i64];
    if below == above {
        return int32(property, op, below);
    }
    let below = || int32(property, CompareOp::Le, below);
    let above = || int32(property, CompareOp::Ge, above);
    match op {
        // No Int32 equals a fraction.
        CompareOp::Eq => Ok(None),
        CompareOp::Ne => Ok(below()?.into_iter().chain(above()?).reduce(|a, b| a | b)),
        CompareOp::Lt | CompareOp::Le => below(),
        CompareOp::Gt | CompareOp::Ge => above(),
    }
}

/// Compares a Double with a whole number. Returns `None` if no Double reads as a matching number.
fn double(property: &str, op: CompareOp, value: i64) -> Result<Option<Filter>, FilterError> {
    #[expect(clippy::cast_precision_loss, reason = "a greater number is not cast to a lesser one")]
    let double = value as f64;
    // The cast of a number beyond all Doubles that are read can be the last one of them.
    let op = match op {
        _ if value.unsigned_abs() <= EXACT => op,
        CompareOp::Eq => return Ok(None),
        CompareOp::Ne => return has_type(property, EdmType::Double).map(Some),
        CompareOp::Lt | CompareOp::Le if value > 0 => CompareOp::Le,
        CompareOp::Lt | CompareOp::Le => CompareOp::Lt,
        CompareOp::Gt | CompareOp::Ge if value > 0 => CompareOp::Gt,
        CompareOp::Gt | CompareOp::Ge => CompareOp::Ge,
    };
    let filter = Filter::compare(property, op, double)?;
    of_type(property, op, filter, EdmType::Double).map(Some)
}

/// Compares a time that is stored as text, in the forms of `chrono` and of `time`.
fn time_text(property: &str, op: CompareOp, value: EdmDateTime) -> Result<Filter, FilterError> {
    let refuse = |kind| Err(FilterError::without_text(kind, property.to_owned()));
    match op {
        CompareOp::Eq => equal_time_text(property, value),
        CompareOp::Ne => refuse(FilterErrorKind::ManyForms),
        _ => refuse(FilterErrorKind::NoOrder),
    }
}

fn equal_time_text(property: &str, value: EdmDateTime) -> Result<Filter, FilterError> {
    let compare = |op, text: String| Filter::compare(property, op, text);
    let time: DateTime<Utc> = value.to_chrono();
    let fraction = format!("{:07}", time.timestamp_subsec_nanos() / 100);
    let shortest = match fraction.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let chrono = time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let time_crate = format!("{}.{shortest} +00:00:00", time.format("%Y-%m-%d %H:%M:%S"));
    // Digits below the 100 ns of a DateTime are dropped.
    let finer = |seconds: &str| {
        let ticks = format!("{}.{fraction}", time.format(seconds));
        let from = compare(CompareOp::Ge, format!("{ticks}0"))?;
        Ok::<_, FilterError>(from & compare(CompareOp::Lt, format!("{ticks}["))?)
    };
    Ok(compare(CompareOp::Eq, chrono)?
        | compare(CompareOp::Eq, time_crate)?
        | finer("%Y-%m-%dT%H:%M:%S")?
        | finer("%Y-%m-%d %H:%M:%S")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edm::EdmCow;

    const OPS: [CompareOp; 6] = CompareOp::ALL;

    fn text(accept: Accept, op: CompareOp, value: impl Into<EdmValue>) -> String {
        let forms = Forms { value: value.into(), aliases: Vec::new(), accept };
        forms.compare("A", op).unwrap().to_string()
    }

    #[test]
    fn a_widened_column_finds_both_types_of_integers() {
        use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
        for (op, value, expected) in [
            (Eq, 5, "A eq 5L or A eq 5"),
            (Ne, 5, "A ne 5L and INT64 or A ne 5 and INT32"),
            (Lt, -1, "A lt -1L and INT64 or A lt -1 and INT32"),
            (Eq, 1 << 31, "A eq 2147483648L"),
            (Ne, 1 << 31, "A ne 2147483648L and INT64 or A le 2147483647 and INT32"),
            (Le, 1 << 31, "A le 2147483648L and INT64 or A le 2147483647 and INT32"),
            (Gt, 1 << 31, "A gt 2147483648L"),
            (Ge, -1_i64 << 40, "A ge -1099511627776L or A ge -2147483648"),
            (Lt, -1 << 40, "A lt -1099511627776L and INT64"),
        ] {
            let expected = expected.replace("INT64", "A ge -9223372036854775808L");
            let expected = expected.replace("INT32", "A ge -2147483648");
            assert_eq!(text(Accept::Widened, op, value), expected);
        }
        assert_eq!(text(Accept::Exact, Eq, 5_i64), "A eq 5L");
        assert_eq!(text(Accept::Widened, Eq, 5_i32), "A eq 5");
        assert_eq!(text(Accept::Lenient, Eq, 5_i64), "A eq 5L or A eq 5 or A eq 5.0");
        assert_eq!(text(Accept::Lenient, Eq, i64::MAX), "A eq 9223372036854775807L");
    }

    #[test]
    fn numbers_compare_as_the_numbers_that_are_read() {
        fn holds<T: PartialOrd>(op: CompareOp, a: &T, b: &T) -> bool {
            match op {
                CompareOp::Eq => a == b,
                CompareOp::Ne => a != b,
                CompareOp::Gt => a > b,
                CompareOp::Ge => a >= b,
                CompareOp::Lt => a < b,
                CompareOp::Le => a <= b,
            }
        }
        fn matches_by(is_exact: bool, filter: &Filter, stored: &EdmValue) -> bool {
            match filter {
                Filter::Or { 0: any, .. } => {
                    any.iter().any(|one| matches_by(is_exact, one, stored))
                }
                Filter::And { 0: all, .. } => {
                    all.iter().all(|one| matches_by(is_exact, one, stored))
                }
                Filter::Compare { op, literal, .. } => match (stored, literal) {
                    (EdmValue::Int32(a), EdmValue::Int32(b)) => holds(*op, a, b),
                    (EdmValue::Int64(a), EdmValue::Int64(b)) => holds(*op, a, b),
                    (EdmValue::Double(a), EdmValue::Double(b)) => holds(*op, a, b),
                    _ if is_exact => false,
                    (EdmValue::Int64(a), EdmValue::Int32(b)) => holds(*op, a, &i64::from(*b)),
                    (EdmValue::Double(a), EdmValue::Int32(b)) => holds(*op, a, &f64::from(*b)),
                    #[allow(clippy::cast_precision_loss, reason = "as the service")]
                    (EdmValue::Double(a), EdmValue::Int64(b)) => holds(*op, a, &(*b as f64)),
                    // Less than the literal.
                    _ => holds(*op, &0, &1),
                },
                _ => unreachable!("{filter}"),
            }
        }
        // By the rules of both services.
        fn matches(filter: &Filter, stored: &EdmValue) -> bool {
            let [exact, ordered] =
                [true, false].map(|is_exact| matches_by(is_exact, filter, stored));
            assert_eq!(exact, ordered, "{stored}: {filter}");
            exact
        }
        let int32 = [i32::MIN, -3, -2, -1, 0, 1, 2, 3, i32::MAX];
        let doubles = [-1e300, -3e9, -2.5, -2.0, -0.5, 0.0, 0.5, 2.0, 2.5, 3e9, 1e300];
        for op in OPS {
            for value in doubles {
                let forms =
                    Forms { value: value.into(), aliases: Vec::new(), accept: Accept::Widened };
                let filter = forms.compare("A", op).unwrap();
                for stored in int32 {
                    let expected = holds(op, &f64::from(stored), &value);
                    assert_eq!(matches(&filter, &stored.into()), expected, "{stored}: {filter}");
                }
                for stored in doubles {
                    assert_eq!(matches(&filter, &stored.into()), holds(op, &stored, &value));
                }
            }
            let last = 1_i64 << 53;
            let near = [last - 1, last, last + 1, last + 2];
            let values = [i64::MIN, -1 << 31, -2, 0, 3, 1 << 31, i64::MAX].into_iter();
            for value in values.chain(near).chain(near.map(|value| -value)) {
                let forms =
                    Forms { value: value.into(), aliases: Vec::new(), accept: Accept::Lenient };
                let filter = forms.compare("A", op).unwrap();
                let stored = int32.into_iter().map(EdmValue::from);
                let stored = stored.chain([i64::MIN, -2, 0, i64::MAX].map(EdmValue::from));
                let near = [9_007_199_254_740_991.0, 9_007_199_254_740_992.0];
                let near = near.into_iter().flat_map(|value| [value, -value]);
                let whole = doubles.into_iter().chain(near);
                for stored in stored.chain(whole.map(EdmValue::from)) {
                    let read = Accept::Lenient.convert(stored.as_cow(), EdmType::Int64);
                    let EdmCow::Int64(read) = read else { continue };
                    // The service widens such a literal to the nearest Double, which may be another number.
                    if value.unsigned_abs() > EXACT && stored.edm_type() == EdmType::Double {
                        continue;
                    }
                    assert_eq!(
                        matches(&filter, &stored),
                        holds(op, &read, &value),
                        "{stored:?}: {filter}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_lenient_column_finds_texts() {
        use CompareOp::{Eq, Lt, Ne};
        let id: Uuid = "00000000-0000-0000-0000-00000000000a".parse().unwrap();
        let simple = "0000000000000000000000000000000";
        let upper = "00000000-0000-0000-0000-00000000000A";
        assert_eq!(
            text(Accept::Lenient, Ne, id),
            format!(
                "A ne guid'{id}' and A ge guid'{nil}' or A ne '{id}' and A ne '{simple}a' \
                 and A ne '{{{id}}}' and A ne '{upper}' and A ne '{simple}A' and A ne '{{{upper}}}' and A ge ''",
                nil = Uuid::nil()
            )
        );
        assert_eq!(text(Accept::Lenient, Eq, vec![1_u8]), "A eq X'01' or A eq 'AQ=='");
        let time: EdmDateTime = "2024-05-01T12:00:00.5Z".parse().unwrap();
        assert_eq!(
            text(Accept::Lenient, Eq, time),
            "A eq datetime'2024-05-01T12:00:00.5000000Z' or A eq '2024-05-01T12:00:00.500Z' \
             or A eq '2024-05-01 12:00:00.5 +00:00:00' \
             or A ge '2024-05-01T12:00:00.50000000' and A lt '2024-05-01T12:00:00.5000000[' \
             or A ge '2024-05-01 12:00:00.50000000' and A lt '2024-05-01 12:00:00.5000000['"
        );
        let forms = Forms { value: time.into(), aliases: Vec::new(), accept: Accept::Lenient };
        let error = forms.compare("A", Lt).unwrap_err();
        assert_eq!(error.kind(), FilterErrorKind::NoOrder);
        let error = forms.compare("A", Ne).unwrap_err();
        assert_eq!(error.kind(), FilterErrorKind::ManyForms);
        assert_eq!(
            error.to_string(),
            "equal times have many texts, of which a lenient column reads all and a filter finds \
             some (Column::dynamic compares values of the type DateTime only): expected eq or is_in without ! on A"
        );
        assert_eq!(text(Accept::Widened, Lt, time), "A lt datetime'2024-05-01T12:00:00.5000000Z'");
    }

    #[test]
    fn a_value_of_each_type_is_found() {
        let has = |ty, accept| has_value("A", ty, accept).unwrap().to_string();
        for (ty, expected) in [
            (EdmType::String, "A ge ''"),
            (EdmType::Boolean, "A eq true or A eq false"),
            (EdmType::Int32, "A ge -2147483648"),
            (EdmType::Guid, "A ge guid'00000000-0000-0000-0000-000000000000'"),
            (EdmType::Binary, "A ge X''"),
        ] {
            assert_eq!(has(ty, Accept::Widened), expected);
        }
        assert_eq!(
            has(EdmType::Int64, Accept::Widened),
            "A ge -9223372036854775808L or A ge -2147483648"
        );
        assert!(has(EdmType::Double, Accept::Lenient).ends_with(" or A ge -2147483648"));
        assert!(has(EdmType::Int64, Accept::Lenient).contains("A ge -2147483648 or A ge -1.79"));
        assert!(has(EdmType::DateTime, Accept::Lenient).ends_with(" or A ge ''"));
        assert!(!has(EdmType::DateTime, Accept::Widened).contains("''"));
    }

    #[test]
    fn aliases_are_found() {
        let aliases = vec!["open".into(), "o".into()];
        let forms = Forms { value: "Open".into(), aliases, accept: Accept::Exact };
        let text = |op| forms.compare("A", op).unwrap().to_string();
        assert_eq!(text(CompareOp::Eq), "A eq 'Open' or A eq 'open' or A eq 'o'");
        assert_eq!(text(CompareOp::Ne), "A ne 'Open' and A ne 'open' and A ne 'o'");
    }
}
