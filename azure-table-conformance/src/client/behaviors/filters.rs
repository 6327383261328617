//! Typed filters, each as a closure, as an expression and as OData text, with the rows that match.

#![allow(
    clippy::needless_borrows_for_generic_args,
    reason = "a column takes values and references to them"
)]

mod keys;
mod logic;
mod options;
mod texts;
mod values;

use std::fmt::Debug;

use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{Descending, PropertyGroup};
use azure_table_client::filter::{Condition, Filter, IntoCondition as _};
use azure_table_client::{TableClient, TableEntity, TableEnum, filter};
use uuid::Uuid;

pub(crate) use self::keys::filters_on_keys;
pub(crate) use self::logic::filters_of_several_conditions;
pub(crate) use self::options::filters_on_optional_properties;
pub(crate) use self::texts::filters_on_text;
pub(crate) use self::values::filters_on_values;
use crate::client::target::Target;

/// A row with a property of each type.
#[derive(Debug, Clone, PartialEq, TableEntity)]
pub(crate) struct Row {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: Descending<u8>,
    text: String,
    yes: bool,
    small: i32,
    big: i64,
    real: f64,
    at: EdmDateTime,
    uid: Uuid,
    data: Vec<u8>,
    maybe: Option<i32>,
    status: Status,
    #[table(as_padded)]
    padded: u64,
    #[table(as_string)]
    total: u128,
    #[table(flatten = "Home_")]
    home: Address,
    #[table(series)]
    cpu: [i32; 2],
}

/// A choice that is stored as text.
#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
#[table(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not yet.
    Draft,
    /// Now.
    Live,
}

/// Part of a row.
#[derive(Debug, Clone, PartialEq, PropertyGroup)]
pub(crate) struct Address {
    city: String,
    zip: Option<i32>,
}

fn time(n: u8) -> EdmDateTime {
    format!("2009-04-{:02}T10:00:00.0010000Z", n + 1).parse().unwrap()
}

fn rows() -> Vec<Row> {
    const TEXTS: [&str; 6] = ["", "a", "it's", "Re: a", "Re:", "é\u{1f600}"];
    let row = |n: u8| {
        let i = i32::from(n);
        Row {
            p: format!("p{}", n % 2),
            r: Descending(n),
            text: TEXTS[usize::from(n) % 6].into(),
            yes: n.is_multiple_of(3),
            small: i - 6,
            big: i64::from(i - 6) << 33,
            real: f64::from(i) / 2.0,
            at: time(n),
            uid: Uuid::from_u128(u128::from(n)),
            data: vec![n; usize::from(n % 3)],
            maybe: n.is_multiple_of(4).then_some(i),
            status: if n < 5 { Status::Draft } else { Status::Live },
            padded: u64::from(n) * 7,
            total: u128::MAX - u128::from(n),
            home: Address { city: format!("c{}", n % 3), zip: (n > 8).then_some(i) },
            cpu: [i, -i],
        }
    };
    let mut rows: Vec<Row> = (0..12).map(row).collect();
    // By partition, then newest first.
    rows.sort_by(|a, b| a.p.cmp(&b.p).then(a.r.cmp(&b.r)));
    rows
}

/// A filter in its forms.
struct Case<E> {
    typed: Condition<E>,
    expression: Condition<E>,
    text: &'static str,
    holds: fn(&E) -> bool,
    /// The rule, a case of the wire, that Azurite does not follow with this filter.
    azurite: Option<&'static str>,
}

/// Each case is a closure, an expression, OData text, and the loop's condition; `azurite "…"` after
/// them is the rule that Azurite does not follow.
macro_rules! cases {
    ($entity:ty: $(|$b:ident| $typed:expr, $expression:expr, $text:literal, |$row:ident| $holds:expr $(, azurite $why:expr)?;)*) => {
        vec![$({
            type Columns = <$entity as azure_table_client::filter::HasColumns>::Columns<$entity>;
            let columns =
                || <$entity as azure_table_client::filter::HasColumns>::typed_columns::<$entity>("");
            let typed = |$b: Columns| -> azure_table_client::filter::Condition<$entity> { $typed };
            let typed = typed(columns());
            let expression = ($expression)(columns());
            #[allow(unused_mut, unused_assignments, reason = "Azurite finds the rows of most")]
            let mut azurite = None;
            $(azurite = Some($why);)?
            $crate::client::behaviors::filters::Case {
                typed,
                expression,
                text: $text,
                holds: |$row: &$entity| $holds,
                azurite,
            }
        }),*]
    };
}
use cases;

#[allow(
    clippy::float_cmp,
    clippy::nonminimal_bool,
    reason = "each filter is written as its text is"
)]
fn on_every_type() -> Vec<Case<Row>> {
    let (three, half, day, id) = (3, 0.5, time(4), Uuid::from_u128(4));
    let name = String::from("a");
    cases! { Row:
        |b| b.p.eq("p1"), filter!(Row, b => b.p == "p1"), "PartitionKey eq 'p1'", |r| r.p == "p1";
        |b| b.p.ne("p1"), filter!(Row, b => b.p != "p1"), "PartitionKey ne 'p1'", |r| r.p != "p1";
        |b| b.p.gt("p"), filter!(Row, b => b.p > "p"), "PartitionKey gt 'p'", |_r| true;
        |b| b.p.is_in(["p0", "x"]), filter!(Row, b => b.p in ["p0", "x"]), "PartitionKey eq 'p0' or PartitionKey eq 'x'", |r| r.p == "p0";
        |b| b.p.starts_with("p"), filter!(Row, b => b.p.starts_with("p")), "PartitionKey ge 'p' and PartitionKey lt 'q'", |_r| true;
        |b| b.p.between("p0", "p0z"), filter!(Row, b => b.p.between("p0", "p0z")), "PartitionKey ge 'p0' and PartitionKey le 'p0z'", |r| r.p == "p0";
        |b| b.r.eq(4), filter!(Row, b => b.r == 4), "RowKey eq '251'", |r| r.r.0 == 4;
        |b| b.r.newer_than(4), filter!(Row, b => b.r.newer_than(4)), "RowKey lt '251'", |r| r.r.0 > 4;
        |b| b.r.older_than(Descending(4)), filter!(Row, b => b.r.older_than(4)), "RowKey gt '251'", |r| r.r.0 < 4;
        |b| b.r.between(Descending(6), Descending(4)), filter!(Row, b => b.r >= Descending(6) && b.r <= Descending(4)), "RowKey ge '249' and RowKey le '251'", |r| (4..=6).contains(&r.r.0);
        |b| b.r.older_or_equal(6) & b.r.newer_or_equal(4), filter!(Row, b => b.r.older_or_equal(6) && b.r.newer_or_equal(4)), "RowKey ge '249' and RowKey le '251'", |r| (4..=6).contains(&r.r.0);
        |b| b.r.eq((4,)), filter!(Row, b => b.r == (4,)), "RowKey eq '251'", |r| r.r.0 == 4;
        |b| b.p.eq("p0") & b.r.is_in([2, 4]), filter!(Row, b => b.p == "p0" && b.r in [2, 4]), "PartitionKey eq 'p0' and (RowKey eq '253' or RowKey eq '251')", |r| r.r.0 == 2 || r.r.0 == 4;
        |b| b.text.eq("it's"), filter!(Row, b => b.text == "it's"), "text eq 'it''s'", |r| r.text == "it's";
        |b| b.text.eq(&name), filter!(Row, b => &name == b.text), "text eq 'a'", |r| r.text == "a";
        |b| b.text.eq(""), filter!(Row, b => b.text == ""), "text eq ''", |r| r.text.is_empty();
        |b| b.text.ne("a"), filter!(Row, b => b.text != "a"), "text ne 'a'", |r| r.text != "a";
        |b| !b.text.eq("a"), filter!(Row, b => !(b.text == "a")), "not (text eq 'a')", |r| r.text != "a";
        |b| b.text.starts_with("Re:"), filter!(Row, b => b.text.starts_with("Re:")), "text ge 'Re:' and text lt 'Re;'", |r| r.text.starts_with("Re:");
        |b| !b.text.starts_with("Re:"), filter!(Row, b => !b.text.starts_with("Re:")), "not (text ge 'Re:' and text lt 'Re;')", |r| !r.text.starts_with("Re:");
        |b| b.text.starts_with("é\u{1f600}"), filter!(Row, b => b.text.starts_with("é\u{1f600}")), "text ge 'é\u{1f600}' and text lt 'é\u{1f601}'", |r| r.text.starts_with('é');
        |b| b.text.is_in(["a", "it's"]), filter!(Row, b => b.text in ["a", "it's"]), "text eq 'a' or text eq 'it''s'", |r| r.text == "a" || r.text == "it's";
        |b| Condition::any([b.text.eq("a"), b.small.gt(3)]) & Condition::all([b.yes]), filter!(Row, b => Condition::any([b.text.eq("a"), b.small.gt(3)]) && Condition::all([b.yes])), "(text eq 'a' or small gt 3) and yes", |r| (r.text == "a" || r.small > 3) && r.yes;
        |b| b.text.is_in([""; 0]), filter!(Row, b => b.text in [""; 0]), "PartitionKey lt ''", |_r| false;
        |b| b.yes.eq(true), filter!(Row, b => b.yes == true), "yes eq true", |r| r.yes;
        |b| b.yes.is_true(), filter!(Row, b => b.yes.is_true()), "yes", |r| r.yes;
        |b| b.yes & b.small.lt(0), filter!(Row, b => b.yes && b.small < 0), "yes and small lt 0", |r| r.yes && r.small < 0;
        |b| !b.yes | b.small.lt(0), filter!(Row, b => !b.yes || b.small < 0), "not (yes) or small lt 0", |r| !r.yes || r.small < 0;
        |b| &b.yes & b.small.lt(0) | !&b.yes & b.small.ge(0), filter!(Row, b => b.yes && b.small < 0 || !b.yes && b.small >= 0), "yes and small lt 0 or not (yes) and small ge 0", |r| r.yes == (r.small < 0);
        |b| b.yes.into_condition(), filter!(Row, b => b.yes), "yes", |r| r.yes;
        |b| b.yes.ne(true), filter!(Row, b => b.yes != true), "yes ne true", |r| !r.yes;
        |b| b.small.eq(-3), filter!(Row, b => b.small == -3), "small eq -3", |r| r.small == -3;
        |b| b.small.lt(three), filter!(Row, b => b.small < three), "small lt 3", |r| r.small < 3;
        |b| b.small.le(three), filter!(Row, b => three >= b.small), "small le 3", |r| r.small <= 3;
        |b| b.small.gt(three), filter!(Row, b => three < b.small), "small gt 3", |r| r.small > 3;
        |b| b.small.ge(&three), filter!(Row, b => b.small >= &three), "small ge 3", |r| r.small >= 3;
        |b| b.small.between(-1, 1), filter!(Row, b => b.small.between(-1, 1)), "small ge -1 and small le 1", |r| (-1..=1).contains(&r.small);
        |b| b.small.is_in([1, 3, 50]), filter!(Row, b => b.small in [1, 3, 50]), "small eq 1 or small eq 3 or small eq 50", |r| r.small == 1 || r.small == 3;
        |b| b.big.eq(1 << 33), filter!(Row, b => b.big == 1 << 33), "big eq 8589934592L", |r| r.big == 1 << 33;
        |b| b.big.lt(0), filter!(Row, b => b.big < 0), "big lt 0L", |r| r.big < 0;
        |b| b.big.ge(i64::MIN), filter!(Row, b => b.big >= i64::MIN), "big ge -9223372036854775808L", |_r| true;
        |b| b.real.eq(2.0), filter!(Row, b => b.real == 2.0), "real eq 2.0", |r| r.real == 2.0;
        |b| b.real.gt(half), filter!(Row, b => b.real > half), "real gt 0.5", |r| r.real > 0.5;
        |b| b.real.le(1.5), filter!(Row, b => b.real <= 1.5), "real le 1.5", |r| r.real <= 1.5;
        |b| b.at.eq(day), filter!(Row, b => b.at == day), "at eq datetime'2009-04-05T10:00:00.0010000Z'", |r| r.at == time(4);
        |b| b.at.lt(day), filter!(Row, b => b.at < day), "at lt datetime'2009-04-05T10:00:00.0010000Z'", |r| r.at < time(4);
        |b| b.at.between(&day, time(6)), filter!(Row, b => b.at >= &day && b.at <= time(6)), "at ge datetime'2009-04-05T10:00:00.0010000Z' and at le datetime'2009-04-07T10:00:00.0010000Z'", |r| r.at >= time(4) && r.at <= time(6);
        |b| b.uid.eq(id), filter!(Row, b => b.uid == id), "uid eq guid'00000000-0000-0000-0000-000000000004'", |r| r.uid == Uuid::from_u128(4);
        |b| b.uid.ne(&id), filter!(Row, b => b.uid != &id), "uid ne guid'00000000-0000-0000-0000-000000000004'", |r| r.uid != Uuid::from_u128(4);
        |b| b.data.eq(vec![4]), filter!(Row, b => b.data == vec![4]), "data eq X'04'", |r| r.data == [4];
        |b| b.maybe.eq(4), filter!(Row, b => b.maybe == 4), "maybe eq 4", |r| r.maybe == Some(4);
        |b| b.maybe.ge(0), filter!(Row, b => b.maybe >= 0), "maybe ge 0", |r| r.maybe.is_some();
        |b| b.maybe.gt(0) & b.small.lt(0), filter!(Row, b => b.maybe > 0 && b.small < 0), "maybe gt 0 and small lt 0", |r| r.maybe > Some(0) && r.small < 0;
        |b| b.status.eq(Status::Live), filter!(Row, b => b.status == Status::Live), "status eq 'live'", |r| r.status == Status::Live;
        |b| b.status.is_in([Status::Draft, Status::Live]), filter!(Row, b => b.status in [Status::Draft, Status::Live]), "status eq 'draft' or status eq 'live'", |_r| true;
        |b| b.padded.lt(14), filter!(Row, b => b.padded < 14), "padded lt '00000000000000000014'", |r| r.padded < 14;
        |b| b.padded.between(7, 70), filter!(Row, b => b.padded.between(7, 70)), "padded ge '00000000000000000007' and padded le '00000000000000000070'", |r| (7..=70).contains(&r.padded);
        |b| b.total.eq(u128::MAX), filter!(Row, b => b.total == u128::MAX), "total eq '340282366920938463463374607431768211455'", |r| r.total == u128::MAX;
        |b| b.home.city.eq("c1"), filter!(Row, b => b.home.city == "c1"), "Home_city eq 'c1'", |r| r.home.city == "c1";
        |b| b.home.zip.gt(9), filter!(Row, b => b.home.zip > 9), "Home_zip gt 9", |r| r.home.zip > Some(9);
        |b| b.cpu.at(1).lt(-9), filter!(Row, b => b.cpu.at(1) < -9), "cpu01 lt -9", |r| r.cpu[1] < -9;
        |b| b.small.lt(0) | b.yes.is_true() & b.p.eq("p1"), filter!(Row, b => b.small < 0 || b.yes.is_true() && b.p == "p1"), "small lt 0 or (yes and PartitionKey eq 'p1')", |r| r.small < 0 || r.yes && r.p == "p1";
        |b| (b.small.lt(0) | b.yes.is_true()) & b.p.eq("p1"), filter!(Row, b => (b.small < 0 || b.yes.is_true()) && b.p == "p1"), "(small lt 0 or yes) and PartitionKey eq 'p1'", |r| (r.small < 0 || r.yes) && r.p == "p1";
        |b| !(b.small.lt(0) | b.yes.is_true()) & b.p.eq("p1"), filter!(Row, b => !(b.small < 0 || b.yes.is_true()) && b.p == "p1"), "not (small lt 0 or yes) and PartitionKey eq 'p1'", |r| !(r.small < 0 || r.yes) && r.p == "p1";
        |b| !(b.small.lt(0) & !b.yes.is_true()), filter!(Row, b => !(b.small < 0 && !b.yes.is_true())), "not (small lt 0 and not yes)", |r| !(r.small < 0 && !r.yes);
        |b| b.small.eq(1) | b.small.eq(2) & b.p.eq("p0") | b.small.eq(3), filter!(Row, b => b.small == 1 || b.small == 2 && b.p == "p0" || b.small == 3), "small eq 1 or (small eq 2 and PartitionKey eq 'p0') or small eq 3", |r| r.small == 1 || r.small == 2 && r.p == "p0" || r.small == 3;
        |b| b.small.ge(0) & (b.maybe.eq(8) | b.home.city.eq("c2") & (b.yes.ne(true) | b.p.eq("p1"))), filter!(Row, b => b.small >= 0 && (b.maybe == 8 || b.home.city == "c2" && (b.yes != true || b.p == "p1"))), "small ge 0 and (maybe eq 8 or (Home_city eq 'c2' and (yes ne true or PartitionKey eq 'p1')))", |r| r.small >= 0 && (r.maybe == Some(8) || r.home.city == "c2" && (!r.yes || r.p == "p1"));
    }
}

/// Queries with every filter in each of its forms, and names all that find other rows than the
/// loop.
async fn check<E>(target: &Target, of: &str, rows: &[E], cases: Vec<Case<E>>) -> TableClient<E>
where
    E: TableEntity + PartialEq + Debug + Send + 'static,
{
    let table = target.table::<E>().await;
    for row in rows.iter().rev() {
        table.insert(row).await.unwrap();
    }
    assert_eq!(table.query().await.unwrap(), rows, "the rows of {of} are in their order");
    println!("{} filters on {of}, each in three forms", cases.len());
    let mut failures = Vec::new();
    for Case { typed, expression, text, holds, azurite } in cases {
        let [typed, expression] = [typed, expression]
            .map(|form| form.into_filter().unwrap_or_else(|e| panic!("{text}: {e}")));
        let parsed = Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(typed, parsed, "{text}");
        assert_eq!(expression, parsed, "{text}");
        if azurite.is_some_and(|rule| target.differs_on_azurite(rule)) {
            continue;
        }
        let expected: Vec<usize> = (0..rows.len()).filter(|at| holds(&rows[*at])).collect();
        for (form, query) in [
            ("typed", table.query().matching(&typed)),
            ("expression", table.query().matching(&expression)),
            ("text", table.query().filter_text(text)),
        ] {
            match query.await {
                Ok(found) if found.iter().eq(expected.iter().map(|at| &rows[*at])) => {}
                Ok(found) => {
                    let place = |row| rows.iter().position(|other| other == row);
                    let found: Vec<_> = found.iter().map(place).collect();
                    failures.push(format!("{form} {text}: {found:?}, not {expected:?}"));
                }
                Err(error) => failures.push(format!("{form} {text}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "on {of}:\n{}", failures.join("\n"));
    table
}

/// Every filter in its three forms, and the rows that a loop would find.
pub(crate) async fn typed_filters(target: &Target) {
    let rows = rows();
    let table = check(target, "every type of property", &rows, on_every_type()).await;
    let all = table.query().filter(|b| b.small.ge(i32::MIN)).await.unwrap();
    assert_eq!(all, rows);
    // A value without a literal is an error before a request is sent.
    for error in [
        table.query().filter(|b| b.real.eq(f64::NAN)).await.unwrap_err(),
        table.query().filter(|b| b.maybe.eq(1) & b.real.lt(f64::INFINITY)).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), azure_table_client::ErrorKind::InvalidInput, "{error}");
    }
    table.delete_table().await.unwrap();
}
