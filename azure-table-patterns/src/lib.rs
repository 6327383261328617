//! Leases, sequences, secondary indexes, outboxes, event streams and other patterns on Azure Table Storage and Azure Cosmos
//! DB for Table, which lack them.
//!
//! Each module is a pattern. Its page states when to use it, what it guarantees under which faults, how its rows look, the
//! number of requests of each call, and the safety argument for its guarantees. All of them use the public interface of
//! `azure_table_client` only.
//!
//! # Assumptions of all patterns
//!
//! - The service applies a transaction completely or not at all, and refuses a write whose ETag is not that of the row. No
//!   two versions of a row have one ETag, also after the row was deleted and created again.
//! - The service loses no write. A failover of the account to its secondary may lose the last ones.
//! - Reads show the latest write. The patterns read the primary region, also if the client's locations include the
//!   secondary, unless a page states otherwise. An account of Azure Cosmos DB with several regions needs strong consistency.
//! - Other programs write the pattern's rows only as its page describes.
//! - Requests may be lost, arrive late or arrive twice, each delivery with a response of its own: a 503 or a 429 states
//!   nothing about another delivery. Any other refusal holds for each delivery, unless rows changed between the two; a
//!   refusal for the content or the credential of a request (400, 403) always does. If a promise holds only while no request
//!   is late by more than a certain time, the page names the time.
//!
//! No pattern compares the time of day of two machines, except where its page states it: leases measure time by one monotonic clock.
//!
//! # Conventions
//!
//! - `new` requires the client of the table, or of the service if a pattern has several tables. The name or the key follows,
//!   then the settings without a default. It checks all of them and sends nothing.
//! - Each setting with a default is a method, which returns a `Result` if a value can be invalid.
//! - Single rows of the caller are read as [`Stored`](azure_table_client::Stored), with their ETag.
//! - `sweep` removes expired rows and those that stopped programs and deletions have left. It returns [`Swept`].
//! - Every pattern returns [`Error`]. Its predicates, such as [`is_conflict`](Error::is_conflict) and
//!   [`is_lost`](Error::is_lost), name the cases in which callers decide differently. Its [`outcome`](Error::outcome) states
//!   whether the operation was applied. "Applied" and "not applied" are proved by the service's responses. Otherwise it is
//!   "unknown", and the page states how to resolve it.

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
