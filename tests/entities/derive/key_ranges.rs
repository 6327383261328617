//! Comparisons of keys that begin with a literal text find no rows of other kinds in the same partition.

use azure_table_client::entity::Descending;
use azure_table_client::filter::Condition;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, EntityKey, TableClient, TableEntity, filter};
use fastrand::Rng;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Mix", row_key = "ITEM!{order:06}!{line:03}")]
struct Item {
    #[table(partition_key)]
    customer: String,
    order: u32,
    line: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Mix", row_key = "P_{at}")]
struct Post {
    #[table(partition_key)]
    customer: String,
    at: Descending<u8>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Mix", partition_key = "T_{tenant}")]
struct Tenant {
    tenant: u8,
    #[table(row_key)]
    name: String,
}

/// Keys of other kinds, among them the neighbours of each prefix.
fn foreign_keys(rng: &mut Rng) -> Vec<String> {
    let mut keys: Vec<_> = [
        "A_account",
        "Z_settings",
        "ADDRESS",
        "ITEM",
        "ITEM ",
        "ITEM\"",
        "P",
        "P^",
        "P`",
        "T",
        "T`",
    ]
    .map(str::to_owned)
    .into();
    let alphabet: Vec<_> = "AEIMPQTZ _!`\"09~\u{ffff}\u{10000}".chars().collect();
    keys.extend((0..150).map(|_| (1..7).map(|_| *rng.choice(&alphabet).unwrap()).collect()));
    keys.retain(|key| !["ITEM!", "P_", "T_"].iter().any(|prefix| key.starts_with(prefix)));
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A table with rows of one kind and rows of other kinds, and the rows of the kind in key order.
async fn among_others<T: TableEntity + Clone + Send + Sync + 'static>(
    seed: u64,
    own: &[T],
    foreign: fn(String) -> DynamicEntity,
) -> (TableClient<DynamicEntity>, Vec<(EntityKey, T)>) {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<T>("Mix");
    table.create().await.unwrap();
    let mut keys = Vec::new();
    for entity in own {
        table.insert(entity).await.unwrap();
        keys.push((entity.entity_key().unwrap(), entity.clone()));
    }
    keys.sort_by(|(a, _), (b, _)| {
        (&a.partition_key, &a.row_key).cmp(&(&b.partition_key, &b.row_key))
    });
    let rows = table.with_entity::<DynamicEntity>();
    for key in foreign_keys(&mut Rng::with_seed(seed)) {
        rows.insert(&foreign(key)).await.unwrap();
    }
    (rows, keys)
}

fn row_of_joe(row_key: String) -> DynamicEntity {
    DynamicEntity::new("joe", row_key)
}

async fn assert_finds<T>(
    (rows, own): &(TableClient<DynamicEntity>, Vec<(EntityKey, T)>),
    condition: Condition<T>,
    holds: impl Fn(&T) -> bool,
) {
    let filter = condition.into_filter().unwrap();
    let found = rows.query().matching(&filter).await.unwrap();
    let found: Vec<_> = found.iter().map(|row| row.key().clone()).collect();
    let expected = own.iter().filter(|(_, entity)| holds(entity)).map(|(key, _)| key.clone());
    assert_eq!(found, expected.collect::<Vec<_>>(), "{filter}");
}

#[tokio::test]
async fn comparisons_with_a_composite_key_find_rows_of_the_kind() {
    let mut rng = Rng::with_seed(7);
    let line = |n: u32| Item { customer: "joe".into(), order: n / 4, line: n % 4 };
    let all = among_others(7, &(0..16).map(line).collect::<Vec<_>>(), row_of_joe).await;
    let key = Item::columns().row_key;
    for _ in 0..40 {
        let mut number = || rng.u32(0..5);
        let (a, b, c, d) = (number(), number(), number(), number());
        macro_rules! compare {
            ($($op:ident $token:tt),*) => {$(
                assert_finds(&all, key.$op((a,)), |row| row.order.$op(&a)).await;
                assert_finds(&all, key.$op((a, b)), |row| (row.order, row.line).$op(&(a, b))).await;
                let condition = filter!(Item, l => l.customer == "joe" && l.row_key $token (a,));
                let condition = condition(Item::columns());
                assert_finds(&all, condition, |row| row.order.$op(&a)).await;
            )*};
        }
        compare!(lt <, le <=, gt >, ge >=);
        let is_other = |row: &Item| (row.order, row.line) != (a, b);
        assert_finds(&all, key.ne((a, b)), is_other).await;
        assert_finds(&all, filter!(Item, l => l.row_key != (a, b))(Item::columns()), is_other)
            .await;
        let orders = |row: &Item| a <= row.order && row.order <= c;
        assert_finds(&all, key.between((a,), (c,)), orders).await;
        let lines = |row: &Item| (a, b) <= (row.order, row.line) && row.order <= c;
        assert_finds(&all, key.between((a, b), (c,)), lines).await;
        let either = |row: &Item| row.order < a || row.order > c && row.line == d;
        let of_line = Condition::any((0..4).map(|order| key.eq((order, d))));
        assert_finds(&all, key.lt((a,)) | key.gt((c,)) & of_line, either).await;
    }
}

#[tokio::test]
async fn comparisons_by_value_find_rows_of_the_kind() {
    let post = |n| Post { customer: "joe".into(), at: Descending(n) };
    let all = among_others(8, &[0, 1, 5, 6, 254, 255].map(post), row_of_joe).await;
    let key = Post::columns().row_key;
    for n in [0, 1, 4, 5, 6, 100, 254, 255] {
        assert_finds(&all, key.newer_than(n), |row| row.at.0 > n).await;
        assert_finds(&all, key.newer_or_equal(n), |row| row.at.0 >= n).await;
        assert_finds(&all, key.older_than(n), |row| row.at.0 < n).await;
        assert_finds(&all, key.older_or_equal(n), |row| row.at.0 <= n).await;
        assert_finds(&all, key.lt(Descending(n)), |row| row.at.0 > n).await;
        assert_finds(&all, key.ne(n), |row| row.at.0 != n).await;
    }
}

#[tokio::test]
async fn comparisons_with_a_partition_key_find_rows_of_the_kind() {
    let tenant = |tenant| Tenant { tenant, name: "row".into() };
    let all =
        among_others(9, &[0, 1, 5, 6, 254, 255].map(tenant), |key| DynamicEntity::new(key, "row"))
            .await;
    let key = Tenant::columns().partition_key;
    for n in [0, 1, 4, 5, 6, 100, 254, 255] {
        assert_finds(&all, key.lt(n), |row| row.tenant < n).await;
        assert_finds(&all, key.le(n), |row| row.tenant <= n).await;
        assert_finds(&all, key.gt(n), |row| row.tenant > n).await;
        assert_finds(&all, key.ge(n), |row| row.tenant >= n).await;
        assert_finds(&all, key.ne(n), |row| row.tenant != n).await;
    }
}

#[tokio::test]
async fn a_run_that_deletes_a_range_keeps_rows_of_other_kinds() {
    let post = |n| Post { customer: "joe".into(), at: Descending(n) };
    let (rows, _) = among_others(10, &[1, 2, 3].map(post), row_of_joe).await;
    let others = rows.query().count().await.unwrap() - 3;
    let posts = rows.with_entity::<Post>();
    let report = posts
        .bulk()
        .delete_found(posts.query().filter(|p| p.customer.eq("joe") & p.row_key.older_than(2)))
        .await;
    assert_eq!(report.unwrap().progress.applied, 1);
    let report = posts
        .bulk()
        .delete_found(posts.query().filter(|p| p.customer.eq("joe") & p.row_key.newer_or_equal(3)))
        .await;
    assert_eq!(report.unwrap().progress.applied, 1);
    assert_eq!(rows.query().count().await.unwrap(), others + 1);
}
