//! Atomic changes of several rows of a partition: races, limits, fences, refusals, lost responses.

mod outcomes;
mod refusals;

use std::time::Duration;

use azure_table_client::client::PartitionRows;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, ETag, Error, ErrorCode, ErrorKind, IfMatch, Operation, Outcome, RetryPolicy,
    TableClient, TableEntity,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_write, on};

const BANK: &str = "oslo";

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Account {
    #[table(partition_key)]
    bank: String,
    #[table(row_key)]
    name: String,
    balance: i64,
    note: Option<String>,
    #[table(etag)]
    version: Option<ETag>,
    #[table(timestamp)]
    changed: Option<EdmDateTime>,
}

fn account(name: impl Into<String>, balance: i64) -> Account {
    let (bank, name) = (BANK.to_owned(), name.into());
    Account { bank, name, balance, note: None, version: None, changed: None }
}

fn key(name: &str) -> (&str, &str) {
    (BANK, name)
}

/// A write of another program, just before a transaction arrives.
#[derive(Debug, Clone, Copy)]
enum Race {
    /// Adds 100.
    Add(&'static str),
    Delete(&'static str),
    /// Inserts an account with 1.
    Insert(&'static str),
}

impl Race {
    fn step(self, other: TableClient<Account>) -> Step {
        Step::pass().after(async move {
            match self {
                Self::Add(name) => {
                    other.update_with(key(name), |a| a.balance += 100).await.unwrap();
                }
                Self::Delete(name) => {
                    other.delete(key(name), IfMatch::Any).await.unwrap();
                }
                Self::Insert(name) => {
                    other.insert(&account(name, 1)).await.unwrap();
                }
            }
        })
    }
}

/// Accounts with these balances. The transactions of the first table meet these races, those of the second none.
async fn bank(
    races: &[Race],
    balances: &[(&str, i64)],
) -> (MockTableService, TableClient<Account>, TableClient<Account>) {
    let mock = MockTableService::new();
    let other = mock.client().table_named::<Account>("Accounts");
    other.create().await.unwrap();
    for (name, balance) in balances {
        other.insert(&account(*name, *balance)).await.unwrap();
    }
    let races: Vec<_> = races.iter().map(|race| race.step(other.clone())).collect();
    let racing = Scripted::new(mock.transport(), on(is_write, in_turn(races)));
    let service = mock.client_builder().transport(racing);
    let service = service.retry(RetryPolicy::fixed(1, Duration::from_secs(1))).build().unwrap();
    mock.requests().clear();
    (mock, service.table_named("Accounts"), other)
}

/// The balances of the rows, and whether each has the version that the table holds.
async fn balances(table: &TableClient<Account>) -> Vec<(String, i64)> {
    let rows = table.query().partition(BANK).await.unwrap();
    rows.into_iter().map(|row| (row.name, row.balance)).collect()
}

fn named(balances: &[(&str, i64)]) -> Vec<(String, i64)> {
    balances.iter().map(|(name, balance)| ((*name).to_owned(), *balance)).collect()
}

#[derive(Debug)]
enum Refused {
    Missing,
    TooLittle,
    Table(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Table(error)
    }
}

/// Pays 3 from ann to bob.
fn pay(rows: &mut PartitionRows<Account>) -> Result<(), Refused> {
    let ann = rows.get_mut("ann").ok_or(Refused::Missing)?;
    if ann.balance < 3 {
        return Err(Refused::TooLittle);
    }
    ann.balance -= 3;
    rows.get_mut("bob").ok_or(Refused::Missing)?.balance += 3;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_is_retried_from_fresh_reads() {
    for races in 0..10 {
        let race = vec![Race::Add("bob"); races];
        let (mock, table, other) = bank(&race, &[("ann", 10), ("bob", 0)]).await;
        let paid = table.try_update_rows_with([key("bob"), key("ann")], pay).await.unwrap();
        let bob = i64::try_from(races).unwrap() * 100 + 3;
        assert_eq!(balances(&other).await, named(&[("ann", 7), ("bob", bob)]));
        assert_eq!(mock.requests().count(Operation::Transaction), races + 1);
        for row in &paid {
            assert_eq!(row.rounds() as usize, races + 1);
            let stored = other.get(key(&row.name)).await.unwrap();
            assert_eq!((&row.etag, row.version.as_ref()), (&stored.etag, Some(&stored.etag)));
            assert_eq!(row.balance, stored.balance);
        }
    }
    let (_, table, other) = bank(&[Race::Add("bob"); 10], &[("ann", 10), ("bob", 0)]).await;
    let error = table.try_update_rows_with([key("bob"), key("ann")], pay).await.unwrap_err();
    let Refused::Table(error) = error else { panic!("{error:?}") };
    assert!(error.is_precondition_failed() && error.to_string().contains("10 rounds"), "{error}");
    assert_eq!((error.rounds(), error.outcome()), (10, Outcome::NotApplied));
    assert_eq!(balances(&other).await, named(&[("ann", 10), ("bob", 1000)]));
}

#[tokio::test(start_paused = true)]
async fn money_is_conserved_between_concurrent_transfers() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<Account>("Accounts");
    table.create().await.unwrap();
    for name in 0..4 {
        table.insert(&account(name.to_string(), 100)).await.unwrap();
    }
    let transfer = |from: u8, to: u8| {
        let table = table.clone();
        async move {
            let (from, to) = (from.to_string(), to.to_string());
            let keys = [(BANK, &*from), (BANK, &*to)];
            let change = |rows: &mut PartitionRows<Account>| {
                rows.get_mut(&from).unwrap().balance -= 1;
                rows.get_mut(&to).unwrap().balance += 1;
            };
            table.update_rows_with(keys, change).rounds(1000).await.unwrap()[0].rounds()
        }
    };
    let tasks: Vec<_> = (0..200_u8).map(|n| tokio::spawn(transfer(n % 4, (n + 1) % 4))).collect();
    let mut rounds = 0;
    for task in tasks {
        rounds += task.await.unwrap();
    }
    assert!(rounds > 200, "they met");
    // Each account paid and received 50.
    assert!(balances(&table).await.iter().all(|(_, balance)| *balance == 100));
}

#[tokio::test(start_paused = true)]
async fn a_row_that_was_only_read_is_fenced() {
    let balances_before = [("ann", 10), ("bob", 0), ("limit", 5)];
    let keys = || [key("ann"), key("bob"), key("limit")];
    // Pays only below the limit, which another program raises.
    let pay = |rows: &mut PartitionRows<Account>| {
        if rows.get("limit").unwrap().balance < 50 {
            rows.get_mut("ann").unwrap().balance -= 3;
            rows.get_mut("bob").unwrap().balance += 3;
        }
    };
    let race = [Race::Add("limit")];
    let (mock, table, other) = bank(&race, &balances_before).await;
    let rows = table.update_rows_with(keys(), pay).await.unwrap();
    assert_eq!(balances(&other).await, named(&[("ann", 10), ("bob", 0), ("limit", 105)]));
    // The second round changes nothing, so it sends nothing.
    assert_eq!((rows.len(), rows[0].rounds()), (3, 2));
    assert_eq!(mock.requests().count(Operation::Transaction), 1);

    let (_, table, other) = bank(&race, &balances_before).await;
    table.update_rows_with(keys(), pay).allow_write_skew().await.unwrap();
    assert_eq!(balances(&other).await, named(&[("ann", 7), ("bob", 3), ("limit", 105)]));

    // A fence changes the version only.
    let (_, table, other) = bank(&[], &balances_before).await;
    let rows = other.with_entity::<DynamicEntity>();
    rows.insert_or_merge(&DynamicEntity::new(BANK, "limit").with("other", 1)).await.unwrap();
    let before = rows.get(key("limit")).await.unwrap();
    let updated = table.update_rows_with(keys(), pay).await.unwrap();
    let after = rows.get(key("limit")).await.unwrap();
    assert!(before.etag != after.etag && before.timestamp() < after.timestamp());
    assert!(before.properties().eq(after.properties()));
    assert_eq!(updated[2].etag, after.etag);
}

#[tokio::test(start_paused = true)]
async fn rows_that_disappear_or_appear_are_seen_in_the_next_round() {
    let (_, table, other) = bank(&[Race::Delete("bob")], &[("ann", 10), ("bob", 0)]).await;
    let refused = table.try_update_rows_with([key("ann"), key("bob")], pay).await.unwrap_err();
    assert!(matches!(refused, Refused::Missing), "{refused:?}");
    assert_eq!(balances(&other).await, named(&[("ann", 10)]));

    // The closure opens an account if it is missing.
    let open = |rows: &mut PartitionRows<Account>| {
        rows.get_mut("ann").unwrap().balance -= 3;
        match rows.get_mut("bob") {
            Some(bob) => bob.balance += 3,
            None => rows.insert(account("bob", 3)),
        }
    };
    for (races, bob, rounds) in [(&[][..], 3, 1), (&[Race::Insert("bob")][..], 4, 2)] {
        let (_, table, other) = bank(races, &[("ann", 10)]).await;
        let updated = table.update_rows_with([key("ann"), key("bob")], open).await.unwrap();
        assert_eq!(balances(&other).await, named(&[("ann", 7), ("bob", bob)]));
        assert_eq!((updated.len(), updated[1].rounds()), (2, rounds));
        assert_eq!(updated[1].etag, other.get(key("bob")).await.unwrap().etag);
    }
    // So does a query: the next number is free again.
    let number =
        |rows: &mut PartitionRows<Account>| rows.insert(account(rows.len().to_string(), 7));
    let (_, table, other) = bank(&[Race::Insert("1")], &[("0", 0)]).await;
    table.query().partition(BANK).update_rows_with(number).await.unwrap();
    assert_eq!(balances(&other).await, named(&[("0", 0), ("1", 1), ("2", 7)]));
}

#[tokio::test(start_paused = true)]
async fn an_inserted_row_that_exists_and_is_not_read_ends_the_call() {
    let (mock, table, other) = bank(&[], &[("ann", 10), ("bob", 0)]).await;
    let insert = |rows: &mut PartitionRows<Account>| {
        rows.get_mut("ann").unwrap().balance = 0;
        rows.insert(account("bob", 1));
    };
    let error = table.update_rows_with([key("ann")], insert).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
    assert_eq!((error.rounds(), error.outcome()), (2, Outcome::NotApplied));
    assert_eq!(mock.requests().count(Operation::Transaction), 2);
    assert_eq!(balances(&other).await, named(&[("ann", 10), ("bob", 0)]));
}

#[tokio::test(start_paused = true)]
async fn rows_are_inserted_deleted_and_replaced() {
    let (_, table, other) = bank(&[], &[("ann", 10), ("bob", 5)]).await;
    let rows = other.with_entity::<DynamicEntity>();
    rows.insert_or_merge(&DynamicEntity::new(BANK, "bob").with("other", 1)).await.unwrap();
    let change = |rows: &mut PartitionRows<Account>| {
        assert_eq!(rows.delete("ann").unwrap().balance, 10);
        assert!(rows.delete("ann").is_none() && rows.get("ann").is_none());
        assert!(rows.delete("nobody").is_none());
        // A new row with the keys of a deleted one replaces it.
        rows.delete("bob");
        rows.insert(account("bob", 6));
        rows.insert(account("cyd", 1));
        rows.get_mut("cyd").unwrap().balance += 1;
        rows.insert(account("dan", 1));
        rows.delete("dan");
        let names: Vec<_> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!((names, rows.len()), (vec!["bob", "cyd"], 2));
    };
    let updated = table.update_rows_with([key("ann"), key("bob")], change).await.unwrap();
    assert_eq!(balances(&other).await, named(&[("bob", 6), ("cyd", 2)]));
    assert_eq!(rows.get(key("bob")).await.unwrap().value("other"), None);
    assert_eq!(updated.len(), 2);
    for row in updated {
        assert_eq!(row.etag, other.get(key(&row.name)).await.unwrap().etag);
    }
    // Without keys, rows can only be inserted.
    let none: [(&str, &str); 0] = [];
    table.update_rows_with(none, |rows| rows.insert(account("eve", 1))).await.unwrap();
    assert_eq!(other.get(key("eve")).await.unwrap().balance, 1);
}

#[tokio::test(start_paused = true)]
async fn properties_of_other_programs_stay() {
    let (_, table, other) = bank(&[], &[("ann", 10), ("bob", 5)]).await;
    let rows = other.with_entity::<DynamicEntity>();
    for name in ["ann", "bob"] {
        let foreign = DynamicEntity::new(BANK, name).with("note", "x").with("other", 7_i64);
        rows.insert_or_merge(&foreign).await.unwrap();
    }
    let change = |rows: &mut PartitionRows<Account>| {
        rows.get_mut("ann").unwrap().note = None;
        rows.get_mut("bob").unwrap().balance = 6;
    };
    let query = || table.query().partition(BANK);
    query().update_rows_with(change).await.unwrap();
    let read = |name| rows.get((BANK, name));
    let (ann, bob) = (read("ann").await.unwrap(), read("bob").await.unwrap());
    assert_eq!((ann.value("note"), ann.get("other")), (None, Some(Ok(7_i64))));
    assert_eq!((bob.get("note"), bob.get("other")), (Some(Ok("x".to_owned())), Some(Ok(7_i64))));
    query()
        .update_rows_with(|rows| rows.get_mut("bob").unwrap().note = None)
        .replace()
        .await
        .unwrap();
    assert!(read("bob").await.unwrap().value("other").is_none());

    // A dynamic entity holds all of them.
    let change = |rows: &mut PartitionRows<DynamicEntity>| {
        for row in rows.iter_mut() {
            row.remove("other");
            row.set("balance", 1_i64);
        }
    };
    let keys = [(BANK, "ann"), (BANK, "bob")];
    table.with_entity::<DynamicEntity>().update_rows_with(keys, change).await.unwrap();
    assert_eq!(balances(&other).await, named(&[("ann", 1), ("bob", 1)]));
    assert!(read("ann").await.unwrap().value("other").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_change_of_nothing_sends_nothing() {
    let (mock, table, _) = bank(&[], &[("ann", 10), ("bob", 5)]).await;
    let change = |rows: &mut PartitionRows<Account>| {
        for row in rows.iter_mut() {
            row.balance += 1;
            row.balance -= 1;
        }
    };
    let rows = table.update_rows_with([key("bob"), key("ann"), key("bob")], change).await.unwrap();
    assert_eq!((mock.requests().count(Operation::Transaction), rows.len()), (0, 2));
    // Each key is read once, by its own request.
    assert_eq!((mock.requests().total(), mock.requests().table_scans()), (2, 0));
    assert_eq!(rows[1].etag, table.get(key("bob")).await.unwrap().etag);
}

#[tokio::test(start_paused = true)]
async fn long_lists_and_odd_keys() {
    let (mock, table, other) = bank(&[], &[]).await;
    let long = "\u{4e00}".repeat(1000);
    let names: Vec<_> = (0..96).map(|n| n.to_string()).collect();
    let odd = ["it's", "a b", "\u{1f600}", "\u{ff5e}"];
    let names: Vec<_> = names.iter().map(String::as_str).chain(odd).collect();
    for name in &names {
        other.insert(&account(*name, 0)).await.unwrap();
    }
    let add = |rows: &mut PartitionRows<Account>| {
        let names: Vec<_> = rows.iter().map(|row| row.name.clone()).collect();
        for name in names {
            rows.get_mut(&name).unwrap().balance += 1;
        }
    };
    let updated = table.update_rows_with(names.iter().map(|name| key(name)), add).await.unwrap();
    assert_eq!(updated.len(), 100);
    let expected: Vec<_> = balances(&other).await;
    assert!(expected.iter().all(|(_, balance)| *balance == 1));
    // In the service's order, in which U+1F600 precedes U+FF5E.
    let updated: Vec<_> =
        updated.into_iter().map(|row| (row.entity.name, row.entity.balance)).collect();
    assert_eq!(updated, expected);
    // Keys that are too long for a URL.
    let other = other.with_entity::<DynamicEntity>();
    other.insert(&DynamicEntity::new(&*long, &*long).with("n", 1)).await.unwrap();
    mock.requests().clear();
    let change = |rows: &mut PartitionRows<DynamicEntity>| {
        rows.get_mut(&long).unwrap().set("n", 2);
    };
    let keys = [(&*long, &*long), (&*long, "missing")];
    table.with_entity::<DynamicEntity>().update_rows_with(keys, change).await.unwrap();
    assert_eq!(other.get((&*long, &*long)).await.unwrap().get("n"), Some(Ok(2)));
}
