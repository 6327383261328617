#![doc = include_str!("../docs/sequence.md")]
//! # Safety argument
//!
//! A block is the numbers from the value of `Next` that was read up to the value that is written. The write is
//! conditional on the ETag of that read, or it is an insert. The service applies at most one of the writes that name
//! the same ETag, and at most one insert, so at most one program gets a confirmation for a block, and a late or
//! repeated write of another one is refused.
//!
//! A row that looks as expected is not a confirmation: two programs that reserve 100 numbers each leave the same
//! row. The calls therefore accept `Proof::WriteId` at most, so that a matching row does not count after a lost
//! response. A write id, if the client has a column for it, does prove the write, and then no number is lost.

use std::fmt;
use std::ops::Range;

use azure_table_client::entity::IntoKey;
use azure_table_client::{
    DynamicEntity, EntityKey, Error as ClientError, Proof, Stored, TableClient, TableEntity,
};

use crate::{Error, backoff, input};

/// The number of rounds in which other programs may write the row first.
const ROUNDS: u32 = 20;
const NEXT: &str = "Next";

/// Numbers that are unique among all programs that use one row.
#[must_use = "numbers are reserved by `block` and `next`"]
pub struct Sequence {
    table: TableClient<DynamicEntity>,
    key: EntityKey,
    block: u32,
    /// The numbers of the latest block that [`next`](Self::next) has not returned yet.
    rest: Range<i64>,
}

#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Counter {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    next: i64,
}

impl Sequence {
    /// Returns the sequence in the row with this key. The first number is 1.
    ///
    /// The row may have more columns, which every call keeps, but then it has to exist with its column `Next`.
    ///
    /// # Errors
    /// The name of the table or the key is invalid.
    pub fn new<T: TableEntity>(table: &TableClient<T>, key: impl IntoKey) -> Result<Self, Error> {
        let key = key.into_key()?;
        input::check_row(table, &key)?;
        Ok(Self { table: table.with_entity(), key, block: 100, rest: 0..0 })
    }

    /// Sets how many numbers [`next`](Self::next) reserves at once; 100 by default.
    ///
    /// # Errors
    /// [`InvalidInput`](Error::InvalidInput) if `numbers` is 0.
    pub fn block_size(mut self, numbers: u32) -> Result<Self, Error> {
        check_block(numbers)?;
        self.block = numbers;
        Ok(self)
    }

    /// Returns a number that no other call returns, from a block in memory; reserves the next block if that is empty.
    ///
    /// # Errors
    /// The errors of [`block`](Self::block).
    pub async fn next(&mut self) -> Result<i64, Error> {
        if let Some(number) = self.rest.next() {
            return Ok(number);
        }
        self.rest = self.block(self.block).await?;
        self.rest.next().ok_or_else(|| Error::Exhausted { key: self.key.clone() })
    }

    /// Reserves this many numbers, which no other call returns.
    ///
    /// # Errors
    /// [`Exhausted`](Error::Exhausted) if fewer numbers are left. [`Contended`](Error::Contended) if other programs
    /// wrote the row in each of 20 rounds. A request failed; if the outcome is unknown, the numbers of this call may be
    /// lost, and a later call returns others. [`InvalidInput`](Error::InvalidInput), before anything is sent: `numbers` is 0.
    pub async fn block(&self, numbers: u32) -> Result<Range<i64>, Error> {
        check_block(numbers)?;
        let rows = self.table.with_entity::<Counter>();
        for round in 0..ROUNDS {
            backoff::pause(self.table.clock(), round).await;
            let row = rows.get_if_exists(&self.key).primary_only().await?;
            let first = row.as_ref().map_or(1, |row| row.next);
            let end = first.checked_add(i64::from(numbers));
            let end = end.ok_or_else(|| Error::Exhausted { key: self.key.clone() })?;
            match self.reserve(row.as_ref(), end).await {
                Ok(()) => return Ok(first..end),
                Err(error) if is_lost_race(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: format!("sequence {}", self.key), rounds: ROUNDS })
    }

    /// Sets the next number, if no other program has written the row since it was read.
    async fn reserve(&self, read: Option<&Stored<Counter>>, next: i64) -> Result<(), ClientError> {
        let (partition_key, row_key) = (&*self.key.partition_key, &*self.key.row_key);
        let row = DynamicEntity::new(partition_key, row_key).with(NEXT, next);
        let call = match read {
            None => self.table.insert(&row),
            Some(read) => self.table.merge(&row, &read.etag),
        };
        // Another program that reserves as many numbers leaves the same row.
        call.proof(Proof::WriteId).await.map(drop)
    }
}

fn check_block(numbers: u32) -> Result<(), Error> {
    if numbers == 0 {
        return Err(Error::invalid_input("a block has at least one number (0)"));
    }
    Ok(())
}

/// Whether the row has another version than the one that was read. If the cause was an attempt of this program, its
/// numbers are lost.
fn is_lost_race(error: &ClientError) -> bool {
    error.is_conflict() || error.is_precondition_failed()
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence")
            .field("key", &self.key)
            .field("rest", &self.rest)
            .finish_non_exhaustive()
    }
}
