//! The filter of each form of condition.
#![allow(clippy::needless_pass_by_value, reason = "short calls")]

use azure_table_arrow::{ColumnType, Mixed, SchemaOptions, TableSchema, Timestamps};
use azure_table_client::edm::EdmType;
use datafusion::prelude::{Expr, col, ident, lit};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::InList;
use datafusion_expr::{Like, cast};

use super::{Pushed, translate};

fn schema() -> TableSchema {
    let columns = [
        ("Text", EdmType::String.into()),
        ("Count", EdmType::Int32.into()),
        ("Big", EdmType::Int64.into()),
        ("Ratio", EdmType::Double.into()),
        ("Flag", EdmType::Boolean.into()),
        ("Made", EdmType::DateTime.into()),
        ("Micros", ColumnType::DateTime(Timestamps::Micros)),
        ("Ticks", ColumnType::DateTime(Timestamps::Ticks)),
        ("Id", EdmType::Guid.into()),
        ("Data", EdmType::Binary.into()),
    ];
    let options = SchemaOptions::new().mixed(Mixed::rest()).with_timestamp(true).with_etag(true);
    TableSchema::declared::<_, ColumnType>(columns, &options).unwrap()
}

/// The text of the filter, and whether it is exact.
fn pushed(expr: &Expr) -> Option<(String, bool)> {
    let Pushed { filter, is_exact } = translate(expr, &schema())?;
    Some((filter.to_string(), is_exact))
}

#[track_caller]
fn exact(expr: Expr, text: &str) {
    assert_eq!(pushed(&expr), Some((text.to_owned(), true)), "{expr}");
}

#[track_caller]
fn inexact(expr: Expr, text: &str) {
    assert_eq!(pushed(&expr), Some((text.to_owned(), false)), "{expr}");
}

#[track_caller]
fn not(expr: Expr) {
    assert_eq!(pushed(&expr), None, "{expr}");
}

fn text() -> Expr {
    ident("Text")
}

fn count() -> Expr {
    ident("Count")
}

fn nanos(nanos: i64) -> Expr {
    lit(ScalarValue::TimestampNanosecond(Some(nanos), Some("UTC".into())))
}

#[test]
fn comparisons_of_keys_are_exact() {
    for (expr, text) in [
        (ident("PartitionKey").eq(lit("it's")), "PartitionKey eq 'it''s'"),
        (ident("PartitionKey").not_eq(lit("a")), "PartitionKey ne 'a'"),
        (ident("RowKey").lt(lit("a")), "RowKey lt 'a'"),
        (!ident("RowKey").gt(lit("a")), "RowKey le 'a'"),
        (lit("a").lt_eq(ident("RowKey")), "RowKey ge 'a'"),
        (ident("RowKey").between(lit("a"), lit("c")), "RowKey ge 'a' and RowKey le 'c'"),
        (ident("RowKey").like(lit("abc%")), "RowKey ge 'abc' and RowKey lt 'abd'"),
        (
            ident("RowKey").eq(lit("a")).or(!ident("RowKey").gt(lit("b"))),
            "RowKey eq 'a' or RowKey le 'b'",
        ),
    ] {
        exact(expr, text);
    }
    inexact(ident("RowKey").like(lit("ab_%")), "RowKey ge 'ab' and RowKey lt 'ac'");
    inexact(ident("RowKey").eq(lit("a")).or(text().gt(lit("b"))), "RowKey eq 'a' or Text gt 'b'");
}

/// They may match missing properties and values of other types.
#[test]
fn comparisons_of_properties_are_inexact() {
    inexact(text().eq(lit("it's")), "Text eq 'it''s'");
    inexact(text().gt(lit("a")), "Text gt 'a'");
    inexact(lit("a").lt_eq(text()), "Text ge 'a'");
    inexact(text().not_eq(lit("a")), "Text ne 'a'");
    inexact(text().lt(lit("a")), "Text lt 'a'");
    inexact(lit("a").gt_eq(text()), "Text le 'a'");
    inexact(count().eq(lit(3)), "Count eq 3");
    inexact(ident("Big").gt(lit(3_i64)), "Big gt 3L");
}

#[test]
fn some_types_are_never_compared() {
    not(ident("Ratio").eq(lit(1.0)));
    not(ident("Ratio").gt(lit(1.0)));
    not(ident("rest").eq(lit("a")));
    not(ident("odata.etag").eq(lit("a")));
    not(ident("Unknown").eq(lit("a")));
    not(count().is_null());
    not(count().is_not_null());
    not(count().eq(lit(3_i64)));
    not(count().eq(lit(ScalarValue::Int32(None))));
    not(count().eq(ident("Big")));
    not((count() + lit(1)).eq(lit(3)));
    not(lit(true));
}

#[test]
fn guids_and_binaries_are_compared_for_equality_only() {
    let id = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let literal = || lit(ScalarValue::FixedSizeBinary(16, Some(id.to_vec())));
    let filter = "Id eq guid'01020304-0506-0708-090a-0b0c0d0e0f10'";
    inexact(ident("Id").eq(literal()), filter);
    let as_binary = cast(ident("Id"), arrow::datatypes::DataType::Binary);
    inexact(as_binary.eq(lit(ScalarValue::Binary(Some(id.to_vec())))), filter);
    not(ident("Id").eq(lit(ScalarValue::Binary(Some(vec![1])))));
    let data = || lit(ScalarValue::Binary(Some(vec![10, 255])));
    inexact(ident("Data").eq(data()), "Data eq X'0aff'");
    for column in ["Id", "Data"] {
        let value = || if column == "Id" { literal() } else { data() };
        not(ident(column).not_eq(value()));
        not(ident(column).lt(value()));
        not(ident(column).gt_eq(value()));
        not(!ident(column).eq(value()));
    }
}

#[test]
fn booleans_are_conditions() {
    inexact(ident("Flag"), "Flag eq true");
    inexact(!ident("Flag"), "Flag eq false");
    inexact(ident("Flag").not_eq(lit(true)), "Flag eq false");
    inexact(ident("Flag").is_true(), "Flag eq true");
    inexact(ident("Flag").is_false(), "Flag eq false");
    not(ident("Flag").is_not_true());
    not(!ident("Flag").is_true());
    not(ident("Flag").gt(lit(false)));
    not(text());
}

#[test]
fn negations_move_into_comparisons() {
    let (a, b) = (|| text().gt(lit("a")), || text().lt(lit("b")));
    inexact(!(a().and(b())), "Text le 'a' or Text ge 'b'");
    inexact(!(a().or(b())), "Text le 'a' and Text ge 'b'");
    inexact(!!a(), "Text gt 'a'");
    inexact(a().or(!b()), "Text gt 'a' or Text ge 'b'");
    inexact(a().and(ident("Ratio").gt(lit(1.0))), "Text gt 'a'");
    not(a().or(ident("Ratio").gt(lit(1.0))));
    // Negated, a conjunction is a disjunction.
    not(!(a().and(ident("Ratio").gt(lit(1.0)))));
    inexact(!(a().or(ident("Ratio").gt(lit(1.0)))), "Text le 'a'");
}

#[test]
fn lists_and_ranges_are_chains() {
    let list =
        |values: Vec<Expr>, negated| Expr::InList(InList::new(Box::new(text()), values, negated));
    inexact(list(vec![lit("a"), lit("b")], false), "Text eq 'a' or Text eq 'b'");
    inexact(list(vec![lit("a"), lit("b")], true), "Text ne 'a' and Text ne 'b'");
    let null = || lit(ScalarValue::Utf8(None));
    inexact(list(vec![lit("a"), null()], false), "Text eq 'a'");
    not(list(vec![lit("a"), null()], true));
    not(list(vec![lit("a"), col("b")], false));
    inexact(
        list((0..13).map(|n| lit(format!("{n}"))).collect(), false),
        &(0..13).map(|n| format!("Text eq '{n}'")).collect::<Vec<_>>().join(" or "),
    );
    // The two bounds of a range make it 16 comparisons.
    not(list((0..14).map(|n| lit(format!("{n}"))).collect(), false));
    inexact(text().between(lit("a"), lit("c")), "Text ge 'a' and Text le 'c'");
    inexact(text().not_between(lit("a"), lit("c")), "Text lt 'a' or Text gt 'c'");
    inexact(!text().between(lit("a"), lit("c")), "Text lt 'a' or Text gt 'c'");
}

#[test]
fn a_list_of_partition_keys_may_be_long() {
    let keys = |count: u32| (0..count).map(|n| format!("p{n}")).collect::<Vec<_>>();
    let list =
        |count| ident("PartitionKey").in_list(keys(count).into_iter().map(lit).collect(), false);
    for count in [14, 16, 1000] {
        let keys: Vec<_> =
            keys(count).iter().map(|key| format!("PartitionKey eq '{key}'")).collect();
        exact(list(count), &keys.join(" or "));
    }
    not(list(1001));
    let rows = |count: u32| ident("RowKey").in_list((0..count).map(lit).collect(), false);
    not(rows(14));
    not(list(16).or(text().eq(lit("a"))));
}

#[test]
fn bounds_of_texts_are_below_the_surrogates() {
    for bound in ["\u{e000}", "a\u{ff5e}", "\u{1f600}b"] {
        not(text().gt(lit(bound)));
        not(text().lt_eq(lit(bound)));
        inexact(text().eq(lit(bound)), &format!("Text eq '{bound}'"));
    }
    inexact(text().gt(lit("é\u{d7ff}")), "Text gt 'é\u{d7ff}'");
}

#[test]
fn texts_that_a_request_cannot_carry_are_not_sent() {
    for bad in ["a\u{0}", "\n", "\u{85}", &"x".repeat(5000), &"é".repeat(700)] {
        not(text().eq(lit(bad)));
        not(text().gt(lit(bad)));
    }
    // The client would read the row with these keys.
    for bad in ["a/b", "a#", "?", "\\"] {
        not(ident("PartitionKey").eq(lit(bad)));
        exact(ident("PartitionKey").gt(lit(bad)), &format!("PartitionKey gt '{bad}'"));
        inexact(text().eq(lit(bad)), &format!("Text eq '{bad}'"));
    }
}

#[test]
fn patterns_are_ranges_of_their_prefix() {
    let like = |pattern: &str| text().like(lit(pattern));
    inexact(like("abc%"), "Text ge 'abc' and Text lt 'abd'");
    inexact(like("abc"), "Text eq 'abc'");
    inexact(like("ab_%"), "Text ge 'ab' and Text lt 'ac'");
    inexact(like("ab%c"), "Text ge 'ab' and Text lt 'ac'");
    // Their last characters have no successor below the surrogates, or one that cannot be sent.
    inexact(like("a\u{d7ff}%"), "Text ge 'a\u{d7ff}'");
    inexact(like("a~%"), "Text ge 'a~'");
    not(like("a\u{e000}%"));
    not(like("%a"));
    not(like("_a"));
    not(like(r"a\%%"));
    not(text().not_like(lit("abc%")));
    not(text().ilike(lit("abc%")));
    not(!like("abc%"));
    let escaped = Like::new(false, Box::new(text()), Box::new(lit("a!%%")), Some('!'), false);
    not(Expr::Like(escaped));
}

#[test]
fn times_are_rounded_to_ticks() {
    let made = || ident("Made");
    let zero = "datetime'1970-01-01T00:00:00.0000000Z'";
    let one = "datetime'1970-01-01T00:00:00.0000001Z'";
    inexact(made().eq(nanos(100)), &format!("Made eq {one}"));
    inexact(made().gt_eq(nanos(100)), &format!("Made ge {one}"));
    inexact(made().gt_eq(nanos(50)), &format!("Made ge {one}"));
    inexact(made().gt(nanos(50)), &format!("Made gt {zero}"));
    inexact(made().gt(nanos(199)), &format!("Made gt {one}"));
    inexact(made().lt(nanos(50)), &format!("Made lt {one}"));
    inexact(made().lt_eq(nanos(50)), &format!("Made le {zero}"));
    not(made().eq(nanos(50)));
    not(made().not_eq(nanos(50)));
    not(made().gt(lit(ScalarValue::TimestampNanosecond(Some(0), None))));
    exact(ident("Timestamp").lt(nanos(0)), &format!("Timestamp lt {zero}"));

    let micros = |micros| lit(ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into())));
    let of_micros = || ident("Micros");
    inexact(of_micros().gt_eq(micros(0)), &format!("Micros ge {zero}"));
    let last = "datetime'1970-01-01T00:00:00.0000009Z'";
    inexact(of_micros().gt(micros(0)), &format!("Micros gt {last}"));
    inexact(of_micros().eq(micros(0)), &format!("Micros ge {zero} and Micros le {last}"));
    inexact(of_micros().lt(micros(0)), &format!("Micros lt {zero}"));
    not(of_micros().not_eq(micros(0)));
    // Years 1 and 60000.
    not(of_micros().gt(micros(-62_135_596_800_000_000)));
    not(of_micros().lt(micros(1_831_000_000_000_000_000)));
    not(of_micros().lt(micros(i64::MAX)));

    inexact(ident("Ticks").gt(lit(621_355_968_000_000_001_i64)), &format!("Ticks gt {one}"));
    not(ident("Ticks").gt(lit(5_i64)));
}

#[test]
fn deep_conditions_are_left_to_datafusion() {
    let deep = (0..500).fold(text().gt(lit("a")), |all, _| !all.and(text().gt(lit("b"))));
    not(deep);
}
