//! Transfers between the rows of a partition, each an atomic change of two rows that also reads a third one.
//!
//! The ledger checks the marks and the counts of these rows; their balances have to be conserved.

use azure_table_client::client::PartitionRows;
use azure_table_client::{DynamicEntity, Error};
use fastrand::Rng;

use super::ledger::{Api, Effect, Findings, Key, Kind, Known};
use super::world::{ROWS, World, known, mark, marked};

pub(super) const ACCOUNTS: &str = "accounts";
const BALANCE: i64 = 100;

/// The balances that exist afterwards.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    balances: Vec<i64>,
}

impl Transfers {
    pub(super) fn add(&mut self, account: &DynamicEntity) {
        self.balances.push(balance(account));
    }

    pub(super) fn check(&self, found: &mut Findings) {
        let (total, expected) = (self.balances.iter().sum::<i64>(), BALANCE * i64::from(ROWS));
        if !self.balances.is_empty() && total != expected {
            let text = format!("the accounts have {:?}, not {expected}", self.balances);
            found.add(Kind::NotConserved, Some(Api::Transaction), text);
        }
    }
}

/// The end of a change that was not sent.
enum Ended {
    /// An earlier round was applied.
    IsApplied,
    Table(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Table(error)
    }
}

fn balance(account: &DynamicEntity) -> i64 {
    account.get("Balance").unwrap().unwrap()
}

fn pay(account: &mut DynamicEntity, amount: i64, id: u64) {
    let count = account.get::<i64>("Count").map_or(0, Result::unwrap);
    let balance = balance(account) + amount;
    account.set("Balance", balance).set("Count", count + 1).set(mark(id), true);
}

impl World {
    /// Inserts the accounts.
    pub(super) async fn add_accounts(&self) {
        for at in 0..ROWS {
            let (id, key) = (self.id(), (ACCOUNTS.to_owned(), at.to_string()));
            let account = marked(&key, id).with("Balance", BALANCE);
            self.table().insert(&account).await.unwrap();
            self.wrote(id, vec![(key, Effect::Mark)], Api::Call, Known::Applied);
        }
    }

    /// Transfers from one account to another, and reads a third one.
    pub(super) async fn transfer(&self, chance: &mut Rng) {
        if !self.has_counters() {
            return;
        }
        let (id, first, amount) = (self.id(), chance.u8(..ROWS), chance.i64(1..10));
        let keys =
            [0, 1, 2].map(|at| -> Key { (ACCOUNTS.to_owned(), ((first + at) % ROWS).to_string()) });
        let change = |rows: &mut PartitionRows<DynamicEntity>| {
            let mut change = |key: &Key, amount| {
                // A repeated delivery can report that its first one lost a race.
                let account = rows.get_mut(&key.1).unwrap();
                if account.value(&mark(id)).is_some() {
                    return Err(Ended::IsApplied);
                }
                pay(account, amount, id);
                Ok(())
            };
            change(&keys[0], -amount)?;
            change(&keys[1], amount)
        };
        let known = match self.table().try_update_rows_with(keys.clone(), change).await {
            Ok(_) => Known::Applied,
            Err(Ended::IsApplied) => Known::NotApplied,
            Err(Ended::Table(error)) => known(&error),
        };
        let [from, to, _] = keys;
        let parts = vec![(from, Effect::Increment), (to, Effect::Increment)];
        self.wrote(id, parts, Api::Transaction, known);
    }
}
