//! Calls that read and write until no concurrent update intervenes.

use azure_table_client::client::{PartitionRows, Transaction};
use azure_table_client::{
    DynamicEntity, ETag, EntityKey, ErrorCode, ErrorKind, Outcome, Stored, TableClient, TableEntity,
};
use futures_util::future::join_all;

use crate::client::target::Target;

fn counter(n: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new("it's", "n");
    row.set("N", n);
    row
}

fn key() -> EntityKey {
    EntityKey::new("it's", "n")
}

async fn add(table: &TableClient<DynamicEntity>) -> Stored<DynamicEntity> {
    let change = |row: &mut DynamicEntity| {
        let n: i32 = row.get("N").unwrap().unwrap();
        row.set("N", n + 1);
    };
    table.update_with(key(), change).rounds(100).await.unwrap()
}

/// Concurrent tasks add to one number, and each addition counts.
pub(crate) async fn increments_are_not_lost(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    table.insert(&counter(0)).await.unwrap();
    let five = || async {
        for _ in 0..5 {
            add(&table).await;
        }
    };
    join_all((0..4).map(|_| five())).await;
    let last = add(&table).await;
    assert_eq!((last.get::<i32>("N"), last.rounds()), (Some(Ok(21)), 1));
    let stored = table.get(key()).await.unwrap();
    assert_eq!((stored.get::<i32>("N"), &stored.etag), (Some(Ok(21)), &last.etag));
    table.delete_table().await.unwrap();
}

/// A missing row is not written, nor a change that returns an error.
pub(crate) async fn changes_that_are_not_made(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let error = table.update_with(key(), |_| {}).await.unwrap_err();
    assert!(error.is_not_found() && error.rounds() == 1, "{error}");
    let first = table.insert(&counter(0)).await.unwrap();
    let move_it = |row: &mut DynamicEntity| *row = DynamicEntity::new("it's", "m");
    let error = table.update_with(key(), move_it).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(table.get(key()).await.unwrap().etag, first.etag);
    assert_eq!(table.query().count().await.unwrap(), 1);
    table.delete_table().await.unwrap();
}

/// A change removes a property and keeps the properties of other programs.
pub(crate) async fn removed_properties_are_gone(target: &Target) {
    #[derive(Debug, TableEntity)]
    struct Noted {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        note: Option<String>,
        #[table(etag)]
        version: ETag,
    }
    let rows = target.table::<DynamicEntity>().await;
    rows.insert(counter(1).set("note", "x")).await.unwrap();
    let updated = rows.with_entity::<Noted>().update_with(key(), |n| n.note = None).await.unwrap();
    let stored = rows.get(key()).await.unwrap();
    assert_eq!((updated.note.as_ref(), stored.value("note")), (None, None));
    assert_eq!(stored.get::<i32>("N"), Some(Ok(1)));
    assert_eq!((&updated.version, &updated.etag), (&stored.etag, &stored.etag));
    rows.delete_table().await.unwrap();
}

/// A missing row is inserted, an existing one is read, and one of several concurrent calls inserts.
pub(crate) async fn get_or_insert(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let rows: Vec<_> = (0..5).map(counter).collect();
    let obtained =
        join_all(rows.iter().map(|row| async { table.get_or_insert(row).await.unwrap() }));
    let obtained = obtained.await;
    let inserted = obtained.iter().filter(|(_, outcome)| *outcome == Outcome::Applied);
    assert_eq!(inserted.count(), 1);
    let stored = table.get(key()).await.unwrap();
    for (row, _) in obtained {
        assert_eq!(row.get::<i32>("N"), stored.get("N"));
        assert_eq!(row.etag, stored.etag);
    }
    let (found, inserted) = table.get_or_insert_with(key(), || counter(9)).await.unwrap();
    assert_eq!((inserted, found.get::<i32>("N")), (Outcome::NotApplied, stored.get("N")));
    table.delete_table().await.unwrap();
}

#[derive(Debug, TableEntity)]
struct Account {
    #[table(partition_key)]
    bank: String,
    #[table(row_key)]
    name: String,
    balance: i32,
}

fn account(name: &str, balance: i32) -> Account {
    Account { bank: "it's".into(), name: name.into(), balance }
}

const ACCOUNTS: [(&str, &str); 3] = [("it's", "a"), ("it's", "b"), ("it's", "limit")];

async fn bank(target: &Target) -> TableClient<Account> {
    let table = target.table::<Account>().await;
    let all = [account("a", 100), account("b", 100), account("limit", 90)];
    all.iter().fold(table.transaction(), Transaction::insert).await.unwrap();
    table
}

async fn balances(table: &TableClient<Account>) -> Vec<i32> {
    let stored = table.get_many(ACCOUNTS).await.unwrap();
    stored.iter().flatten().map(|row| row.balance).collect()
}

/// Pays `amount`, unless an account would have less than the limit afterwards.
fn pay(rows: &mut PartitionRows<Account>, amount: i32) -> bool {
    let of = |name| rows.get(name).unwrap().balance;
    let limit = of("limit");
    let is_allowed = of("a") - amount >= limit && of("b") + amount >= limit;
    if is_allowed {
        rows.get_mut("a").unwrap().balance -= amount;
        rows.get_mut("b").unwrap().balance += amount;
    }
    is_allowed
}

/// Concurrent tasks transfer between two rows, and each transfer counts in both.
pub(crate) async fn transfers_conserve_the_total(target: &Target) {
    let table = bank(target).await;
    let transfers = (0..12).map(|n| {
        let amount = if n % 3 == 0 { -1 } else { 1 };
        let update = table.update_rows_with(ACCOUNTS, move |rows| assert!(pay(rows, amount)));
        async { update.rounds(100).await.unwrap() }
    });
    join_all(transfers).await;
    assert_eq!(balances(&table).await, [96, 104, 90]);
    table.delete_table().await.unwrap();
}

/// A decision that rests on a row is refused once another program wrote that row.
pub(crate) async fn rows_that_were_read_are_fenced(target: &Target) {
    let table = bank(target).await;
    let before = table.get(ACCOUNTS[2]).await.unwrap();
    let query = table.query().partition("it's");
    let updated = query.update_rows_with(|rows| assert!(pay(rows, 5))).await.unwrap();
    let limit = table.get(ACCOUNTS[2]).await.unwrap();
    assert_eq!((limit.balance, &limit.etag), (90, &updated[2].etag));
    assert_ne!(limit.etag, before.etag);
    // A fence under the version that was read before is refused, and with it the whole transaction.
    let stale = table.transaction().merge(&account("a", 0), &updated[0].etag);
    let fence = DynamicEntity::new("it's", "limit");
    let stale = stale.with_entity().merge(&fence, &before.etag);
    assert!(stale.await.unwrap_err().is_precondition_failed());
    assert_eq!(balances(&table).await, [95, 105, 90]);
    table.delete_table().await.unwrap();
}

/// New and deleted rows are part of the change; a row that exists and was not read refuses it.
pub(crate) async fn rows_are_inserted_and_deleted_together(target: &Target) {
    let table = bank(target).await;
    let change = |rows: &mut PartitionRows<_>| {
        rows.delete("b");
        rows.insert(account("c", 1));
    };
    let updated = table.update_rows_with(ACCOUNTS, change).await.unwrap();
    let names: Vec<_> = updated.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["a", "c", "limit"]);
    for row in &updated {
        assert_eq!(table.get(("it's", &*row.name)).await.unwrap().etag, row.etag);
    }
    assert!(!table.contains(ACCOUNTS[1]).await.unwrap());
    let error = table.update_rows_with([ACCOUNTS[0]], change).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(table.query().count().await.unwrap(), 3);
    table.delete_table().await.unwrap();
}
