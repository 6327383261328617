//! Lists that are too long for one request, point reads, and queries in several ranges.

use azure_table_client::client::QueryCost;
use azure_table_client::entity::Descending;
use azure_table_client::filter::{HasColumns, PlanKind};
use azure_table_client::{ErrorKind, TableClient, TableEntity};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::client::target::Target;

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Item {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    id: u16,
    group: i32,
    text: String,
}

/// 3 partitions of 40 rows, groups 0 to 39 in another order than the keys.
async fn filled(target: &Target) -> TableClient<Item> {
    let table = target.table::<Item>().await;
    let items = (0..3_u16).flat_map(|p| (0..40_u16).map(move |id| (p, id)));
    stream::iter(items)
        .map(|(p, id)| {
            let table = table.clone();
            let group = i32::from(id * 7 % 40);
            let item = Item { partition: format!("p{p}"), id, group, text: "x".into() };
            async move { table.insert(&item).await.map(|_| ()) }
        })
        .buffer_unordered(16)
        .try_collect::<()>()
        .await
        .unwrap();
    table
}

fn keys(items: &[Item]) -> Vec<(String, u16)> {
    items.iter().map(|item| (item.partition.clone(), item.id)).collect()
}

/// A list of keys: point reads in key order, each key once.
pub(crate) async fn long_lists_of_keys(target: &Target) {
    let table = filled(target).await;
    let query = || {
        let ids = (0..60).rev().chain([3, 3]);
        table.query().filter(|i| i.partition.eq("p1") & i.id.is_in(ids))
    };
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Point, 60));
    let found = query().await.unwrap();
    let expected: Vec<_> = (0..40).map(|id| ("p1".to_owned(), id)).collect();
    assert_eq!(keys(&found), expected);
    assert_eq!(found.cost, cost(60, 40, 60));
    assert_eq!(query().take(20).await.unwrap().cost.requests, 20);
    assert_eq!(query().count().await.unwrap(), 40);
    assert!(query().any().await.unwrap());
    // With another condition: a query for as many rows as a request can list.
    let query = || {
        let filter = |i: <Item as HasColumns>::Columns<Item>| {
            i.partition.eq("p1") & i.id.is_in(0..60) & i.group.ge(0)
        };
        table.query().filter(filter)
    };
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::RowRange, 5));
    let found = query().await.unwrap();
    assert_eq!(found.cost, cost(5, 40, 5));
    let mut found = keys(&found);
    if !target.has_key_order() {
        found.sort_unstable();
    }
    assert_eq!(found, expected);
    // A few rows: a query for each row.
    let query = || {
        let filter = |i: <Item as HasColumns>::Columns<Item>| {
            i.partition.eq("p1") & i.id.is_in([39, 0, 40]) & i.group.ge(0)
        };
        table.query().filter(filter)
    };
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Point, 3));
    let found = query().await.unwrap();
    assert_eq!(found.cost, cost(3, 2, 3));
    assert_eq!(keys(&found), [expected[0].clone(), expected[39].clone()]);
    assert_eq!(query().take(1).await.unwrap().cost.requests, 1);
    // No key can meet both lists.
    let query = || table.query().filter(|i| i.id.is_in([0, 39]) & i.id.is_in(1..39));
    assert_eq!(query().plan().unwrap().queries, 0);
    assert_eq!(query().await.unwrap().cost, cost(0, 0, 0));
    table.delete_table().await.unwrap();
}

/// Lists of partitions: a query for each, in key order.
pub(crate) async fn lists_of_partitions(target: &Target) {
    let table = filled(target).await;
    let all = table.query().await.unwrap();
    let query = || table.query().filter(|i| i.partition.is_in(["p2", "none", "p0"]));
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Partition, 3));
    let expected = [&all[..40], &all[80..]].concat();
    let found = query().await.unwrap();
    assert_eq!((found.cost, &*found), (cost(3, 80, 3), &expected));
    assert_eq!(query().take(50).await.unwrap(), expected[..50]);
    assert_eq!(query().parallel(2).await.unwrap(), expected);
    assert_eq!(query().count().await.unwrap(), 80);

    // With other conditions, and a list that is too long for one request of a partition.
    let query = || {
        let query = table.query().filter(|i| {
            i.partition.is_in(["p2", "none", "p0"]) & i.group.is_in(5..30) & i.id.lt(30)
        });
        query.page_size(3)
    };
    assert_eq!(
        query().plan().unwrap().to_string(),
        "3 row ranges: the filter lists the PartitionKeys, in 6 queries"
    );
    let expected: Vec<_> =
        expected.into_iter().filter(|i| (5..30).contains(&i.group) && i.id < 30).collect();
    // Cosmos DB has no order that two requests of one partition could be merged by.
    let in_order = |mut rows: Vec<Item>| {
        if !target.has_key_order() {
            rows.sort_unstable_by_key(|row| (row.partition.clone(), row.id));
        }
        rows
    };
    assert_eq!(in_order(query().await.unwrap().into_vec()), expected);
    let found: Vec<_> = query().stream().try_collect().await.unwrap();
    assert_eq!(in_order(found), expected);
    let some = query().take(7).parallel(3).await.unwrap();
    assert_eq!(some.len(), 7);
    assert!(some.iter().all(|row| expected.contains(row)));
    if target.has_key_order() {
        assert_eq!(some, expected[..7]);
    }

    // Rows of several partitions are read by their keys.
    let query =
        || table.query().filter(|i| i.partition.is_in(["p2", "p1"]) & i.id.is_in([39, 0, 40]));
    assert_eq!(query().plan().unwrap().to_string(), "6 point reads: the filter lists both keys");
    let found = query().select(|i| (i.partition, i.id)).await.unwrap();
    let key = |p: &str, id| (p.to_owned(), id);
    assert_eq!(found, [key("p1", 0), key("p1", 39), key("p2", 0), key("p2", 39)]);
    let first = query().page_size(3).page().await.unwrap();
    assert_eq!(keys(&first.entities), found[..3]);
    let rest = query().start_at(first.continuation.unwrap()).await.unwrap();
    assert_eq!(keys(&rest), found[3..]);
    table.delete_table().await.unwrap();
}

fn cost(pages: u64, rows: u64, requests: u64) -> QueryCost {
    let mut cost = QueryCost::default();
    (cost.pages, cost.rows, cost.requests) = (pages, rows, requests);
    cost
}

/// A list of values: the rows of all requests in the order of their keys.
pub(crate) async fn long_lists_of_values(target: &Target) {
    let table = filled(target).await;
    let groups = || (0..35).rev();
    let expected = table.query().filter(|i| i.group.lt(35)).await.unwrap();
    assert_eq!(expected.len(), 105);
    for page_size in [1, 7, 1000] {
        let query = || {
            let query = table.query().filter(|i| i.group.is_in(groups())).page_size(page_size);
            assert_eq!(query.plan().unwrap().queries, 3);
            query
        };
        assert_eq!(query().await.unwrap(), *expected, "pages of {page_size}");
        assert_eq!(query().take(50).await.unwrap(), expected[..50]);
        assert_eq!(query().count().await.unwrap(), 105);
        // Alternatives that overlap do not repeat a row.
        let twice = query().filter(|i| {
            i.group.is_in(groups()) | i.partition.is_in(["p0", "p1", "p2"]) & i.group.lt(35)
        });
        assert_eq!(twice.await.unwrap(), *expected);
        // Keys are fetched for the comparison, and are not part of the result.
        let found = query().select(|i| (i.text, i.group)).await.unwrap();
        assert!(found.iter().map(|row| row.1).eq(expected.iter().map(|item| item.group)));
    }
    // `not` of a list has no alternatives that could be queried separately.
    let found = table.query().filter(|i| !i.group.is_in(groups())).await;
    assert_eq!(found.unwrap().len(), 15);
    table.delete_table().await.unwrap();
}

/// The pages of several requests can be resumed like others, by keys and by values.
pub(crate) async fn long_lists_are_resumed(target: &Target) {
    let table = filled(target).await;
    let all = table.query().await.unwrap();
    let by_key = || table.query().filter(|i| i.partition.eq("p1") & i.id.is_in(0..40)).page_size(6);
    let by_value = || table.query().filter(|i| i.group.is_in(0..40)).page_size(7);
    for (query, expected) in [
        (
            Box::new(by_key) as Box<dyn Fn() -> azure_table_client::client::Query<Item>>,
            &all[40..80],
        ),
        (Box::new(by_value), &all[..]),
    ] {
        let mut found = Vec::new();
        let mut at: Option<String> = None;
        loop {
            let query = match &at {
                Some(at) => query().start_at(at.parse().unwrap()),
                None => query(),
            };
            let page = query.pages().next().await.unwrap().unwrap();
            found.extend(page.entities);
            let Some(next) = page.continuation else { break };
            at = Some(next.to_string());
        }
        assert_eq!(found, expected);
    }
    let page = by_key().pages().next().await.unwrap().unwrap();
    let error = by_value().start_at(page.continuation.unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    table.delete_table().await.unwrap();
}

/// A filter that cannot be split, and is too long for a URL.
pub(crate) async fn a_filter_too_long_for_a_url(target: &Target) {
    let table = filled(target).await;
    let long = "x".repeat(20_000);
    let error = table.query().filter(|i| i.text.eq(&long)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let bytes = 20_030 + table.name().len();
    assert!(error.to_string().contains(&format!("too long ({bytes} bytes")), "{error}");
    // A list of long values is split by their length.
    let values: Vec<String> = (0..10).map(|n| format!("{n}{}", "é".repeat(400))).collect();
    let query = table.query().filter(|i| i.text.is_in(&values) | i.text.eq("x"));
    assert_eq!(query.plan().unwrap().queries, 5);
    assert_eq!(query.await.unwrap().len(), 120);
    table.delete_table().await.unwrap();
}

/// A filter that states only both keys is a point read.
pub(crate) async fn points(target: &Target) {
    let table = filled(target).await;
    let query = |id: u16| table.query().filter(move |i| i.id.eq(id) & i.partition.eq("p2"));
    assert_eq!(query(7).single().await.unwrap().id, 7);
    assert_eq!(query(7).plan().unwrap().kind, PlanKind::Point);
    assert_eq!(query(41).await.unwrap().len(), 0);
    assert_eq!(query(7).select(|i| (i.group, i.id)).await.unwrap(), [(9, 7)]);
    assert_eq!((query(7).count().await.unwrap(), query(41).count().await.unwrap()), (1, 0));
    // A filter with more conditions than the keys is a query.
    let query = table.query().filter(|i| i.id.eq(7) & i.partition.eq("p2") & i.group.eq(0));
    assert_eq!(query.await.unwrap().len(), 0);
    // Impossible keys in a filter are not an error.
    let query = table.query().filter_text("PartitionKey eq 'a/b' and RowKey eq '#'");
    assert_eq!(query.await.unwrap().len(), 0);
    // A missing table is an error.
    table.delete_table().await.unwrap();
    let error = table.query().filter(|i| i.id.eq(7) & i.partition.eq("p2")).await.unwrap_err();
    assert_eq!(error.status(), Some(404));
}

/// Ranges that are read at the same time find what one query finds.
pub(crate) async fn parallel_ranges(target: &Target) {
    let table = filled(target).await;
    for n in [0_u16, 9, 10, 99, 100, 999, 65535] {
        let item = Item { partition: format!("z{n}"), id: n, group: 1, text: String::new() };
        table.insert(&item).await.unwrap();
    }
    let all = table.query().await.unwrap();
    let one = table.query().filter(|i| i.partition.eq("p1")).await.unwrap();
    for ranges in [1, 2, 5, 64] {
        let query = || table.query().page_size(9);
        assert_eq!(query().parallel(ranges).await.unwrap(), *all, "{ranges} ranges");
        let found: Vec<Item> = query().parallel(ranges).stream().try_collect().await.unwrap();
        assert_eq!(found, *all);
        let mut found = query().parallel(ranges).unordered().await.unwrap().into_vec();
        found.sort_by(|a, b| (&a.partition, a.id).cmp(&(&b.partition, b.id)));
        assert_eq!(found, *all);
        assert_eq!(query().parallel(ranges).count().await.unwrap(), all.len() as u64);
        assert_eq!(query().take(50).parallel(ranges).await.unwrap(), all[..50]);
        // Within one partition, the rows are split.
        let query = table.query().filter(|i| i.partition.eq("p1")).page_size(9);
        assert_eq!(query.parallel(ranges).await.unwrap(), *one);
        // With bounds, and with conditions on other columns.
        let query = table
            .query()
            .filter(|i| i.partition.between("p1", "z5") & i.group.is_in(0..20) & i.id.ne(3));
        let expected: Vec<_> = all
            .iter()
            .filter(|i| (1..20).contains(&i.group) || i.group == 0)
            .filter(|i| i.partition.as_str() >= "p1" && i.partition.as_str() <= "z5" && i.id != 3)
            .cloned()
            .collect();
        assert_eq!(query.parallel(ranges).await.unwrap(), expected);
    }
    for ranges in [0, 1000] {
        let error = table.query().parallel(ranges).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    let page = table.query().page_size(1).pages().next().await.unwrap().unwrap();
    let error = table.query().start_at(page.continuation.unwrap()).parallel(2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "a parallel query cannot start at a continuation");
    let nothing = table.query().filter(|i| i.partition.eq("none"));
    assert_eq!(nothing.parallel(4).await.unwrap().len(), 0);
    table.delete_table().await.unwrap();
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(row_key(rating, id))]
struct Ranked {
    #[table(partition_key)]
    partition: String,
    rating: Descending<u8>,
    id: u16,
}

/// A key of several parts is compared as a whole.
pub(crate) async fn whole_keys(target: &Target) {
    let table = target.table::<Ranked>().await;
    for n in 0..6_u8 {
        let ranked = Ranked { partition: "p".into(), rating: Descending(n / 2), id: n.into() };
        table.insert(&ranked).await.unwrap();
    }
    let ids = |found: Vec<Ranked>| found.into_iter().map(|ranked| ranked.id).collect::<Vec<_>>();
    let query = || table.query();
    let found = query().filter(|r| r.partition.eq("p") & r.row_key.eq((1, 3))).await.unwrap();
    assert_eq!(ids(found.into_vec()), [3]);
    let found = query()
        .filter(|r| r.row_key.between((Descending(2), 5), (Descending(1), 2)))
        .await
        .unwrap();
    assert_eq!(ids(found.into_vec()), [5, 2]);
    let found = query().filter(|r| r.row_key.is_in([(0, 0), (2, 4), (2, 3)])).await.unwrap();
    assert_eq!(ids(found.into_vec()), [4, 0]);
    let found =
        query().filter(|r| r.row_key.gt((Descending(1), 3)) & r.row_key.ne((0, 1))).await.unwrap();
    assert_eq!(ids(found.into_vec()), [0]);
    let found: Vec<_> =
        query().filter(|r| r.row_key.lt((Descending(1), 2))).stream().try_collect().await.unwrap();
    assert_eq!(ids(found), [4, 5]);
    table.delete_table().await.unwrap();
}
