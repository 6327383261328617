//! Combined conditions, and the values allowed next to columns in an expression.

use azure_table_client::filter;
use azure_table_client::filter::Condition;

use super::{Case, Row, RowColumns, Status, cases, check, rows, time};
use crate::client::target::Target;

/// A limit that filters name.
const LIMIT: i32 = 3;

/// A condition with a name.
fn is_early(b: &RowColumns<Row>) -> Condition<Row> {
    b.small.lt(-2)
}

fn twice(n: i32) -> i32 {
    2 * n
}

fn on_precedence() -> Vec<Case<Row>> {
    cases! { Row:
        |b| b.small.lt(-4) | b.small.gt(4) & b.yes.is_true() | b.status.eq(Status::Live) & b.p.eq("p0"), filter!(Row, b => b.small < -4 || b.small > 4 && b.yes.is_true() || b.status == Status::Live && b.p == "p0"), "small lt -4 or small gt 4 and yes or status eq 'live' and PartitionKey eq 'p0'", |r| r.small < -4 || r.small > 4 && r.yes || r.status == Status::Live && r.p == "p0";
        |b| (b.small.lt(0) | b.yes.is_true()) & (b.p.eq("p1") | b.big.gt(0)), filter!(Row, b => (b.small < 0 || b.yes.is_true()) && (b.p == "p1" || b.big > 0)), "(small lt 0 or yes) and (PartitionKey eq 'p1' or big gt 0L)", |r| (r.small < 0 || r.yes) && (r.p == "p1" || r.big > 0);
        |b| !b.yes.is_true() & b.small.lt(0), filter!(Row, b => !b.yes.is_true() && b.small < 0), "not yes and small lt 0", |r| !r.yes && r.small < 0;
        |b| !(b.yes.is_true() & b.small.lt(0)), filter!(Row, b => !(b.yes.is_true() && b.small < 0)), "not (yes and small lt 0)", |r| !(r.yes && r.small < 0);
        |b| !(b.yes.is_true() | b.small.lt(0)), filter!(Row, b => !(b.yes.is_true() || b.small < 0)), "not (yes or small lt 0)", |r| !(r.yes || r.small < 0);
        |b| !b.yes.is_true() | b.small.lt(0), filter!(Row, b => !b.yes.is_true() || b.small < 0), "not (yes) or small lt 0", |r| !r.yes || r.small < 0;
        |b| !(!b.yes.is_true()), filter!(Row, b => !(!b.yes.is_true())), "yes", |r| r.yes;
        |b| !(!(!(b.small.lt(0) | b.yes.is_true()))), filter!(Row, b => !(!(!(b.small < 0 || b.yes.is_true())))), "not (small lt 0 or yes)", |r| !(r.small < 0 || r.yes);
        |b| !!b.small.lt(0), filter!(Row, b => !!(b.small < 0)), "small lt 0", |r| r.small < 0;
        |b| b.small.lt(0), filter!(Row, b => ((b.small < 0))), "((small lt 0))", |r| r.small < 0;
        |b| b.small.ge(-4) & b.small.le(4) & !b.small.between(-1, 1), filter!(Row, b => (b.small >= -4 && b.small <= 4) && !b.small.between(-1, 1)), "small ge -4 and small le 4 and not (small ge -1 and small le 1)", |r| (2..=4).contains(&r.small.abs());
        |b| b.small.eq(-6) | b.small.eq(-5) | b.small.eq(5), filter!(Row, b => b.small == -6 || (b.small == -5 || b.small == 5)), "small eq -6 or small eq -5 or small eq 5", |r| r.small == -6 || r.small.abs() == 5;
        |b| !(b.small.lt(0) & !(b.yes.is_true() | !(b.p.eq("p1") & b.big.gt(-1 << 35)))), filter!(Row, b => !(b.small < 0 && !(b.yes.is_true() || !(b.p == "p1" && b.big > -1 << 35)))), "not (small lt 0 and not (yes or not (PartitionKey eq 'p1' and big gt -34359738368L)))", |r| !(r.small < 0 && !(r.yes || !(r.p == "p1" && r.big > -1 << 35)));
        |b| ((b.small.lt(0) | b.yes.is_true()) & b.p.eq("p0") | b.real.gt(4.0)) & b.home.city.ne("c0") | b.small.eq(0), filter!(Row, b => ((b.small < 0 || b.yes.is_true()) && b.p == "p0" || b.real > 4.0) && b.home.city != "c0" || b.small == 0), "((small lt 0 or yes) and PartitionKey eq 'p0' or real gt 4.0) and Home_city ne 'c0' or small eq 0", |r| ((r.small < 0 || r.yes) && r.p == "p0" || r.real > 4.0) && r.home.city != "c0" || r.small == 0;
        |b| b.small.ge(-5) & (b.small.le(-3) | b.small.ge(3) & (b.small.le(3) | b.yes.is_true() & (b.p.eq("p1") | b.p.eq("p0") & !b.status.eq(Status::Draft)))), filter!(Row, b => b.small >= -5 && (b.small <= -3 || b.small >= 3 && (b.small <= 3 || b.yes.is_true() && (b.p == "p1" || b.p == "p0" && !(b.status == Status::Draft))))), "small ge -5 and (small le -3 or small ge 3 and (small le 3 or yes and (PartitionKey eq 'p1' or PartitionKey eq 'p0' and not (status eq 'draft'))))", |r| r.small >= -5 && (r.small <= -3 || r.small >= 3 && (r.small <= 3 || r.yes));
        |b| !(!b.small.lt(0) & !b.yes.is_true()), filter!(Row, b => !(!(b.small < 0) && !b.yes.is_true())), "not (not (small lt 0) and not yes)", |r| r.small < 0 || r.yes;
    }
}

fn on_negations() -> Vec<Case<Row>> {
    let none: [i32; 0] = [];
    let day = time(4);
    cases! { Row:
        |b| !b.small.is_in([1, 3]), filter!(Row, b => !b.small in [1, 3]), "not (small eq 1 or small eq 3)", |r| r.small != 1 && r.small != 3;
        |b| !b.small.is_in([1]), filter!(Row, b => !(b.small in [1])), "not (small eq 1)", |r| r.small != 1;
        |b| !b.small.is_in(none), filter!(Row, b => !b.small in none), "not (PartitionKey lt '')", |_r| true;
        |b| b.small.is_in(none) | b.yes.is_true(), filter!(Row, b => b.small in none || b.yes.is_true()), "PartitionKey lt '' or yes", |r| r.yes;
        |b| b.small.is_in(none) & b.yes.is_true(), filter!(Row, b => b.small in none && b.yes.is_true()), "PartitionKey lt '' and yes", |_r| false;
        |b| !b.small.between(-4, 4) & !b.yes.is_true(), filter!(Row, b => !b.small.between(-4, 4) && !b.yes.is_true()), "not (small ge -4 and small le 4) and not (yes)", |r| r.small.abs() > 4 && !r.yes;
        |b| b.small.between(4, -4), filter!(Row, b => b.small.between(4, -4)), "small ge 4 and small le -4", |_r| false;
        |b| !b.r.newer_than(4), filter!(Row, b => !b.r.newer_than(4)), "not (RowKey lt '251')", |r| r.r.0 <= 4;
        |b| !(b.r.older_than(4) | b.r.eq(4)), filter!(Row, b => !(b.r.older_than(4) || b.r == 4)), "not (RowKey gt '251' or RowKey eq '251')", |r| r.r.0 > 4;
        |b| !b.p.starts_with("p1"), filter!(Row, b => !b.p.starts_with("p1")), "not (PartitionKey ge 'p1' and PartitionKey lt 'p2')", |r| r.p != "p1";
        |b| !b.at.lt(day) & !b.at.ge(time(8)), filter!(Row, b => !(b.at < day) && !(b.at >= time(8))), "not (at lt datetime'2009-04-05T10:00:00.001Z') and not (at ge datetime'2009-04-09T10:00:00.001Z')", |r| (time(4)..time(8)).contains(&r.at);
        |b| !b.padded.gt(35) & !b.total.eq(u128::MAX), filter!(Row, b => !(b.padded > 35) && !(b.total == u128::MAX)), "not (padded gt '00000000000000000035') and not (total eq '340282366920938463463374607431768211455')", |r| r.padded <= 35 && r.total != u128::MAX;
        |b| !b.maybe.ge(4) & !b.home.zip.ge(0), filter!(Row, b => !(b.maybe >= 4) && !(b.home.zip >= 0)), "not (maybe ge 4) and not (Home_zip ge 0)", |r| r.maybe.is_none_or(|v| v < 4) && r.home.zip.is_none();
    }
}

fn on_values_of_all_sorts() -> Vec<Case<Row>> {
    let (three, flag, text) = (3_i32, true, String::from("it's"));
    let list = vec![-1, 0, 1];
    let words = ["a", "Re:"].map(String::from);
    let (of_three, pair) = (&three, (1, 2));
    let (live, part) = (Status::Live, String::from("p1"));
    cases! { Row:
        |b| b.small.gt(LIMIT), filter!(Row, b => LIMIT < b.small), "3 lt small", |r| r.small > 3;
        |b| b.small.le(i32::MAX / 1_000_000_000), filter!(Row, b => i32::MAX / 1_000_000_000 >= b.small), "2 ge small", |r| r.small <= 2;
        |b| b.small.eq(-three), filter!(Row, b => -three == b.small), "-3 eq small", |r| r.small == -3;
        |b| b.small.ne(*of_three), filter!(Row, b => *of_three != b.small), "3 ne small", |r| r.small != 3;
        |b| b.small.lt(three * 2 - 4 / 2), filter!(Row, b => b.small < three * 2 - 4 / 2), "small lt 4", |r| r.small < 4;
        |b| b.small.eq(7 & 3), filter!(Row, b => b.small == 7 & 3), "small eq 3", |r| r.small == 3;
        |b| b.small.eq(1 | 4), filter!(Row, b => b.small == 1 | 4), "small eq 5", |r| r.small == 5;
        |b| b.small.ge(twice(three) - pair.1), filter!(Row, b => b.small >= twice(three) - pair.1), "small ge 4", |r| r.small >= 4;
        |b| b.small.lt(if flag { 0 } else { 5 }), filter!(Row, b => b.small < if flag { 0 } else { 5 }), "small lt 0", |r| r.small < 0;
        |b| b.p.eq(&&*part) & b.small.lt(0), filter!(Row, b => b.p == &&*part && b.small < 0), "PartitionKey eq 'p1' and small lt 0", |r| r.p == "p1" && r.small < 0;
        |b| b.yes.eq(flag && three == 3), filter!(Row, b => b.yes == (flag && three == 3)), "yes eq true", |r| r.yes;
        |b| b.big.gt(i64::from(three) << 33), filter!(Row, b => b.big > i64::from(three) << 33), "big gt 25769803776L", |r| r.big > 3 << 33;
        |b| b.real.le(f64::from(three) / 2.0), filter!(Row, b => f64::from(three) / 2.0 >= b.real), "1.5 ge real", |r| r.real <= 1.5;
        |b| b.text.eq(&text) | b.text.eq(&text[3..]), filter!(Row, b => b.text == &text || &text[3..] == b.text), "text eq 'it''s' or text eq 's'", |r| r.text == "it's";
        |b| b.text.ge(format!("{}:", "Re")), filter!(Row, b => b.text >= format!("{}:", "Re")), "text ge 'Re:'", |r| r.text.encode_utf16().ge("Re:".encode_utf16());
        |b| b.status.eq(live) & b.status.ne(Status::Draft), filter!(Row, b => b.status == live && Status::Draft != b.status), "status eq 'live' and 'draft' ne status", |r| r.status == Status::Live;
        |b| b.status.eq(&live), filter!(Row, b => b.status == match live { Status::Draft => &Status::Draft, Status::Live => &live }), "status eq 'live'", |r| r.status == Status::Live;
        |b| b.small.is_in(&list), filter!(Row, b => b.small in &list), "small eq -1 or small eq 0 or small eq 1", |r| r.small.abs() <= 1;
        |b| b.small.is_in(list.clone()), filter!(Row, b => b.small in list.clone()), "small eq -1 or small eq 0 or small eq 1", |r| r.small.abs() <= 1;
        |b| b.small.is_in(&list[1..]), filter!(Row, b => b.small in &list[1..]), "small eq 0 or small eq 1", |r| r.small == 0 || r.small == 1;
        |b| b.small.is_in(list.iter().map(|n| n * 4)), filter!(Row, b => b.small in list.iter().map(|n| n * 4)), "small eq -4 or small eq 0 or small eq 4", |r| [-4, 0, 4].contains(&r.small);
        |b| b.small.is_in(3..=5), filter!(Row, b => b.small in 3..=5), "small eq 3 or small eq 4 or small eq 5", |r| r.small >= 3;
        |b| b.small.is_in(Some(three)), filter!(Row, b => b.small in Some(three)), "small eq 3", |r| r.small == 3;
        |b| b.small.is_in(Vec::<i32>::new()), filter!(Row, b => b.small in Vec::<i32>::new()), "PartitionKey lt ''", |_r| false;
        |b| b.text.is_in(&words), filter!(Row, b => b.text in &words), "text eq 'a' or text eq 'Re:'", |r| r.text == "a" || r.text == "Re:";
        |b| b.text.is_in(words.iter().filter(|word| word.len() > 1)), filter!(Row, b => b.text in words.iter().filter(|word| word.len() > 1)), "text eq 'Re:'", |r| r.text == "Re:";
        |b| is_early(&b) | b.yes.is_true(), filter!(Row, b => is_early(&b) || b.yes.is_true()), "small lt -2 or yes", |r| r.small < -2 || r.yes;
        |b| !is_early(&b) & b.p.eq("p1"), filter!(Row, b => !is_early(&b) && b.p == "p1"), "not (small lt -2) and PartitionKey eq 'p1'", |r| r.small >= -2 && r.p == "p1";
        |b| b.cpu.at(usize::from(flag)).ge(-three) & b.cpu.at(0).ne(0), filter!(Row, b => b.cpu.at(usize::from(flag)) >= -three && b.cpu.at(0) != 0), "cpu01 ge -3 and cpu00 ne 0", |r| r.cpu[1] >= -3 && r.cpu[0] != 0;
    }
}

/// Conditions bind like in Rust, and values can be any Rust expression.
pub(crate) async fn filters_of_several_conditions(target: &Target) {
    let mut cases = on_precedence();
    cases.extend(on_negations());
    cases.extend(on_values_of_all_sorts());
    check(target, "several conditions", &rows(), cases).await.delete_table().await.unwrap();
}
