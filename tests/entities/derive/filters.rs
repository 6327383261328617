//! Conditions of derived columns: combined filters, stored forms, Boolean columns and composite keys.

use std::time::Duration;

use azure_table_client::context::TableContext;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::filter::{Condition, FilterErrorKind, PlanKind};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient, TableEntity, TableEnum, filter};
use chrono::TimeDelta;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Docs", row_key(day, id))]
struct Doc {
    #[table(partition_key)]
    tenant: String,
    day: u8,
    id: u32,
    number: u32,
    title: String,
    live: bool,
}

async fn docs() -> TableClient<Doc> {
    docs_of(&MockTableService::new()).await
}

async fn docs_of(mock: &MockTableService) -> TableClient<Doc> {
    let docs = mock.client().table::<Doc>();
    docs.create().await.unwrap();
    for tenant in ["acme", "other"] {
        for number in 0..6 {
            let day = u8::try_from(number / 2).unwrap();
            let title = if number % 2 == 0 { "x" } else { "y" };
            let (tenant, title) = (tenant.to_owned(), title.to_owned());
            let doc = Doc { tenant, day, id: number, number, title, live: number % 3 == 0 };
            docs.insert(&doc).await.unwrap();
        }
    }
    docs
}

fn numbers(found: &[Doc]) -> Vec<(&str, u32)> {
    found.iter().map(|doc| (doc.tenant.as_str(), doc.number)).collect()
}

#[tokio::test]
async fn a_second_filter_does_not_replace_the_first() {
    let docs = docs().await;
    let scoped = || docs.query().filter(|d| d.tenant.eq("acme"));
    let expected = [("acme", 0), ("acme", 2), ("acme", 4)];
    let x = Doc::columns().title.eq("x");
    let text = "title eq 'x' or PartitionKey eq 'nobody'";
    assert_eq!(numbers(&scoped().filter(|d| d.title.eq("x")).await.unwrap()), expected);
    assert_eq!(numbers(&scoped().filter_opt(Some(x.clone())).await.unwrap()), expected);
    assert_eq!(numbers(&scoped().filter_text(text).await.unwrap()), expected);
    assert_eq!(numbers(&docs.query().filter_text(text).partition("acme").await.unwrap()), expected);
    assert_eq!(numbers(&scoped().matching(&x.into_filter().unwrap()).await.unwrap()), expected);
    assert_eq!(scoped().filter_opt(None).await.unwrap().len(), 6);
    assert_eq!(scoped().partition("other").await.unwrap().len(), 0);
    // A text is a filter by itself, and cannot close a parenthesis of another one.
    let error = scoped().filter_text("title eq 'x') or (title eq 'y'").await.unwrap_err();
    assert!(error.to_string().contains("position 12"), "{error}");
    let first = scoped().filter_text("title =").filter_text("title eq");
    let error = first.filter(|d| d.live).plan().unwrap_err();
    assert!(error.to_string().contains("eq, ne, gt, ge, lt or le at position 6"), "{error}");
    // The selection and the pages keep all filters, too.
    let titles = scoped().select(|d| d.number).filter(|d| d.live).page_size(1).await.unwrap();
    assert_eq!(titles, [0, 3]);
}

#[tokio::test]
async fn a_query_of_a_context_keeps_all_filters() {
    let mock = MockTableService::new();
    docs_of(&mock).await;
    let mut context = TableContext::new(&mock.client());
    let found = context
        .load(
            context
                .service()
                .table::<Doc>()
                .query()
                .filter(|d| d.tenant.eq("acme"))
                .filter_text("title eq 'x' or title eq 'z'")
                .filter_opt(Some(Doc::columns().live.is_true())),
        )
        .await
        .unwrap();
    assert_eq!(numbers(&found), [("acme", 0)]);
}

#[tokio::test]
async fn a_cloned_query_is_the_same_query() {
    let docs = docs().await;
    let query = docs.query().partition("acme").filter(|d| !d.live).take(3).page_size(2);
    let clone = query.clone().filter(|d| d.number.gt(4));
    assert_eq!(query.clone().await.unwrap().into_vec(), query.await.unwrap().into_vec());
    assert_eq!(numbers(&clone.await.unwrap()), [("acme", 5)]);
}

/// Reads a partition of any entity with columns.
async fn of_partition<T>(table: &TableClient<T>, partition_key: &str) -> Vec<T>
where
    T: TableEntity + Send + 'static,
{
    let query = table.query().partition(partition_key);
    assert_eq!(query.plan().unwrap().kind, PlanKind::Partition);
    query.await.unwrap().into_vec()
}

#[tokio::test]
async fn generic_code_reads_a_partition() {
    let mock = MockTableService::new();
    let docs = docs_of(&mock).await;
    assert_eq!(of_partition(&docs, &Doc::partition("acme").unwrap()).await.len(), 6);
    let rows = mock.client().table_named::<DynamicEntity>("Docs");
    assert_eq!(of_partition(&rows, "other").await.len(), 6);
}

#[tokio::test]
async fn conditions_are_built_from_lists() {
    let docs = docs().await;
    let columns = Doc::columns();
    let titles = ["x", "z"].map(|title| columns.title.eq(title));
    let any = Condition::any(titles) & columns.tenant.eq("acme");
    assert_eq!(docs.query().filter(|_| any).await.unwrap().len(), 3);
    let none: [Condition<Doc>; 0] = [];
    assert_eq!(docs.query().filter(|_| Condition::all(none.clone())).await.unwrap().len(), 12);
    assert_eq!(docs.query().filter(|_| Condition::any(none)).await.unwrap().len(), 0);
    assert_eq!(docs.query().filter(|d| d.live).await.unwrap().len(), 4);
    assert_eq!(docs.query().filter(|d| d.live & d.number.ge(3)).await.unwrap().len(), 2);
    assert_eq!(docs.query().filter(filter!(Doc, d => !d.live)).await.unwrap().len(), 8);
    let either = filter!(Doc, d => d.live && d.number == 0 || !d.live && d.number == 1);
    assert_eq!(docs.query().filter(either).await.unwrap().len(), 4);
}

#[tokio::test]
async fn leading_parts_bound_a_composite_key() {
    let docs = docs().await;
    let of = |condition: Condition<Doc>| docs.query().partition("acme").filter(|_| condition);
    let key = Doc::columns().row_key;
    for (condition, expected) in [
        (key.ge((1,)), vec![2, 3, 4, 5]),
        (key.gt((1,)), vec![4, 5]),
        (key.le((1,)), vec![0, 1, 2, 3]),
        (key.lt((1,)), vec![0, 1]),
        (key.between((1,), (1,)), vec![2, 3]),
        (key.between((0, 1), (1,)), vec![1, 2, 3]),
        (key.eq((1, 3)), vec![3]),
    ] {
        let query = of(condition);
        let kind = query.plan().unwrap().kind;
        assert!(matches!(kind, PlanKind::RowRange | PlanKind::Point), "{kind}");
        let found: Vec<_> = query.await.unwrap().iter().map(|doc| doc.number).collect();
        assert_eq!(found, expected);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
enum State {
    #[table(alias = "opened", alias = "o")]
    Open,
    Closed,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Forms", accept = "lenient")]
struct Form {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(alias = "old")]
    big: Option<i64>,
    real: Option<f64>,
    at: Option<EdmDateTime>,
    id: Option<Uuid>,
    data: Option<Vec<u8>>,
    span: Option<Duration>,
    delta: Option<TimeDelta>,
    state: Option<State>,
    #[table(alias = "was_live")]
    live: Option<bool>,
    #[table(alias = "second", alias = "third")]
    name: Option<String>,
    #[table(series)]
    cpu: Vec<i64>,
}

/// A Guid whose text has letters, which can be in upper case.
const LETTERS: Uuid = Uuid::from_u128(0xabcd_ef00);

/// Rows as several programs wrote them, and the table that reads them.
async fn forms() -> (TableClient<Form>, Vec<Form>) {
    let mock = MockTableService::new();
    let rows = mock.client().table_named::<DynamicEntity>("Forms");
    rows.create().await.unwrap();
    let date = |text: &str| EdmValue::from(text.parse::<EdmDateTime>().unwrap());
    let id = Uuid::from_u128(7);
    let stored: Vec<Vec<(&str, EdmValue)>> = vec![
        vec![],
        vec![("big", 5.into())],
        vec![("big", 5_i64.into())],
        vec![("big", 5.0.into())],
        vec![("big", (-5).into())],
        vec![("big", (1_i64 << 40).into())],
        vec![("big", 1_099_511_627_776.0.into())],
        vec![("old", 5.into())],
        vec![("old", 6_i64.into())],
        vec![("big", 6.into()), ("old", 5_i64.into())],
        vec![("big", 5_i64.into()), ("old", 6.into())],
        vec![("real", 5.into())],
        vec![("real", 5.5.into())],
        vec![("real", (-3).into())],
        vec![("at", date("2024-05-01T12:00:00.5Z"))],
        vec![("at", "2024-05-01T12:00:00.500Z".into())],
        vec![("at", "2024-05-01T12:00:00.500000042Z".into())],
        vec![("at", "2024-05-01 12:00:00.5 +00:00:00".into())],
        vec![("at", "2024-05-01 12:00:00.500000099 +00:00:00".into())],
        vec![("at", "2024-05-01T12:00:00Z".into())],
        vec![("at", "2024-05-01 12:00:00.0 +00:00:00".into())],
        vec![("at", "2024-05-01T12:00:00.123456789Z".into())],
        vec![("at", date("2024-05-01T12:00:00.1234567Z"))],
        vec![("id", id.into())],
        vec![("id", id.to_string().into())],
        vec![("id", Uuid::from_u128(8).to_string().into())],
        vec![("id", id.simple().to_string().into())],
        vec![("id", LETTERS.to_string().into())],
        vec![("id", LETTERS.to_string().to_uppercase().into())],
        vec![("id", LETTERS.braced().to_string().to_uppercase().into())],
        vec![("id", LETTERS.into())],
        vec![("data", vec![1_u8, 2].into())],
        vec![("data", "AQI=".into())],
        vec![("data", "AQ==".into())],
        vec![("span", "PT1M30S".into())],
        vec![("span", "00:01:30".into())],
        vec![("span", "P1DT0.5S".into())],
        vec![("span", "1.00:00:00.5000000".into())],
        vec![("span", "PT0.00000005S".into())],
        vec![("delta", "-PT1S".into())],
        vec![("delta", "-00:00:01".into())],
        vec![("delta", "00:00:01".into())],
        vec![("state", "Open".into())],
        vec![("state", "opened".into())],
        vec![("state", "o".into())],
        vec![("state", "Closed".into())],
        vec![("live", true.into())],
        vec![("live", false.into())],
        vec![("was_live", true.into())],
        vec![("was_live", false.into())],
        vec![("live", false.into()), ("was_live", true.into())],
        vec![("live", true.into()), ("was_live", false.into())],
        vec![("name", "ab".into())],
        vec![("second", "ab".into())],
        vec![("third", "ab".into())],
        vec![("name", "x".into()), ("second", "ab".into())],
        vec![("second", "x".into()), ("third", "ab".into())],
        vec![("name", "ab".into()), ("third", "x".into())],
        vec![("cpu00", 5.into()), ("cpu01", 5_i64.into())],
        vec![("cpu00", 5_i64.into()), ("cpu01", 5.into())],
    ];
    for (number, properties) in stored.into_iter().enumerate() {
        let mut row = DynamicEntity::new("p", format!("{number:02}"));
        for (name, value) in properties {
            row.set(name, value);
        }
        rows.insert(&row).await.unwrap();
    }
    let table = mock.client().table::<Form>();
    let all = table.query().await.unwrap().into_vec();
    (table, all)
}

/// Compares a column with values by the service and by Rust: each operator has the same name in both.
macro_rules! assert_same_rows {
    ($table:ident, $all:ident: $field:ident, [$($op:ident),*], $values:expr) => {
        for value in $values {
            $(
                let condition = Form::columns().$field.$op(value.clone());
                let text = condition.clone().into_filter().unwrap().to_string();
                let holds = |row: &&Form| row.$field.as_ref().is_some_and(|own| own.$op(&value));
                let expected: Vec<_> = $all.iter().filter(holds).map(|row| &row.r).collect();
                let found = $table.query().filter(|_| condition).await.unwrap();
                assert_eq!(found.iter().map(|row| &row.r).collect::<Vec<_>>(), expected, "{text}");
            )*
        }
    };
}

#[tokio::test]
async fn filters_find_each_stored_form_that_a_field_reads() {
    let (table, all) = forms().await;
    let big = [i64::MIN, -5, 0, 5, 6, 1 << 31, 1 << 40, i64::MAX];
    assert_same_rows!(table, all: big, [eq, ne, lt, le, gt, ge], big);
    assert_same_rows!(table, all: real, [eq, ne, lt, le, gt, ge], [-3.5, -3.0, 5.0, 5.2, 5.5, 1e12]);
    let times = ["12:00:00Z", "12:00:00.5Z", "12:00:00.1234567Z", "13:00:00Z"];
    let times = times.map(|time| format!("2024-05-01T{time}").parse::<EdmDateTime>().unwrap());
    assert_same_rows!(table, all: at, [eq], times);
    let ids = [Uuid::from_u128(7), Uuid::from_u128(8), Uuid::from_u128(9), LETTERS];
    assert_same_rows!(table, all: id, [eq, ne], ids);
    let spans = [(90, 0), (86_400, 500_000_000), (0, 50), (0, 0)];
    let spans = spans.map(|(seconds, nanos)| Duration::new(seconds, nanos));
    assert_same_rows!(table, all: span, [eq, ne], spans);
    assert_same_rows!(table, all: delta, [eq, ne], [-1, 0, 1].map(TimeDelta::seconds));
    assert_same_rows!(table, all: data, [eq, ne], [vec![1, 2], vec![1], vec![]]);
    assert_same_rows!(table, all: state, [eq, ne], [State::Open, State::Closed]);
    assert_same_rows!(table, all: live, [eq, ne], [true, false]);
    let names = ["", "ab", "b", "x"].map(str::to_owned);
    assert_same_rows!(table, all: name, [eq, ne, lt, le, gt, ge], names);

    let count = |condition| {
        let query = table.query().filter(|_| condition);
        async move { query.await.unwrap().len() }
    };
    let columns = Form::columns;
    let of = |holds: fn(&Form) -> bool| all.iter().filter(|row| holds(row)).count();
    assert_eq!(count(columns().live.is_true()).await, of(|row| row.live == Some(true)));
    assert_eq!(count(!columns().live).await, of(|row| row.live != Some(true)));
    let starts_with_a = |row: &Form| row.name.as_ref().is_some_and(|name| name.starts_with('a'));
    assert_eq!(count(columns().name.starts_with("a")).await, of(starts_with_a));
    assert_eq!(
        count(columns().big.is_in([5, -5])).await,
        of(|row| matches!(row.big, Some(5 | -5)))
    );
    assert_eq!(count(columns().cpu.at(0).eq(5) & columns().cpu.at(1).eq(5)).await, 2);
    let cpu = table.query().filter(|f| f.cpu.at(0).eq(5)).select(|f| f.cpu.at(0)).await.unwrap();
    assert_eq!(cpu, [Some(5), Some(5)]);
}

#[tokio::test]
async fn times_that_are_stored_as_text_have_no_order() {
    let (table, _) = forms().await;
    let time: EdmDateTime = "2024-05-01T12:00:00Z".parse().unwrap();
    let error = Form::columns().at.lt(time).into_filter().unwrap_err();
    assert_eq!(error.kind(), FilterErrorKind::NoOrder);
    let error = table.query().filter(|f| f.at.between(time, time)).await.unwrap_err();
    assert!(error.to_string().contains("expected eq or is_in on at"), "{error}");
}

/// Other texts of an equal time are not found, so the opposite of `eq` would return them.
#[tokio::test]
async fn a_time_that_is_stored_as_text_has_no_opposite() {
    let (table, _) = forms().await;
    let time: EdmDateTime = "2024-05-01T12:00:00Z".parse().unwrap();
    let columns = Form::columns();
    let (at, live) = (|| columns.at.eq(time), || columns.live.is_true());
    for refused in [columns.at.ne(time), !at(), !(live() & at()), !columns.at.is_in([time]).clone()]
    {
        assert_eq!(refused.into_filter().unwrap_err().kind(), FilterErrorKind::ManyForms);
    }
    let error = table.query().filter(|f| !f.at.eq(time)).await.unwrap_err();
    assert!(error.to_string().contains("expected eq or is_in without ! on at"), "{error}");
    assert!((!live() & at()).into_filter().is_ok());
    // A column that reads times only has one form for each.
    assert!((!Strict::columns().at.ne(time)).into_filter().is_ok());
}

#[derive(Debug, TableEntity)]
struct Strict {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    at: EdmDateTime,
}

#[tokio::test]
async fn a_deep_condition_is_refused_before_anything_is_sent() {
    let docs = docs().await;
    let deep = (0..3000).fold(Doc::columns().live.is_true(), |deep, n| match n % 2 {
        0 => deep | Doc::columns().number.eq(n),
        _ => deep & Doc::columns().number.ne(n),
    });
    let error = docs.query().filter(|_| deep).await.unwrap_err();
    assert!(error.to_string().contains("at most 100 levels of parentheses and not"), "{error}");
}
