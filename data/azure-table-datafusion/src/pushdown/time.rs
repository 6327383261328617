//! Comparisons of times.
//!
//! The service stores ticks of 100 ns. A time in SQL may stand for several ticks (a microsecond) or for none (a nanosecond in
//! between), so that bounds are rounded in the direction that does not change the result.

use azure_table_arrow::Timestamps;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::CompareOp;
use datafusion_common::ScalarValue;

/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;

/// The ticks of a time in SQL. There are none if `first` is after `last`.
struct Ticks {
    first: i64,
    last: i64,
}

/// Translates a comparison with a time into comparisons that must all be true.
pub(super) fn comparisons(
    form: Timestamps,
    op: CompareOp,
    literal: &ScalarValue,
) -> Option<Vec<(CompareOp, EdmDateTime)>> {
    let ticks = ticks(form, literal)?;
    let list = match op {
        CompareOp::Ge => vec![(CompareOp::Ge, ticks.first)],
        CompareOp::Gt => vec![(CompareOp::Gt, ticks.last)],
        CompareOp::Lt => vec![(CompareOp::Lt, ticks.first)],
        CompareOp::Le => vec![(CompareOp::Le, ticks.last)],
        _ if ticks.first == ticks.last => vec![(op, ticks.first)],
        CompareOp::Eq if ticks.first < ticks.last => {
            vec![(CompareOp::Ge, ticks.first), (CompareOp::Le, ticks.last)]
        }
        _ => return None,
    };
    // Only times of the service have a literal.
    let time = |(op, ticks)| Some((op, EdmDateTime::from_ticks(ticks).ok()?));
    list.into_iter().map(time).collect()
}

fn ticks(form: Timestamps, literal: &ScalarValue) -> Option<Ticks> {
    let (first, last) = match (form, literal) {
        (Timestamps::Nanos, ScalarValue::TimestampNanosecond(Some(nanos), Some(_))) => {
            let floor = nanos.div_euclid(100);
            (if nanos.rem_euclid(100) == 0 { floor } else { floor + 1 }, floor)
        }
        (Timestamps::Micros, ScalarValue::TimestampMicrosecond(Some(micros), Some(_))) => {
            let first = micros.checked_mul(10)?;
            (first, first.checked_add(9)?)
        }
        (Timestamps::Ticks, ScalarValue::Int64(Some(ticks))) => {
            return Some(Ticks { first: *ticks, last: *ticks });
        }
        _ => return None,
    };
    let since_year_1 = |ticks: i64| ticks.checked_add(UNIX_EPOCH_TICKS);
    Some(Ticks { first: since_year_1(first)?, last: since_year_1(last)? })
}
