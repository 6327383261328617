//! Leases, sequences, secondary indexes, outboxes, event streams and other patterns on Azure Table Storage and Azure Cosmos
//! DB for Table, which lack them.
//!
//! Each module is a pattern. Its page states when to use it, what it guarantees under which faults, how its rows look, and
//! the number of requests of each call. All of them use the public interface of `azure_table_client` only.
//!
//! # What every pattern assumes
//!
//! - The service applies a transaction completely or not at all, and refuses a write whose ETag is not that of the row.
//! - Reads go to the primary region, as those of the client do by default, and show the latest write. An account of Azure
//!   Cosmos DB with several regions needs strong consistency.
//! - Other programs write the pattern's rows only as its page says.
//! - Requests may be lost, arrive late or arrive twice, each delivery with a response of its own: a 503 or a 429 states
//!   nothing about another delivery. Any other refusal holds for each delivery, unless rows changed between the two.
//!   Where a promise holds only if no request is late by more than a certain time, the page says so and names the time.
//!
//! # Conventions
//!
//! - `new` requires the client of the table, or of the service if a pattern has several tables. The name or the key follows,
//!   then the settings without a default. It checks all of them and sends nothing.
//! - Each setting with a default is a method, which returns a `Result` if a value can be invalid.
//! - Single rows of the caller are read as [`Stored`](azure_table_client::Stored), with their ETag.
//! - `sweep` removes expired rows and those that stopped programs and deletions have left. It returns [`Swept`].
//! - [`Error`] has predicates for the cases in which callers decide differently.
//!
//! No pattern compares the time of day of two machines, unless its page says so: leases measure time by one monotonic clock.

#![allow(clippy::doc_markdown, reason = "Clippy reads the link targets of the pages as text")]

mod backoff;
mod delivery;
mod error;
pub mod event_stream;
pub mod indexed;
mod input;
pub mod lease;
pub mod outbox;
pub mod retention;
pub mod schema;
pub mod sequence;
mod swept;
pub mod versioned_partition;
pub mod wide;

pub use error::Error;
pub use swept::Swept;
