//! Random filters over random entities find the same rows as a loop.

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::mock::MockTableService;
use azure_table_tests::sized;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use uuid::Uuid;

use super::key_oracle::{can_match, matches};

/// Few values of each type, so that equal ones occur; neighbors in order, and similar values of
/// different types.
fn value() -> impl Strategy<Value = EdmValue> {
    let text = proptest::sample::select(vec!["", "a", "b", "it's", "\u{ffff}", "\u{1f600}", "5"]);
    let date = proptest::sample::select(vec![EdmDateTime::MIN, EdmDateTime::MAX]);
    prop_oneof![
        text.prop_map(EdmValue::from),
        any::<bool>().prop_map(EdmValue::from),
        (-1_i32..2).prop_map(EdmValue::from),
        (-1_i64..2).prop_map(EdmValue::from),
        proptest::sample::select(vec![-1.0, 0.0, 0.5, 1.0]).prop_map(EdmValue::from),
        date.prop_map(EdmValue::from),
        (0_u128..3).prop_map(|n| EdmValue::from(Uuid::from_u128(n))),
        vec(0_u8..2, 0..2).prop_map(EdmValue::from),
    ]
}

fn property() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["A", "B", "C"]).prop_map(str::to_owned)
}

fn entity() -> impl Strategy<Value = DynamicEntity> {
    (0_u8..2, 0_u8..4, btree_map(property(), value(), 0..3)).prop_map(|(p, r, properties)| {
        let mut entity = DynamicEntity::new(format!("p{p}"), format!("r{r}"));
        for (name, value) in properties {
            entity.set(name, value);
        }
        entity
    })
}

fn op() -> impl Strategy<Value = CompareOp> {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    proptest::sample::select(vec![Eq, Ne, Gt, Ge, Lt, Le])
}

fn filter() -> impl Strategy<Value = Filter> {
    let of_property = (property(), op(), value())
        .prop_map(|(name, op, value)| Filter::compare(name, op, value).unwrap());
    let keys = vec![("PartitionKey", "p"), ("RowKey", "r")];
    let of_key =
        (proptest::sample::select(keys), op(), 0_u8..4).prop_map(|((key, letter), op, n)| {
            Filter::compare(key, op, format!("{letter}{n}")).unwrap()
        });
    let is_true = property().prop_map(|name| Filter::is_true(name).unwrap());
    let constant = any::<bool>().prop_map(|value| Filter::parse(&value.to_string()).unwrap());
    let one = prop_oneof![8 => of_property, 6 => of_key, 2 => is_true, 1 => constant];
    one.prop_recursive(4, 12, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| a & b),
            pair.prop_map(|(a, b)| a | b),
            inner.prop_map(|filter| !filter),
        ]
    })
}

/// The rule, without code of the client or the mock: a value of another type is less than the literal, except that integer
/// literals are widened.
fn holds(filter: &Filter, entity: &DynamicEntity) -> bool {
    match filter {
        Filter::Compare { property, op, literal, .. } => {
            let found = match property.as_str() {
                "PartitionKey" => Some(EdmValue::from(entity.key().partition_key.clone())),
                "RowKey" => Some(EdmValue::from(entity.key().row_key.clone())),
                name => entity.value(name).cloned(),
            };
            let order = found.and_then(|found| match (&found, literal) {
                (EdmValue::String(a), EdmValue::String(b)) => {
                    Some(a.encode_utf16().cmp(b.encode_utf16()))
                }
                (EdmValue::Boolean(a), EdmValue::Boolean(b)) => Some(a.cmp(b)),
                (EdmValue::Int32(a), EdmValue::Int32(b)) => Some(a.cmp(b)),
                (EdmValue::Int64(a), EdmValue::Int64(b)) => Some(a.cmp(b)),
                (EdmValue::Double(a), EdmValue::Double(b)) => a.partial_cmp(b),
                (EdmValue::DateTime(a), EdmValue::DateTime(b)) => Some(a.cmp(b)),
                (EdmValue::Guid(a), EdmValue::Guid(b)) => Some(a.cmp(b)),
                (EdmValue::Binary(a), EdmValue::Binary(b)) => Some(a.cmp(b)),
                (EdmValue::Int64(a), EdmValue::Int32(b)) => Some(a.cmp(&i64::from(*b))),
                (EdmValue::Double(a), EdmValue::Int32(b)) => a.partial_cmp(&f64::from(*b)),
                // The generated numbers are small.
                (EdmValue::Double(a), EdmValue::Int64(b)) => {
                    a.partial_cmp(&f64::from(i32::try_from(*b).unwrap()))
                }
                _ => Some(std::cmp::Ordering::Less),
            });
            order.is_some_and(|order| matches(*op, order))
        }
        Filter::IsTrue { 0: name, .. } => entity.value(name) == Some(&EdmValue::Boolean(true)),
        Filter::And { 0: all, .. } => all.iter().all(|filter| holds(filter, entity)),
        Filter::Or { 0: any, .. } => any.iter().any(|filter| holds(filter, entity)),
        Filter::Not { 0: inner, .. } => !holds(inner, entity),
        Filter::Constant { 0: value, .. } => *value,
        _ => unreachable!("all kinds of filters that can be built"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sized(160, 400)))]

    #[test]
    fn the_mock_matches_a_loop(
        entities in vec(entity(), 0..24),
        filters in vec(filter(), 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mock = MockTableService::new();
            let table = mock.client().table_named::<DynamicEntity>("Random");
            table.create().await.unwrap();
            for entity in &entities {
                table.insert_or_replace(entity).await.unwrap();
            }
            let all = table.query().await.unwrap();
            for filter in filters {
                mock.requests().clear();
                prop_assert_eq!(&Filter::parse(&filter.to_string()).unwrap(), &filter);
                let expected: Vec<_> = all.iter().filter(|row| holds(&filter, row)).collect();
                let found = table.query().matching(&filter).page_size(3).await.unwrap();
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", filter);
                prop_assert_eq!(mock.requests().total() > 0, can_match(&filter), "{}", filter);
            }
            Ok(())
        })?;
    }

    /// All filters of a query must match, in whatever way they are added.
    #[test]
    fn combined_filters_match_a_loop(
        entities in vec(entity(), 0..12),
        filters in vec((filter(), 0_u8..4), 2..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let table = MockTableService::new().client().table_named::<DynamicEntity>("Random");
            table.create().await.unwrap();
            for entity in &entities {
                table.insert_or_replace(entity).await.unwrap();
            }
            let all = table.query().await.unwrap();
            let expected: Vec<_> =
                all.iter().filter(|row| filters.iter().all(|(filter, _)| holds(filter, row))).collect();
            let mut query = table.query().page_size(3);
            for (filter, way) in &filters {
                query = match way {
                    0 => query.matching(filter),
                    1 => query.filter_text(&filter.to_string()),
                    // As user input: in parentheses and with spaces.
                    2 => query.filter_text(&format!(" ( {filter} ) ")),
                    _ => query.clone().filter_opt(None).matching(filter),
                };
            }
            let found = query.clone().await.unwrap();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{:?}", query);
            Ok(())
        })?;
    }
}
