//! Filters and projections.

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use uuid::Uuid;

use crate::client::target::Target;

async fn rows(table: &TableClient<DynamicEntity>, filter: &str) -> Vec<String> {
    let found = table.query().filter_text(filter).await;
    let found = found.unwrap_or_else(|error| panic!("{filter}: {error} {error:?}"));
    found.into_iter().map(|row| row.key().row_key.clone()).collect()
}

/// Checks a list of filters and the RowKeys that they must find.
async fn check(table: &TableClient<DynamicEntity>, cases: &[(&str, &[&str])]) {
    for (filter, expected) in cases {
        assert_eq!(rows(table, filter).await, *expected, "{filter}");
    }
}

async fn insert<V: Into<EdmValue>>(
    table: &TableClient<DynamicEntity>,
    row_key: &str,
    values: impl IntoIterator<Item = (&'static str, V)>,
) {
    let mut entity = DynamicEntity::new("p", row_key);
    for (name, value) in values {
        entity.set(name, value);
    }
    table.insert(&entity).await.unwrap();
}

/// Only the requested partition.
pub(crate) async fn by_partition(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    for partition_key in ["a", "b", "c"] {
        for row_key in ["1", "2"] {
            table.insert(&DynamicEntity::new(partition_key, row_key)).await.unwrap();
        }
    }
    let found = table.query().filter_text("PartitionKey eq 'b'").await.unwrap();
    assert!(found.iter().all(|row| row.key().partition_key == "b"));
    assert_eq!(found.len(), 2);
    table.delete_table().await.unwrap();
}

/// Six operators over each type.
pub(crate) async fn comparisons_of_every_type(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let time = |text: &str| text.parse::<EdmDateTime>().unwrap();
    let rows: [(&str, Vec<(&str, EdmValue)>); 2] = [
        (
            "1",
            vec![
                ("S", "abc".into()),
                ("B", false.into()),
                ("I", (-1).into()),
                ("L", (i64::from(i32::MAX) + 1).into()),
                ("D", 1.5.into()),
                ("T", time("2009-04-14T00:00:00Z").into()),
                ("G", Uuid::from_u128(1).into()),
                ("X", vec![0x0a_u8, 0xff].into()),
            ],
        ),
        (
            "2",
            vec![
                ("S", "abd".into()),
                ("B", true.into()),
                ("I", 7.into()),
                ("L", i64::MAX.into()),
                ("D", 1e300.into()),
                ("T", time("2009-04-14T00:00:00.0000001Z").into()),
                ("G", Uuid::from_u128(2).into()),
                ("X", vec![0x0b_u8].into()),
            ],
        ),
    ];
    for (row_key, values) in rows {
        insert(&table, row_key, values).await;
    }
    check(
        &table,
        &[
            ("S eq 'abc'", &["1"]),
            ("S ne 'abc'", &["2"]),
            ("S gt 'abc'", &["2"]),
            ("S ge 'abc'", &["1", "2"]),
            ("S lt 'abd'", &["1"]),
            ("S le 'abb'", &[]),
            ("B eq true", &["2"]),
            ("B ne true", &["1"]),
            ("I eq -1", &["1"]),
            ("I gt -1", &["2"]),
            ("I le 7", &["1", "2"]),
            ("L eq 9223372036854775807L", &["2"]),
            ("L lt 9223372036854775807L", &["1"]),
            ("D ge 1.5", &["1", "2"]),
            ("D gt 1.5", &["2"]),
            ("X eq X'0aff'", &["1"]),
            ("X eq binary'0b'", &["2"]),
            ("T gt datetime'2009-04-13T23:59:59.9999999Z'", &["1", "2"]),
            ("T le datetime'2009-04-13T23:59:59.9999999Z'", &[]),
            ("G eq guid'00000000-0000-0000-0000-000000000002'", &["2"]),
            ("G ne guid'00000000-0000-0000-0000-000000000002'", &["1"]),
        ],
    )
    .await;
    if !target.differs_on_azurite("literals/double-with-an-exponent") {
        check(&table, &[("D eq 1e300", &["2"]), ("D lt 1.0e300", &["1"])]).await;
    }
    if !target.differs_on_azurite("literals/datetime-ticks") {
        check(
            &table,
            &[
                ("T eq datetime'2009-04-14T00:00:00.0000000Z'", &["1"]),
                ("T gt datetime'2009-04-14T00:00:00.0000000Z'", &["2"]),
                ("T le datetime'2009-04-14T00:00:00.0000000Z'", &["1"]),
            ],
        )
        .await;
    }
    table.delete_table().await.unwrap();
}

/// Precedence: not, then and, then or.
pub(crate) async fn and_or_not_and_parentheses(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    for (row_key, a, b) in [("1", 1, 1), ("2", 1, 2), ("3", 2, 1), ("4", 2, 2)] {
        insert(&table, row_key, [("A", a), ("B", b)]).await;
    }
    check(
        &table,
        &[
            ("A eq 1 and B eq 1", &["1"]),
            ("A eq 1 or B eq 1", &["1", "2", "3"]),
            ("A eq 1 or A eq 2 and B eq 2", &["1", "2", "4"]),
            ("(A eq 1 or A eq 2) and B eq 2", &["2", "4"]),
            ("not (A eq 1)", &["3", "4"]),
            ("not (A eq 1) and B eq 1", &["3"]),
            ("not (A eq 1 or B eq 1)", &["4"]),
            ("not (not (A eq 1))", &["1", "2"]),
            ("((A eq 1))and((B eq 2))", &["2"]),
        ],
    )
    .await;
    table.delete_table().await.unwrap();
}

/// `3 le Rating` is `Rating ge 3`.
pub(crate) async fn literal_on_the_left(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "1", [("Rating", 2)]).await;
    insert(&table, "2", [("Rating", 3)]).await;
    insert(&table, "3", [("Rating", 4)]).await;
    check(
        &table,
        &[("3 le Rating", &["2", "3"]), ("3 lt Rating", &["3"]), ("2 eq Rating", &["1"])],
    )
    .await;
    table.delete_table().await.unwrap();
}

/// A property with another type than the literal does not equal it (the paper, 8.4), and is less than it. An Int64 literal
/// is widened to a Double.
pub(crate) async fn another_type_never_equals(target: &Target) {
    if target.skips_on_azurite(
        "it compares values as JavaScript does, whatever their types \
         (https://github.com/Azure/Azurite/issues/2342)",
    ) {
        return;
    }
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "int32", [("Rating", 3)]).await;
    insert(&table, "int64", [("Rating", 3_i64)]).await;
    insert(&table, "double", [("Rating", 3.0)]).await;
    insert(&table, "text", [("Rating", "3")]).await;
    check(
        &table,
        &[("Rating gt 1.2", &["double"]), ("Rating eq '3'", &["text"]), ("Rating eq true", &[])],
    )
    .await;
    let (widened, less): (&[_], &[_]) = if target.orders_types() {
        (&["double", "int64"], &["double", "int32", "int64"])
    } else {
        (&["int64"], &[])
    };
    check(&table, &[("Rating eq 3L", widened), ("Rating lt ''", less)]).await;
    table.delete_table().await.unwrap();
}

/// A row without the property matches no comparison with it.
pub(crate) async fn a_missing_property_never_matches(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "with", [("A", 1)]).await;
    insert(&table, "without", [("B", 1)]).await;
    check(&table, &[("A eq 1", &["with"]), ("A ge 0", &["with"]), ("A gt 1", &[])]).await;
    table.delete_table().await.unwrap();
}

/// Only the selected columns are transferred, and the keys.
pub(crate) async fn select_some_properties(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "1", [("A", 1), ("B", 2), ("C", 3)]).await;
    let found = table.query().select_names(["C", "A"]).await.unwrap();
    let mut names: Vec<&str> = found[0].properties().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "C"]);
    assert_eq!(found[0].key().row_key, "1");
    table.delete_table().await.unwrap();
}

#[derive(Debug, PartialEq, TableEntity)]
struct Projection {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    #[table(rename = "A")]
    a: Option<i32>,
    #[table(rename = "Other", default)]
    other: i64,
}

/// A row that lacks a selected property still has the others.
pub(crate) async fn select_a_missing_property(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "1", [("A", 1)]).await;
    insert(&table, "2", [("B", 1)]).await;
    let found =
        table.with_entity::<Projection>().query().select_names(["A", "Other"]).await.unwrap();
    let row = |row: &str, a| Projection { partition: "p".into(), row: row.into(), a, other: 0 };
    assert_eq!(found, [row("1", Some(1)), row("2", None)]);
    table.delete_table().await.unwrap();
}

/// Ranges over keys, including the prefix idiom of the paper (8.2).
pub(crate) async fn by_key_range(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    for partition_key in ["PDC2008", "PDC2009", "PDD", "PD"] {
        table.insert(&DynamicEntity::new(partition_key, "r")).await.unwrap();
    }
    let query = table.query().filter_text("PartitionKey ge 'PDC' and PartitionKey lt 'PDD'");
    let found = query.await.unwrap();
    let keys: Vec<&str> = found.iter().map(|row| row.key().partition_key.as_str()).collect();
    assert_eq!(keys, ["PDC2008", "PDC2009"]);
    for row_key in ["a", "b", "c", "d"] {
        table.insert(&DynamicEntity::new("x", row_key)).await.unwrap();
    }
    check(
        &table,
        &[
            ("PartitionKey eq 'x' and RowKey gt 'a' and RowKey le 'c'", &["b", "c"]),
            ("PartitionKey eq 'x' and (RowKey eq 'a' or RowKey eq 'd')", &["a", "d"]),
            ("PartitionKey eq 'x' and RowKey gt 'd'", &[]),
            ("RowKey eq 'a' or PartitionKey eq 'PD'", &["r", "a"]),
        ],
    )
    .await;
    table.delete_table().await.unwrap();
}

/// Filters on the Timestamp.
pub(crate) async fn on_timestamp(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "1", [("A", 1)]).await;
    let past = "Timestamp gt datetime'2001-01-01T00:00:00.0000000Z'";
    let future = "Timestamp gt datetime'2999-01-01T00:00:00.0000000Z'";
    check(&table, &[(past, &["1"]), (future, &[])]).await;
    table.delete_table().await.unwrap();
}

/// Quotes in literals are doubled, and syntax inside quotes is text.
pub(crate) async fn quotes_in_literals(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "1", [("Text", "it's")]).await;
    insert(&table, "2", [("Text", "' or A eq '")]).await;
    insert(&table, "3", [("Text", "a and (b)")]).await;
    insert(&table, "4", [("Text", "a&b=c+d%20#")]).await;
    check(
        &table,
        &[
            ("Text eq 'it''s'", &["1"]),
            ("Text eq ''' or A eq '''", &["2"]),
            ("Text eq 'a and (b)'", &["3"]),
            ("Text eq 'a&b=c+d%20#'", &["4"]),
        ],
    )
    .await;
    table.delete_table().await.unwrap();
}

/// No result is an empty list.
pub(crate) async fn nothing_found(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    assert!(table.query().await.unwrap().is_empty());
    assert!(table.query().filter_text("PartitionKey eq 'none'").await.unwrap().is_empty());
    table.delete_table().await.unwrap();
}

/// Spaces between tokens are ignored, those inside literals are not (peer pitfall 8).
pub(crate) async fn several_spaces(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    insert(&table, "1", [("Text", "a  b")]).await;
    check(
        &table,
        &[
            ("  Text  eq   'a  b'  ", &["1"]),
            ("Text eq 'a b'", &[]),
            ("( Text eq 'a  b' )  and  ( RowKey  eq '1' )", &["1"]),
        ],
    )
    .await;
    table.delete_table().await.unwrap();
}
