//! Filters on properties with the values at the ends of their types.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::{TableEntity, TableEnum, filter};
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Case, Status, cases, check};
use crate::client::target::Target;

const EXPONENT: &str = "literals/double-with-an-exponent";
const MILLISECONDS: &str = "literals/datetime-ticks";

/// A row with a value of every type that has ends.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Extreme {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    n: u8,
    small: i32,
    byte: u8,
    big: i64,
    count: u32,
    #[table(as_i64)]
    size: u64,
    #[table(as_i32)]
    port: u16,
    real: f64,
    single: f32,
    at: EdmDateTime,
    seen: DateTime<Utc>,
    yes: bool,
    uid: Uuid,
    data: Vec<u8>,
    status: Status,
    level: Level,
    #[table(as_padded)]
    padded: i64,
    #[table(as_padded)]
    day: EdmDateTime,
    #[table(as_string)]
    code: i64,
}

/// A choice that is stored as a number.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, TableEnum)]
#[table(as_i32)]
pub(super) enum Level {
    /// Below zero.
    Low = -1,
    /// In the middle.
    Middle = 1,
    /// Above.
    High = 5,
}

const EXACT: i64 = 1 << 53;
const SMALL: [i32; 10] = [i32::MIN, i32::MIN + 1, -2, -1, 0, 1, 7, 42, i32::MAX - 1, i32::MAX];
const BIG: [i64; 10] =
    [i64::MIN, i64::MIN + 1, -EXACT, -1, 0, 1 << 31, EXACT, EXACT + 1, i64::MAX - 1, i64::MAX];
const REAL: [f64; 10] =
    [f64::MIN, -1e300, -2.5, -0.0, 0.0, 5e-324, f64::MIN_POSITIVE, 3.0, 1e300, f64::MAX];
const IDS: [u128; 10] = [
    0,
    1,
    0xff,
    1 << 64,
    1 << 96,
    0x7fff << 112,
    0x8000 << 112,
    0xff << 120,
    u128::MAX - 1,
    u128::MAX,
];
const DATA: [&[u8]; 10] = [
    &[],
    &[0],
    &[0, 0],
    &[0xff],
    &[0xff, 0],
    b"'",
    b"' or true or '",
    &[0x0a, 0xff],
    &[0xa0],
    &[0; 100],
];

fn time(text: &str) -> EdmDateTime {
    text.parse().unwrap()
}

fn after(time: EdmDateTime, ticks: i64) -> EdmDateTime {
    EdmDateTime::from_ticks(time.ticks() + ticks).unwrap()
}

fn posted() -> EdmDateTime {
    time("2009-04-14T01:02:03.4560000Z")
}

fn times() -> [EdmDateTime; 10] {
    [
        EdmDateTime::MIN,
        after(EdmDateTime::MIN, 1),
        time("1970-01-01T00:00:00Z"),
        time("2000-02-29T23:59:59.9999999Z"),
        posted(),
        after(posted(), 1),
        after(posted(), 10_000),
        time("2038-01-19T03:14:08Z"),
        after(EdmDateTime::MAX, -1),
        EdmDateTime::MAX,
    ]
}

fn rows() -> Vec<Extreme> {
    let row = |n: u8| {
        let i = usize::from(n);
        Extreme {
            p: "p".into(),
            n,
            small: SMALL[i],
            byte: if n < 5 { n } else { u8::MAX - n },
            big: BIG[i],
            count: if n < 5 { u32::from(n) } else { u32::MAX - u32::from(n) },
            size: if n < 5 { u64::from(n) } else { (1 << 63) - u64::from(n) },
            port: u16::from(n) * 7281,
            real: REAL[i],
            single: f32::from(n) / 10.0,
            at: times()[i],
            seen: times()[i].to_chrono(),
            yes: n % 3 == 1,
            uid: Uuid::from_u128(IDS[i]),
            data: DATA[i].into(),
            status: if n.is_multiple_of(2) { Status::Draft } else { Status::Live },
            level: [Level::Low, Level::Middle, Level::High][i % 3],
            padded: BIG[i],
            day: times()[i],
            code: BIG[i],
        }
    };
    (0..10).map(row).collect()
}

fn on_integers() -> Vec<Case<Extreme>> {
    let above = EXACT + 1;
    cases! { Extreme:
        |b| b.small.eq(i32::MIN), filter!(Extreme, b => b.small == i32::MIN), "small eq -2147483648", |r| r.small == i32::MIN;
        |b| b.small.ne(i32::MAX), filter!(Extreme, b => b.small != i32::MAX), "small ne 2147483647", |r| r.small != i32::MAX;
        |b| b.small.lt(i32::MIN), filter!(Extreme, b => b.small < i32::MIN), "small lt -2147483648", |_r| false;
        |b| b.small.lt(i32::MIN + 1), filter!(Extreme, b => i32::MIN + 1 > b.small), "-2147483647 gt small", |r| r.n == 0;
        |b| b.small.le(-1), filter!(Extreme, b => b.small <= -1), "small le -1", |r| r.small <= -1;
        |b| b.small.gt(i32::MAX - 1), filter!(Extreme, b => b.small > i32::MAX - 1), "small gt 2147483646", |r| r.n == 9;
        |b| b.small.ge(i32::MAX), filter!(Extreme, b => b.small >= i32::MAX), "small ge 2147483647", |r| r.n == 9;
        |b| b.small.between(i32::MIN + 1, 0), filter!(Extreme, b => b.small.between(i32::MIN + 1, 0)), "small ge -2147483647 and small le 0", |r| (1..=4).contains(&r.n);
        |b| b.small.is_in([i32::MIN, 0, i32::MAX]), filter!(Extreme, b => b.small in [i32::MIN, 0, i32::MAX]), "small eq -2147483648 or small eq 0 or small eq 2147483647", |r| [0, 4, 9].contains(&r.n);
        |b| b.byte.ge(u8::MAX - 6), filter!(Extreme, b => b.byte >= u8::MAX - 6), "byte ge 249", |r| r.byte >= 249;
        |b| b.big.eq(i64::MIN), filter!(Extreme, b => b.big == i64::MIN), "big eq -9223372036854775808L", |r| r.big == i64::MIN;
        |b| b.big.ne(i64::MAX), filter!(Extreme, b => b.big != i64::MAX), "big ne 9223372036854775807L", |r| r.big != i64::MAX;
        |b| b.big.lt(i64::MIN + 1), filter!(Extreme, b => b.big < i64::MIN + 1), "big lt -9223372036854775807L", |r| r.n == 0;
        |b| b.big.le(-EXACT), filter!(Extreme, b => b.big <= -EXACT), "big le -9007199254740992L", |r| r.n <= 2;
        |b| b.big.gt(EXACT), filter!(Extreme, b => b.big > EXACT), "big gt 9007199254740992L", |r| r.big > EXACT;
        |b| b.big.ge(&above), filter!(Extreme, b => b.big >= &above), "big ge 9007199254740993L", |r| r.big > EXACT;
        |b| b.big.eq(1 << 31), filter!(Extreme, b => b.big == 1 << 31), "big eq 2147483648L", |r| r.big == 1 << 31;
        |b| b.big.between(0, i64::from(i32::MAX) + 1), filter!(Extreme, b => b.big >= 0 && b.big <= i64::from(i32::MAX) + 1), "big ge 0L and big le 2147483648L", |r| r.n == 4 || r.n == 5;
        |b| b.count.gt(u32::MAX - 7), filter!(Extreme, b => b.count > u32::MAX - 7), "count gt 4294967288L", |r| r.count > u32::MAX - 7;
        |b| b.size.lt((1 << 63) - 7), filter!(Extreme, b => b.size < (1 << 63) - 7), "size lt 9223372036854775801L", |r| r.size < (1 << 63) - 7;
        |b| b.port.le(u16::MAX - 7287), filter!(Extreme, b => b.port <= u16::MAX - 7287), "port le 58248", |r| r.n <= 8;
        |b| b.port.eq(7281) | b.port.ne(7281) & b.port.gt(58_248), filter!(Extreme, b => b.port == 7281 || b.port != 7281 && b.port > 58_248), "port eq 7281 or port ne 7281 and port gt 58248", |r| r.n == 1 || r.n == 9;
    }
}

#[allow(clippy::float_cmp, reason = "as the service compares")]
fn on_reals() -> Vec<Case<Extreme>> {
    cases! { Extreme:
        |b| b.real.eq(0.0), filter!(Extreme, b => b.real == 0.0), "real eq 0.0", |r| r.real == 0.0;
        |b| b.real.eq(-0.0), filter!(Extreme, b => b.real == -0.0), "real eq -0.0", |r| r.real == 0.0;
        |b| b.real.ne(3.0), filter!(Extreme, b => b.real != 3.0), "real ne 3.0", |r| r.real != 3.0;
        |b| b.real.lt(-0.0), filter!(Extreme, b => b.real < -0.0), "real lt -0.0", |r| r.n <= 2;
        |b| b.real.le(-2.5), filter!(Extreme, b => b.real <= -2.5), "real le -2.5", |r| r.n <= 2;
        |b| b.real.gt(0.0), filter!(Extreme, b => 0.0 < b.real), "0.0 lt real", |r| r.n >= 5;
        |b| b.real.ge(3.0), filter!(Extreme, b => b.real >= 3.0), "real ge 3.0", |r| r.real >= 3.0;
        |b| b.real.eq(5e-324), filter!(Extreme, b => b.real == 5e-324), "real eq 5e-324", |r| r.n == 5, azurite EXPONENT;
        |b| b.real.gt(5e-324), filter!(Extreme, b => b.real > f64::from_bits(1)), "real gt 5e-324", |r| r.n >= 6, azurite EXPONENT;
        |b| b.real.lt(f64::MIN_POSITIVE), filter!(Extreme, b => b.real < f64::MIN_POSITIVE), "real lt 2.2250738585072014e-308", |r| r.n <= 5, azurite EXPONENT;
        |b| b.real.eq(1e300), filter!(Extreme, b => b.real == 1e300), "real eq 1e300", |r| r.n == 8, azurite EXPONENT;
        |b| b.real.between(-1e300, 1e300), filter!(Extreme, b => b.real.between(-1e300, 1e300)), "real ge -1e300 and real le 1e300", |r| (1..=8).contains(&r.n), azurite EXPONENT;
        |b| b.real.gt(f64::MIN) & b.real.lt(f64::MAX), filter!(Extreme, b => b.real > f64::MIN && b.real < f64::MAX), "real gt -1.7976931348623157e308 and real lt 1.7976931348623157e308", |r| r.n > 0 && r.n < 9, azurite EXPONENT;
        |b| b.real.is_in([-0.0, 3.0]), filter!(Extreme, b => b.real in [-0.0, 3.0]), "real eq -0.0 or real eq 3.0", |r| [3, 4, 7].contains(&r.n);
        |b| b.single.eq(0.1), filter!(Extreme, b => b.single == 0.1), "single eq 0.10000000149011612", |r| r.n == 1;
        |b| b.single.gt(0.5), filter!(Extreme, b => b.single > 0.5), "single gt 0.5", |r| r.n > 5;
    }
}

fn on_times() -> Vec<Case<Extreme>> {
    let (min, max) = (EdmDateTime::MIN, EdmDateTime::MAX);
    let (posted, next) = (posted(), after(posted(), 1));
    let seen = posted.to_chrono();
    cases! { Extreme:
        |b| b.at.eq(posted), filter!(Extreme, b => b.at == posted), "at eq datetime'2009-04-14T01:02:03.4560000Z'", |r| r.n == 4, azurite MILLISECONDS;
        |b| b.at.eq(&next), filter!(Extreme, b => &next == b.at), "at eq datetime'2009-04-14T01:02:03.4560001Z'", |r| r.n == 5, azurite MILLISECONDS;
        |b| b.at.ne(min), filter!(Extreme, b => b.at != min), "at ne datetime'1601-01-01T00:00:00.0000000Z'", |r| r.n != 0, azurite MILLISECONDS;
        |b| b.at.lt(after(min, 1)), filter!(Extreme, b => b.at < after(min, 1)), "at lt datetime'1601-01-01T00:00:00.0000001Z'", |r| r.n == 0, azurite MILLISECONDS;
        |b| b.at.le(next), filter!(Extreme, b => b.at <= next), "at le datetime'2009-04-14T01:02:03.4560001Z'", |r| r.n <= 5;
        |b| b.at.gt(posted), filter!(Extreme, b => b.at > posted), "at gt datetime'2009-04-14T01:02:03.4560000Z'", |r| r.n > 4, azurite MILLISECONDS;
        |b| b.at.ge(max), filter!(Extreme, b => b.at >= max), "at ge datetime'9999-12-31T23:59:59.9999999Z'", |r| r.n == 9, azurite MILLISECONDS;
        |b| !b.at.between(min, time("2000-01-01T00:00:00Z")), filter!(Extreme, b => !b.at.between(min, time("2000-01-01T00:00:00Z"))), "not (at ge datetime'1601-01-01T00:00:00Z' and at le datetime'2000-01-01T00:00:00Z')", |r| r.n > 2;
        |b| b.at.gt(time("2009-04-14T01:02:03.457Z")), filter!(Extreme, b => time("2009-04-14T01:02:03.457Z") < b.at), "at gt datetime'2009-04-14T01:02:03.457Z'", |r| r.n > 6;
        |b| b.seen.eq(seen), filter!(Extreme, b => b.seen == seen), "seen eq datetime'2009-04-14T01:02:03.4560000Z'", |r| r.n == 4, azurite MILLISECONDS;
        |b| b.seen.lt(DateTime::UNIX_EPOCH), filter!(Extreme, b => b.seen < DateTime::UNIX_EPOCH), "seen lt datetime'1970-01-01T00:00:00Z'", |r| r.n < 2;
        |b| b.day.ge(posted), filter!(Extreme, b => b.day >= posted), "day ge '2009-04-14T01:02:03.4560000Z'", |r| r.n >= 4;
        |b| b.day.lt(next), filter!(Extreme, b => b.day < next), "day lt '2009-04-14T01:02:03.4560001Z'", |r| r.n <= 4;
        |b| b.day.eq(max) | b.day.le(min), filter!(Extreme, b => b.day == max || b.day <= min), "day eq '9999-12-31T23:59:59.9999999Z' or day le '1601-01-01T00:00:00.0000000Z'", |r| r.n == 9 || r.n == 0;
    }
}

fn on_padded_numbers() -> Vec<Case<Extreme>> {
    cases! { Extreme:
        |b| b.padded.eq(-1), filter!(Extreme, b => b.padded == -1), "padded eq '-9223372036854775807'", |r| r.padded == -1;
        |b| b.padded.ne(i64::MIN), filter!(Extreme, b => b.padded != i64::MIN), "padded ne '-0000000000000000000'", |r| r.padded != i64::MIN;
        |b| b.padded.lt(0), filter!(Extreme, b => b.padded < 0), "padded lt '00000000000000000000'", |r| r.padded < 0;
        |b| b.padded.le(i64::MIN + 1), filter!(Extreme, b => b.padded <= i64::MIN + 1), "padded le '-0000000000000000001'", |r| r.n <= 1;
        |b| b.padded.gt(EXACT), filter!(Extreme, b => b.padded > EXACT), "padded gt '00009007199254740992'", |r| r.padded > EXACT;
        |b| b.padded.ge(i64::MAX), filter!(Extreme, b => b.padded >= i64::MAX), "padded ge '09223372036854775807'", |r| r.n == 9;
        |b| !b.padded.between(-EXACT, EXACT), filter!(Extreme, b => !b.padded.between(-EXACT, EXACT)), "not (padded ge '-9214364837600034816' and padded le '00009007199254740992')", |r| r.padded < -EXACT || r.padded > EXACT;
        |b| b.padded.is_in(&BIG[6..8]), filter!(Extreme, b => b.padded in &BIG[6..8]), "padded eq '00009007199254740992' or padded eq '00009007199254740993'", |r| r.n == 6 || r.n == 7;
    }
}

fn on_what_is_only_equal() -> Vec<Case<Extreme>> {
    let half = Uuid::from_u128(0x8000 << 112);
    let bytes = b"' or true or '".to_vec();
    cases! { Extreme:
        |b| b.yes.eq(false), filter!(Extreme, b => b.yes == false), "yes eq false", |r| !r.yes;
        |b| b.yes.ne(false), filter!(Extreme, b => false != b.yes), "yes ne false", |r| r.yes;
        |b| b.yes.is_in([false, true]), filter!(Extreme, b => b.yes in [false, true]), "yes eq false or yes eq true", |_r| true;
        |b| b.uid.eq(Uuid::nil()), filter!(Extreme, b => b.uid == Uuid::nil()), "uid eq guid'00000000-0000-0000-0000-000000000000'", |r| r.uid.is_nil();
        |b| b.uid.ne(Uuid::max()), filter!(Extreme, b => b.uid != Uuid::max()), "uid ne guid'ffffffff-ffff-ffff-ffff-ffffffffffff'", |r| !r.uid.is_max();
        |b| !b.uid.eq(&half), filter!(Extreme, b => !(&half == b.uid)), "not (uid eq guid'80000000-0000-0000-0000-000000000000')", |r| r.n != 6;
        |b| b.uid.is_in(IDS[1..3].iter().map(|id| Uuid::from_u128(*id))), filter!(Extreme, b => b.uid in IDS[1..3].iter().map(|id| Uuid::from_u128(*id))), "uid eq guid'00000000-0000-0000-0000-000000000001' or uid eq guid'00000000-0000-0000-0000-0000000000ff'", |r| r.n == 1 || r.n == 2;
        |b| b.uid.eq(Uuid::from_u128(0xff)), filter!(Extreme, b => b.uid == Uuid::from_u128(0xff)), "uid eq guid'00000000-0000-0000-0000-0000000000FF'", |r| r.n == 2, azurite "literals/guid-in-capitals";
        |b| b.data.eq(vec![]), filter!(Extreme, b => b.data == vec![]), "data eq X''", |r| r.data.is_empty();
        |b| b.data.eq(vec![0xff, 0]), filter!(Extreme, b => b.data == vec![0xff, 0]), "data eq X'ff00'", |r| r.data == [0xff, 0];
        |b| b.data.ne(vec![0]), filter!(Extreme, b => b.data != vec![0]), "data ne binary'00'", |r| r.data != [0];
        |b| b.data.eq(&bytes), filter!(Extreme, b => b.data == &bytes), "data eq X'27206f722074727565206f722027'", |r| r.n == 6;
        |b| b.data.is_in([vec![0x0a, 0xff], vec![0xa0]]), filter!(Extreme, b => b.data in [vec![0x0a, 0xff], vec![0xa0]]), "data eq X'0aff' or data eq X'A0'", |r| r.n == 7 || r.n == 8;
        |b| b.status.ne(Status::Live), filter!(Extreme, b => b.status != Status::Live), "status ne 'live'", |r| r.status == Status::Draft;
        |b| b.level.eq(Level::Low), filter!(Extreme, b => b.level == Level::Low), "level eq -1", |r| r.level == Level::Low;
        |b| b.level.ne(&Level::High), filter!(Extreme, b => &Level::High != b.level), "level ne 5", |r| r.level != Level::High;
        |b| b.level.is_in([Level::Middle, Level::High]) & b.status.eq(Status::Draft), filter!(Extreme, b => b.level in [Level::Middle, Level::High] && b.status == Status::Draft), "(level eq 1 or level eq 5) and status eq 'draft'", |r| r.level > Level::Low && r.status == Status::Draft;
        |b| b.code.eq(i64::MIN), filter!(Extreme, b => b.code == i64::MIN), "code eq '-9223372036854775808'", |r| r.code == i64::MIN;
        |b| b.code.ne(0) & b.code.ne(-1), filter!(Extreme, b => b.code != 0 && b.code != -1), "code ne '0' and code ne '-1'", |r| r.code != 0 && r.code != -1;
    }
}

/// Every operator at the ends of the types.
pub(crate) async fn filters_on_values(target: &Target) {
    let mut cases = on_integers();
    cases.extend(on_reals());
    cases.extend(on_times());
    cases.extend(on_padded_numbers());
    cases.extend(on_what_is_only_equal());
    check(target, "extreme values", &rows(), cases).await.delete_table().await.unwrap();
}
